/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/arena.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "store/arena_extents.h"
#include "store/space.h"
#include "util/clock.h"
#include "util/iov.h"
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

enum { PAGE = THEMIS_STORE_ARENA_PAGE, SHARDS = 64, ZEROS = 64 << 10 };

struct themis_store_object {
    uint64_t id;
    uint32_t owner;
    uint32_t references; /* one for being in the table; under the shard's lock */
    UT_hash_handle hh;
    pthread_mutex_t lock; /* of all that follows */
    uint64_t end, modified, generation;
    uint32_t windows; /* in use: prepared, not finished */
    themis_store_arena_extents_t extents;
};
typedef themis_store_object_t object_t;
typedef themis_store_arena_extent_t extent_t;

typedef struct shard {
    pthread_mutex_t lock;
    object_t *objects;
} shard_t;

typedef struct arena {
    themis_store_t base;
    themis_store_space_t *space;
    uint8_t *zeros; /* ZEROS bytes, read-only */
    int mapped_file;
    shard_t shards[SHARDS];
} arena_t;

/* --- objects ----------------------------------------------------------------------------------------------------- */

static shard_t *shard_of(arena_t *arena, uint64_t id)
{
    return &arena->shards[(id * UINT64_C(0x9e3779b97f4a7c15)) >> 58];
}

static object_t *object_create(shard_t *shard, uint64_t id, uint32_t owner)
{
    object_t *object = calloc(1, sizeof *object);

    if (!object)
        return NULL;
    object->id = id;
    object->owner = owner;
    object->references = 1;
    object->modified = themis_util_clock_wall();
    pthread_mutex_init(&object->lock, NULL);
    HASH_ADD(hh, shard->objects, id, sizeof id, object);
    if (object->hh.tbl)
        return object;
    pthread_mutex_destroy(&object->lock);
    free(object); /* no memory for the table */
    return NULL;
}

static void object_free(arena_t *arena, object_t *object)
{
    themis_store_arena_extents_release(&object->extents, arena->space);
    pthread_mutex_destroy(&object->lock);
    free(object);
}

static themis_status_t arena_open(themis_store_t *store, uint64_t id, int create, uint32_t owner, object_t **result)
{
    shard_t *shard = shard_of((arena_t *)store, id);
    object_t *object;

    pthread_mutex_lock(&shard->lock);
    HASH_FIND(hh, shard->objects, &id, sizeof id, object);
    themis_status_t status = object ? THEMIS_OK : THEMIS_NO_ENTRY;
    if (!object && create) {
        object = object_create(shard, id, owner);
        status = object ? THEMIS_OK : THEMIS_NO_MEMORY;
    }
    if (object) {
        object->references++;
        *result = object;
    }
    pthread_mutex_unlock(&shard->lock);
    return status;
}

static void arena_close(themis_store_t *store, object_t *object)
{
    arena_t *arena = (arena_t *)store;
    shard_t *shard = shard_of(arena, object->id);

    pthread_mutex_lock(&shard->lock);
    uint32_t left = --object->references;
    pthread_mutex_unlock(&shard->lock);
    if (left == 0)
        object_free(arena, object);
}

static themis_status_t arena_remove(themis_store_t *store, uint64_t id)
{
    shard_t *shard = shard_of((arena_t *)store, id);
    object_t *object;

    pthread_mutex_lock(&shard->lock);
    HASH_FIND(hh, shard->objects, &id, sizeof id, object);
    if (object) {
        HASH_DELETE(hh, shard->objects, object);
    }
    pthread_mutex_unlock(&shard->lock);
    if (object)
        arena_close(store, object);
    return THEMIS_OK;
}

/* --- windows ----------------------------------------------------------------------------------------------------- */

/* Appends memory, joined with the last piece where they meet; 0 if the window is full. */
static int add_piece(themis_store_window_t *window, uint8_t *at, uint64_t length)
{
    if (!themis_util_iov_extend(window->pieces, window->piece_count, at, length)) {
        if (window->piece_count == THEMIS_STORE_WINDOW_PIECES)
            return 0;
        window->pieces[window->piece_count++] = (struct iovec){.iov_base = at, .iov_len = length};
    }
    window->bytes += length;
    return 1;
}

