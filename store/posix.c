/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/posix.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "store/exclusive_use.h"
#include "util/clock.h"
#include "util/directory.h"
#include "util/log.h"
#include "util/status.h"
#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>

enum { MAX_UNUSED = 256, NAME_BYTES = 32, FAN_OUT = 256, PLACE_FILE = 6 /* where the name of the file begins */ };

struct themis_store_object {
    uint64_t id;
    int fd;
    uint32_t references; /* without the table's; under the store's lock */
    int in_table;
    UT_hash_handle hh;
    struct themis_store_object *next, *prev; /* in `unused` */
};
typedef themis_store_object_t object_t;

typedef struct posix_store {
    themis_store_t base;
    int directory, lock_fd;
    pthread_mutex_t lock;
    object_t *objects; /* uthash */
    object_t *unused;  /* utlist of those in the table without references, least recently used first */
    uint32_t unused_count;
    /* Directories with new names that are not on disk yet, as far as this process knows: at first all of them. */
    uint8_t root_changed, upper_changed[FAN_OUT], lower_changed[FAN_OUT][FAN_OUT];
    pthread_mutex_t
        sync_lock; /* held while directories are being synced, so that no sync ends before that of another */
} posix_store_t;

/* The two directories of an object come from a hash, so that consecutive ids are spread. */
typedef struct place {
    unsigned upper, lower;
    char name[NAME_BYTES]; /* "a7/3f/00000000000012ab" */
} place_t;

static void place_find(uint64_t id, place_t *place)
{
    uint64_t hash = themis_store_list_hash(id);

    place->upper = (unsigned)(hash >> 56);
    place->lower = (unsigned)(hash >> 48 & 0xff);
    snprintf(place->name, NAME_BYTES, "%02x/%02x/%016" PRIx64, place->upper, place->lower, id);
}

/* The first `length` characters of the name are those of the directory. */
static int directory_make(const posix_store_t *store, const place_t *place, int length, uint8_t *parent_changed)
{
    char part[NAME_BYTES];

    snprintf(part, sizeof part, "%.*s", length, place->name);
    if (mkdirat(store->directory, part, 0700) == 0)
        *parent_changed = 1;
    else if (errno != EEXIST)
        return -1;
    return 0;
}

static int file_create(posix_store_t *store, const place_t *place)
{
    const int flags = O_RDWR | O_CLOEXEC | O_CREAT;
    int fd = openat(store->directory, place->name, flags, 0600);

    if (fd < 0 && errno == ENOENT && directory_make(store, place, 2, &store->root_changed) == 0 &&
        directory_make(store, place, 5, &store->upper_changed[place->upper]) == 0)
        fd = openat(store->directory, place->name, flags, 0600);
    if (fd >= 0)
        store->lower_changed[place->upper][place->lower] = 1;
    return fd;
}

/* With the store's lock. */
static int file_open(posix_store_t *store, uint64_t id, int create)
{
    place_t place;

    place_find(id, &place);
    int fd = openat(store->directory, place.name, O_RDWR | O_CLOEXEC);
    return fd < 0 && errno == ENOENT && create ? file_create(store, &place) : fd;
}

/* Logs errno, unless there is no space, and returns it as a status. */
static themis_status_t object_failed(const object_t *object, const char *what)
{
    int cause = errno;

    if (cause != ENOSPC && cause != EDQUOT)
        themis_error("cannot %s object %016" PRIx64 ": %s", what, object->id, strerror(cause));
    return themis_util_status_from_errno(cause);
}

static void object_free(object_t *object)
{
    close(object->fd);
    free(object);
}

static void unused_remove(posix_store_t *store, object_t *object)
{
    DL_DELETE(store->unused, object);
    store->unused_count--;
}

static void table_remove(posix_store_t *store, object_t *object)
{
    HASH_DELETE(hh, store->objects, object);
    object->in_table = 0;
    if (object->references == 0)
        unused_remove(store, object);
}

static themis_status_t object_create(posix_store_t *store, uint64_t id, int create, object_t **result)
{
    object_t *object = calloc(1, sizeof *object);

    if (!object)
        return THEMIS_NO_MEMORY;
    object->id = id;
    object->fd = file_open(store, id, create);
    if (object->fd < 0) {
        themis_status_t status = errno == ENOENT && !create ? THEMIS_NO_ENTRY : object_failed(object, "open");
        free(object);
        return status;
    }
    HASH_ADD(hh, store->objects, id, sizeof object->id, object);
    if (!object->hh.tbl) {
        object_free(object);
        return THEMIS_NO_MEMORY;
    }
    object->in_table = 1;
    *result = object;
    return THEMIS_OK;
}

