/* SPDX-License-Identifier: BSD-3-Clause */
/* Open directories as the C library has them: those on servers are of this library, and known by their address. */
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE
#include <dirent.h>
#include <glob.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "preload/entry/entry.h"

/* Entries have the places 0 (".") and 1 (".."), then one more than the directory's own. */
enum { DOTS = 2 };

typedef struct directory {
    struct directory *next;
    int fd;
    uint64_t place; /* of the next entry */
    struct dirent64 entry;
} directory_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static directory_t *directories; /* guarded by the lock; atomic to see that there are none */

static directory_t *find(const DIR *stream)
{
    if (!__atomic_load_n(&directories, __ATOMIC_RELAXED))
        return NULL;
    pthread_mutex_lock(&lock);
    directory_t *found = directories;
    while (found && (const void *)found != (const void *)stream)
        found = found->next;
    pthread_mutex_unlock(&lock);
    return found;
}

static void add(directory_t *directory)
{
    pthread_mutex_lock(&lock);
    directory->next = directories;
    __atomic_store_n(&directories, directory, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
}

static void drop(directory_t *directory)
{
    pthread_mutex_lock(&lock);
    directory_t **at = &directories;
    while (*at != directory)
        at = &(*at)->next;
    __atomic_store_n(at, directory->next, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
}

void themis_preload_directories_reset(void)
{
    pthread_mutex_init(&lock, NULL);
}

/* --- opening and closing -------------------------------------------------------------------------------------------
 */

EXPORTED DIR *fdopendir(int fd)
{
    struct stat stat;

    if (!themis_preload_is_ours(fd))
        return REAL(fdopendir)(fd);
    if (fstat(fd, &stat) != 0)
        return NULL;
    if (!S_ISDIR(stat.st_mode)) {
        errno = ENOTDIR;
        return NULL;
    }
    directory_t *directory = calloc(1, sizeof *directory);
    if (!directory)
        return NULL;
    directory->fd = fd;
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    add(directory);
    return (DIR *)directory;
}

/* A link may lead to a local directory. */
static DIR *open_remote(themis_preload_path_t *where)
{
    const int fd = themis_preload_open(where, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    DIR *opened = fd >= 0 ? fdopendir(fd) : NULL;

    if (fd >= 0 && !opened)
        close(fd);
    return opened;
}

EXPORTED DIR *opendir(const char *path)
{
    themis_preload_path_t where;
    const int below = themis_preload_resolve(AT_FDCWD, path, &where);

    if (below == 0)
        return REAL(opendir)(where.path);
    return below < 0 ? NULL : open_remote(&where);
}

EXPORTED int closedir(DIR *stream)
{
    directory_t *directory = find(stream);

    if (!directory)
        return REAL(closedir)(stream);
    drop(directory);
    const int result = close(directory->fd);
    free(directory);
    return result;
}

EXPORTED int dirfd(DIR *stream)
{
    const directory_t *directory = find(stream);

    return directory ? directory->fd : REAL(dirfd)(stream);
}

/* --- reading -------------------------------------------------------------------------------------------------------
 */

static int fill(void *arg, uint64_t index, uint64_t number, const char *name, unsigned char type)
{
    directory_t *directory = arg;
    struct dirent64 *entry = &directory->entry;

    directory->place = index + DOTS + 1;
    entry->d_ino = number;
    entry->d_off = (off_t)directory->place;
    entry->d_type = type;
    entry->d_reclen = sizeof *entry;
    strncpy(entry->d_name, name, sizeof entry->d_name - 1);
    return 1;
}

/* NULL, with errno as it was: there is no more. */
static struct dirent64 *advance(directory_t *directory)
{
    const uint64_t place = directory->place;

    if (place < DOTS) {
        fill(directory, place - DOTS, 1, place ? ".." : ".", DT_DIR);
        return &directory->entry;
    }
    const int error = errno;
    const themis_preload_core_t *core = themis_preload_enter();
    if (!core)
        return NULL;
    const int result = core->list(directory->fd, place - DOTS, fill, directory);
    themis_preload_leave();
    errno = result == 0 ? error : errno;
    return result == 0 && directory->place > place ? &directory->entry : NULL;
}

EXPORTED struct dirent *readdir(DIR *stream)
{
    directory_t *directory = find(stream);

    return directory ? (struct dirent *)advance(directory) : REAL(readdir)(stream);
}

_Static_assert(sizeof(struct dirent) == sizeof(struct dirent64), "one structure serves both");
EXPORTED struct dirent64 *readdir64(DIR *stream)
{
    return (struct dirent64 *)readdir(stream);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
EXPORTED int readdir_r(DIR *stream, struct dirent *entry, struct dirent **result)
{
    directory_t *directory = find(stream);
    const int error = errno;

    if (!directory)
        return REAL(readdir_r)(stream, entry, result);
    errno = 0;
    struct dirent64 *found = advance(directory);
    const int failed = found ? 0 : errno;
    if (found)
        memcpy(entry, found, sizeof *found);
    *result = found ? entry : NULL;
    errno = error;
    return failed;
}

EXPORTED int readdir64_r(DIR *stream, struct dirent64 *entry, struct dirent64 **result)
{
    return readdir_r(stream, (struct dirent *)entry, (struct dirent **)result);
}
#pragma GCC diagnostic pop

typedef struct packing {
    char *at, *end;
    uint64_t place; /* of the next entry */
    int full;
} packing_t;

static int pack(void *arg, uint64_t index, uint64_t number, const char *name, unsigned char type)
{
    packing_t *packing = arg;
    const size_t head = offsetof(struct dirent64, d_name), length = (head + strlen(name) + 8) / 8 * 8;
    struct dirent64 *entry = (struct dirent64 *)(void *)packing->at;

    packing->full = length > (size_t)(packing->end - packing->at);
    if (packing->full)
        return 1;
    memset(entry, 0, length);
    packing->place = index + DOTS + 1;
    entry->d_ino = number;
    entry->d_off = (off_t)packing->place;
    entry->d_type = type;
    entry->d_reclen = (unsigned short)length;
    strcpy(packing->at + head, name);
    packing->at += length;
    return 0;
}

static int list_packed(int fd, packing_t *packing)
{
    struct stat stat;

    if (packing->place == 0 && (fstat(fd, &stat) != 0 || !S_ISDIR(stat.st_mode))) {
        errno = ENOTDIR;
        return -1;
    }
    while (packing->place < DOTS && !packing->full)
        pack(packing, packing->place - DOTS, 1, packing->place ? ".." : ".", DT_DIR);
    if (packing->full)
        return 0;
    RETURN_CORE(int, -1, list(fd, packing->place - DOTS, pack, packing));
}

EXPORTED ssize_t getdents64(int fd, void *buffer, size_t bytes)
{
    if (!themis_preload_is_ours(fd))
        return REAL(getdents64)(fd, buffer, bytes);
    const off_t place = lseek(fd, 0, SEEK_CUR);
    packing_t packing = {.at = buffer, .end = (char *)buffer + bytes, .place = (uint64_t)place};

    if (place < 0 || list_packed(fd, &packing) != 0)
        return -1;
    if (packing.full && packing.at == buffer) {
        errno = EINVAL;
        return -1;
    }
    return lseek(fd, (off_t)packing.place, SEEK_SET) < 0 ? -1 : packing.at - (char *)buffer;
}

EXPORTED void rewinddir(DIR *stream)
{
    directory_t *directory = find(stream);

    if (directory)
        directory->place = 0;
    else
        REAL(rewinddir)(stream);
}

EXPORTED void seekdir(DIR *stream, long place)
{
    directory_t *directory = find(stream);

    if (directory)
        directory->place = (uint64_t)place;
    else
        REAL(seekdir)(stream, place);
}

EXPORTED long telldir(DIR *stream)
{
    const directory_t *directory = find(stream);

    return directory ? (long)directory->place : REAL(telldir)(stream);
}

/* --- whole listings ------------------------------------------------------------------------------------------------
 */

typedef int filter_fn(const struct dirent *);
typedef int compare_fn(const struct dirent **, const struct dirent **);

typedef struct listing {
    struct dirent **entries;
    size_t count, room;
} listing_t;

static int keep(listing_t *listing, const struct dirent *entry)
{
    if (listing->count == listing->room) {
        const size_t room = listing->room ? 2 * listing->room : 32;
        struct dirent **grown = realloc(listing->entries, room * sizeof(struct dirent *));
        if (!grown)
            return 0;
        listing->entries = grown;
        listing->room = room;
    }
    struct dirent *copy = malloc(sizeof *copy);
    if (copy)
        listing->entries[listing->count++] = memcpy(copy, entry, sizeof *copy);
    return copy != NULL;
}

static void listing_free(listing_t *listing)
{
    while (listing->count > 0)
        free(listing->entries[--listing->count]);
    free(listing->entries);
}

static int scan(DIR *stream, struct dirent ***result, filter_fn *filter, compare_fn *compare)
{
    listing_t listing = {0};
    const struct dirent *entry;
    int failed = 0;

    errno = 0;
    while (!failed && (entry = readdir(stream)))
        failed = (!filter || filter(entry)) && !keep(&listing, entry);
    if (failed || errno) {
        const int error = failed ? ENOMEM : errno;
        listing_free(&listing);
        errno = error;
        return -1;
    }
    if (compare && listing.count > 0)
        qsort(listing.entries, listing.count, sizeof(struct dirent *), (int (*)(const void *, const void *))compare);
    *result = listing.entries;
    return (int)listing.count;
}

EXPORTED int scandirat(int directory, const char *path, struct dirent ***result, filter_fn *filter, compare_fn *compare)
{
    const int fd = openat(directory, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = fd >= 0 ? fdopendir(fd) : NULL;

    if (!stream) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    const int before = errno, count = scan(stream, result, filter, compare), error = errno;
    closedir(stream);
    errno = count < 0 ? error : before;
    return count;
}

EXPORTED int scandir(const char *path, struct dirent ***result, filter_fn *filter, compare_fn *compare)
{
    themis_preload_path_t where;
    const int below = themis_preload_resolve(AT_FDCWD, path, &where);

    if (below == 0)
        return REAL(scandir)(where.path, result, filter, compare);
    return below < 0 ? -1 : scandirat(AT_FDCWD, path, result, filter, compare);
}

typedef int filter64_fn(const struct dirent64 *);
typedef int compare64_fn(const struct dirent64 **, const struct dirent64 **);

EXPORTED int scandir64(const char *path, struct dirent64 ***result, filter64_fn *filter, compare64_fn *compare)
{
    return scandir(path, (struct dirent ***)result, (filter_fn *)(void *)filter, (compare_fn *)(void *)compare);
}

EXPORTED int scandirat64(int directory, const char *path, struct dirent64 ***result, filter64_fn *filter,
                         compare64_fn *compare)
{
    return scandirat(directory, path, (struct dirent ***)result, (filter_fn *)(void *)filter,
                     (compare_fn *)(void *)compare);
}

/* The C library's own functions for directories are not intercepted inside of it; glob takes others. */
static void *glob_open(const char *path)
{
    return opendir(path);
}

static void glob_close(void *stream)
{
    closedir(stream);
}

static struct dirent *glob_read(void *stream)
{
    return readdir(stream);
}

EXPORTED int glob(const char *pattern, int flags, int (*failed)(const char *, int), glob_t *found)
{
    themis_preload_path_t where;

    if (flags & GLOB_ALTDIRFUNC || themis_preload_resolve(AT_FDCWD, pattern, &where) == 0)
        return REAL(glob)(pattern, flags, failed, found);
    found->gl_opendir = glob_open;
    found->gl_closedir = glob_close;
    found->gl_readdir = glob_read;
    found->gl_stat = stat;
    found->gl_lstat = lstat;
    const int result = REAL(glob)(pattern, flags | GLOB_ALTDIRFUNC, failed, found);
    found->gl_flags &= ~GLOB_ALTDIRFUNC;
    return result;
}

EXPORTED int glob64(const char *pattern, int flags, int (*failed)(const char *, int), glob64_t *found)
{
    return glob(pattern, flags, failed, (glob_t *)found);
}
