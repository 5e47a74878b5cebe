/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/arena_shadow.h"
#include <stdlib.h>
#include <string.h>

enum { PAGE = THEMIS_STORE_ARENA_PAGE };

typedef themis_store_object_t object_t;
typedef themis_store_arena_extent_t extent_t;
typedef themis_store_arena_shadow_t shadow_t;

static shadow_t *find(const object_t *object, uint64_t offset)
{
    shadow_t *shadow;

    HASH_FIND(hh, object->shadows, &offset, sizeof offset, shadow);
    return shadow;
}

uint8_t *themis_store_arena_shadow_find(const object_t *object, uint64_t offset)
{
    shadow_t *shadow = object->shadows ? find(object, offset) : NULL;

    return shadow ? shadow->bytes : NULL;
}

static shadow_t *shadow_create(object_t *object, uint64_t offset)
{
    shadow_t *shadow = calloc(1, sizeof *shadow);

    if (!shadow)
        return NULL;
    shadow->offset = offset;
    HASH_ADD(hh, object->shadows, offset, sizeof shadow->offset, shadow);
    if (shadow->hh.tbl)
        return shadow;
    free(shadow); /* no memory for the table */
    return NULL;
}

/* Windows may still use its bytes. */
static void shadow_replace(object_t *object, shadow_t *shadow)
{
    HASH_DELETE(hh, object->shadows, shadow);
    shadow->next = object->replaced;
    object->replaced = shadow;
}

uint8_t *themis_store_arena_shadow_target(const themis_store_arena_t *arena, object_t *object, extent_t *extent,
                                          uint32_t page)
{
    uint64_t offset = extent->offset + (uint64_t)page * PAGE;

    if (extent->state[page] == 0)
        themis_store_arena_extent_clear(arena->space, extent, page);
    if (themis_store_arena_extent_is_valid(extent, page))
        return themis_store_arena_extent_page(arena->space, extent, page);
    shadow_t *shadow = object->shadows ? find(object, offset) : NULL;
    if (!shadow)
        shadow = shadow_create(object, offset);
    return shadow ? shadow->bytes : NULL;
}

void themis_store_arena_shadow_settle(const themis_store_arena_t *arena, object_t *object, uint64_t offset)
{
    shadow_t *shadow = object->shadows ? find(object, offset) : NULL;
    uint64_t end = offset + PAGE;
    uint32_t index = 0;

    if (!shadow)
        return;
    extent_t *extent = themis_store_arena_object_extent(object, offset, &index, &end);
    uint32_t page = extent ? (uint32_t)((offset - extent->offset) / PAGE) : 0;
    if (extent && !themis_store_arena_extent_is_valid(extent, page)) {
        if (extent->state[page])
            return;
        themis_store_arena_extent_clear(arena->space, extent, page);
        memcpy(themis_store_arena_extent_page(arena->space, extent, page), shadow->bytes, PAGE);
    }
    shadow_replace(object, shadow);
}

void themis_store_arena_shadow_keep(const themis_store_arena_t *arena, object_t *object, extent_t *extent,
                                    uint32_t page, uint32_t kept)
{
    uint8_t *memory = themis_store_arena_extent_page(arena->space, extent, page);
    const uint8_t *shadow = themis_store_arena_shadow_find(object, extent->offset + (uint64_t)page * PAGE);

    if (themis_store_arena_extent_is_valid(extent, page))
        return;
    themis_store_arena_extent_keep(arena->space, extent, page, kept);
    if (shadow)
        memcpy(memory + kept, shadow + kept, PAGE - kept);
}

void themis_store_arena_shadow_cut(const themis_store_arena_t *arena, object_t *object, uint64_t size)
{
    shadow_t *shadow, *next;

    HASH_ITER(hh, object->shadows, shadow, next)
    {
        if (shadow->offset >= size)
            shadow_replace(object, shadow);
        else if (shadow->offset + PAGE > size)
            memset(shadow->bytes + (size - shadow->offset), 0, (size_t)(shadow->offset + PAGE - size));
        if (shadow->offset < size)
            themis_store_arena_shadow_settle(arena, object, shadow->offset);
    }
}

void themis_store_arena_shadow_collect(object_t *object)
{
    while (object->replaced) {
        shadow_t *shadow = object->replaced;
        object->replaced = shadow->next;
        free(shadow);
    }
}
