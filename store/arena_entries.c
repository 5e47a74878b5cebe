/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/arena_entries.h"

enum { WORD = sizeof(uint64_t), BITS = 64 };

typedef themis_store_object_t object_t;
typedef themis_store_arena_extent_t extent_t;

themis_status_t themis_store_arena_entries_object(themis_store_entries_t *entries, const object_t *object,
                                                  uint64_t position)
{
    themis_store_entry_object_t *body =
        themis_store_entries_add(entries, THEMIS_STORE_ENTRY_OBJECT, object->id, 0, sizeof *body / WORD);

    if (!body)
        return THEMIS_NO_MEMORY;
    *body = (themis_store_entry_object_t){
        .position = position, .end = object->end, .modified = object->modified, .owner = object->extents.owner};
    return THEMIS_OK;
}

themis_status_t themis_store_arena_entries_size(themis_store_entries_t *entries, const object_t *object)
{
    themis_store_entry_size_t *body =
        themis_store_entries_add(entries, THEMIS_STORE_ENTRY_SIZE, object->id, 0, sizeof *body / WORD);

    if (!body)
        return THEMIS_NO_MEMORY;
    *body = (themis_store_entry_size_t){.end = object->end, .modified = object->modified};
    return THEMIS_OK;
}

themis_status_t themis_store_arena_entries_cell(themis_store_entries_t *entries, const object_t *object)
{
    uint64_t *unit = themis_store_entries_add(entries, THEMIS_STORE_ENTRY_CELL, object->id, object->cell != NULL, 1);

    if (!unit)
        return THEMIS_NO_MEMORY;
    *unit = object->cell ? object->cell->unit : 0;
    return THEMIS_OK;
}

themis_status_t themis_store_arena_entries_offset(themis_store_entries_t *entries, themis_store_entry_type_t type,
                                                  uint64_t id, uint64_t offset)
{
    uint64_t *body = themis_store_entries_add(entries, type, id, 0, 1);

    if (!body)
        return THEMIS_NO_MEMORY;
    *body = offset;
    return THEMIS_OK;
}

static themis_store_entry_extent_t extent_entry(const extent_t *extent)
{
    return (themis_store_entry_extent_t){.offset = extent->offset,
                                         .unit = extent->unit,
                                         .order = extent->order,
                                         .valid = extent->valid == extent->pages};
}

static themis_status_t pages_add(themis_store_entries_t *entries, uint64_t id, const extent_t *extent, uint32_t first,
                                 uint32_t end)
{
    const size_t head = sizeof(themis_store_entry_pages_t) / WORD;
    uint32_t valid = 0, words = (end - first + BITS - 1) / BITS;

    for (uint32_t page = first; page < end; page++)
        valid += extent->state[page] >> 31;
    if (valid == end - first)
        words = 0;
    themis_store_entry_pages_t *body =
        themis_store_entries_add(entries, THEMIS_STORE_ENTRY_PAGES, id, words, head + words);
    if (!body)
        return THEMIS_NO_MEMORY;
    *body = (themis_store_entry_pages_t){.offset = extent->offset, .first = first, .end = end};
    uint64_t *bits = (uint64_t *)(body + 1);
    for (uint32_t i = 0; words && i < end - first; i++)
        if (extent->state[first + i] & THEMIS_STORE_ARENA_VALID)
            bits[i / BITS] |= UINT64_C(1) << i % BITS;
    return THEMIS_OK;
}

static themis_status_t shared_add(themis_store_entries_t *entries, uint64_t id, const extent_t *extent)
{
    themis_store_entry_shared_t *body =
        themis_store_entries_add(entries, THEMIS_STORE_ENTRY_SHARED, id, 0, sizeof *body / WORD);

    if (!body)
        return THEMIS_NO_MEMORY;
    *body = (themis_store_entry_shared_t){.offset = extent->offset,
                                          .unit = extent->shared ? extent->shared_unit : UINT64_MAX};
    return THEMIS_OK;
}

themis_status_t themis_store_arena_entries_extent(themis_store_entries_t *entries, uint64_t id, const extent_t *extent)
{
    themis_status_t status = THEMIS_OK;
    int covered = 0; /* its pages are in the entry of the extent */

    if (extent->is_new) {
        themis_store_entry_extent_t *body =
            themis_store_entries_add(entries, THEMIS_STORE_ENTRY_EXTENTS, id, 1, sizeof *body / WORD);
        if (!body)
            return THEMIS_NO_MEMORY;
        *body = extent_entry(extent);
        covered = extent->valid == 0 || extent->valid == extent->pages;
    }
    if (!covered && extent->changed_first < extent->changed_end)
        status = pages_add(entries, id, extent, extent->changed_first, extent->changed_end);
    if (status == THEMIS_OK && extent->is_new_shared)
        status = shared_add(entries, id, extent);
    return status;
}

themis_status_t themis_store_arena_entries_extents(themis_store_entries_t *entries, const object_t *object,
                                                   uint32_t first, uint32_t end)
{
    themis_status_t status = THEMIS_OK;
    themis_store_entry_extent_t *body = themis_store_entries_add(entries, THEMIS_STORE_ENTRY_EXTENTS, object->id,
                                                                 end - first, (end - first) * sizeof *body / WORD);

    if (!body)
        return THEMIS_NO_MEMORY;
    for (uint32_t i = first; i < end; i++)
        body[i - first] = extent_entry(object->extents.extent[i]);
    for (uint32_t i = first; i < end && status == THEMIS_OK; i++) {
        const extent_t *extent = object->extents.extent[i];
        if (extent->valid && extent->valid < extent->pages)
            status = pages_add(entries, object->id, extent, 0, extent->pages);
        if (status == THEMIS_OK && extent->shared)
            status = shared_add(entries, object->id, extent);
    }
    return status;
}
