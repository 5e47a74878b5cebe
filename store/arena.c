/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/arena.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "store/arena_direct.h"
#include "store/arena_durable.h"
#include "store/arena_object.h"
#include "store/arena_shadow.h"
#include "util/clock.h"
#include "util/iov.h"
#include "util/min.h"

enum { PAGE = THEMIS_STORE_ARENA_PAGE, SHARDS = THEMIS_STORE_ARENA_SHARDS, ZEROS = 64 << 10 };

typedef themis_store_object_t object_t;
typedef themis_store_arena_extent_t extent_t;
typedef themis_store_arena_shard_t shard_t;
typedef themis_store_arena_t arena_t;

/* --- objects ----------------------------------------------------------------------------------------------------- */

static themis_status_t object_create(arena_t *arena, shard_t *shard, uint64_t id, uint32_t owner, object_t **result)
{
    object_t *object = themis_store_arena_object_create(shard, id, owner);

    if (!object)
        return THEMIS_NO_MEMORY;
    object->modified = themis_util_clock_wall();
    themis_status_t status = themis_store_arena_durable_create(arena, object);
    if (status == THEMIS_OK) {
        *result = object;
        return status;
    }
    HASH_DELETE(hh, shard->objects, object);
    pthread_mutex_destroy(&object->lock);
    free(object);
    return status;
}

static void object_free(arena_t *arena, object_t *object)
{
    themis_store_arena_object_collect(arena, object);
    themis_store_arena_extents_release(&object->extents, arena->space);
    pthread_mutex_destroy(&object->lock);
    free(object);
}

