/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "preload/core/maps.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <utlist.h>
#include "posix/error.h"
#include "preload/core/calls.h"
#include "preload/core/locks.h"
#include "preload/core/state.h"

enum { CHUNK = 4096 }; /* what is compared at once */

/* The memory of a file that is mapped here. */
typedef struct image {
    struct image *next;
    uint64_t object;
    int memory;    /* memory file, at the file's offsets; -1: in the process that this was forked from */
    uint64_t size; /* of it */
    unsigned maps; /* that it has */
} image_t;

typedef struct map {
    struct map *next;
    char *address; /* of the program's pages */
    size_t length; /* in whole pages; less when some are unmapped */
    char *view;    /* our own pages of the same memory */
    char *written; /* what the file has, as far as is known; NULL: the program cannot change the map */
    size_t bytes;  /* of view and `written` */
    off_t offset;
    image_t *image;
    uint64_t generation;
    themis_posix_file_t *file; /* with a reference, of that generation */
    void *handle;              /* packed, for children */
    size_t handle_bytes;
} map_t;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static map_t *maps; /* guarded by the mutex; atomic to see that there are none */
static image_t *images;

static size_t page_round(size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return (bytes + page - 1) / page * page;
}

static void *pages_map(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    return (void *)syscall(SYS_mmap, address, bytes, protection, flags, fd, offset);
}

/* --- bytes ---------------------------------------------------------------------------------------------------------
 */

static int file_read(themis_posix_file_t *file, char *buffer, size_t bytes, off_t offset)
{
    size_t done = 0;
    const int error = themis_posix_file_read(file, buffer, bytes, (uint64_t)offset, &done);

    if (!error && done < bytes)
        memset(buffer + done, 0, bytes - done);
    return error;
}

/* The handle of the map in this process. */
static themis_posix_file_t *file_of(map_t *map)
{
    themis_posix_t *filesystem;
    themis_file_t *handle;

    if (map->generation == themis_preload_generation())
        return map->file;
    if (themis_preload_begin(&filesystem) != 0)
        return NULL;
    themis_posix_file_t *file = NULL;
    if (themis_file_unpack(filesystem->session, map->handle, map->handle_bytes, &handle) == THEMIS_OK)
        themis_posix_file_adopt(filesystem, NULL, handle, &file);
    if (file) {
        map->file = file;
        map->generation = themis_preload_generation();
    }
    themis_preload_end();
    return file;
}

/* The part of a chunk that has changed, up to the file's end. */
static int chunk_flush(map_t *map, size_t at, size_t bytes, uint64_t size)
{
    const uint64_t offset = (uint64_t)map->offset + at;
    const char *now = map->view + at;
    char *before = map->written + at;
    size_t first = 0, last = offset + bytes <= size ? bytes : offset < size ? (size_t)(size - offset) : 0;

    while (first < last && now[first] == before[first])
        first++;
    while (last > first && now[last - 1] == before[last - 1])
        last--;
    if (first == last)
        return 0;
    memcpy(before + first, now + first, last - first);
    return themis_posix_file_write(map->file, themis_preload_caller(), before + first, last - first, offset + first, 0);
}

static int map_flush(map_t *map)
{
    themis_stat_t stat;
    int error = 0;

    if (!map->written || memcmp(map->view, map->written, map->bytes) == 0)
        return 0;
    if (!file_of(map))
        return EIO;
    if ((error = themis_posix_file_stat(map->file, &stat)))
        return error;
    for (size_t at = 0; at < map->bytes && !error; at += CHUNK)
        error = chunk_flush(map, at, map->bytes - at < CHUNK ? map->bytes - at : CHUNK, stat.size);
    return error;
}

static int any(void)
{
    return __atomic_load_n(&maps, __ATOMIC_RELAXED) != NULL;
}

int themis_preload_maps_flush(const themis_posix_node_t *node)
{
    int error = 0;
    map_t *map;

    if (!any())
        return 0;
    pthread_mutex_lock(&mutex);
    LL_FOREACH(maps, map)
    {
        const int failed = map->image->object == node->object ? map_flush(map) : 0;
        error = error ? error : failed;
    }
    pthread_mutex_unlock(&mutex);
    return error;
}

void themis_preload_maps_flush_all(void)
{
    map_t *map;

    if (!any())
        return;
    pthread_mutex_lock(&mutex);
    LL_FOREACH(maps, map)
    map_flush(map);
    pthread_mutex_unlock(&mutex);
}

