/* SPDX-License-Identifier: BSD-3-Clause */
/* Walks through trees of directories: the C library's own list directories from inside of it. */
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE
#include <dirent.h>
#include <ftw.h>
#include <limits.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include "preload/entry/entry.h"

/* A directory that was entered: a walk that follows links does so once. */
typedef struct seen {
    dev_t device;
    ino_t number;
} seen_t;

typedef struct walk {
    __nftw_func_t nftw;
    __ftw_func_t ftw; /* one of the two */
    int flags;
    dev_t device; /* of the root, with FTW_MOUNT */
    void *seen;   /* a tree of tsearch, without FTW_PHYS */
    size_t skip;  /* bytes of the path that the program does not see: with FTW_CHDIR it is absolute */
    char path[THEMIS_PATH_BYTES + PATH_MAX];
} walk_t;

static int visit(walk_t *walk, size_t base, int level);

/* --- calling the program -------------------------------------------------------------------------------------------
 */

/* The directory of what is visited becomes the current one. */
static int enter_parent(walk_t *walk, size_t base)
{
    const char kept = walk->path[base];

    if (!(walk->flags & FTW_CHDIR))
        return 0;
    walk->path[base] = '\0';
    const int result = chdir(base > 0 ? walk->path : "/");
    walk->path[base] = kept;
    return result;
}

static int call(walk_t *walk, const struct stat *stat, int type, size_t base, int level)
{
    static const int plain[] = {FTW_F, FTW_D, FTW_DNR, FTW_NS, FTW_F, FTW_D, FTW_NS}; /* by the type of nftw */
    struct FTW place = {.base = (int)(base - walk->skip), .level = level};

    if (walk->ftw)
        return walk->ftw(walk->path + walk->skip, stat, plain[type]);
    return enter_parent(walk, base) == 0 ? walk->nftw(walk->path + walk->skip, stat, type, &place) : -1;
}

/* --- directories ---------------------------------------------------------------------------------------------------
 */

static int is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Of the directory in the path, which has `length` bytes. */
static int children_visit(walk_t *walk, struct dirent **entries, int count, size_t length, int level)
{
    int result = 0;

    for (int i = 0; i < count && result == 0; i++) {
        if (is_dots(entries[i]->d_name))
            continue;
        if (length + strlen(entries[i]->d_name) + 2 > sizeof walk->path) {
            errno = ENAMETOOLONG;
            result = -1;
            break;
        }
        const size_t slash = length > 0 && walk->path[length - 1] == '/' ? 0 : 1;
        walk->path[length] = '/';
        strcpy(walk->path + length + slash, entries[i]->d_name);
        result = visit(walk, length + slash, level + 1);
        walk->path[length] = '\0';
    }
    return walk->flags & FTW_ACTIONRETVAL && result == FTW_SKIP_SIBLINGS ? 0 : result;
}

static int seen_compare(const void *a, const void *b)
{
    const seen_t *one = a, *other = b;

    if (one->device != other->device)
        return one->device < other->device ? -1 : 1;
    return one->number < other->number ? -1 : one->number > other->number;
}

/* 1: it was not entered so far. -1, with errno. */
static int is_new(walk_t *walk, const struct stat *stat)
{
    seen_t *here = malloc(sizeof *here);

    if (!here)
        return -1;
    *here = (seen_t){stat->st_dev, stat->st_ino};
    seen_t **found = tsearch(here, &walk->seen, seen_compare);
    if (found && *found == here)
        return 1;
    free(here);
    errno = found ? errno : ENOMEM;
    return found ? 0 : -1;
}

static int directory_visit(walk_t *walk, const struct stat *stat, size_t base, int level)
{
    const size_t length = strlen(walk->path);
    const int enters = walk->flags & FTW_PHYS ? 1 : is_new(walk, stat);
    struct dirent **entries = NULL;

    if (enters != 1)
        return enters;
    const int count = scandir(walk->path, &entries, NULL, NULL);
    if (count < 0)
        return errno == EACCES ? call(walk, stat, FTW_DNR, base, level) : -1;
    int result = walk->flags & FTW_DEPTH ? 0 : call(walk, stat, FTW_D, base, level);
    if (result == 0)
        result = children_visit(walk, entries, count, length, level);
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
    return result == 0 && walk->flags & FTW_DEPTH ? call(walk, stat, FTW_DP, base, level) : result;
}

