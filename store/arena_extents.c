/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/arena_extents.h"
#include <stdlib.h>
#include <string.h>
#include "store/space_durable.h"

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

static int extents_reserve(themis_store_arena_extents_t *extents, uint32_t count)
{
    if (count <= extents->capacity)
        return 1;
    uint32_t capacity = count > extents->capacity * 2 ? count : extents->capacity * 2;
    themis_store_arena_extent_t **grown = realloc(extents->extent, capacity * sizeof *grown);
    if (!grown)
        return 0;
    extents->extent = grown;
    extents->capacity = capacity;
    return 1;
}

/* --- what the log does not say yet -------------------------------------------------------------------------------- */

static void extent_change(themis_store_arena_extent_t *extent)
{
    if (extent->is_changed)
        return;
    extent->is_changed = 1;
    extent->changed = extent->changes->extents;
    extent->changes->extents = extent;
}

void themis_store_arena_extent_note(themis_store_arena_extent_t *extent, uint32_t page)
{
    if (extent->changed_first == extent->changed_end) {
        extent->changed_first = page;
        extent->changed_end = page + 1;
    } else if (page < extent->changed_first) {
        extent->changed_first = page;
    } else if (page >= extent->changed_end) {
        extent->changed_end = page + 1;
    }
    extent_change(extent);
}

/* The extent has become one of the object's. */
static void extent_adopt(themis_store_arena_extents_t *extents, themis_store_arena_extent_t *extent)
{
    if (!extents->changes)
        return;
    extent->changes = extents->changes;
    extent->is_new = 1;
    extent->changed_first = 0;
    extent->changed_end = extent->pages;
    extent_change(extent);
}

/* It is none any more. */
static void extent_abandon(themis_store_arena_extent_t *extent)
{
    if (!extent->changes)
        return;
    for (themis_store_arena_extent_t **at = &extent->changes->extents; *at; at = &(*at)->changed)
        if (*at == extent) {
            *at = extent->changed;
            break;
        }
    extent->is_changed = 0;
    extent->changes = NULL;
}

/* --- extents ------------------------------------------------------------------------------------------------------ */

/* Puts an extent at `index` of the list, which has room for it. */
static void extent_place(themis_store_arena_extents_t *extents, uint32_t index, themis_store_arena_extent_t *extent)
{
    memmove(extents->extent + index + 1, extents->extent + index, (extents->count - index) * sizeof *extents->extent);
    extents->extent[index] = extent;
    extents->count++;
    extents->allocated += (uint64_t)extent->pages * THEMIS_STORE_ARENA_PAGE;
}

/* An extent of `order` or lower at `index`, from `start` on. */
static themis_status_t extent_insert(themis_store_arena_extents_t *extents, themis_store_space_t *space, uint32_t index,
                                     uint64_t start, unsigned order, int populate)
{
    uint32_t unit;

    if (!extents_reserve(extents, extents->count + 1))
        return THEMIS_NO_MEMORY;
    themis_status_t status = themis_store_space_allocate(space, extents->owner, order, &order, &unit);
    if (status != THEMIS_OK)
        return status;
    themis_store_arena_extent_t *extent = calloc(1, sizeof *extent + (sizeof *extent->state << order));
    if (!extent) {
        themis_store_space_free(space, unit, order);
        return THEMIS_NO_MEMORY;
    }
    if (populate)
        themis_store_space_populate(space, unit, order);
    *extent = (themis_store_arena_extent_t){
        .offset = start, .unit = unit, .pages = UINT32_C(1) << order, .order = (uint8_t)order, .reserved = !populate};
    for (uint32_t page = 0; page < extent->pages; page++)
        if (themis_store_space_is_fresh(space, unit + page))
            themis_store_arena_extent_make_valid(extent, page);
    if (populate)
        extent_adopt(extents, extent);
    extent_place(extents, index, extent);
    return THEMIS_OK;
}

