/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/arena_direct.h"
#include <stdlib.h>
#include <string.h>
#include "store/arena_durable.h"
#include "store/arena_object.h"
#include "util/min.h"

enum {
    PAGE = THEMIS_STORE_ARENA_PAGE,
    HOLE_UNIT = 64 << 10,      /* what a small write into a hole gets, aligned, in a sparse object */
    DENSE_HOLE_UNIT = 1 << 20, /* and in one that has memory for an eighth of its length or more */
    DENSE_PARTS = 8,
    CALL_BYTES = 64 << 20, /* that one call allocates or clears at most, about */
    SHARED_PAGES = 64,     /* of the smallest extent whose pages need not be cleared; their states take a page */
    BLOCK_ORDER = 2
};
typedef themis_store_object_t object_t;
typedef themis_store_arena_extent_t extent_t;

_Static_assert(PAGE << BLOCK_ORDER == THEMIS_UTIL_DIRECT_BLOCK_BYTES, "a block of slots is one block of the space");

int themis_store_arena_direct(const themis_store_t *store)
{
    return themis_store_space_direct(((const themis_store_arena_t *)store)->space);
}

/* --- memory of one user ------------------------------------------------------------------------------------------ */

/* A block of zeros of exactly `order`, in memory that can be passed on. */
static themis_status_t block_get(themis_store_space_t *space, uint32_t uid, unsigned order, uint32_t *unit,
                                 themis_store_location_t *location)
{
    unsigned got;
    themis_status_t status = themis_store_space_allocate(space, uid, order, &got, unit);

    if (status != THEMIS_OK)
        return status;
    if (got != order || !themis_store_space_locate(space, *unit, location)) {
        themis_store_space_free(space, *unit, got);
        return THEMIS_NO_SPACE;
    }
    themis_store_space_populate(space, *unit, order);
    memset(themis_store_space_address(space, *unit), 0, (size_t)PAGE << order);
    return THEMIS_OK;
}

themis_status_t themis_store_arena_direct_block_allocate(themis_store_t *store, uint32_t uid,
                                                         themis_store_location_t *location, void **address)
{
    themis_store_space_t *space = ((themis_store_arena_t *)store)->space;
    uint32_t unit;

    if (!themis_store_space_passes_on(space, uid))
        return THEMIS_UNSUPPORTED;
    themis_status_t status = block_get(space, uid, BLOCK_ORDER, &unit, location);
    if (status != THEMIS_OK)
        return status;
    status = themis_store_arena_durable_block((themis_store_arena_t *)store, unit, 1);
    if (status == THEMIS_OK)
        *address = themis_store_space_address(space, unit);
    else
        themis_store_space_free(space, unit, BLOCK_ORDER);
    return status;
}

void themis_store_arena_direct_block_free(themis_store_t *store, void *address)
{
    themis_store_space_t *space = ((themis_store_arena_t *)store)->space;

    uint32_t unit = themis_store_space_unit(space, address);

    if (themis_store_arena_durable_block((themis_store_arena_t *)store, unit, 0) == THEMIS_OK)
        themis_store_space_free(space, unit, BLOCK_ORDER); /* else the log still has it */
}

themis_status_t themis_store_arena_direct_segment(themis_store_t *store, uint64_t serial, uint32_t uid, int *fd,
                                                  uint64_t *bytes)
{
    return themis_store_space_segment(((themis_store_arena_t *)store)->space, serial, uid, fd, bytes);
}

/* --- pins -------------------------------------------------------------------------------------------------------- */

static themis_status_t cell_create(themis_store_space_t *space, object_t *object)
{
    themis_store_arena_cell_t *cell = calloc(1, sizeof *cell);

    if (!cell)
        return THEMIS_NO_MEMORY;
    themis_status_t status = block_get(space, object->extents.owner, 0, &cell->unit, &cell->location);
    if (status != THEMIS_OK) {
        free(cell);
        return status;
    }
    cell->shared = (themis_util_direct_cell_t *)themis_store_space_address(space, cell->unit);
    atomic_store(&cell->shared->end, object->end);
    atomic_store(&cell->shared->modified, object->modified);
    object->cell = cell;
    object->changes.cell = 1;
    return THEMIS_OK;
}