/* What is in the path; the last name begins at `base`. */
static int visit(walk_t *walk, size_t base, int level)
{
    struct stat found = {0};
    int type = FTW_F, result;

    if ((walk->flags & FTW_PHYS ? lstat : stat)(walk->path, &found) != 0) {
        if (level == 0 || (errno != ENOENT && errno != EACCES && errno != ELOOP))
            return -1;
        type = lstat(walk->path, &found) == 0 && S_ISLNK(found.st_mode) ? FTW_SLN : FTW_NS;
    } else if (S_ISLNK(found.st_mode)) {
        type = FTW_SL;
    } else if (S_ISDIR(found.st_mode)) {
        type = FTW_D;
    }
    if (level == 0)
        walk->device = found.st_dev;
    else if (walk->flags & FTW_MOUNT && type != FTW_NS && found.st_dev != walk->device)
        return 0;
    if (type == FTW_D)
        result = directory_visit(walk, &found, base, level);
    else
        result = call(walk, &found, type, base, level);
    return walk->flags & FTW_ACTIONRETVAL && result == FTW_SKIP_SUBTREE ? 0 : result;
}

/* --- whole walks ---------------------------------------------------------------------------------------------------
 */

/* 1: done, and `path` absolute if it has to be. */
static int path_begin(walk_t *walk, const char *path)
{
    if (walk->flags & FTW_CHDIR && *path != '/') {
        if (!getcwd(walk->path, sizeof walk->path - 1))
            return 0;
        strcat(walk->path, "/");
        walk->skip = strlen(walk->path);
    }
    if (strlen(path) + walk->skip >= sizeof walk->path) {
        errno = ENAMETOOLONG;
        return 0;
    }
    strcpy(walk->path + walk->skip, path);
    for (size_t end = strlen(walk->path); end > walk->skip + 1 && walk->path[end - 1] == '/'; end--)
        walk->path[end - 1] = '\0';
    return 1;
}

static int walk_run(walk_t *walk, const char *path)
{
    char *before = walk->flags & FTW_CHDIR ? getcwd(NULL, 0) : NULL;

    if ((walk->flags & FTW_CHDIR && !before) || !path_begin(walk, path)) {
        free(before);
        return -1;
    }
    const char *slash = strrchr(walk->path, '/');
    int result = visit(walk, slash ? (size_t)(slash + 1 - walk->path) : 0, 0);
    if (walk->flags & FTW_ACTIONRETVAL && result == FTW_SKIP_SIBLINGS)
        result = 0;
    const int error = errno;
    if (before && chdir(before) != 0 && result == 0)
        result = -1;
    else
        errno = error;
    free(before);
    tdestroy(walk->seen, free);
    return result;
}

/* The C library would change the kernel's working directory, and the program's calls go to the one on servers. */
static int is_local(int below, int flags)
{
    return below == 0 && !(flags & FTW_CHDIR && themis_preload_has_directory_descriptor());
}

EXPORTED int nftw(const char *path, __nftw_func_t function, int descriptors, int flags)
{
    themis_preload_path_t where;
    const int below = themis_preload_resolve(AT_FDCWD, path, &where);

    if (is_local(below, flags))
        return REAL(nftw)(where.path, function, descriptors, flags);
    walk_t *walk = below >= 0 ? calloc(1, sizeof *walk) : NULL;
    if (!walk)
        return -1;
    walk->nftw = function;
    walk->flags = flags;
    const int result = walk_run(walk, path);
    free(walk);
    return result;
}

EXPORTED int ftw(const char *path, __ftw_func_t function, int descriptors)
{
    themis_preload_path_t where;
    const int below = themis_preload_resolve(AT_FDCWD, path, &where);

    if (below == 0)
        return REAL(ftw)(where.path, function, descriptors);
    walk_t *walk = below == 1 ? calloc(1, sizeof *walk) : NULL;
    if (!walk)
        return -1;
    walk->ftw = function;
    const int result = walk_run(walk, path);
    free(walk);
    return result;
}

EXPORTED int nftw64(const char *path, __nftw64_func_t function, int descriptors, int flags)
{
    return nftw(path, (__nftw_func_t)(void *)function, descriptors, flags);
}

EXPORTED int ftw64(const char *path, __ftw64_func_t function, int descriptors)
{
    return ftw(path, (__ftw_func_t)(void *)function, descriptors);
}
