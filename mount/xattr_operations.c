/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include "mount/operations.h"
#include "mount/pool.h"
#include "posix/xattrs.h"

static void end_plain(themis_mount_request_t *request, fuse_req_t fuse, int error)
{
    if (themis_mount_request_end(request))
        fuse_reply_err(fuse, error);
}

/* `size` 0: only the length was asked for. */
static void end_bytes(themis_mount_request_t *request, fuse_req_t fuse, int error, const void *bytes, size_t length,
                      size_t size)
{
    if (!themis_mount_request_end(request))
        return;
    if (error)
        fuse_reply_err(fuse, error);
    else if (size == 0)
        fuse_reply_xattr(fuse, length);
    else
        fuse_reply_buf(fuse, bytes, length);
}

void themis_mount_setxattr(fuse_req_t fuse, fuse_ino_t number, const char *name, const char *value, size_t size,
                           int flags)
{
    themis_mount_request_t request;

    themis_mount_begin(&request, fuse, number);
    end_plain(
        &request, fuse,
        themis_posix_xattr_set(request.requests->filesystem, &request.caller, request.node, name, value, size, flags));
}

void themis_mount_getxattr(fuse_req_t fuse, fuse_ino_t number, const char *name, size_t size)
{
    themis_mount_request_t request;
    void *value = themis_mount_pool_buffer(size + 1);
    size_t length = 0;
    int error = ENOMEM;

    themis_mount_begin(&request, fuse, number);
    if (value)
        error = themis_posix_xattr_get(request.requests->filesystem, &request.caller, request.node, name, value, size,
                                       &length);
    end_bytes(&request, fuse, error, value, length, size);
}

void themis_mount_listxattr(fuse_req_t fuse, fuse_ino_t number, size_t size)
{
    themis_mount_request_t request;
    char *names = themis_mount_pool_buffer(size + 1);
    size_t length = 0;
    int error = ENOMEM;

    themis_mount_begin(&request, fuse, number);
    if (names)
        error =
            themis_posix_xattr_list(request.requests->filesystem, &request.caller, request.node, names, size, &length);
    end_bytes(&request, fuse, error, names, length, size);
}

void themis_mount_removexattr(fuse_req_t fuse, fuse_ino_t number, const char *name)
{
    themis_mount_request_t request;

    themis_mount_begin(&request, fuse, number);
    end_plain(&request, fuse,
              themis_posix_xattr_remove(request.requests->filesystem, &request.caller, request.node, name));
}