static void map_update(map_t *map, const char *bytes, uint64_t length, uint64_t offset)
{
    const uint64_t begin = (uint64_t)map->offset > offset ? (uint64_t)map->offset : offset;
    const uint64_t map_end = (uint64_t)map->offset + map->bytes,
                   end = offset + length < map_end ? offset + length : map_end;

    if (begin >= end)
        return;
    memcpy(map->view + (begin - (uint64_t)map->offset), bytes + (begin - offset), end - begin);
    if (map->written)
        memcpy(map->written + (begin - (uint64_t)map->offset), bytes + (begin - offset), end - begin);
}

void themis_preload_maps_update(const themis_posix_node_t *node, const void *bytes, size_t length, off_t offset)
{
    map_t *map;

    if (!any())
        return;
    pthread_mutex_lock(&mutex);
    LL_FOREACH(maps, map)
    {
        if (map->image->object == node->object)
            map_update(map, bytes, length, (uint64_t)offset);
    }
    pthread_mutex_unlock(&mutex);
}

static void map_refresh(map_t *map)
{
    char *now = malloc(map->bytes);

    map_flush(map);
    if (now && file_of(map) && file_read(map->file, now, map->bytes, map->offset) == 0)
        map_update(map, now, map->bytes, (uint64_t)map->offset);
    free(now);
}

void themis_preload_maps_refresh(const themis_posix_node_t *node)
{
    map_t *map;

    if (!any())
        return;
    pthread_mutex_lock(&mutex);
    LL_FOREACH(maps, map)
    {
        if (map->image->object == node->object)
            map_refresh(map);
    }
    pthread_mutex_unlock(&mutex);
}

void themis_preload_maps_reset(void)
{
    image_t *image;

    pthread_mutex_init(&mutex, NULL);
    LL_FOREACH(images, image)
    image->memory = -1;
}

int themis_preload_core_has_maps(void)
{
    return any();
}

/* --- making --------------------------------------------------------------------------------------------------------
 */

/* A child makes another one. */
static int image_open(image_t *image)
{
    if (image->memory < 0) {
        image->memory = memfd_create("themis-map", MFD_CLOEXEC);
        image->size = 0;
    }
    return image->memory >= 0;
}

static image_t *image_get(uint64_t object, uint64_t size)
{
    image_t *image;

    LL_SEARCH_SCALAR(images, image, object, object);
    if (!image) {
        if (!(image = calloc(1, sizeof *image)))
            return NULL;
        image->object = object;
        image->memory = -1;
        LL_PREPEND(images, image);
    }
    image->maps++;
    if (image_open(image) && image->size < size && syscall(SYS_ftruncate, image->memory, size) == 0)
        image->size = size;
    return image;
}

static void image_put(image_t *image)
{
    if (!image || --image->maps > 0)
        return;
    LL_DELETE(images, image);
    if (image->memory >= 0)
        close(image->memory);
    free(image);
}

static void map_free(map_t *map)
{
    if (map->view)
        syscall(SYS_munmap, map->view, map->bytes);
    if (map->generation == themis_preload_generation())
        themis_posix_file_release(map->file);
    image_put(map->image);
    free(map->written);
    free(map->handle);
    free(map);
}

/* The file's bytes, and `written` if the program can change them. */
static int map_fill(map_t *map, int can_write)
{
    int error = file_read(map->file, map->view, map->bytes, map->offset);

    if (error || !can_write)
        return error;
    map->written = malloc(map->bytes);
    map->handle = malloc(THEMIS_HANDLE_BYTES);
    if (!map->written || !map->handle)
        return ENOMEM;
    memcpy(map->written, map->view, map->bytes);
    return themis_posix_error(themis_file_pack(map->file->file, map->handle, THEMIS_HANDLE_BYTES, &map->handle_bytes));
}

/* With the mutex held. *result: our side of a shared map. */
static int shared_make(themis_preload_open_t *open, size_t length, off_t offset, int can_write, map_t **result)
{
    map_t *map = calloc(1, sizeof *map), *other;
    int error = ENOMEM;

    if (!map)
        return ENOMEM;
    LL_FOREACH(maps, other)
    {
        if (other->image->object == open->node->object)
            map_flush(other);
    }
    map->bytes = map->length = page_round(length);
    map->offset = offset;
    map->generation = themis_preload_generation();
    map->file = open->file;
    themis_posix_file_acquire(open->file);
    map->image = image_get(open->node->object, (uint64_t)offset + map->bytes);
    if (map->image) {
        map->view = pages_map(NULL, map->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, map->image->memory, offset);
        if (map->view == MAP_FAILED)
            map->view = NULL;
        else
            error = map_fill(map, can_write);
    }
    if (error)
        map_free(map);
    else
        *result = map;
    return error;
}

