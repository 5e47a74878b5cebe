/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include "mount/operations.h"
#include "posix/locks.h"

void themis_mount_getlk(fuse_req_t fuse, fuse_ino_t number, struct fuse_file_info *info, struct flock *lock)
{
    themis_mount_request_t request;
    themis_posix_file_t *file = themis_mount_file_begin(&request, fuse, info);

    (void)number;
    int error = themis_posix_lock_get(file, &request.caller, info->lock_owner, lock);
    if (error) {
        themis_mount_file_end(&request, fuse, file, error);
        return;
    }
    if (themis_mount_request_end(&request))
        fuse_reply_lock(fuse, lock);
    themis_posix_file_release(file);
}

void themis_mount_setlk(fuse_req_t fuse, fuse_ino_t number, struct fuse_file_info *info, struct flock *lock, int sleep)
{
    themis_mount_request_t request;
    themis_posix_file_t *file = themis_mount_file_begin(&request, fuse, info);

    (void)number;
    themis_mount_file_end(&request, fuse, file,
                          themis_posix_lock_set(file, &request.caller, info->lock_owner, lock, sleep));
}

void themis_mount_flock(fuse_req_t fuse, fuse_ino_t number, struct fuse_file_info *info, int operation)
{
    themis_mount_request_t request;
    themis_posix_file_t *file = themis_mount_file_begin(&request, fuse, info);

    (void)number;
    themis_mount_file_end(&request, fuse, file,
                          themis_posix_lock_file(file, &request.caller, info->lock_owner, operation));
}