themis_status_t themis_store_arena_direct_pin(themis_store_t *store, object_t *object, uint32_t uid,
                                              themis_store_location_t *cell)
{
    themis_store_arena_t *arena = (themis_store_arena_t *)store;
    themis_status_t status = themis_store_arena_durable_admit(arena);

    if (!themis_store_space_passes_on(arena->space, uid) || object->extents.owner != uid)
        return THEMIS_UNSUPPORTED;
    pthread_mutex_lock(&object->lock);
    themis_store_arena_durable_clear_tail(arena, object);
    if (status == THEMIS_OK && !object->cell)
        status = cell_create(arena->space, object);
    if (status == THEMIS_OK)
        status = themis_store_arena_durable_flush(arena, object);
    if (status == THEMIS_OK) {
        object->cell->pins++;
        *cell = object->cell->location;
    }
    pthread_mutex_unlock(&object->lock);
    return status;
}

/* Of those that the object has or had. */
static themis_store_arena_cell_t *cell_find(const object_t *object, const themis_store_location_t *location)
{
    themis_store_arena_cell_t *cell = object->cell;

    if (cell && cell->location.segment == location->segment && cell->location.at == location->at)
        return cell;
    for (cell = object->detached; cell; cell = cell->next)
        if (cell->location.segment == location->segment && cell->location.at == location->at)
            return cell;
    return NULL;
}

void themis_store_arena_direct_unpin(themis_store_t *store, object_t *object, const themis_store_location_t *location)
{
    pthread_mutex_lock(&object->lock);
    themis_store_arena_cell_t *cell = cell_find(object, location);
    if (cell && --cell->pins == 0) {
        if (cell == object->cell)
            themis_store_arena_object_detach_cell(object);
        themis_store_arena_object_collect((themis_store_arena_t *)store, object);
    }
    pthread_mutex_unlock(&object->lock);
}

/* --- maps -------------------------------------------------------------------------------------------------------- */

static uint64_t hole_unit(const themis_store_arena_extents_t *extents)
{
    uint64_t end = extents->count ? themis_store_arena_extent_end(extents->extent[extents->count - 1]) : 0;

    return extents->allocated >= end / DENSE_PARTS ? DENSE_HOLE_UNIT : HOLE_UNIT;
}

/* Adds an extent in a hole that [at, end) is in, at `index` of the list. It may end before `at`: where the object does
 * not grow at an extent's end, it begins with the pages around, which the next small writes need. */
static themis_status_t hole_add(const themis_store_arena_t *arena, object_t *object, uint32_t index, uint64_t at,
                                uint64_t end)
{
    themis_store_arena_extents_t *extents = &object->extents;
    uint64_t from = index ? themis_store_arena_extent_end(extents->extent[index - 1]) : 0;

    if (from < at / PAGE * PAGE && themis_store_space_has_plenty(arena->space)) {
        uint64_t unit = hole_unit(extents), start = at / unit * unit;
        uint64_t next = index < extents->count ? extents->extent[index]->offset : UINT64_MAX;
        at = from > start ? from : start;
        end = themis_util_min(next, (end + unit - 1) / unit * unit);
    }
    return themis_store_arena_extents_add(extents, arena->space, index, at, end - at, 1);
}

static themis_status_t holes_fill(const themis_store_arena_t *arena, object_t *object, uint64_t at, uint64_t end)
{
    themis_status_t status = THEMIS_OK;
    uint32_t index = 0;

    while (at < end && status == THEMIS_OK) {
        uint64_t part_end = end;
        if (themis_store_arena_object_extent(object, at, &index, &part_end))
            at = part_end;
        else
            status = hole_add(arena, object, index, at, part_end);
    }
    return status;
}

/* 1: all of the extent is valid, or has become so. Not while a write is under way that began before a truncation: it
 * may still write to what the truncation has discarded. */