static void clear_unless_claimed(const arena_t *arena, extent_t *extent, uint32_t page)
{
    if (extent->state[page])
        return;
    memset(themis_store_arena_extent_page(arena->space, extent, page), 0, PAGE);
    themis_store_arena_extent_make_valid(extent, page);
}

static void claim_pages(themis_store_window_t *window, extent_t *extent, uint32_t first, uint32_t end)
{
    if (first >= end || extent->valid == extent->pages)
        return;
    for (uint32_t page = first; page < end; page++)
        extent->state[page]++;
    window->marks[window->mark_count++] = (themis_store_window_mark_t){.extent = extent, .first = first, .end = end};
}

/* Makes bytes [from, end) of an extent writable; 0 if the window is full. */
static int write_part(const arena_t *arena, themis_store_window_t *window, extent_t *extent, uint64_t from,
                      uint64_t end)
{
    uint32_t first = (uint32_t)(from / PAGE), last = (uint32_t)((end - 1) / PAGE);
    int starts_inside = from % PAGE != 0, ends_inside = end % PAGE != 0;

    if (window->mark_count == THEMIS_STORE_WINDOW_PIECES ||
        !add_piece(window, themis_store_arena_extent_page(arena->space, extent, 0) + from, end - from))
        return 0;
    if (extent->valid == extent->pages)
        return 1;
    if (starts_inside || (first == last && ends_inside))
        clear_unless_claimed(arena, extent, first);
    if (ends_inside && first != last)
        clear_unless_claimed(arena, extent, last);
    claim_pages(window, extent, first + (uint32_t)starts_inside, last + !ends_inside);
    return 1;
}

/* Zeros for `length` bytes; 0 if the window is full. */
static int zeros_part(const arena_t *arena, themis_store_window_t *window, uint64_t length)
{
    while (length) {
        uint64_t part = length < ZEROS ? length : ZEROS;
        if (window->piece_count == THEMIS_STORE_WINDOW_PIECES)
            return 0;
        window->pieces[window->piece_count++] = (struct iovec){.iov_base = arena->zeros, .iov_len = part};
        window->bytes += part;
        length -= part;
    }
    return 1;
}

/* Makes bytes [from, end) of an extent readable; 0 if the window is full. */
static int read_part(const arena_t *arena, themis_store_window_t *window, const extent_t *extent, uint64_t from,
                     uint64_t end)
{
    uint8_t *base = themis_store_arena_extent_page(arena->space, extent, 0);

    if (extent->valid == extent->pages)
        return add_piece(window, base + from, end - from);
    while (from < end) {
        int valid = (extent->state[from / PAGE] & THEMIS_STORE_ARENA_VALID) != 0;
        uint64_t page = from / PAGE;
        while (page * PAGE < end && ((extent->state[page] & THEMIS_STORE_ARENA_VALID) != 0) == valid)
            page++;
        uint64_t to = page * PAGE < end ? page * PAGE : end;
        if (!(valid ? add_piece(window, base + from, to - from) : zeros_part(arena, window, to - from)))
            return 0;
        from = to;
    }
    return 1;
}

/* The extent at byte `at`, or NULL for a hole; *end, above `at`, is lowered to the end of either. *index: where the
 * last search ended, and then its place in the list. */
static extent_t *extent_at(const object_t *object, uint64_t at, uint32_t *index, uint64_t *end)
{
    const themis_store_arena_extents_t *extents = &object->extents;

    *index = themis_store_arena_extents_find(extents, at, *index);
    if (*index == extents->count)
        return NULL;
    extent_t *extent = extents->extent[*index];
    int is_hole = extent->offset > at;
    uint64_t limit = is_hole ? extent->offset : themis_store_arena_extent_end(extent);
    *end = limit < *end ? limit : *end;
    return is_hole ? NULL : extent;
}