static themis_status_t posix_open(themis_store_t *base, uint64_t id, int create, uint32_t owner, object_t **result)
{
    posix_store_t *store = (posix_store_t *)base;
    themis_status_t status = THEMIS_OK;
    object_t *object;

    pthread_mutex_lock(&store->lock);
    HASH_FIND(hh, store->objects, &id, sizeof id, object);
    if (!object)
        status = object_create(store, id, create, &object);
    else if (object->references == 0)
        unused_remove(store, object);
    if (status == THEMIS_OK) {
        object->references++;
        *result = object;
    }
    pthread_mutex_unlock(&store->lock);
    return status;
}

static void posix_close(themis_store_t *base, object_t *object)
{
    posix_store_t *store = (posix_store_t *)base;
    object_t *old = NULL;

    pthread_mutex_lock(&store->lock);
    if (--object->references == 0) {
        old = object;
        if (object->in_table) {
            DL_APPEND(store->unused, object);
            old = ++store->unused_count > MAX_UNUSED ? store->unused : NULL;
            if (old)
                table_remove(store, old);
        }
    }
    pthread_mutex_unlock(&store->lock);
    if (old)
        object_free(old);
}

static themis_status_t posix_remove(themis_store_t *base, uint64_t id)
{
    posix_store_t *store = (posix_store_t *)base;
    object_t *object, *gone = NULL;
    place_t place;

    place_find(id, &place);
    pthread_mutex_lock(&store->lock);
    HASH_FIND(hh, store->objects, &id, sizeof id, object);
    if (object) {
        table_remove(store, object);
        gone = object->references == 0 ? object : NULL;
    }
    int cause = unlinkat(store->directory, place.name, 0) < 0 && errno != ENOENT ? errno : 0;
    pthread_mutex_unlock(&store->lock);
    if (gone)
        object_free(gone);
    if (cause)
        themis_error("cannot remove object file %s: %s", place.name, strerror(cause));
    return themis_util_status_from_errno(cause);
}

/* --- windows ----------------------------------------------------------------------------------------------------- */

/* Moves `length` bytes between memory and the file; beyond the end of the file are zeros. */
static int move_extent(int fd, themis_direction_t direction, uint8_t *at, uint64_t length, uint64_t offset)
{
    while (length) {
        ssize_t moved =
            direction == THEMIS_WRITE ? pwrite(fd, at, length, (off_t)offset) : pread(fd, at, length, (off_t)offset);
        if (moved < 0 && errno == EINTR)
            continue;
        if (moved == 0 && direction == THEMIS_READ) {
            memset(at, 0, length);
            return 0;
        }
        if (moved <= 0)
            return -1;
        at += moved;
        offset += (uint64_t)moved;
        length -= (uint64_t)moved;
    }
    return 0;
}

/* Moves the window's extents between the file and the staging buffer; adjacent extents go in one call. */
static int move_window(const themis_store_window_t *window)
{
    uint8_t *at = window->staging;

    for (size_t i = 0; i < window->extent_count;) {
        uint64_t offset = window->extents[i].offset, length = window->extents[i].length;
        for (i++; i < window->extent_count && window->extents[i].offset == offset + length; i++)
            length += window->extents[i].length;
        if (move_extent(window->object->fd, window->direction, at, length, offset) < 0)
            return -1;
        at += length;
    }
    return 0;
}

static themis_status_t posix_prepare(themis_store_t *store, themis_store_window_t *window)
{
    size_t count = 0;

    if (!window->staging)
        window->staging = malloc(THEMIS_STORE_WINDOW_BYTES);
    if (!window->staging)
        return THEMIS_NO_MEMORY;
    while (count < window->extent_count && window->bytes < THEMIS_STORE_WINDOW_BYTES) {
        themis_store_extent_t *extent = &window->extents[count++];
        if (extent->length > THEMIS_STORE_WINDOW_BYTES - window->bytes)
            extent->length = THEMIS_STORE_WINDOW_BYTES - window->bytes;
        window->bytes += extent->length;
    }
    window->extent_count = count;
    if (window->direction == THEMIS_READ && move_window(window) < 0)
        return object_failed(window->object, "read");
    window->pieces[0] = (struct iovec){.iov_base = window->staging, .iov_len = window->bytes};
    window->piece_count = 1;
    return THEMIS_OK;
}

static themis_status_t posix_finish(themis_store_t *store, themis_store_window_t *window, themis_status_t moved)
{
    if (moved == THEMIS_OK && window->direction == THEMIS_WRITE && move_window(window) < 0)
        return object_failed(window->object, "write");
    return moved;
}