static void *shared_map(themis_preload_open_t *open, void *address, size_t length, int protection, int flags,
                        off_t offset)
{
    map_t *map;

    pthread_mutex_lock(&mutex);
    int error = shared_make(open, length, offset, (open->flags & O_ACCMODE) == O_RDWR, &map);
    void *pages = MAP_FAILED;
    if (!error) {
        pages = pages_map(address, length, protection, flags, map->image->memory, offset);
        error = pages == MAP_FAILED ? errno : 0;
        map->address = pages;
        if (error)
            map_free(map);
        else
            LL_PREPEND(maps, map);
    }
    pthread_mutex_unlock(&mutex);
    errno = error ? error : errno;
    return pages;
}

static void *private_map(themis_preload_open_t *open, void *address, size_t length, int protection, int flags,
                         off_t offset)
{
    char *pages = pages_map(address, length, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

    if (pages == MAP_FAILED)
        return MAP_FAILED;
    themis_preload_maps_flush(open->node);
    int error = file_read(open->file, pages, length, offset);
    if (!error && protection != (PROT_READ | PROT_WRITE) && syscall(SYS_mprotect, pages, length, protection) != 0)
        error = errno;
    if (error) {
        syscall(SYS_munmap, pages, length);
        errno = error;
        return MAP_FAILED;
    }
    return pages;
}

static int map_error(const themis_preload_open_t *open, size_t length, int protection, int flags, off_t offset)
{
    const int type = flags & MAP_TYPE, access = open->flags & O_ACCMODE;

    if (!open->file)
        return open->flags & O_PATH ? EBADF : ENODEV;
    if (length == 0 || offset % sysconf(_SC_PAGESIZE) != 0 || offset < 0 ||
        (type != MAP_SHARED && type != MAP_PRIVATE && type != MAP_SHARED_VALIDATE))
        return EINVAL;
    if (access == O_WRONLY || (type != MAP_PRIVATE && protection & PROT_WRITE && access != O_RDWR))
        return EACCES;
    return 0;
}

void *themis_preload_core_map(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
    themis_preload_open_t *open;
    void *pages = MAP_FAILED;

    if (themis_preload_call_begin(fd, &open) != 0)
        return MAP_FAILED;
    int error = map_error(open, length, protection, flags, offset);
    if (!error && (flags & MAP_TYPE) != MAP_PRIVATE && themis_preload_locks_held(open->node))
        error = ENODEV;
    if (error)
        errno = error;
    else if ((flags & MAP_TYPE) == MAP_PRIVATE)
        pages = private_map(open, address, length, protection, flags, offset);
    else
        pages = shared_map(open, address, length, protection, flags, offset);
    themis_preload_call_end(open);
    return pages;
}

/* --- ending --------------------------------------------------------------------------------------------------------
 */

static int meets(const map_t *map, const char *address, size_t length)
{
    return map->address < address + length && address < map->address + map->length;
}

int themis_preload_core_meets_maps(const void *address, size_t length)
{
    int found = 0;
    map_t *map;

    pthread_mutex_lock(&mutex);
    LL_FOREACH(maps, map)
    found = found || meets(map, address, length);
    pthread_mutex_unlock(&mutex);
    return found;
}

int themis_preload_core_map_sync(void *address, size_t length)
{
    int error = 0;
    map_t *map;
    themis_posix_t *filesystem;

    if ((error = themis_preload_begin(&filesystem)))
        return themis_preload_result(error);
    pthread_mutex_lock(&mutex);
    LL_FOREACH(maps, map)
    {
        if (!meets(map, address, length))
            continue;
        int failed = map_flush(map);
        if (!failed && map->written && file_of(map))
            failed = themis_posix_file_sync(map->file, themis_preload_caller());
        error = error ? error : failed;
    }
    pthread_mutex_unlock(&mutex);
    return themis_preload_end_with(error);
}

/* Pages at one end go; where they are in the middle the map stays as it is until the rest goes, too. */
static int is_gone(map_t *map, char *address, size_t length)
{
    char *end = address + length, *map_end = map->address + map->length;

    if (address <= map->address && end >= map_end)
        return 1;
    if (address <= map->address) {
        map->length = (size_t)(map_end - end);
        map->address = end;
    } else if (end >= map_end) {
        map->length = (size_t)(address - map->address);
    }
    return 0;
}

void themis_preload_core_unmap(void *address, size_t length)
{
    themis_posix_t *filesystem;
    map_t *map, *next;

    if (themis_preload_begin(&filesystem) != 0)
        return;
    pthread_mutex_lock(&mutex);
    LL_FOREACH_SAFE(maps, map, next)
    {
        if (!meets(map, address, page_round(length)))
            continue;
        map_flush(map);
        if (is_gone(map, address, page_round(length))) {
            LL_DELETE(maps, map);
            map_free(map);
        }
    }
    pthread_mutex_unlock(&mutex);
    themis_preload_end();
}