/* One of the window's extents. *full is set when the window can hold no more. */
static themis_status_t prepare_extent(arena_t *arena, themis_store_window_t *window, const themis_store_extent_t *want,
                                      uint32_t *index, int *full)
{
    object_t *object = window->object;
    int is_write = window->direction == THEMIS_WRITE;
    themis_status_t status = THEMIS_OK;

    for (uint64_t at = want->offset, end = want->offset + want->length; at < end && !*full && status == THEMIS_OK;) {
        uint64_t part_end = end;
        extent_t *extent = extent_at(object, at, index, &part_end);
        if (!extent && is_write) {
            status = themis_store_arena_extents_add(&object->extents, arena->space, *index, at, part_end - at);
            continue;
        }
        if (!extent)
            *full = !zeros_part(arena, window, part_end - at);
        else if (is_write)
            *full = !write_part(arena, window, extent, at - extent->offset, part_end - extent->offset);
        else
            *full = !read_part(arena, window, extent, at - extent->offset, part_end - extent->offset);
        at = part_end;
    }
    return status;
}

static void cut_extents(themis_store_window_t *window)
{
    uint64_t left = window->bytes;
    size_t count = 0;

    while (left) {
        themis_store_extent_t *extent = &window->extents[count++];
        if (extent->length > left)
            extent->length = left;
        left -= extent->length;
    }
    window->extent_count = count;
}

static themis_status_t arena_prepare(themis_store_t *store, themis_store_window_t *window)
{
    object_t *object = window->object;
    themis_status_t status = THEMIS_OK;
    uint32_t hint = 0;
    int full = 0;

    pthread_mutex_lock(&object->lock);
    for (size_t i = 0; i < window->extent_count && status == THEMIS_OK && !full; i++)
        status = prepare_extent((arena_t *)store, window, &window->extents[i], &hint, &full);
    if (window->bytes) {
        status = THEMIS_OK;
        cut_extents(window);
        window->generation = object->generation;
        object->windows++;
    }
    pthread_mutex_unlock(&object->lock);
    return status;
}

/* `limit`: only pages below this byte of the object may become valid. */
static void marks_release(themis_store_window_t *window, int ok, uint64_t limit)
{
    for (size_t i = 0; i < window->mark_count; i++) {
        const themis_store_window_mark_t *mark = &window->marks[i];
        extent_t *extent = mark->extent;
        for (uint32_t page = mark->first; page < mark->end; page++) {
            extent->state[page]--;
            if (ok && extent->offset + (uint64_t)(page + 1) * PAGE <= limit)
                themis_store_arena_extent_make_valid(extent, page);
        }
    }
}

static void raise_end(object_t *object, const themis_store_window_t *window)
{
    for (size_t i = 0; i < window->extent_count; i++) {
        uint64_t end = window->extents[i].offset + window->extents[i].length;
        if (end > object->end)
            object->end = end;
    }
}

static themis_status_t arena_finish(themis_store_t *store, themis_store_window_t *window, themis_status_t moved)
{
    object_t *object = window->object;
    int ok = moved == THEMIS_OK;

    pthread_mutex_lock(&object->lock);
    if (window->direction == THEMIS_WRITE) {
        /* A truncation came between: the write is treated as if it came before. */
        int cut = window->generation != object->generation;
        marks_release(window, ok, cut ? object->end : UINT64_MAX);
        if (ok && !cut)
            raise_end(object, window);
        object->modified = themis_util_clock_wall();
    }
    if (--object->windows == 0)
        themis_store_arena_extents_collect(&object->extents, ((arena_t *)store)->space);
    pthread_mutex_unlock(&object->lock);
    return moved;
}

/* --- whole objects ----------------------------------------------------------------------------------------------- */

static themis_status_t arena_truncate(themis_store_t *store, object_t *object, uint64_t size)
{
    arena_t *arena = (arena_t *)store;

    pthread_mutex_lock(&object->lock);
    object->generation += (uint64_t)themis_store_arena_extents_cut(&object->extents, arena->space, size);
    if (object->windows == 0)
        themis_store_arena_extents_collect(&object->extents, arena->space);
    object->end = size;
    object->modified = themis_util_clock_wall();
    pthread_mutex_unlock(&object->lock);
    return THEMIS_OK;
}

