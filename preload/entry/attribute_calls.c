/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls on attributes: stat and its relatives, modes, owners, times, the space of the file system. */
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE
#include <limits.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <utime.h>
#include "preload/entry/entry.h"

enum { MAGIC = 0x7468656d }; /* f_type */

static int fail(int error)
{
    errno = error;
    return -1;
}

/* 1: the call is on the descriptor itself, which is ours. */
static int is_descriptor(int directory, const char *path, int flags)
{
    return flags & AT_EMPTY_PATH && themis_preload_is_ours(directory) && path && *path == '\0';
}

static int follows(int flags)
{
    return !(flags & AT_SYMLINK_NOFOLLOW);
}

/* --- stat ----------------------------------------------------------------------------------------------------------
 */

static int stat_descriptor(int fd, struct stat *result)
{
    RETURN_CORE(int, -1, stat(fd, NULL, 0, result));
}

EXPORTED int fstat(int fd, struct stat *result)
{
    return themis_preload_is_ours(fd) ? stat_descriptor(fd, result) : REAL(fstat)(fd, result);
}

EXPORTED int fstatat(int directory, const char *path, struct stat *result, int flags)
{
    if (is_descriptor(directory, path, flags))
        return stat_descriptor(directory, result);
    RETURN_AT(int, directory, path, follows(flags), stat(-1, where.remote, themis_preload_flags(&where, flags), result),
              REAL(fstatat)(where.directory, where.path, result, flags));
}

EXPORTED int stat(const char *path, struct stat *result)
{
    RETURN_AT(int, AT_FDCWD, path, 1, stat(-1, where.remote, themis_preload_flags(&where, 0), result),
              REAL(stat)(where.path, result));
}

EXPORTED int lstat(const char *path, struct stat *result)
{
    RETURN_AT(int, AT_FDCWD, path, 0, stat(-1, where.remote, themis_preload_flags(&where, AT_SYMLINK_NOFOLLOW), result),
              REAL(lstat)(where.path, result));
}

_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "one structure serves both");
EXPORTED int stat64(const char *path, struct stat64 *result)
{
    return stat(path, (struct stat *)result);
}

EXPORTED int lstat64(const char *path, struct stat64 *result)
{
    return lstat(path, (struct stat *)result);
}

EXPORTED int fstat64(int fd, struct stat64 *result)
{
    return fstat(fd, (struct stat *)result);
}

EXPORTED int fstatat64(int directory, const char *path, struct stat64 *result, int flags)
{
    return fstatat(directory, path, (struct stat *)result, flags);
}

/* Of programs that were compiled with a C library of before 2.33. */
int __xstat(int version, const char *path, struct stat *result);
int __lxstat(int version, const char *path, struct stat *result);
int __fxstat(int version, int fd, struct stat *result);
int __fxstatat(int version, int directory, const char *path, struct stat *result, int flags);

EXPORTED int __xstat(int version, const char *path, struct stat *result)
{
    (void)version;
    return stat(path, result);
}

EXPORTED int __lxstat(int version, const char *path, struct stat *result)
{
    (void)version;
    return lstat(path, result);
}

EXPORTED int __fxstat(int version, int fd, struct stat *result)
{
    (void)version;
    return fstat(fd, result);
}

EXPORTED int __fxstatat(int version, int directory, const char *path, struct stat *result, int flags)
{
    (void)version;
    return fstatat(directory, path, result, flags);
}

ALIAS(__xstat64, __xstat);
ALIAS(__lxstat64, __lxstat);
ALIAS(__fxstat64, __fxstat);
ALIAS(__fxstatat64, __fxstatat);

static struct statx_timestamp timestamp(struct timespec time)
{
    return (struct statx_timestamp){.tv_sec = time.tv_sec, .tv_nsec = (uint32_t)time.tv_nsec};
}

static int extend(const struct stat *plain, struct statx *extended)
{
    *extended = (struct statx){.stx_mask = STATX_BASIC_STATS,
                               .stx_blksize = (uint32_t)plain->st_blksize,
                               .stx_nlink = (uint32_t)plain->st_nlink,
                               .stx_uid = plain->st_uid,
                               .stx_gid = plain->st_gid,
                               .stx_mode = (uint16_t)plain->st_mode,
                               .stx_ino = plain->st_ino,
                               .stx_size = (uint64_t)plain->st_size,
                               .stx_blocks = (uint64_t)plain->st_blocks,
                               .stx_atime = timestamp(plain->st_atim),
                               .stx_mtime = timestamp(plain->st_mtim),
                               .stx_ctime = timestamp(plain->st_ctim),
                               .stx_dev_major = major(plain->st_dev),
                               .stx_dev_minor = minor(plain->st_dev)};
    return 0;
}