themis_status_t themis_store_arena_extents_add(themis_store_arena_extents_t *extents, themis_store_space_t *space,
                                               uint32_t index, uint64_t offset, uint64_t length, int populate)
{
    uint64_t start = offset / THEMIS_STORE_ARENA_PAGE * THEMIS_STORE_ARENA_PAGE;

    return extent_insert(extents, space, index, start, wanted_order(extents, index, start, offset - start + length),
                         populate);
}

uint8_t *themis_store_arena_extent_page(const themis_store_space_t *space, const themis_store_arena_extent_t *extent,
                                        uint32_t page)
{
    return themis_store_space_address(space, extent->unit + page);
}

uint64_t themis_store_arena_extents_end(const themis_store_arena_extents_t *extents)
{
    return extents->count ? themis_store_arena_extent_end(extents->extent[extents->count - 1]) : 0;
}

/* 0: the page is valid. */
static int page_begin_clearing(themis_store_arena_extent_t *extent, uint32_t page)
{
    uint8_t invalid = THEMIS_UTIL_DIRECT_PAGE_INVALID;

    if (themis_store_arena_extent_is_valid(extent, page))
        return 0;
    if (!extent->shared ||
        atomic_compare_exchange_strong(&extent->shared[page], &invalid, THEMIS_UTIL_DIRECT_PAGE_CLEARING))
        return 1;
    themis_store_arena_extent_make_valid(extent, page); /* a client was faster */
    return 0;
}

/* Its bytes have changed. */
static void extent_touch(themis_store_space_t *space, const themis_store_arena_extent_t *extent)
{
    themis_store_space_durable_note(space, themis_store_arena_extent_page(space, extent, 0));
}

/* Pages [first, end), which have begun clearing. */
static void pages_clear(themis_store_space_t *space, themis_store_arena_extent_t *extent, uint32_t first, uint32_t end)
{
    memset(themis_store_arena_extent_page(space, extent, first), 0, (size_t)(end - first) * THEMIS_STORE_ARENA_PAGE);
    extent_touch(space, extent);
    for (uint32_t page = first; page < end; page++)
        themis_store_arena_extent_make_valid(extent, page);
}

void themis_store_arena_extent_clear(themis_store_space_t *space, themis_store_arena_extent_t *extent, uint32_t page)
{
    if (page_begin_clearing(extent, page))
        pages_clear(space, extent, page, page + 1);
}

void themis_store_arena_extent_keep(themis_store_space_t *space, themis_store_arena_extent_t *extent, uint32_t page,
                                    uint32_t kept)
{
    if (!page_begin_clearing(extent, page))
        return;
    memset(themis_store_arena_extent_page(space, extent, page) + kept, 0, THEMIS_STORE_ARENA_PAGE - kept);
    extent_touch(space, extent);
    themis_store_arena_extent_make_valid(extent, page);
}

int themis_store_arena_extent_complete(themis_store_space_t *space, themis_store_arena_extent_t *extent)
{
    if (extent->valid == extent->pages)
        return 1;
    for (uint32_t page = 0; page < extent->pages; page++)
        if (!themis_store_arena_extent_is_valid(extent, page) && extent->state[page])
            return 0;
    for (uint32_t page = 0, end; page < extent->pages; page = end + 1) {
        for (end = page; end < extent->pages && page_begin_clearing(extent, end);)
            end++;
        pages_clear(space, extent, page, end);
    }
    return 1;
}

void themis_store_arena_extent_share(themis_store_arena_extent_t *extent, const themis_store_space_t *space,
                                     uint32_t unit, const themis_store_location_t *location)
{
    extent->shared = (_Atomic uint8_t *)themis_store_space_address(space, unit);
    extent->shared_unit = unit;
    extent->shared_at = *location;
    if (extent->changes) {
        extent->is_new_shared = 1;
        extent_change(extent);
    }
    for (uint32_t page = 0; page < extent->pages; page++)
        if (extent->state[page] & THEMIS_STORE_ARENA_VALID)
            atomic_store(&extent->shared[page], THEMIS_UTIL_DIRECT_PAGE_VALID);
}

