/* SPDX-License-Identifier: BSD-3-Clause */
/* Extended attributes. The kernel, which a mount has in front of it, decides some things about them itself: so does
 * this file. */
#define _GNU_SOURCE /* O_PATH */
#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <string.h>
#include <sys/xattr.h>
#include "posix/xattrs.h"
#include "preload/core/calls.h"
#include "preload/core/state.h"
#include "preload/core/target.h"

/* `of_link`: the error for an attribute of "user." of a link, which can have none. */
static int begin(int fd, const char *path, int flags, const char *name, int of_link, themis_preload_target_t *target)
{
    const size_t length = strlen(name);

    if (length == 0 || length > XATTR_NAME_MAX)
        return ERANGE;
    int error = themis_preload_target_begin(fd, path, flags, target);
    if (error)
        return error;
    if (target->open && target->open->flags & O_PATH)
        error = EBADF;
    else if (target->node->type == THEMIS_TYPE_SYMLINK && strncmp(name, "user.", 5) == 0)
        error = of_link;
    if (error) {
        themis_preload_target_end(target, error);
        return error;
    }
    return 0;
}

ssize_t themis_preload_core_get_xattr(int fd, const char *path, int flags, const char *name, void *value, size_t size)
{
    themis_preload_target_t target;
    size_t length = 0;
    int error = begin(fd, path, flags, name, ENODATA, &target);

    if (error)
        return themis_preload_result(error);
    error = themis_posix_xattr_get(target.filesystem, themis_preload_caller(), target.node, name, value,
                                   size < XATTR_SIZE_MAX ? size : XATTR_SIZE_MAX, &length);
    return themis_preload_target_end(&target, error) == 0 ? (ssize_t)length : -1;
}

int themis_preload_core_set_xattr(int fd, const char *path, int flags, const char *name, const struct iovec *value,
                                  int how)
{
    themis_preload_target_t target;

    if (how & ~(XATTR_CREATE | XATTR_REPLACE))
        return themis_preload_result(EINVAL);
    if (value->iov_len > XATTR_SIZE_MAX)
        return themis_preload_result(E2BIG);
    int error = begin(fd, path, flags, name, EPERM, &target);
    if (error)
        return themis_preload_result(error);
    error = themis_posix_xattr_set(target.filesystem, themis_preload_caller(), target.node, name, value->iov_base,
                                   value->iov_len, how);
    return themis_preload_target_end(&target, error);
}

int themis_preload_core_remove_xattr(int fd, const char *path, int flags, const char *name)
{
    themis_preload_target_t target;
    int error = begin(fd, path, flags, name, EPERM, &target);

    if (error)
        return themis_preload_result(error);
    error = themis_posix_xattr_remove(target.filesystem, themis_preload_caller(), target.node, name);
    return themis_preload_target_end(&target, error);
}

ssize_t themis_preload_core_list_xattrs(int fd, const char *path, int flags, char *names, size_t size)
{
    themis_preload_target_t target;
    size_t length = 0;
    int error = themis_preload_target_begin(fd, path, flags, &target);

    if (error)
        return themis_preload_result(error);
    if (target.open && target.open->flags & O_PATH)
        error = EBADF;
    else
        error = themis_posix_xattr_list(target.filesystem, themis_preload_caller(), target.node, names,
                                        size < XATTR_LIST_MAX ? size : XATTR_LIST_MAX, &length);
    return themis_preload_target_end(&target, error) == 0 ? (ssize_t)length : -1;
}