EXPORTED int statx(int directory, const char *path, int flags, unsigned mask, struct statx *extended)
{
    themis_preload_path_t where;
    struct stat found;
    int result = -1;

    if (is_descriptor(directory, path, flags))
        return stat_descriptor(directory, &found) == 0 ? extend(&found, extended) : -1;
    int below = themis_preload_resolve(directory, path, &where);
    if (below == 1)
        CALL_CORE(result, below, &where, follows(flags),
                  stat(-1, where.remote, themis_preload_flags(&where, flags), &found));
    if (below == 0)
        return REAL(statx)(where.directory, where.path, flags, mask, extended);
    return below == 1 && result == 0 ? extend(&found, extended) : -1;
}

/* --- rights --------------------------------------------------------------------------------------------------------
 */

EXPORTED int access(const char *path, int mode)
{
    RETURN_AT(int, AT_FDCWD, path, 1, access(where.remote, mode, themis_preload_flags(&where, 0)),
              REAL(access)(where.path, mode));
}

EXPORTED int faccessat(int directory, const char *path, int mode, int flags)
{
    if (is_descriptor(directory, path, flags))
        return fail(EINVAL);
    RETURN_AT(int, directory, path, follows(flags), access(where.remote, mode, themis_preload_flags(&where, flags)),
              REAL(faccessat)(where.directory, where.path, mode, flags));
}

EXPORTED int eaccess(const char *path, int mode)
{
    RETURN_AT(int, AT_FDCWD, path, 1, access(where.remote, mode, themis_preload_flags(&where, AT_EACCESS)),
              REAL(eaccess)(where.path, mode));
}

ALIAS(euidaccess, eaccess);

EXPORTED int chmod(const char *path, mode_t mode)
{
    RETURN_AT(int, AT_FDCWD, path, 1, set_mode(-1, where.remote, themis_preload_flags(&where, 0), mode),
              REAL(chmod)(where.path, mode));
}

EXPORTED int fchmod(int fd, mode_t mode)
{
    if (!themis_preload_is_ours(fd))
        return REAL(fchmod)(fd, mode);
    RETURN_CORE(int, -1, set_mode(fd, NULL, 0, mode));
}

EXPORTED int fchmodat(int directory, const char *path, mode_t mode, int flags)
{
    if (is_descriptor(directory, path, flags))
        return fchmod(directory, mode);
    RETURN_AT(int, directory, path, follows(flags),
              set_mode(-1, where.remote, themis_preload_flags(&where, flags), mode),
              REAL(fchmodat)(where.directory, where.path, mode, flags));
}

EXPORTED int chown(const char *path, uid_t uid, gid_t gid)
{
    RETURN_AT(int, AT_FDCWD, path, 1, set_owner(-1, where.remote, themis_preload_flags(&where, 0), uid, gid),
              REAL(chown)(where.path, uid, gid));
}

EXPORTED int lchown(const char *path, uid_t uid, gid_t gid)
{
    RETURN_AT(int, AT_FDCWD, path, 0,
              set_owner(-1, where.remote, themis_preload_flags(&where, AT_SYMLINK_NOFOLLOW), uid, gid),
              REAL(lchown)(where.path, uid, gid));
}

EXPORTED int fchown(int fd, uid_t uid, gid_t gid)
{
    if (!themis_preload_is_ours(fd))
        return REAL(fchown)(fd, uid, gid);
    RETURN_CORE(int, -1, set_owner(fd, NULL, 0, uid, gid));
}

EXPORTED int fchownat(int directory, const char *path, uid_t uid, gid_t gid, int flags)
{
    if (is_descriptor(directory, path, flags))
        return fchown(directory, uid, gid);
    RETURN_AT(int, directory, path, follows(flags),
              set_owner(-1, where.remote, themis_preload_flags(&where, flags), uid, gid),
              REAL(fchownat)(where.directory, where.path, uid, gid, flags));
}

/* --- times ---------------------------------------------------------------------------------------------------------
 */

EXPORTED int futimens(int fd, const struct timespec times[2])
{
    if (!themis_preload_is_ours(fd))
        return REAL(futimens)(fd, times);
    RETURN_CORE(int, -1, set_times(fd, NULL, 0, times));
}

EXPORTED int utimensat(int directory, const char *path, const struct timespec times[2], int flags)
{
    if (is_descriptor(directory, path, flags))
        return futimens(directory, times);
    RETURN_AT(int, directory, path, follows(flags),
              set_times(-1, where.remote, themis_preload_flags(&where, flags), times),
              REAL(utimensat)(where.directory, where.path, times, flags));
}

/* Microseconds as nanoseconds. NULL stays NULL. */
static const struct timespec *precise(const struct timeval times[2], struct timespec result[2])
{
    for (int i = 0; times && i < 2; i++)
        result[i] = (struct timespec){.tv_sec = times[i].tv_sec, .tv_nsec = times[i].tv_usec * 1000};
    return times ? result : NULL;
}