static void extent_free(themis_store_space_t *space, themis_store_arena_extent_t *extent)
{
    if (extent->shared)
        themis_store_space_free(space, extent->shared_unit, 0);
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

void themis_store_arena_extents_reserved(themis_store_arena_extents_t *extents, themis_store_space_t *space, int keep)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < extents->count; i++) {
        themis_store_arena_extent_t *extent = extents->extent[i];
        if (extent->reserved && !keep) {
            extents->allocated -= (uint64_t)extent->pages * THEMIS_STORE_ARENA_PAGE;
            extent_free(space, extent);
            continue;
        }
        if (extent->reserved)
            extent_adopt(extents, extent);
        extent->reserved = 0;
        extents->extent[count++] = extent;
    }
    extents->count = count;
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
    extent_abandon(extent);
    extents->allocated -= (uint64_t)extent->pages * THEMIS_STORE_ARENA_PAGE;
    extent->next = extents->retired;
    extents->retired = extent;
}

/* Discards the bytes of an extent from `offset` on, which lies inside it. */
static void extent_cut(themis_store_space_t *space, themis_store_arena_extent_t *extent, uint64_t offset)
{
    uint32_t page = (uint32_t)((offset - extent->offset) / THEMIS_STORE_ARENA_PAGE);
    uint64_t inside = offset % THEMIS_STORE_ARENA_PAGE;

    if (inside && themis_store_arena_extent_is_valid(extent, page)) {
        memset(themis_store_arena_extent_page(space, extent, page) + inside, 0, THEMIS_STORE_ARENA_PAGE - inside);
        extent_touch(space, extent);
    }
    for (page += inside != 0; page < extent->pages; page++)
        if (themis_store_arena_extent_is_valid(extent, page)) {
            extent->state[page] &= ~THEMIS_STORE_ARENA_VALID;
            extent->valid--;
            if (extent->shared)
                atomic_store(&extent->shared[page], THEMIS_UTIL_DIRECT_PAGE_INVALID);
        }
}

void themis_store_arena_extents_cut(themis_store_arena_extents_t *extents, themis_store_space_t *space, uint64_t size)
{
    uint32_t index = themis_store_arena_extents_find(extents, size, 0);

    if (index == extents->count)
        return;
    if (extents->extent[index]->offset < size)
        extent_cut(space, extents->extent[index++], size);
    for (uint32_t i = index; i < extents->count; i++)
        extent_retire(extents, extents->extent[i]);
    extents->count = index;
}

/* Extents for bytes [offset, end), in order, and for no more than whole pages of them. */
static themis_status_t extents_make(themis_store_arena_extents_t *made, themis_store_space_t *space, uint64_t offset,
                                    uint64_t end)
{
    themis_status_t status = THEMIS_OK;

    while (offset < end && status == THEMIS_OK) {
        uint64_t pages = (end - offset + THEMIS_STORE_ARENA_PAGE - 1) / THEMIS_STORE_ARENA_PAGE;
        status = extent_insert(made, space, made->count, offset, floor_order(pages), 1);
        offset = themis_store_arena_extents_end(made);
    }
    return status;
}

static void extent_copy(themis_store_space_t *space, themis_store_arena_extent_t *from, themis_store_arena_extent_t *to)
{
    uint32_t skipped = (uint32_t)((to->offset - from->offset) / THEMIS_STORE_ARENA_PAGE);

    for (uint32_t page = 0; page < to->pages && skipped + page < from->pages; page++)
        if (themis_store_arena_extent_is_valid(from, skipped + page)) {
            memcpy(themis_store_arena_extent_page(space, to, page),
                   themis_store_arena_extent_page(space, from, skipped + page), THEMIS_STORE_ARENA_PAGE);
            themis_store_arena_extent_make_valid(to, page);
        }
    extent_touch(space, to);
}

/* Puts `other` in the place of the extent at `index`; there is room. */
static void extents_splice(themis_store_arena_extents_t *extents, uint32_t index,
                           const themis_store_arena_extents_t *other)
{
    memmove(extents->extent + index + other->count, extents->extent + index + 1,
            (extents->count - index - 1) * sizeof *extents->extent);
    memcpy(extents->extent + index, other->extent, other->count * sizeof *extents->extent);
    extents->count += other->count - 1;
    extents->allocated += other->allocated;
}