/* --- whole objects ----------------------------------------------------------------------------------------------- */

static themis_status_t posix_truncate(themis_store_t *store, object_t *object, uint64_t size)
{
    return ftruncate(object->fd, (off_t)size) < 0 ? object_failed(object, "truncate") : THEMIS_OK;
}

static themis_status_t posix_allocate(themis_store_t *store, object_t *object, const themis_store_extent_t *range)
{
    int cause = posix_fallocate(object->fd, (off_t)range->offset, (off_t)range->length);

    errno = cause;
    return cause ? object_failed(object, "allocate space for") : THEMIS_OK;
}

static void size_take(const struct stat *stat, themis_store_size_t *size)
{
    *size = (themis_store_size_t){.end = (uint64_t)stat->st_size,
                                  .allocated = (uint64_t)stat->st_blocks * 512,
                                  .modified = (uint64_t)stat->st_mtim.tv_sec * THEMIS_NS_PER_S +
                                              (uint64_t)stat->st_mtim.tv_nsec};
}

static themis_status_t posix_size(themis_store_t *store, object_t *object, themis_store_size_t *size)
{
    struct stat stat;

    if (fstat(object->fd, &stat) < 0)
        return object_failed(object, "stat");
    size_take(&stat, size);
    return THEMIS_OK;
}

static themis_status_t posix_set_modified(themis_store_t *store, object_t *object, uint64_t modified)
{
    const struct timespec times[2] = {
        {.tv_nsec = UTIME_OMIT},
        {.tv_sec = (time_t)(modified / THEMIS_NS_PER_S), .tv_nsec = (long)(modified % THEMIS_NS_PER_S)}};

    return futimens(object->fd, times) < 0 ? object_failed(object, "set the time of") : THEMIS_OK;
}

/* Syncs a directory if it has new names; `length` as of directory_make. With sync_lock. */
static int directory_sync_changed(posix_store_t *store, const place_t *place, int length, uint8_t *changed)
{
    char part[NAME_BYTES];

    pthread_mutex_lock(&store->lock);
    int needed = *changed;
    *changed = 0; /* what is made from here on sets it again */
    pthread_mutex_unlock(&store->lock);
    snprintf(part, sizeof part, "%.*s", length, place->name);
    if (!needed || themis_util_directory_sync(store->directory, length ? part : ".") == 0)
        return 0;
    int cause = errno;
    pthread_mutex_lock(&store->lock);
    *changed = 1;
    pthread_mutex_unlock(&store->lock);
    errno = cause;
    return -1;
}

static themis_status_t posix_sync(themis_store_t *base, object_t *object)
{
    posix_store_t *store = (posix_store_t *)base;
    place_t place;

    if (fsync(object->fd) < 0)
        return object_failed(object, "sync");
    place_find(object->id, &place);
    pthread_mutex_lock(&store->sync_lock);
    int failed = directory_sync_changed(store, &place, 5, &store->lower_changed[place.upper][place.lower]) < 0 ||
                 directory_sync_changed(store, &place, 2, &store->upper_changed[place.upper]) < 0 ||
                 directory_sync_changed(store, &place, 0, &store->root_changed) < 0;
    pthread_mutex_unlock(&store->sync_lock);
    return failed ? object_failed(object, "sync the directories of") : THEMIS_OK;
}

static themis_status_t posix_usage(themis_store_t *base, themis_store_usage_t *usage)
{
    posix_store_t *store = (posix_store_t *)base;
    struct statvfs fs;

    if (fstatvfs(store->directory, &fs) < 0)
        return themis_util_status_from_errno(errno);
    pthread_mutex_lock(&store->lock);
    *usage = (themis_store_usage_t){.capacity = (uint64_t)fs.f_blocks * fs.f_frsize,
                                    .used = (uint64_t)(fs.f_blocks - fs.f_bfree) * fs.f_frsize,
                                    .objects = HASH_COUNT(store->objects)};
    pthread_mutex_unlock(&store->lock);
    return THEMIS_OK;
}

/* The id of the object that a file of these directories has; 0: it is none. */
static uint64_t file_id(const char *name, const char *directory)
{
    place_t place;
    char *end;
    uint64_t id = strtoull(name, &end, 16);

    place_find(id, &place);
    return !*end && strcmp(place.name + PLACE_FILE, name) == 0 && strncmp(place.name, directory, PLACE_FILE - 1) == 0
               ? id
               : 0;
}