static themis_status_t arena_open(themis_store_t *store, uint64_t id, int create, uint32_t owner, object_t **result)
{
    shard_t *shard = themis_store_arena_shard((arena_t *)store, id);
    object_t *object;

    pthread_mutex_lock(&shard->lock);
    HASH_FIND(hh, shard->objects, &id, sizeof id, object);
    themis_status_t status = object ? THEMIS_OK : THEMIS_NO_ENTRY;
    if (!object && create) {
        status = object_create((arena_t *)store, shard, id, owner, &object);
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
    shard_t *shard = themis_store_arena_shard(arena, object->id);

    pthread_mutex_lock(&shard->lock);
    uint32_t left = --object->references;
    pthread_mutex_unlock(&shard->lock);
    if (left == 0)
        object_free(arena, object);
}

static themis_status_t arena_remove(themis_store_t *store, uint64_t id)
{
    shard_t *shard = themis_store_arena_shard((arena_t *)store, id);
    object_t *object;

    pthread_mutex_lock(&shard->lock);
    HASH_FIND(hh, shard->objects, &id, sizeof id, object);
    themis_status_t status = object ? themis_store_arena_durable_remove((arena_t *)store, object) : THEMIS_OK;
    if (object && status == THEMIS_OK) {
        HASH_DELETE(hh, shard->objects, object);
    }
    pthread_mutex_unlock(&shard->lock);
    if (object && status == THEMIS_OK)
        arena_close(store, object);
    return status;
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

static void claim_pages(themis_store_window_t *window, extent_t *extent, uint32_t first, uint32_t end)
{
    if (first >= end || extent->valid == extent->pages)
        return;
    for (uint32_t page = first; page < end; page++)
        extent->state[page]++;
    window->marks[window->mark_count++] = (themis_store_window_mark_t){.extent = extent, .first = first, .end = end};
}

/* Makes bytes [from, end), which are a part of one page, writable. */
static themis_status_t write_in_page(const arena_t *arena, themis_store_window_t *window, extent_t *extent,
                                     uint64_t from, uint64_t end, int *full)
{
    uint32_t page = (uint32_t)(from / PAGE);
    uint8_t *memory = themis_store_arena_shadow_target(arena, window->object, extent, page);

    if (!memory)
        return THEMIS_NO_MEMORY;
    window->shadowed |= memory != themis_store_arena_extent_page(arena->space, extent, page);
    *full = !add_piece(window, memory + from % PAGE, end - from);
    return THEMIS_OK;
}

/* Makes bytes [from, end) of an extent writable. *full is set if the window has no room for all of them. */
static themis_status_t write_part(const arena_t *arena, themis_store_window_t *window, extent_t *extent, uint64_t from,
                                  uint64_t end, int *full)
{
    uint8_t *base = themis_store_arena_extent_page(arena->space, extent, 0);
    uint64_t head = themis_util_min((from + PAGE - 1) / PAGE * PAGE, end), tail = end / PAGE * PAGE;
    themis_status_t status = THEMIS_OK;

    *full = window->mark_count == THEMIS_STORE_WINDOW_PIECES;
    if (extent->valid == extent->pages) {
        *full = *full || !add_piece(window, base + from, end - from);
        return status;
    }
    if (head > tail) /* it begins and ends inside one page */
        head = tail = end;
    if (!*full && from < head)
        status = write_in_page(arena, window, extent, from, head, full);
    if (!*full && status == THEMIS_OK && head < tail) {
        *full = !add_piece(window, base + head, tail - head);
        if (!*full)
            claim_pages(window, extent, (uint32_t)(head / PAGE), (uint32_t)(tail / PAGE));
    }
    if (!*full && status == THEMIS_OK && tail < end)
        status = write_in_page(arena, window, extent, tail, end, full);
    return status;
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

/* Bytes [from, end) of the object, in pages of an extent that are not valid; 0 if the window is full. */
static int read_invalid(const arena_t *arena, themis_store_window_t *window, uint64_t from, uint64_t end)
{
    const object_t *object = window->object;
    int added = 1;

    if (!object->shadows)
        return zeros_part(arena, window, end - from);
    for (uint64_t to; from < end && added; from = to) {
        uint8_t *shadow = themis_store_arena_shadow_find(object, from - from % PAGE);
        to = themis_util_min(from - from % PAGE + PAGE, end);
        added = shadow ? add_piece(window, shadow + from % PAGE, to - from) : zeros_part(arena, window, to - from);
    }
    return added;
}

/* Makes bytes [from, end) of an extent readable; 0 if the window is full. */
static int read_part(const arena_t *arena, themis_store_window_t *window, extent_t *extent, uint64_t from, uint64_t end)
{
    uint8_t *base = themis_store_arena_extent_page(arena->space, extent, 0);

    if (extent->valid == extent->pages)
        return add_piece(window, base + from, end - from);
    while (from < end) {
        uint32_t page = (uint32_t)(from / PAGE);
        int valid = themis_store_arena_extent_is_valid(extent, page);
        do
            page++;
        while ((uint64_t)page * PAGE < end && themis_store_arena_extent_is_valid(extent, page) == valid);
        uint64_t to = themis_util_min((uint64_t)page * PAGE, end);
        if (!(valid ? add_piece(window, base + from, to - from)
                    : read_invalid(arena, window, extent->offset + from, extent->offset + to)))
            return 0;
        from = to;
    }
    return 1;
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
        extent_t *extent = themis_store_arena_object_extent(object, at, index, &part_end);
        if (!extent && is_write) {
            status = themis_store_arena_extents_add(&object->extents, arena->space, *index, at, part_end - at, 1);
            continue;
        }
        if (!extent)
            *full = !zeros_part(arena, window, part_end - at);
        else if (is_write)
            status = write_part(arena, window, extent, at - extent->offset, part_end - extent->offset, full);
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
    themis_status_t status =
        window->direction == THEMIS_WRITE ? themis_store_arena_durable_admit((arena_t *)store) : THEMIS_OK;
    uint32_t hint = 0;
    int full = 0;

    if (status != THEMIS_OK)
        return status;

    pthread_mutex_lock(&object->lock);
    if (window->direction == THEMIS_WRITE)
        themis_store_arena_durable_clear_tail((arena_t *)store, object);
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

/* `limit`: only what is below this byte of the object is kept. */
static void marks_release(const arena_t *arena, themis_store_window_t *window, int ok, uint64_t limit)
{
    for (size_t i = 0; i < window->mark_count; i++) {
        const themis_store_window_mark_t *mark = &window->marks[i];
        extent_t *extent = mark->extent;
        for (uint32_t page = mark->first; page < mark->end; page++) {
            uint64_t start = extent->offset + (uint64_t)page * PAGE;
            extent->state[page]--;
            if (ok && start + PAGE <= limit)
                themis_store_arena_extent_make_valid(extent, page);
            else if (ok && start < limit && extent->state[page] == 0) /* else its bytes are carried to a shadow */
                themis_store_arena_shadow_keep(arena, window->object, extent, page, (uint32_t)(limit - start));
            themis_store_arena_shadow_settle(arena, window->object, start);
        }
    }
}

static uint64_t window_end(const themis_store_window_t *window)
{
    uint64_t end = 0;

    for (size_t i = 0; i < window->extent_count; i++)
        if (end < window->extents[i].offset + window->extents[i].length)
            end = window->extents[i].offset + window->extents[i].length;
    return end;
}

/* Bytes [at, end) of the object, which a window wrote at `from`, go to where the object has them now. */
static void part_carry(const arena_t *arena, object_t *object, uint64_t at, uint64_t end, const uint8_t *from)
{
    uint32_t index = 0;

    while (at < end) {
        uint64_t part_end = themis_util_min(end, at - at % PAGE + PAGE);
        extent_t *extent = themis_store_arena_object_extent(object, at, &index, &part_end);
        if (extent) {
            uint32_t page = (uint32_t)((at - extent->offset) / PAGE);
            uint8_t *to = themis_store_arena_shadow_target(arena, object, extent, page);
            if (!to) /* no memory: nobody sees it before who has claimed the page ends */
                to = themis_store_arena_extent_page(arena->space, extent, page);
            if (to + at % PAGE != from)
                memcpy(to + at % PAGE, from, part_end - at);
        }
        from += part_end - at;
        at = part_end;
    }
}

/* A truncation since prepare may have moved what it kept, and pages that had shadows may no longer have them: so are
 * the bytes of the window that are below `limit`. */
static void window_carry(const arena_t *arena, const themis_store_window_t *window, uint64_t limit)
{
    size_t piece = 0, used = 0;

    for (size_t i = 0; i < window->extent_count; i++) {
        const themis_store_extent_t *extent = &window->extents[i];
        for (uint64_t at = extent->offset, end = at + extent->length, length; at < end; at += length) {
            const struct iovec *from = &window->pieces[piece];
            length = themis_util_min(end - at, from->iov_len - used);
            if (at < limit)
                part_carry(arena, window->object, at, themis_util_min(at + length, limit),
                           (const uint8_t *)from->iov_base + used);
            used += length;
            if (used == from->iov_len) {
                piece++;
                used = 0;
            }
        }
    }
}

static themis_status_t arena_finish(themis_store_t *store, themis_store_window_t *window, themis_status_t moved)
{
    arena_t *arena = (arena_t *)store;
    object_t *object = window->object;
    int ok = moved == THEMIS_OK;
    themis_status_t status = THEMIS_OK;

    if (window->direction == THEMIS_WRITE)
        themis_store_arena_durable_note(arena, window);
    pthread_mutex_lock(&object->lock);
    if (window->direction == THEMIS_WRITE) {
        /* A truncation that came between: the write is treated as if it came before. */
        uint64_t limit = themis_store_arena_object_limit(object, window->generation);
        marks_release(arena, window, ok, limit);
        if (ok && (limit != UINT64_MAX || window->shadowed))
            window_carry(arena, window, limit);
        themis_store_arena_object_raise(object, ok && limit == UINT64_MAX ? window_end(window) : 0);
        status = themis_store_arena_durable_flush(arena, object);
    }
    object->windows--;
    themis_store_arena_object_collect(arena, object);
    pthread_mutex_unlock(&object->lock);
    return ok ? status : moved;
}

/* --- whole objects ----------------------------------------------------------------------------------------------- */

/* Discards the bytes from `size` on. Extents that are cut while the object is pinned are replaced: a process that has
 * lost its grant, but does not know yet, may still write into them. On failure nothing has changed. */
static themis_status_t object_cut(const arena_t *arena, object_t *object, uint64_t size)
{
    themis_store_arena_cut_t *cut = object->windows ? malloc(sizeof *cut) : NULL;
    themis_status_t status = object->windows && !cut ? THEMIS_NO_MEMORY : THEMIS_OK;

    if (status == THEMIS_OK && (object->cell || object->detached)) /* somebody holds a pin */
        status = themis_store_arena_extents_replace(&object->extents, arena->space, size);
    if (status == THEMIS_OK) {
        themis_store_arena_object_detach_cell(object);
        status = themis_store_arena_durable_cut(arena, object, size);
    }
    if (status != THEMIS_OK) {
        free(cut);
        return status;
    }
    themis_store_arena_extents_cut(&object->extents, arena->space, size);
    themis_store_arena_shadow_cut(arena, object, size);
    object->generation++;
    if (cut) {
        *cut = (themis_store_arena_cut_t){.generation = object->generation, .size = size, .next = object->cuts};
        object->cuts = cut;
    }
    return THEMIS_OK;
}

static themis_status_t arena_truncate(themis_store_t *store, object_t *object, uint64_t size)
{
    arena_t *arena = (arena_t *)store;
    themis_status_t status = THEMIS_OK;

    pthread_mutex_lock(&object->lock);
    themis_store_arena_durable_clear_tail(arena, object);
    themis_store_arena_object_fold(object);
    if (size < object->end || size < themis_store_arena_extents_end(&object->extents))
        status = object_cut(arena, object, size);
    if (status == THEMIS_OK) {
        object->end = size;
        themis_store_arena_object_raise(object, size);
        status = themis_store_arena_durable_flush(arena, object);
        themis_store_arena_object_collect(arena, object);
    }
    pthread_mutex_unlock(&object->lock);
    return status;
}

/* Units that holes of the object inside [at, end) need. */
static uint64_t units_missing(const object_t *object, uint64_t at, uint64_t end)
{
    uint64_t units = 0, part_end;
    uint32_t index = 0;

    for (; at < end; at = part_end) {
        part_end = end;
        if (!themis_store_arena_object_extent(object, at, &index, &part_end))
            units += (part_end - 1) / PAGE - at / PAGE + 1;
    }
    return units;
}

/* On failure nothing has changed. */
static themis_status_t arena_allocate(themis_store_t *store, object_t *object, const themis_store_extent_t *range)
{
    const arena_t *arena = (arena_t *)store;
    themis_store_space_t *space = arena->space;
    uint64_t at = range->offset, end = range->offset + range->length;
    themis_status_t status = themis_store_arena_durable_admit(arena);
    uint32_t index = 0;

    pthread_mutex_lock(&object->lock);
    /* else it would take all that there is from others before it fails */
    if (status == THEMIS_OK && !themis_store_space_has_room(space, units_missing(object, at, end)))
        status = THEMIS_NO_SPACE;
    if (status == THEMIS_OK)
        themis_store_arena_durable_clear_tail(arena, object);
    while (at < end && status == THEMIS_OK) {
        uint64_t part_end = end;
        if (themis_store_arena_object_extent(object, at, &index, &part_end))
            at = part_end;
        else
            status = themis_store_arena_extents_add(&object->extents, space, index, at, part_end - at, 0);
    }
    themis_store_arena_extents_reserved(&object->extents, space, status == THEMIS_OK);
    if (status == THEMIS_OK && object->end < end)
        themis_store_arena_object_raise(object, end);
    if (status == THEMIS_OK)
        status = themis_store_arena_durable_flush(arena, object);
    pthread_mutex_unlock(&object->lock);
    return status;
}

static themis_status_t arena_size(themis_store_t *store, object_t *object, themis_store_size_t *size)
{
    pthread_mutex_lock(&object->lock);
    themis_store_arena_object_fold(object);
    *size =
        (themis_store_size_t){.end = object->end, .allocated = object->extents.allocated, .modified = object->modified};
    pthread_mutex_unlock(&object->lock);
    return THEMIS_OK;
}

static themis_status_t arena_set_modified(themis_store_t *store, object_t *object, uint64_t modified)
{
    pthread_mutex_lock(&object->lock);
    themis_store_arena_object_set_modified(object, modified);
    themis_store_arena_durable_touch(object);
    themis_status_t status = themis_store_arena_durable_flush((const arena_t *)store, object);
    pthread_mutex_unlock(&object->lock);
    return status;
}

/* With the object's lock held, as extents must not change. Without a sync the kernel writes a mapped file some time. */
static themis_status_t arena_sync(themis_store_t *store, object_t *object)
{
    arena_t *arena = (arena_t *)store;
    themis_status_t status = THEMIS_OK;

    if (arena->log)
        return themis_store_arena_durable_sync(arena, object);
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

/* A shard; its lock, for which I/O waits, is held only while ids are copied. */
static themis_status_t arena_list(themis_store_t *store, themis_store_list_part_t *part)
{
    uint64_t index = (part->after + 1) >> THEMIS_STORE_ARENA_SHARD_SHIFT;
    shard_t *shard = &((arena_t *)store)->shards[index];
    themis_status_t status = THEMIS_OK;

    part->end = ((index + 1) << THEMIS_STORE_ARENA_SHARD_SHIFT) - 1;
    pthread_mutex_lock(&shard->lock);
    for (const object_t *at = shard->objects; at && status == THEMIS_OK; at = at->hh.next)
        if (themis_store_list_hash(at->id) > part->after)
            status = themis_store_list_part_add(part, at->id);
    pthread_mutex_unlock(&shard->lock);
    return status;
}

static void arena_destroy(themis_store_t *store)
{
    arena_t *arena = (arena_t *)store;
    object_t *object, *next;

    themis_store_arena_durable_stop(arena);
    for (int i = 0; i < SHARDS; i++) {
        HASH_ITER(hh, arena->shards[i].objects, object, next)
        {
            HASH_DELETE(hh, arena->shards[i].objects, object);
            object_free(arena, object);
        }
        pthread_mutex_destroy(&arena->shards[i].lock);
    }
    themis_store_space_destroy(arena->space);
    themis_store_arena_durable_destroy(arena);
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
                                             .set_modified = arena_set_modified,
                                             .sync = arena_sync,
                                             .remove = arena_remove,
                                             .usage = arena_usage,
                                             .list = arena_list,
                                             .direct = themis_store_arena_direct,
                                             .pin = themis_store_arena_direct_pin,
                                             .unpin = themis_store_arena_direct_unpin,
                                             .map = themis_store_arena_direct_map,
                                             .block_allocate = themis_store_arena_direct_block_allocate,
                                             .block_free = themis_store_arena_direct_block_free,
                                             .segment = themis_store_arena_direct_segment};

themis_status_t themis_store_arena_create(const themis_store_options_t *options, themis_store_t **store)
{
    arena_t *arena = calloc(1, sizeof *arena);

    if (!arena)
        return THEMIS_NO_MEMORY;
    arena->base.ops = &arena_ops;
    arena->directory = arena->lock_fd = -1;
    pthread_mutex_init(&arena->blocks_lock, NULL);
    arena->mapped_file = options->path && *options->path;
    for (int i = 0; i < SHARDS; i++)
        pthread_mutex_init(&arena->shards[i].lock, NULL);
    void *zeros = mmap(NULL, ZEROS, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    themis_status_t status = zeros == MAP_FAILED ? THEMIS_NO_MEMORY : THEMIS_OK;
    arena->zeros = zeros == MAP_FAILED ? NULL : zeros;
    if (status == THEMIS_OK && options->directory && *options->directory)
        status = themis_store_arena_durable_start(arena, options);
    else if (status == THEMIS_OK)
        status = themis_store_space_create(options, NULL, -1, &arena->space);
    if (status != THEMIS_OK) {
        arena_destroy(&arena->base);
        return status;
    }
    *store = &arena->base;
    return THEMIS_OK;
}