EXPORTED int utimes(const char *path, const struct timeval times[2])
{
    struct timespec fine[2];

    RETURN_AT(int, AT_FDCWD, path, 1,
              set_times(-1, where.remote, themis_preload_flags(&where, 0), precise(times, fine)),
              REAL(utimes)(where.path, times));
}

EXPORTED int lutimes(const char *path, const struct timeval times[2])
{
    struct timespec fine[2];

    RETURN_AT(int, AT_FDCWD, path, 0,
              set_times(-1, where.remote, themis_preload_flags(&where, AT_SYMLINK_NOFOLLOW), precise(times, fine)),
              REAL(lutimes)(where.path, times));
}

EXPORTED int futimesat(int directory, const char *path, const struct timeval times[2])
{
    struct timespec fine[2];

    RETURN_AT(int, directory, path, 1,
              set_times(-1, where.remote, themis_preload_flags(&where, 0), precise(times, fine)),
              REAL(futimesat)(where.directory, where.path, times));
}

EXPORTED int futimes(int fd, const struct timeval times[2])
{
    struct timespec fine[2];

    return themis_preload_is_ours(fd) ? futimens(fd, precise(times, fine)) : REAL(futimes)(fd, times);
}

EXPORTED int utime(const char *path, const struct utimbuf *times)
{
    const struct timespec fine[2] = {{.tv_sec = times ? times->actime : 0}, {.tv_sec = times ? times->modtime : 0}};

    RETURN_AT(int, AT_FDCWD, path, 1, set_times(-1, where.remote, themis_preload_flags(&where, 0), times ? fine : NULL),
              REAL(utime)(where.path, times));
}

/* --- the file system -----------------------------------------------------------------------------------------------
 */

static int space(struct statvfs *result)
{
    RETURN_CORE(int, -1, space(result));
}

static int space_statfs(struct statfs *result)
{
    struct statvfs found;

    if (space(&found) != 0)
        return -1;
    *result = (struct statfs){.f_type = MAGIC,
                              .f_bsize = (long)found.f_bsize,
                              .f_frsize = (long)found.f_frsize,
                              .f_blocks = found.f_blocks,
                              .f_bfree = found.f_bfree,
                              .f_bavail = found.f_bavail,
                              .f_files = found.f_files,
                              .f_ffree = found.f_ffree,
                              .f_namelen = (long)found.f_namemax};
    return 0;
}

/* 1: a path that exists, on servers; 0 and -1 as themis_preload_resolve. */
static int find(const char *path, themis_preload_path_t *where)
{
    int below = themis_preload_resolve(AT_FDCWD, path, where), result = -1;
    struct stat stat;

    if (below == 1)
        CALL_CORE(result, below, where, 1, stat(-1, where->remote, themis_preload_flags(where, 0), &stat));
    return below == 1 && result != 0 ? -1 : below;
}

EXPORTED int statvfs(const char *path, struct statvfs *result)
{
    themis_preload_path_t where;
    const int below = find(path, &where);

    if (below != 0)
        return below < 0 ? -1 : space(result);
    return REAL(statvfs)(where.path, result);
}

EXPORTED int fstatvfs(int fd, struct statvfs *result)
{
    return themis_preload_is_ours(fd) ? space(result) : REAL(fstatvfs)(fd, result);
}

EXPORTED int statfs(const char *path, struct statfs *result)
{
    themis_preload_path_t where;
    const int below = find(path, &where);

    if (below != 0)
        return below < 0 ? -1 : space_statfs(result);
    return REAL(statfs)(where.path, result);
}

EXPORTED int fstatfs(int fd, struct statfs *result)
{
    return themis_preload_is_ours(fd) ? space_statfs(result) : REAL(fstatfs)(fd, result);
}

EXPORTED int statvfs64(const char *path, struct statvfs64 *result)
{
    return statvfs(path, (struct statvfs *)result);
}

EXPORTED int fstatvfs64(int fd, struct statvfs64 *result)
{
    return fstatvfs(fd, (struct statvfs *)result);
}

EXPORTED int statfs64(const char *path, struct statfs64 *result)
{
    return statfs(path, (struct statfs *)result);
}

EXPORTED int fstatfs64(int fd, struct statfs64 *result)
{
    return fstatfs(fd, (struct statfs *)result);
}

EXPORTED long pathconf(const char *path, int name)
{
    themis_preload_path_t where;
    const int below = find(path, &where);

    if (below == 0)
        return REAL(pathconf)(where.path, name);
    if (below < 0)
        return -1;
    switch (name) {
    case _PC_NAME_MAX:
        return THEMIS_CLIENT_NAME_BYTES - 1;
    case _PC_PATH_MAX:
        return PATH_MAX;
    case _PC_LINK_MAX:
        return 1;
    default:
        return REAL(pathconf)("/", name);
    }
}
