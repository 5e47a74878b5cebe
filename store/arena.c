/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The arena store: objects as extents of a mapped region.
 *
 * A window for writing claims the pages that it covers as a whole, and they become valid when it finishes well; of
 * pages that it covers in part, those not yet valid are cleared and made valid at prepare, unless another window has
 * claimed them: the bytes of both are the same place then, and that other window decides. Thus nothing stale is ever
 * seen, nothing is cleared that is written anyway, and the object's lock is held for bookkeeping only.
 *
 * Extents that a truncation or removal takes away are given back when no window is under way on the object.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "store/arena_extents.h"
#include "store/space.h"
#include "store/store_types.h"
#include "util/clock.h"
#include "util/iov.h"
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

enum { PAGE = THEMIS_STORE_ARENA_PAGE, SHARDS = 64, ZEROS = 64 << 10 };

struct themis_store_object {
    uint64_t id;
    uint32_t references; /* of the shard's lock; one for being in the table */
    UT_hash_handle hh;
    pthread_mutex_t lock; /* of all below */
    uint64_t end, modified, generation;
    uint32_t windows; /* under way */
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

static object_t *object_create(shard_t *shard, uint64_t id)
{
    object_t *object = calloc(1, sizeof *object);

    if (!object)
        return NULL;
    object->id = id;
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

static themis_status_t arena_open(themis_store_t *store, uint64_t id, int create, object_t **result)
{
    shard_t *shard = shard_of((arena_t *)store, id);
    object_t *object;

    pthread_mutex_lock(&shard->lock);
    HASH_FIND(hh, shard->objects, &id, sizeof id, object);
    themis_status_t status = object ? THEMIS_OK : THEMIS_NO_ENTRY;
    if (!object && create) {
        object = object_create(shard, id);
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

static void claim(themis_store_window_t *window, extent_t *extent, uint32_t first, uint32_t behind)
{
    if (first >= behind || extent->valid == extent->pages)
        return;
    for (uint32_t page = first; page < behind; page++)
        extent->state[page]++;
    window->marks[window->mark_count++] =
        (themis_store_window_mark_t){.extent = extent, .first = first, .behind = behind};
}

/* Bytes [from, behind) of an extent are going to be written. */
static int write_part(const arena_t *arena, themis_store_window_t *window, extent_t *extent, uint64_t from,
                      uint64_t behind)
{
    uint32_t first = (uint32_t)(from / PAGE), last = (uint32_t)((behind - 1) / PAGE);
    int starts_inside = from % PAGE != 0, ends_inside = behind % PAGE != 0;

    if (window->mark_count == THEMIS_STORE_WINDOW_PIECES ||
        !add_piece(window, themis_store_arena_extent_page(arena->space, extent, 0) + from, behind - from))
        return 0;
    if (extent->valid == extent->pages)
        return 1;
    if (starts_inside || (first == last && ends_inside))
        clear_unless_claimed(arena, extent, first);
    if (ends_inside && first != last)
        clear_unless_claimed(arena, extent, last);
    claim(window, extent, first + (uint32_t)starts_inside, last + !ends_inside);
    return 1;
}

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

static int read_part(const arena_t *arena, themis_store_window_t *window, const extent_t *extent, uint64_t from,
                     uint64_t behind)
{
    uint8_t *base = themis_store_arena_extent_page(arena->space, extent, 0);

    if (extent->valid == extent->pages)
        return add_piece(window, base + from, behind - from);
    while (from < behind) {
        int valid = (extent->state[from / PAGE] & THEMIS_STORE_ARENA_VALID) != 0;
        uint64_t page = from / PAGE;
        while (page * PAGE < behind && ((extent->state[page] & THEMIS_STORE_ARENA_VALID) != 0) == valid)
            page++;
        uint64_t to = page * PAGE < behind ? page * PAGE : behind;
        if (!(valid ? add_piece(window, base + from, to - from) : zeros_part(arena, window, to - from)))
            return 0;
        from = to;
    }
    return 1;
}

/* One of the window's extents. *full is set when the window can hold no more. */
static themis_status_t prepare_extent(arena_t *arena, themis_store_window_t *window, const themis_store_extent_t *want,
                                      uint32_t *hint, int *full)
{
    object_t *object = window->object;
    uint64_t at = want->offset, end = want->offset + want->length;

    while (at < end && !*full) {
        uint32_t index = *hint = themis_store_arena_extents_find(&object->extents, at, *hint);
        extent_t *extent = index < object->extents.count ? object->extents.extent[index] : NULL;
        if (!extent || extent->offset > at) {
            uint64_t behind = extent && extent->offset < end ? extent->offset : end;
            if (window->direction == THEMIS_READ) {
                *full = !zeros_part(arena, window, behind - at);
                at = behind;
                continue;
            }
            themis_status_t status =
                themis_store_arena_extents_add(&object->extents, arena->space, index, at, behind - at);
            if (status != THEMIS_OK)
                return status;
            continue;
        }
        uint64_t behind = themis_store_arena_extent_end(extent) < end ? themis_store_arena_extent_end(extent) : end;
        uint64_t from = at - extent->offset, to = behind - extent->offset;
        *full = !(window->direction == THEMIS_WRITE ? write_part(arena, window, extent, from, to)
                                                    : read_part(arena, window, extent, from, to));
        at = behind;
    }
    return THEMIS_OK;
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
static void release_marks(themis_store_window_t *window, int ok, uint64_t limit)
{
    for (size_t i = 0; i < window->mark_count; i++) {
        const themis_store_window_mark_t *mark = &window->marks[i];
        extent_t *extent = mark->extent;
        for (uint32_t page = mark->first; page < mark->behind; page++) {
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
        /* a truncation came between: the write counts as made before it */
        int cut = window->generation != object->generation;
        release_marks(window, ok, cut ? object->end : UINT64_MAX);
        if (ok && !cut)
            raise_end(object, window);
        object->modified = themis_util_clock_wall();
    }
    if (--object->windows == 0)
        themis_store_arena_extents_free_retired(&object->extents, ((arena_t *)store)->space);
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
        themis_store_arena_extents_free_retired(&object->extents, arena->space);
    object->end = size;
    object->modified = themis_util_clock_wall();
    pthread_mutex_unlock(&object->lock);
    return THEMIS_OK;
}

static themis_status_t arena_allocate(themis_store_t *store, object_t *object, const themis_store_extent_t *range)
{
    uint64_t at = range->offset, end = range->offset + range->length;
    themis_status_t status = THEMIS_OK;

    pthread_mutex_lock(&object->lock);
    for (uint32_t index = 0; at < end && status == THEMIS_OK;) {
        index = themis_store_arena_extents_find(&object->extents, at, index);
        const extent_t *extent = index < object->extents.count ? object->extents.extent[index] : NULL;
        if (extent && extent->offset <= at) {
            at = themis_store_arena_extent_end(extent);
            continue;
        }
        uint64_t behind = extent && extent->offset < end ? extent->offset : end;
        status = themis_store_arena_extents_add(&object->extents, ((arena_t *)store)->space, index, at, behind - at);
    }
    if (status == THEMIS_OK && object->end < end)
        object->end = end;
    pthread_mutex_unlock(&object->lock);
    return status;
}

static themis_status_t arena_size(themis_store_t *store, object_t *object, themis_store_size_t *size)
{
    (void)store;
    pthread_mutex_lock(&object->lock);
    *size =
        (themis_store_size_t){.end = object->end, .allocated = object->extents.allocated, .modified = object->modified};
    pthread_mutex_unlock(&object->lock);
    return THEMIS_OK;
}

/* With the object's lock held, as extents must stay; a mapped file is written by the kernel anyway, sooner or later. */
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
    themis_store_space_usage_t space;
    uint64_t objects = 0;

    for (int i = 0; i < SHARDS; i++) {
        pthread_mutex_lock(&arena->shards[i].lock);
        objects += HASH_COUNT(arena->shards[i].objects);
        pthread_mutex_unlock(&arena->shards[i].lock);
    }
    themis_space_usage(arena->space, &space);
    *usage = (themis_store_usage_t){.capacity = space.size, .used = space.used, .objects = objects, .warm = space.warm};
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
