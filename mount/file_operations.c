/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include "mount/operations.h"
#include "mount/pool.h"
#include "posix/file.h"
#include "posix/locks.h"

static themis_posix_file_t *file_of(const struct fuse_file_info *info)
{
    return (themis_posix_file_t *)(uintptr_t)info->fh;
}

themis_posix_file_t *themis_mount_file_begin(themis_mount_request_t *request, fuse_req_t fuse,
                                             const struct fuse_file_info *info)
{
    themis_posix_file_t *file = file_of(info);

    themis_posix_file_acquire(file);
    themis_mount_begin(request, fuse, 0);
    return file;
}

void themis_mount_file_end(themis_mount_request_t *request, fuse_req_t fuse, themis_posix_file_t *file, int error)
{
    if (themis_mount_request_end(request))
        fuse_reply_err(fuse, error);
    themis_posix_file_release(file);
}

/* What goes past the page cache is as servers have it, for each read. */
static void info_fill(const themis_mount_state_t *state, themis_posix_file_t *file, struct fuse_file_info *info)
{
    info->fh = (uintptr_t)file;
    info->direct_io = !state->settings->cache;
    info->keep_cache = 0;
}

void themis_mount_open(fuse_req_t fuse, fuse_ino_t number, struct fuse_file_info *info)
{
    themis_mount_state_t *state = themis_mount_state_of(fuse);
    themis_posix_file_t *file = NULL;
    themis_mount_request_t request;
    int delivered = 0;

    themis_mount_begin(&request, fuse, number);
    int error = themis_posix_open(state->filesystem, &request.caller, request.node, info->flags, &file);
    if (!error)
        info_fill(state, file, info);
    if (themis_mount_request_end(&request))
        delivered = (error ? fuse_reply_err(fuse, error) : fuse_reply_open(fuse, info)) == 0;
    if (!error && !delivered)
        themis_posix_file_release(file);
}

void themis_mount_create(fuse_req_t fuse, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *info)
{
    themis_mount_state_t *state = themis_mount_state_of(fuse);
    themis_posix_t *filesystem = state->filesystem;
    themis_posix_file_t *file = NULL;
    themis_mount_request_t request;
    struct fuse_entry_param entry;
    struct stat stat;
    int delivered = 0;

    themis_mount_begin(&request, fuse, parent);
    int error =
        themis_posix_file_create(filesystem, &request.caller, request.node, name, info->flags, mode, &file, &stat);
    themis_posix_node_t *node = error ? NULL : file->node;
    if (!error) {
        info_fill(state, file, info);
        entry = themis_mount_entry(state, node, &stat);
    }
    if (themis_mount_request_end(&request))
        delivered = (error ? fuse_reply_err(fuse, error) : fuse_reply_create(fuse, &entry, info)) == 0;
    if (error || delivered)
        return;
    themis_posix_file_release(file);
    themis_posix_release(filesystem, node, 1);
}

void themis_mount_mknod(fuse_req_t fuse, fuse_ino_t parent, const char *name, mode_t mode, dev_t device)
{
    themis_mount_state_t *state = themis_mount_state_of(fuse);
    themis_posix_t *filesystem = state->filesystem;
    themis_posix_file_t *file = NULL;
    themis_mount_request_t request;
    struct stat stat;
    int delivered = 0;

    (void)device;
    if (!S_ISREG(mode)) {
        fuse_reply_err(fuse, EPERM);
        return;
    }
    themis_mount_begin(&request, fuse, parent);
    int error =
        themis_posix_file_create(filesystem, &request.caller, request.node, name, O_RDWR | O_EXCL, mode, &file, &stat);
    themis_posix_node_t *node = error ? NULL : file->node;
    themis_posix_file_release(file);
    const struct fuse_entry_param entry = error ? (struct fuse_entry_param){0} : themis_mount_entry(state, node, &stat);
    if (themis_mount_request_end(&request))
        delivered = (error ? fuse_reply_err(fuse, error) : fuse_reply_entry(fuse, &entry)) == 0;
    if (!error && !delivered)
        themis_posix_release(filesystem, node, 1);
}