static int extent_prepare(const themis_store_arena_t *arena, const object_t *object, extent_t *extent)
{
    return (!object->cuts || extent->valid == extent->pages) &&
           themis_store_arena_extent_complete(arena->space, extent);
}

/* 1: clients can see which pages of the extent are valid, and make them so. */
static int extent_share(const themis_store_arena_t *arena, const object_t *object, extent_t *extent)
{
    themis_store_location_t location;
    uint32_t unit;

    if (extent->shared)
        return !object->cuts;
    if (extent->pages < SHARED_PAGES || object->cuts ||
        block_get(arena->space, object->extents.owner, 0, &unit, &location) != THEMIS_OK)
        return 0;
    themis_store_arena_extent_share(extent, arena->space, unit, &location);
    return 1;
}

/* Fills in the extent and where it is; 0 if it cannot be mapped. *cleared: the bytes that were cleared for it. */
static int extent_map(const themis_store_arena_t *arena, const object_t *object, extent_t *extent, int flags,
                      themis_store_mapped_t *mapped, uint64_t *cleared)
{
    /* the last page of the largest object ends past what messages can say */
    if (themis_store_arena_extent_end(extent) > INT64_MAX ||
        !themis_store_space_locate(arena->space, extent->unit, &mapped->location))
        return 0;
    mapped->offset = extent->offset;
    mapped->length = (uint64_t)extent->pages * PAGE;
    mapped->pages = (themis_store_location_t){0, 0};
    for (uint32_t page = 0; extent->shared && page < extent->pages; page++)
        themis_store_arena_extent_is_valid(extent, page); /* takes over what clients have filled */
    if (extent->valid < extent->pages && flags & THEMIS_STORE_MAP_INCOMPLETE && extent_share(arena, object, extent)) {
        mapped->pages = extent->shared_at;
        return 1;
    }
    *cleared += (uint64_t)(extent->pages - extent->valid) * PAGE;
    return extent_prepare(arena, object, extent);
}

/* Extents that end after `at`, up to `end`, as long as they take no more clearing than a call may do. `touched`: 1 if
 * there is any, mapped or not. */
static size_t extents_map(const themis_store_arena_t *arena, object_t *object, const themis_store_extent_t *range,
                          int flags, themis_store_mapped_t *mapped, size_t capacity, int *touched)
{
    const themis_store_arena_extents_t *extents = &object->extents;
    uint64_t cleared = 0, end = range->offset + range->length;
    size_t count = 0;

    for (uint32_t i = themis_store_arena_extents_find(extents, range->offset, 0);
         i < extents->count && extents->extent[i]->offset < end && count < capacity && cleared < CALL_BYTES; i++) {
        *touched = 1;
        count += (size_t)extent_map(arena, object, extents->extent[i], flags, &mapped[count], &cleared);
    }
    return count;
}

themis_status_t themis_store_arena_direct_map(themis_store_t *store, object_t *object,
                                              const themis_store_extent_t *range, int flags,
                                              themis_store_mapped_t *mapped, size_t capacity, size_t *count)
{
    const themis_store_arena_t *arena = (themis_store_arena_t *)store;
    int allocates = flags & THEMIS_STORE_MAP_ALLOCATE;
    const themis_store_extent_t part = {range->offset,
                                        allocates ? themis_util_min(range->length, CALL_BYTES) : range->length};
    themis_status_t status = allocates ? themis_store_arena_durable_admit(arena) : THEMIS_OK;
    int touched = 0;

    pthread_mutex_lock(&object->lock);
    if (allocates && status == THEMIS_OK)
        status = holes_fill(arena, object, part.offset, part.offset + part.length);
    *count = extents_map(arena, object, &part, flags, mapped, capacity, &touched);
    /* before anybody writes to them */
    themis_status_t flushed = themis_store_arena_durable_flush(arena, object);
    pthread_mutex_unlock(&object->lock);
    if (flushed != THEMIS_OK)
        return flushed;
    return touched ? THEMIS_OK : status;
}
