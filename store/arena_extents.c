/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/arena_extents.h"
#include <stdlib.h>
#include <string.h>

enum { GROWTH_SHIFT = 2 /* a new extent is at most a quarter of what the object has */ };

uint32_t themis_store_arena_extents_find(const themis_store_arena_extents_t *extents, uint64_t offset, uint32_t hint)
{
    uint32_t low = 0, high = extents->count;

    for (uint32_t i = hint; i < high && i < hint + 2; i++)
        if (themis_store_arena_extent_end(extents->extent[i]) > offset &&
            (i == 0 || themis_store_arena_extent_end(extents->extent[i - 1]) <= offset))
            return i;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (themis_store_arena_extent_end(extents->extent[middle]) <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static unsigned floor_order(uint64_t pages)
{
    unsigned order = 63 - (unsigned)__builtin_clzll(pages | 1);

    return order < THEMIS_STORE_SPACE_MAX_ORDER ? order : THEMIS_STORE_SPACE_MAX_ORDER;
}

/* How large an extent at `offset` should be: `length`, more where the object grows at an extent's end, and never into
 * the next extent. `index` is its future place in the list. */
static unsigned wanted_order(const themis_store_arena_extents_t *extents, uint32_t index, uint64_t offset,
                             uint64_t length)
{
    uint64_t pages = (length + THEMIS_STORE_ARENA_PAGE - 1) / THEMIS_STORE_ARENA_PAGE;
    uint64_t room =
        index < extents->count ? (extents->extent[index]->offset - offset) / THEMIS_STORE_ARENA_PAGE : UINT64_MAX;
    int grows = index > 0 ? themis_store_arena_extent_end(extents->extent[index - 1]) == offset : offset == 0;
    uint64_t growth = (extents->allocated / THEMIS_STORE_ARENA_PAGE) >> GROWTH_SHIFT;

    if (grows && growth > pages)
        pages = growth;
    return floor_order(pages < room ? pages : room);
}

static int extents_grow(themis_store_arena_extents_t *extents)
{
    if (extents->count < extents->capacity)
        return 1;
    uint32_t capacity = extents->capacity ? extents->capacity * 2 : 1;
    themis_store_arena_extent_t **grown = realloc(extents->extent, capacity * sizeof *grown);
    if (!grown)
        return 0;
    extents->extent = grown;
    extents->capacity = capacity;
    return 1;
}

themis_status_t themis_store_arena_extents_add(themis_store_arena_extents_t *extents, themis_store_space_t *space,
                                               uint32_t index, uint64_t offset, uint64_t length)
{
    uint64_t start = offset / THEMIS_STORE_ARENA_PAGE * THEMIS_STORE_ARENA_PAGE;
    unsigned order;
    uint32_t unit;

    if (!extents_grow(extents))
        return THEMIS_NO_MEMORY;
    themis_status_t status =
        themis_store_space_allocate(space, wanted_order(extents, index, start, offset - start + length), &order, &unit);
    if (status != THEMIS_OK)
        return status;
    themis_store_arena_extent_t *extent = calloc(1, sizeof *extent + (sizeof *extent->state << order));
    if (!extent) {
        themis_store_space_free(space, unit, order);
        return THEMIS_NO_MEMORY;
    }
    *extent = (themis_store_arena_extent_t){
        .offset = start, .unit = unit, .pages = UINT32_C(1) << order, .order = (uint8_t)order};
    memmove(extents->extent + index + 1, extents->extent + index, (extents->count - index) * sizeof *extents->extent);
    extents->extent[index] = extent;
    extents->count++;
    extents->allocated += (uint64_t)extent->pages * THEMIS_STORE_ARENA_PAGE;
    return THEMIS_OK;
}

uint8_t *themis_store_arena_extent_page(const themis_store_space_t *space, const themis_store_arena_extent_t *extent,
                                        uint32_t page)
{
    return themis_store_space_address(space, extent->unit + page);
}

static void extent_free(themis_store_space_t *space, themis_store_arena_extent_t *extent)
{
    themis_store_space_free(space, extent->unit, extent->order);
    free(extent);
}

void themis_store_arena_extents_collect(themis_store_arena_extents_t *extents, themis_store_space_t *space)
{
    while (extents->retired) {
        themis_store_arena_extent_t *extent = extents->retired;
        extents->retired = extent->next;
        extent_free(space, extent);
    }
}

void themis_store_arena_extents_release(themis_store_arena_extents_t *extents, themis_store_space_t *space)
{
    themis_store_arena_extents_collect(extents, space);
    for (uint32_t i = 0; i < extents->count; i++)
        extent_free(space, extents->extent[i]);
    free(extents->extent);
}

static void extent_retire(themis_store_arena_extents_t *extents, themis_store_arena_extent_t *extent)
{
    extents->allocated -= (uint64_t)extent->pages * THEMIS_STORE_ARENA_PAGE;
    extent->next = extents->retired;
    extents->retired = extent;
}

/* Discards the bytes of an extent from `offset` on, which lies inside it. */
static void extent_cut(const themis_store_space_t *space, themis_store_arena_extent_t *extent, uint64_t offset)
{
    uint32_t page = (uint32_t)((offset - extent->offset) / THEMIS_STORE_ARENA_PAGE);
    uint64_t inside = offset % THEMIS_STORE_ARENA_PAGE;

    if (inside && (extent->state[page] & THEMIS_STORE_ARENA_VALID))
        memset(themis_store_arena_extent_page(space, extent, page) + inside, 0, THEMIS_STORE_ARENA_PAGE - inside);
    for (page += inside != 0; page < extent->pages; page++)
        if (extent->state[page] & THEMIS_STORE_ARENA_VALID) {
            extent->state[page] &= (uint16_t)~THEMIS_STORE_ARENA_VALID;
            extent->valid--;
        }
}

int themis_store_arena_extents_cut(themis_store_arena_extents_t *extents, const themis_store_space_t *space,
                                   uint64_t size)
{
    uint32_t index = themis_store_arena_extents_find(extents, size, 0);

    if (index == extents->count)
        return 0;
    if (extents->extent[index]->offset < size)
        extent_cut(space, extents->extent[index++], size);
    for (uint32_t i = index; i < extents->count; i++)
        extent_retire(extents, extents->extent[i]);
    extents->count = index;
    return 1;
}
