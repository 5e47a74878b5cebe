/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls on names: making, removing, renaming; symbolic links, and hard ones, which there are not. */
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/xattr.h>
#include "preload/entry/entry.h"
#include "util/mount_point.h"

static int fail(int error)
{
    errno = error;
    return -1;
}

/* --- making and removing -------------------------------------------------------------------------------------------
 */

EXPORTED int mkdirat(int directory, const char *path, mode_t mode)
{
    themis_preload_path_t where;
    int below = themis_preload_resolve_name(directory, path, &where), result = -1;

    if (below == 1)
        CALL_CORE(result, below, &where, 0, mkdir(where.remote, mode & 07777 & ~themis_preload_umask()));
    if (below == 0)
        return REAL(mkdirat)(where.directory, where.path, mode);
    return below < 0 ? -1 : result;
}

EXPORTED int mkdir(const char *path, mode_t mode)
{
    return mkdirat(AT_FDCWD, path, mode);
}

static int remove_directory(int directory, const char *path)
{
    themis_preload_path_t where;
    int below = themis_preload_resolve_name(directory, path, &where), result = -1;

    if (below == 1 && where.dots)
        return fail(where.dots == 1 ? EINVAL : ENOTEMPTY);
    if (below == 1)
        CALL_CORE(result, below, &where, 0, rmdir(where.remote));
    if (below == 0)
        return REAL(unlinkat)(where.directory, where.path, AT_REMOVEDIR);
    return below < 0 ? -1 : result;
}

EXPORTED int unlinkat(int directory, const char *path, int flags)
{
    themis_preload_path_t where;
    int below, result = -1;

    if (flags & AT_REMOVEDIR)
        return remove_directory(directory, path);
    below = themis_preload_resolve_name(directory, path, &where);
    if (below == 1 && where.is_directory)
        return fail(ENOTDIR);
    if (below == 1)
        CALL_CORE(result, below, &where, 0, unlink(where.remote));
    if (below == 0)
        return REAL(unlinkat)(where.directory, where.path, flags);
    return below < 0 ? -1 : result;
}

EXPORTED int unlink(const char *path)
{
    return unlinkat(AT_FDCWD, path, 0);
}

