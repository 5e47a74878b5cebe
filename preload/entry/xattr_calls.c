/* SPDX-License-Identifier: BSD-3-Clause */
/* Extended attributes. */
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE
#include <sys/xattr.h>
#include "preload/entry/entry.h"

#define FLAGS(flags) themis_preload_flags(&where, flags)
#define BYTES(value, size) (&(struct iovec){(void *)(uintptr_t)(value), size})

/* --- by path -------------------------------------------------------------------------------------------------------
 */

EXPORTED ssize_t getxattr(const char *path, const char *name, void *value, size_t size)
{
    RETURN_AT(ssize_t, AT_FDCWD, path, 1, get_xattr(-1, where.remote, FLAGS(0), name, value, size),
              REAL(getxattr)(where.path, name, value, size));
}

EXPORTED ssize_t listxattr(const char *path, char *list, size_t size)
{
    RETURN_AT(ssize_t, AT_FDCWD, path, 1, list_xattrs(-1, where.remote, FLAGS(0), list, size),
              REAL(listxattr)(where.path, list, size));
}

EXPORTED int setxattr(const char *path, const char *name, const void *value, size_t size, int how)
{
    RETURN_AT(int, AT_FDCWD, path, 1, set_xattr(-1, where.remote, FLAGS(0), name, BYTES(value, size), how),
              REAL(setxattr)(where.path, name, value, size, how));
}

EXPORTED int removexattr(const char *path, const char *name)
{
    RETURN_AT(int, AT_FDCWD, path, 1, remove_xattr(-1, where.remote, FLAGS(0), name),
              REAL(removexattr)(where.path, name));
}

/* --- of a link itself ----------------------------------------------------------------------------------------------
 */

EXPORTED ssize_t lgetxattr(const char *path, const char *name, void *value, size_t size)
{
    RETURN_AT(ssize_t, AT_FDCWD, path, 0, get_xattr(-1, where.remote, FLAGS(AT_SYMLINK_NOFOLLOW), name, value, size),
              REAL(lgetxattr)(where.path, name, value, size));
}

EXPORTED ssize_t llistxattr(const char *path, char *list, size_t size)
{
    RETURN_AT(ssize_t, AT_FDCWD, path, 0, list_xattrs(-1, where.remote, FLAGS(AT_SYMLINK_NOFOLLOW), list, size),
              REAL(llistxattr)(where.path, list, size));
}

EXPORTED int lsetxattr(const char *path, const char *name, const void *value, size_t size, int how)
{
    RETURN_AT(int, AT_FDCWD, path, 0,
              set_xattr(-1, where.remote, FLAGS(AT_SYMLINK_NOFOLLOW), name, BYTES(value, size), how),
              REAL(lsetxattr)(where.path, name, value, size, how));
}

EXPORTED int lremovexattr(const char *path, const char *name)
{
    RETURN_AT(int, AT_FDCWD, path, 0, remove_xattr(-1, where.remote, FLAGS(AT_SYMLINK_NOFOLLOW), name),
              REAL(lremovexattr)(where.path, name));
}

/* --- by descriptor -------------------------------------------------------------------------------------------------
 */

EXPORTED ssize_t fgetxattr(int fd, const char *name, void *value, size_t size)
{
    if (!themis_preload_is_ours(fd))
        return REAL(fgetxattr)(fd, name, value, size);
    RETURN_CORE(ssize_t, -1, get_xattr(fd, NULL, 0, name, value, size));
}

EXPORTED ssize_t flistxattr(int fd, char *list, size_t size)
{
    if (!themis_preload_is_ours(fd))
        return REAL(flistxattr)(fd, list, size);
    RETURN_CORE(ssize_t, -1, list_xattrs(fd, NULL, 0, list, size));
}

EXPORTED int fsetxattr(int fd, const char *name, const void *value, size_t size, int how)
{
    if (!themis_preload_is_ours(fd))
        return REAL(fsetxattr)(fd, name, value, size, how);
    RETURN_CORE(int, -1, set_xattr(fd, NULL, 0, name, BYTES(value, size), how));
}

EXPORTED int fremovexattr(int fd, const char *name)
{
    if (!themis_preload_is_ours(fd))
        return REAL(fremovexattr)(fd, name);
    RETURN_CORE(int, -1, remove_xattr(fd, NULL, 0, name));
}