static themis_status_t arena_allocate(themis_store_t *store, object_t *object, const themis_store_extent_t *range)
{
    themis_store_space_t *space = ((arena_t *)store)->space;
    uint64_t at = range->offset, end = range->offset + range->length;
    themis_status_t status = THEMIS_OK;
    uint32_t index = 0;

    pthread_mutex_lock(&object->lock);
    while (at < end && status == THEMIS_OK) {
        uint64_t part_end = end;
        if (extent_at(object, at, &index, &part_end))
            at = part_end;
        else
            status = themis_store_arena_extents_add(&object->extents, space, index, at, part_end - at);
    }
    if (status == THEMIS_OK && object->end < end)
        object->end = end;
    pthread_mutex_unlock(&object->lock);
    return status;
}

static themis_status_t arena_size(themis_store_t *store, object_t *object, themis_store_size_t *size)
{
    pthread_mutex_lock(&object->lock);
    *size =
        (themis_store_size_t){.end = object->end, .allocated = object->extents.allocated, .modified = object->modified};
    pthread_mutex_unlock(&object->lock);
    return THEMIS_OK;
}

/* With the object's lock held, as extents must not change. Without a sync the kernel writes a mapped file some time. */
static themis_status_t arena_sync(themis_store_t *store, object_t *object)
{
    arena_t *arena = (arena_t *)store;
    themis_status_t status = THEMIS_OK;

    if (!arena->mapped_file)
        return THEMIS_OK;
    pthread_mutex_lock(&object->lock);
    for (uint32_t i = 0; i < object->extents.count && status == THEMIS_OK; i++) {
        const extent_t *extent = object->extents.extent[i];
        if (msync(themis_store_arena_extent_page(arena->space, extent, 0), (size_t)extent->pages * PAGE, MS_SYNC) < 0)
            status = THEMIS_IO;
    }
    pthread_mutex_unlock(&object->lock);
    return status;
}

static themis_status_t arena_usage(themis_store_t *store, themis_store_usage_t *usage)
{
    arena_t *arena = (arena_t *)store;
    uint64_t objects = 0;

    for (int i = 0; i < SHARDS; i++) {
        pthread_mutex_lock(&arena->shards[i].lock);
        objects += HASH_COUNT(arena->shards[i].objects);
        pthread_mutex_unlock(&arena->shards[i].lock);
    }
    usage->objects = objects;
    themis_store_space_usage(arena->space, usage);
    return THEMIS_OK;
}

static void arena_destroy(themis_store_t *store)
{
    arena_t *arena = (arena_t *)store;
    object_t *object, *next;

    for (int i = 0; i < SHARDS; i++) {
        HASH_ITER(hh, arena->shards[i].objects, object, next)
        {
            HASH_DELETE(hh, arena->shards[i].objects, object);
            object_free(arena, object);
        }
        pthread_mutex_destroy(&arena->shards[i].lock);
    }
    themis_store_space_destroy(arena->space);
    if (arena->zeros)
        munmap(arena->zeros, ZEROS);
    free(arena);
}

static const themis_store_ops_t arena_ops = {.name = "arena",
                                             .destroy = arena_destroy,
                                             .open = arena_open,
                                             .close = arena_close,
                                             .prepare = arena_prepare,
                                             .finish = arena_finish,
                                             .truncate = arena_truncate,
                                             .allocate = arena_allocate,
                                             .size = arena_size,
                                             .sync = arena_sync,
                                             .remove = arena_remove,
                                             .usage = arena_usage};

themis_status_t themis_store_arena_create(const themis_store_options_t *options, themis_store_t **store)
{
    arena_t *arena = calloc(1, sizeof *arena);

    if (!arena)
        return THEMIS_NO_MEMORY;
    arena->base.ops = &arena_ops;
    arena->mapped_file = options->path && *options->path;
    for (int i = 0; i < SHARDS; i++)
        pthread_mutex_init(&arena->shards[i].lock, NULL);
    void *zeros = mmap(NULL, ZEROS, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    themis_status_t status = zeros == MAP_FAILED ? THEMIS_NO_MEMORY : THEMIS_OK;
    arena->zeros = zeros == MAP_FAILED ? NULL : zeros;
    if (status == THEMIS_OK)
        status = themis_store_space_create(options->size, options->path, options->warm, options->reserve_step,
                                           &arena->space);
    if (status != THEMIS_OK) {
        arena_destroy(&arena->base);
        return status;
    }
    *store = &arena->base;
    return THEMIS_OK;
}