static themis_status_t directory_list(DIR *stream, const char *directory, themis_store_list_part_t *part)
{
    themis_status_t status = THEMIS_OK;
    const struct dirent *entry;

    while (status == THEMIS_OK && (errno = 0, entry = readdir(stream))) {
        uint64_t id = file_id(entry->d_name, directory);
        if (id && themis_store_list_hash(id) > part->after)
            status = themis_store_list_part_add(part, id);
    }
    return status == THEMIS_OK && errno ? themis_util_status_from_errno(errno) : status;
}

/* The two directories of an object are the highest bits of its hash. Without the lock: an object has its file from when
 * it is made until it is removed. */
static themis_status_t posix_list(themis_store_t *base, themis_store_list_part_t *part)
{
    posix_store_t *store = (posix_store_t *)base;
    unsigned upper = (unsigned)((part->after + 1) >> 56), lower = (unsigned)((part->after + 1) >> 48 & 0xff);
    char directory[NAME_BYTES];

    snprintf(directory, sizeof directory, "%02x/%02x", upper, lower);
    part->end = ((uint64_t)(upper << 8 | lower) + 1) * (UINT64_C(1) << 48) - 1;
    int fd = openat(store->directory, directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        snprintf(directory, sizeof directory, "%02x", upper);
        if (faccessat(store->directory, directory, F_OK, 0) < 0 && errno == ENOENT)
            part->end = ((uint64_t)upper + 1) * (UINT64_C(1) << 56) - 1;
        return THEMIS_OK;
    }
    if (fd < 0)
        return themis_util_status_from_errno(errno);
    DIR *stream = fdopendir(fd);
    if (!stream) {
        close(fd);
        return THEMIS_NO_MEMORY;
    }
    themis_status_t status = directory_list(stream, directory, part);
    closedir(stream);
    return status;
}

/* Does not open the file, so that the descriptors of those in use stay. */
static themis_status_t posix_look(themis_store_t *base, uint64_t id, themis_store_size_t *size)
{
    struct stat stat;
    place_t place;

    place_find(id, &place);
    if (fstatat(((posix_store_t *)base)->directory, place.name, &stat, AT_SYMLINK_NOFOLLOW) < 0)
        return themis_util_status_from_errno(errno);
    size_take(&stat, size);
    return THEMIS_OK;
}

static void posix_destroy(themis_store_t *base)
{
    posix_store_t *store = (posix_store_t *)base;
    object_t *object, *next;

    HASH_ITER(hh, store->objects, object, next)
    {
        HASH_DELETE(hh, store->objects, object);
        object_free(object);
    }
    close(store->directory);
    close(store->lock_fd);
    pthread_mutex_destroy(&store->lock);
    pthread_mutex_destroy(&store->sync_lock);
    free(store);
}

static const themis_store_ops_t posix_ops = {.name = "posix",
                                             .blocking = 1,
                                             .destroy = posix_destroy,
                                             .open = posix_open,
                                             .close = posix_close,
                                             .prepare = posix_prepare,
                                             .finish = posix_finish,
                                             .truncate = posix_truncate,
                                             .allocate = posix_allocate,
                                             .size = posix_size,
                                             .set_modified = posix_set_modified,
                                             .sync = posix_sync,
                                             .remove = posix_remove,
                                             .usage = posix_usage,
                                             .list = posix_list,
                                             .look = posix_look};

static themis_status_t lock_directory(const themis_store_options_t *options, int *lock_fd)
{
    char content[64];

    snprintf(content, sizeof content, "objects of server %" PRIu32, options->index);
    return themis_store_exclusive_use_directory("directory", options->path, content, options->identity, NULL, lock_fd);
}

themis_status_t themis_store_posix_create(const themis_store_options_t *options, themis_store_t **store)
{
    if (!options->path || !*options->path) {
        themis_error("the posix store needs a directory: set the key directory");
        return THEMIS_CONFIG;
    }
    int directory = open(options->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), lock_fd = -1;
    if (directory < 0) {
        themis_error("cannot open the store directory %s: %s", options->path, strerror(errno));
        return THEMIS_CONFIG;
    }
    posix_store_t *made = calloc(1, sizeof *made);
    themis_status_t status = made ? lock_directory(options, &lock_fd) : THEMIS_NO_MEMORY;
    if (status != THEMIS_OK) {
        close(directory);
        free(made);
        return status;
    }
    made->base.ops = &posix_ops;
    made->directory = directory;
    made->lock_fd = lock_fd;
    pthread_mutex_init(&made->lock, NULL);
    pthread_mutex_init(&made->sync_lock, NULL);
    made->root_changed = 1;
    memset(made->upper_changed, 1, sizeof made->upper_changed);
    memset(made->lower_changed, 1, sizeof made->lower_changed);
    *store = &made->base;
    return THEMIS_OK;
}
