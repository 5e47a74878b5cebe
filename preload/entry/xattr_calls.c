/* SPDX-License-Identifier: BSD-3-Clause */
/* Extended attributes: files on servers have none. */
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE
#include <sys/xattr.h>
#include "preload/entry/entry.h"

/* EOPNOTSUPP of a file that is there. */
static int refuse(int fd, const char *remote)
{
    const themis_preload_core_t *core = themis_preload_enter();
    struct stat stat;

    if (!core)
        return -1;
    const int result = core->stat(fd, remote, &stat);
    themis_preload_leave();
    if (result == 0)
        errno = EOPNOTSUPP;
    return -1;
}

#define BY_PATH(path, real_call)                                                                                       \
    themis_preload_path_t where;                                                                                       \
    const int below = themis_preload_resolve(AT_FDCWD, path, &where);                                                  \
    if (below == 0)                                                                                                    \
        return real_call;                                                                                              \
    return below < 0 ? -1 : refuse(-1, where.remote);

#define BY_DESCRIPTOR(fd, real_call) return themis_preload_is_ours(fd) ? refuse(fd, NULL) : real_call;

EXPORTED ssize_t getxattr(const char *path, const char *name, void *value,
                          size_t size){BY_PATH(path, REAL(getxattr)(where.path, name, value, size))}

EXPORTED ssize_t lgetxattr(const char *path, const char *name, void *value,
                           size_t size){BY_PATH(path, REAL(lgetxattr)(where.path, name, value, size))}

EXPORTED ssize_t fgetxattr(int fd, const char *name, void *value,
                           size_t size){BY_DESCRIPTOR(fd, REAL(fgetxattr)(fd, name, value, size))}

EXPORTED ssize_t
    listxattr(const char *path, char *list, size_t size){BY_PATH(path, REAL(listxattr)(where.path, list, size))}

EXPORTED ssize_t
    llistxattr(const char *path, char *list, size_t size){BY_PATH(path, REAL(llistxattr)(where.path, list, size))}

EXPORTED ssize_t flistxattr(int fd, char *list, size_t size){BY_DESCRIPTOR(fd, REAL(flistxattr)(fd, list, size))}

EXPORTED int setxattr(const char *path, const char *name, const void *value, size_t size,
                      int flags){BY_PATH(path, REAL(setxattr)(where.path, name, value, size, flags))}

EXPORTED int lsetxattr(const char *path, const char *name, const void *value, size_t size,
                       int flags){BY_PATH(path, REAL(lsetxattr)(where.path, name, value, size, flags))}

EXPORTED int fsetxattr(int fd, const char *name, const void *value, size_t size,
                       int flags){BY_DESCRIPTOR(fd, REAL(fsetxattr)(fd, name, value, size, flags))}

EXPORTED int removexattr(const char *path, const char *name){BY_PATH(path, REAL(removexattr)(where.path, name))}

EXPORTED int lremovexattr(const char *path, const char *name){BY_PATH(path, REAL(lremovexattr)(where.path, name))}

EXPORTED int fremovexattr(int fd, const char *name)
{
    BY_DESCRIPTOR(fd, REAL(fremovexattr)(fd, name))
}