themis_status_t themis_store_arena_extents_replace(themis_store_arena_extents_t *extents, themis_store_space_t *space,
                                                   uint64_t size)
{
    uint32_t index = themis_store_arena_extents_find(extents, size, 0);
    themis_store_arena_extents_t made = {.owner = extents->owner};

    if (index == extents->count || extents->extent[index]->offset >= size)
        return THEMIS_OK;
    themis_store_arena_extent_t *old = extents->extent[index];
    themis_status_t status = extents_make(&made, space, old->offset, size);
    if (status == THEMIS_OK && !extents_reserve(extents, extents->count + made.count))
        status = THEMIS_NO_MEMORY;
    if (status != THEMIS_OK) {
        themis_store_arena_extents_release(&made, space);
        return status;
    }
    for (uint32_t i = 0; i < made.count; i++)
        extent_copy(space, old, made.extent[i]);
    extents_splice(extents, index, &made);
    for (uint32_t i = 0; i < made.count; i++)
        extent_adopt(extents, made.extent[i]);
    if (extents->changes) {
        extents->changes->has_dropped = 1;
        extents->changes->dropped = old->offset;
    }
    extent_retire(extents, old);
    free(made.extent);
    return THEMIS_OK;
}

/* --- recovery -------------------------------------------------------------------------------------------------------
 */

void themis_store_arena_extent_unshare(themis_store_arena_extent_t *extent)
{
    extent->shared = NULL;
    extent->shared_unit = UINT32_MAX;
    extent->is_new_shared = 1;
    extent_change(extent);
}

themis_status_t themis_store_arena_extents_restore(themis_store_arena_extents_t *extents, uint64_t offset,
                                                   uint32_t unit, unsigned order, int valid)
{
    uint32_t index = themis_store_arena_extents_find(extents, offset, extents->count ? extents->count - 1 : 0);

    if (order > THEMIS_STORE_SPACE_MAX_ORDER || offset % THEMIS_STORE_ARENA_PAGE || offset > INT64_MAX)
        return THEMIS_CORRUPT;
    uint64_t end = offset + ((uint64_t)THEMIS_STORE_ARENA_PAGE << order);
    if (index < extents->count && extents->extent[index]->offset < end)
        return THEMIS_CORRUPT;
    if (!extents_reserve(extents, extents->count + 1))
        return THEMIS_NO_MEMORY;
    themis_store_arena_extent_t *extent = calloc(1, sizeof *extent + (sizeof *extent->state << order));
    if (!extent)
        return THEMIS_NO_MEMORY;
    *extent = (themis_store_arena_extent_t){.offset = offset,
                                            .unit = unit,
                                            .pages = UINT32_C(1) << order,
                                            .order = (uint8_t)order,
                                            .shared_unit = UINT32_MAX,
                                            .changes = extents->changes};
    for (uint32_t page = 0; valid && page < extent->pages; page++)
        extent->state[page] = THEMIS_STORE_ARENA_VALID;
    extent->valid = valid ? extent->pages : 0;
    extent_place(extents, index, extent);
    return THEMIS_OK;
}

void themis_store_arena_extents_forget(themis_store_arena_extents_t *extents, uint64_t size)
{
    uint32_t index = themis_store_arena_extents_find(extents, size, 0);

    if (index < extents->count && extents->extent[index]->offset < size) {
        themis_store_arena_extent_t *extent = extents->extent[index++];
        uint64_t kept = size - extent->offset;
        for (uint64_t page = (kept + THEMIS_STORE_ARENA_PAGE - 1) / THEMIS_STORE_ARENA_PAGE; page < extent->pages;
             page++) {
            extent->valid -= extent->state[page] >> 31;
            extent->state[page] &= ~THEMIS_STORE_ARENA_VALID;
        }
    }
    for (uint32_t i = index; i < extents->count; i++) {
        extents->allocated -= (uint64_t)extents->extent[i]->pages * THEMIS_STORE_ARENA_PAGE;
        free(extents->extent[i]);
    }
    extents->count = index;
}