void themis_mount_read(fuse_req_t fuse, fuse_ino_t number, size_t size, off_t offset, struct fuse_file_info *info)
{
    themis_mount_request_t request;
    themis_posix_file_t *file = themis_mount_file_begin(&request, fuse, info);
    void *buffer = themis_mount_pool_buffer(size);
    size_t done = 0;

    (void)number;
    int error = buffer ? themis_posix_file_read(file, buffer, size, (uint64_t)offset, &done) : ENOMEM;
    if (error) {
        themis_mount_file_end(&request, fuse, file, error);
        return;
    }
    if (themis_mount_request_end(&request))
        fuse_reply_buf(fuse, buffer, done);
    themis_posix_file_release(file);
}

/* The flags are those of the moment: fcntl changes O_APPEND. What the kernel writes for a mapping has its place. */
void themis_mount_write(fuse_req_t fuse, fuse_ino_t number, const char *bytes, size_t size, off_t offset,
                        struct fuse_file_info *info)
{
    const int appends = (info->flags & O_APPEND) && !info->writepage;
    themis_mount_request_t request;
    themis_posix_file_t *file = themis_mount_file_begin(&request, fuse, info);

    (void)number;
    int error = themis_posix_file_write(file, &request.caller, bytes, size, (uint64_t)offset, appends);
    if (error) {
        themis_mount_file_end(&request, fuse, file, error);
        return;
    }
    if (themis_mount_request_end(&request))
        fuse_reply_write(fuse, size);
    themis_posix_file_release(file);
}

void themis_mount_flush(fuse_req_t fuse, fuse_ino_t number, struct fuse_file_info *info)
{
    themis_mount_request_t request;
    themis_posix_file_t *file = themis_mount_file_begin(&request, fuse, info);

    (void)number;
    themis_posix_locks_release(file->node, THEMIS_POSIX_LOCK_RANGES, info->lock_owner);
    themis_mount_file_end(&request, fuse, file, file->writable ? themis_posix_file_flush(file) : 0);
}

/* Nobody waits for it, so it is not interrupted. */
void themis_mount_release(fuse_req_t fuse, fuse_ino_t number, struct fuse_file_info *info)
{
    themis_posix_file_t *file = file_of(info);

    (void)number;
    if (info->flock_release)
        themis_posix_locks_release(file->node, THEMIS_POSIX_LOCK_FILE, info->lock_owner);
    themis_posix_file_release(file);
    fuse_reply_err(fuse, 0);
}

void themis_mount_fsync(fuse_req_t fuse, fuse_ino_t number, int data_only, struct fuse_file_info *info)
{
    themis_mount_request_t request;
    themis_posix_file_t *file = themis_mount_file_begin(&request, fuse, info);

    (void)number;
    (void)data_only;
    themis_mount_file_end(&request, fuse, file, themis_posix_file_sync(file, &request.caller));
}

void themis_mount_fallocate(fuse_req_t fuse, fuse_ino_t number, int mode, off_t offset, off_t length,
                            struct fuse_file_info *info)
{
    themis_mount_request_t request;
    themis_posix_file_t *file = themis_mount_file_begin(&request, fuse, info);

    (void)number;
    themis_mount_file_end(&request, fuse, file,
                          themis_posix_file_allocate(file, mode, (uint64_t)offset, (uint64_t)length));
}

void themis_mount_lseek(fuse_req_t fuse, fuse_ino_t number, off_t offset, int whence, struct fuse_file_info *info)
{
    themis_mount_request_t request;
    themis_posix_file_t *file = themis_mount_file_begin(&request, fuse, info);
    uint64_t found = 0;

    (void)number;
    int error = themis_posix_file_seek(file, (uint64_t)offset, whence, &found);
    if (error) {
        themis_mount_file_end(&request, fuse, file, error);
        return;
    }
    if (themis_mount_request_end(&request))
        fuse_reply_lseek(fuse, (off_t)found);
    themis_posix_file_release(file);
}
