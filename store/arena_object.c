/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/arena_object.h"
#include <stdlib.h>
#include "store/arena_durable.h"
#include "store/arena_shadow.h"
#include "util/clock.h"
#include "util/min.h"

themis_store_arena_shard_t *themis_store_arena_shard(themis_store_arena_t *arena, uint64_t id)
{
    return &arena->shards[themis_store_list_hash(id) >> THEMIS_STORE_ARENA_SHARD_SHIFT];
}

themis_store_object_t *themis_store_arena_object_create(themis_store_arena_shard_t *shard, uint64_t id, uint32_t owner)
{
    themis_store_object_t *object = calloc(1, sizeof *object);

    if (!object)
        return NULL;
    object->id = id;
    object->extents.owner = owner;
    object->references = 1;
    pthread_mutex_init(&object->lock, NULL);
    HASH_ADD(hh, shard->objects, id, sizeof id, object);
    if (object->hh.tbl)
        return object;
    pthread_mutex_destroy(&object->lock);
    free(object); /* no memory for the table */
    return NULL;
}

themis_store_arena_extent_t *themis_store_arena_object_extent(const themis_store_object_t *object, uint64_t at,
                                                              uint32_t *index, uint64_t *end)
{
    const themis_store_arena_extents_t *extents = &object->extents;

    *index = themis_store_arena_extents_find(extents, at, *index);
    if (*index == extents->count)
        return NULL;
    themis_store_arena_extent_t *extent = extents->extent[*index];
    int is_hole = extent->offset > at;
    uint64_t limit = is_hole ? extent->offset : themis_store_arena_extent_end(extent);
    *end = limit < *end ? limit : *end;
    return is_hole ? NULL : extent;
}

void themis_store_arena_object_fold(themis_store_object_t *object)
{
    if (!object->cell)
        return;
    uint64_t end =
        themis_util_min(atomic_load(&object->cell->shared->end), themis_store_arena_extents_end(&object->extents));
    uint64_t modified = themis_util_min(atomic_load(&object->cell->shared->modified), themis_util_clock_wall());
    if (object->end < end)
        object->end = end;
    if (object->modified < modified)
        object->modified = modified;
}

void themis_store_arena_object_fold_pages(themis_store_object_t *object)
{
    for (uint32_t i = 0; i < object->extents.count; i++) {
        themis_store_arena_extent_t *extent = object->extents.extent[i];
        for (uint32_t page = 0; extent->shared && extent->valid < extent->pages && page < extent->pages; page++)
            themis_store_arena_extent_is_valid(extent, page);
    }
}

static void raise_word(_Atomic uint64_t *word, uint64_t value)
{
    uint64_t now = atomic_load(word);

    while (now < value && !atomic_compare_exchange_weak(word, &now, value))
        ;
}

void themis_store_arena_object_raise(themis_store_object_t *object, uint64_t end)
{
    object->modified = themis_util_clock_wall();
    if (object->end < end)
        object->end = end;
    if (object->cell) {
        raise_word(&object->cell->shared->end, object->end);
        raise_word(&object->cell->shared->modified, object->modified);
    }
}

void themis_store_arena_object_set_modified(themis_store_object_t *object, uint64_t modified)
{
    themis_store_arena_object_fold(object);
    object->modified = modified;
    if (object->cell)
        atomic_store(&object->cell->shared->modified, modified);
}

void themis_store_arena_object_detach_cell(themis_store_object_t *object)
{
    themis_store_arena_cell_t *cell = object->cell;

    if (!cell)
        return;
    themis_store_arena_object_fold(object);
    object->cell = NULL;
    object->changes.cell = 1;
    cell->next = object->detached;
    object->detached = cell;
}

uint64_t themis_store_arena_object_limit(const themis_store_object_t *object, uint64_t generation)
{
    uint64_t limit = UINT64_MAX;

    for (const themis_store_arena_cut_t *cut = object->cuts; cut; cut = cut->next)
        if (cut->generation > generation)
            limit = themis_util_min(limit, cut->size);
    return limit;
}

void themis_store_arena_object_collect(themis_store_arena_t *arena, themis_store_object_t *object)
{
    while (object->cuts && !object->windows) {
        themis_store_arena_cut_t *cut = object->cuts;
        object->cuts = cut->next;
        free(cut);
    }
    if (!object->windows)
        themis_store_arena_shadow_collect(object);
    if (themis_store_arena_durable_flush(arena, object) != THEMIS_OK)
        return; /* the log still has them */
    for (themis_store_arena_cell_t **at = &object->detached, *cell; (cell = *at) != NULL;) {
        if (cell->pins) {
            at = &cell->next;
            continue;
        }
        *at = cell->next;
        themis_store_space_free(arena->space, cell->unit, 0);
        free(cell);
    }
    if (!object->windows && !object->detached)
        themis_store_arena_extents_collect(&object->extents, arena->space);
}