EXPORTED int rmdir(const char *path)
{
    return unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

EXPORTED int remove(const char *path)
{
    themis_preload_path_t where;
    const int below = themis_preload_resolve_name(AT_FDCWD, path, &where);

    if (below == 0)
        return REAL(remove)(where.path);
    if (below < 0)
        return -1;
    return unlink(path) == 0 || (errno == EISDIR && rmdir(path) == 0) ? 0 : -1;
}

/* --- renaming ------------------------------------------------------------------------------------------------------
 */

/* Only a directory may be called one; a link is none. */
static int rename_remote(const themis_preload_path_t *old, const themis_preload_path_t *new, unsigned flags)
{
    const themis_preload_core_t *core = themis_preload_enter();
    struct stat stat;
    int result = 0;

    if (!core)
        return -1;
    if (old->is_directory || new->is_directory)
        result = core->stat(-1, old->remote, AT_SYMLINK_NOFOLLOW | THEMIS_PRELOAD_DIRECTORY, &stat);
    if (result == 0)
        result = core->rename(old->remote, new->remote, flags);
    themis_preload_leave();
    return result;
}

/* Both on servers, or both local. */
static int rename_resolved(const themis_preload_path_t *old, const themis_preload_path_t *new, unsigned flags)
{
    if (!old->remote != !new->remote)
        return fail(EXDEV);
    if (old->remote)
        return old->dots || new->dots ? fail(EBUSY) : rename_remote(old, new, flags);
    return flags ? REAL(renameat2)(old->directory, old->path, new->directory, new->path, flags)
                 : REAL(renameat)(old->directory, old->path, new->directory, new->path);
}

/* 1: there are links to be followed first; across file systems nobody has looked for them yet. */
static int has_links(const themis_preload_path_t *old, const themis_preload_path_t *new, int tries)
{
    if (errno == EXDEV)
        return !old->remote != !new->remote &&tries == THEMIS_PRELOAD_TRIES;
    return errno == ELOOP && old->remote && new->remote &&tries > 0;
}

/* Only the names at the end are renamed. */
static int both_follow(themis_preload_path_t *old, themis_preload_path_t *new)
{
    return (old->remote && themis_preload_follow(old, 0) < 0) || (new->remote &&themis_preload_follow(new, 0) < 0) ? -1
                                                                                                                   : 0;
}

EXPORTED int renameat2(int from_directory, const char *from, int to_directory, const char *to, unsigned flags)
{
    themis_preload_path_t old, new;

    if (themis_preload_resolve_name(from_directory, from, &old) < 0 ||
        themis_preload_resolve_name(to_directory, to, &new) < 0)
        return -1;
    int result = rename_resolved(&old, &new, flags);
    for (int tries = THEMIS_PRELOAD_TRIES; result != 0 && has_links(&old, &new, tries); tries--) {
        if (both_follow(&old, &new) != 0)
            return -1;
        result = rename_resolved(&old, &new, flags);
    }
    return result;
}

EXPORTED int renameat(int from_directory, const char *from, int to_directory, const char *to)
{
    return renameat2(from_directory, from, to_directory, to, 0);
}

EXPORTED int rename(const char *from, const char *to)
{
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* --- links and special files ---------------------------------------------------------------------------------------
 */

/* What cannot be made: fails if the name is there already, else as on a file system without such files. */
static int refuse(int directory, const char *path)
{
    struct stat stat;

    return fstatat(directory, path, &stat, AT_SYMLINK_NOFOLLOW) == 0 ? fail(EEXIST)
           : errno == ENOENT                                         ? fail(EPERM)
                                                                     : -1;
}

EXPORTED int linkat(int from_directory, const char *from, int to_directory, const char *to, int flags)
{
    themis_preload_path_t old, new;
    struct stat stat;
    const int old_below = flags & AT_SYMLINK_FOLLOW ? themis_preload_resolve(from_directory, from, &old)
                                                    : themis_preload_resolve_name(from_directory, from, &old);
    const int new_below = themis_preload_resolve_name(to_directory, to, &new);

    if (old_below < 0 || new_below < 0)
        return -1;
    if (old_below == 0 && new_below == 0 && !themis_preload_is_ours(from_directory))
        return REAL(linkat)(old.directory, old.path, new.directory, new.path, flags);
    if (old_below != new_below)
        return fail(EXDEV);
    return fstatat(from_directory, from, &stat, AT_SYMLINK_NOFOLLOW | (flags & AT_EMPTY_PATH)) == 0
               ? refuse(to_directory, to)
               : -1;
}

EXPORTED int link(const char *from, const char *to)
{
    return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

EXPORTED int symlinkat(const char *target, int directory, const char *path)
{
    themis_preload_path_t where;
    int below = themis_preload_resolve_name(directory, path, &where), result = -1;

    if (below == 1 && where.is_directory) /* a link is none */
        return refuse(directory, path) < 0 && errno == EPERM ? fail(ENOENT) : -1;
    if (below == 1)
        CALL_CORE(result, below, &where, 0, symlink(target, where.remote));
    if (below == 0)
        return REAL(symlinkat)(target, where.directory, where.path);
    return below < 0 ? -1 : result;
}

EXPORTED int symlink(const char *target, const char *path)
{
    return symlinkat(target, AT_FDCWD, path);
}

/* A regular file can be made so, too. */
static int node_make(themis_preload_path_t *where, mode_t mode)
{
    const int fd = themis_preload_open(where, O_CREAT | O_EXCL | O_WRONLY, mode);

    return fd < 0 ? -1 : close(fd);
}

EXPORTED int mknodat(int directory, const char *path, mode_t mode, dev_t device)
{
    themis_preload_path_t where;
    const int below = themis_preload_resolve_name(directory, path, &where);

    if (below == 0)
        return REAL(mknodat)(where.directory, where.path, mode, device);
    if (below < 0)
        return -1;
    return (mode & S_IFMT) != 0 && !S_ISREG(mode) ? refuse(directory, path) : node_make(&where, mode);
}

EXPORTED int mknod(const char *path, mode_t mode, dev_t device)
{
    return mknodat(AT_FDCWD, path, mode, device);
}

EXPORTED int mkfifo(const char *path, mode_t mode)
{
    return mknodat(AT_FDCWD, path, mode | S_IFIFO, 0);
}

EXPORTED int mkfifoat(int directory, const char *path, mode_t mode)
{
    return mknodat(directory, path, mode | S_IFIFO, 0);
}

/* The kernel's links of descriptors are to what was opened. */
static ssize_t descriptor_link_read(const themis_preload_path_t *where, char *buffer, size_t size)
{
    char full[THEMIS_PATH_BYTES + PATH_MAX];

    if (themis_preload_full_path(where->remote, full, sizeof full) != 0)
        return -1;
    const size_t length = strlen(full) < size ? strlen(full) : size;
    memcpy(buffer, full, length);
    return (ssize_t)length;
}

static ssize_t link_read(int fd, char *buffer, size_t size)
{
    RETURN_CORE(ssize_t, -1, readlink(fd, NULL, 0, buffer, size));
}

static int is_empty(const char *path)
{
    return path && *path == '\0';
}

EXPORTED ssize_t readlinkat(int directory, const char *path, char *buffer, size_t size)
{
    themis_preload_path_t where;
    ssize_t result = -1;

    if (themis_preload_is_ours(directory) && is_empty(path)) /* a link that was opened with O_PATH */
        return link_read(directory, buffer, size);
    int below = themis_preload_resolve(directory, path, &where);
    if (below == 1 && (strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/dev/", 5) == 0))
        return descriptor_link_read(&where, buffer, size);
    if (below == 1)
        CALL_CORE(result, below, &where, 0,
                  readlink(-1, where.remote, themis_preload_flags(&where, AT_SYMLINK_NOFOLLOW), buffer, size));
    if (below == 0)
        return REAL(readlinkat)(where.directory, where.path, buffer, size);
    return below < 0 ? -1 : result;
}

EXPORTED ssize_t readlink(const char *path, char *buffer, size_t size)
{
    return readlinkat(AT_FDCWD, path, buffer, size);
}

ssize_t __readlink_chk(const char *path, char *buffer, size_t size, size_t room);
ssize_t __readlinkat_chk(int directory, const char *path, char *buffer, size_t size, size_t room);
void __chk_fail(void) __attribute__((noreturn));

EXPORTED ssize_t __readlink_chk(const char *path, char *buffer, size_t size, size_t room)
{
    if (size > room)
        __chk_fail();
    return readlink(path, buffer, size);
}

EXPORTED ssize_t __readlinkat_chk(int directory, const char *path, char *buffer, size_t size, size_t room)
{
    if (size > room)
        __chk_fail();
    return readlinkat(directory, path, buffer, size);
}

/* --- paths ---------------------------------------------------------------------------------------------------------
 */

/* Of a path without links, that is to exist. */
static char *real_path(const themis_preload_path_t *where, char *result)
{
    char full[THEMIS_PATH_BYTES + PATH_MAX];
    struct stat stat;

    if (themis_preload_full_path(where->remote, full, sizeof full) != 0 || strlen(full) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    const themis_preload_core_t *core = themis_preload_enter();
    if (!core)
        return NULL;
    const int found = core->stat(-1, where->remote, themis_preload_flags(where, 0), &stat);
    themis_preload_leave();
    if (found != 0)
        return NULL;
    return result ? strcpy(result, full) : strdup(full);
}

EXPORTED char *realpath(const char *path, char *result)
{
    themis_preload_path_t where;
    int below = themis_preload_resolve(AT_FDCWD, path, &where);

    if (below == 1)
        below = themis_preload_follow(&where, 1);
    if (below == 0)
        return REAL(realpath)(where.path, result);
    return below < 0 ? NULL : real_path(&where, result);
}

EXPORTED char *canonicalize_file_name(const char *path)
{
    return realpath(path, NULL);
}

char *__realpath_chk(const char *path, char *result, size_t room);

EXPORTED char *__realpath_chk(const char *path, char *result, size_t room)
{
    if (room < PATH_MAX)
        __chk_fail();
    return realpath(path, result);
}

EXPORTED int truncate(const char *path, off_t size)
{
    RETURN_AT(int, AT_FDCWD, path, 1, truncate(where.remote, size), REAL(truncate)(where.path, size));
}

ALIAS(truncate64, truncate);

/* --- names that are not taken --------------------------------------------------------------------------------------
 */

/* Fills the six X before the last `suffix` bytes. */
static int name_draw(char *template, int suffix)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    const size_t length = strlen(template);
    unsigned char random[6];

    if (suffix < 0 || length < 6 + (size_t)suffix || getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return 0;
    char *at = template + length - (size_t)suffix - 6;
    for (int i = 0; i < 6; i++)
        at[i] = letters[random[i] % (sizeof letters - 1)];
    return 1;
}

static int is_template(const char *template, int suffix)
{
    const size_t length = strlen(template);

    return suffix >= 0 && length >= 6 + (size_t)suffix &&
           memcmp(template + length - (size_t)suffix - 6, "XXXXXX", 6) == 0;
}

enum { TRIES = 100 };

EXPORTED int mkostemps(char *template, int suffix, int flags)
{
    themis_preload_path_t where;
    const int below = themis_preload_resolve(AT_FDCWD, template, &where);

    if (below == 0)
        return REAL(mkostemps)(template, suffix, flags);
    if (below < 0 || !is_template(template, suffix))
        return below < 0 ? -1 : fail(EINVAL);
    for (int i = 0; i < TRIES && name_draw(template, suffix); i++) {
        const int fd = open(template, (flags & ~O_ACCMODE) | O_RDWR | O_CREAT | O_EXCL, 0600);
        if (fd >= 0 || errno != EEXIST)
            return fd;
    }
    return fail(EEXIST);
}

EXPORTED int mkstemp(char *template)
{
    return mkostemps(template, 0, 0);
}

EXPORTED int mkostemp(char *template, int flags)
{
    return mkostemps(template, 0, flags);
}

EXPORTED int mkstemps(char *template, int suffix)
{
    return mkostemps(template, suffix, 0);
}

EXPORTED char *mkdtemp(char *template)
{
    themis_preload_path_t where;
    const int below = themis_preload_resolve(AT_FDCWD, template, &where);

    if (below == 0)
        return REAL(mkdtemp)(template);
    errno = below < 0 ? errno : is_template(template, 0) ? EEXIST : EINVAL;
    if (below < 0 || !is_template(template, 0))
        return NULL;
    for (int i = 0; i < TRIES && name_draw(template, 0); i++) {
        if (mkdir(template, 0700) == 0)
            return template;
        if (errno != EEXIST)
            break;
    }
    return NULL;
}

ALIAS(mkstemp64, mkstemp);
ALIAS(mkostemp64, mkostemp);
ALIAS(mkstemps64, mkstemps);
ALIAS(mkostemps64, mkostemps);
