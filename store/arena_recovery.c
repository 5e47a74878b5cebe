/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/arena_recovery.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "store/arena_durable.h"
#include "store/log.h"
#include "store/space_durable.h"
#include "util/clock.h"
#include "util/log.h"

enum { PAGE = THEMIS_STORE_ARENA_PAGE, SLOTS_ORDER = 2, NO_UNIT = UINT32_MAX };
/* ns that clients get to end copies that were under way when the server ended. */
#define COPIES_LIMIT THEMIS_NS_PER_S

typedef themis_store_arena_t arena_t;
typedef themis_store_object_t object_t;
typedef themis_store_arena_extent_t extent_t;
typedef themis_store_arena_extents_t extents_t;

typedef struct recovery {
    arena_t *arena;
    object_t *last; /* that an entry was about, or NULL */
} recovery_t;

/* --- entries about objects ------------------------------------------------------------------------------------------
 */

static object_t *object_find(recovery_t *recovery, uint64_t id)
{
    object_t *object = recovery->last;

    if (object && object->id == id)
        return object;
    HASH_FIND(hh, themis_store_arena_shard(recovery->arena, id)->objects, &id, sizeof id, object);
    recovery->last = object;
    return object;
}

static themis_status_t object_add(recovery_t *recovery, const themis_store_entry_t *entry)
{
    const themis_store_entry_object_t *body = themis_store_entry_body(entry);
    object_t *object = themis_store_arena_object_create(themis_store_arena_shard(recovery->arena, entry->subject),
                                                        entry->subject, (uint32_t)body->owner);

    if (!object)
        return THEMIS_NO_MEMORY;
    object->extents.changes = &object->changes;
    object->position = body->position;
    object->end = object->changes.end = body->end;
    object->modified = object->changes.modified = body->modified;
    recovery->last = object;
    return THEMIS_OK;
}

static void object_remove(recovery_t *recovery, object_t *object)
{
    themis_store_arena_shard_t *shard = themis_store_arena_shard(recovery->arena, object->id);

    HASH_DELETE(hh, shard->objects, object);
    themis_store_arena_extents_forget(&object->extents, 0);
    free(object->extents.extent);
    free(object->cell);
    pthread_mutex_destroy(&object->lock);
    free(object);
    recovery->last = NULL;
}

/* The extent that begins at an offset, or NULL. */
static extent_t *extent_at(const extents_t *extents, uint64_t offset)
{
    uint32_t index = themis_store_arena_extents_find(extents, offset, 0);

    return index < extents->count && extents->extent[index]->offset == offset ? extents->extent[index] : NULL;
}

static themis_status_t extents_add(object_t *object, const themis_store_entry_t *entry)
{
    const themis_store_entry_extent_t *body = themis_store_entry_body(entry);
    themis_status_t status = THEMIS_OK;

    for (uint32_t i = 0; i < entry->count && status == THEMIS_OK; i++) {
        const extent_t *known = extent_at(&object->extents, body[i].offset);
        if (!known || known->unit != body[i].unit || known->order != body[i].order)
            status = themis_store_arena_extents_restore(&object->extents, body[i].offset, body[i].unit, body[i].order,
                                                        body[i].valid);
    }
    return status;
}

static void page_set(extent_t *extent, uint32_t page, int valid)
{
    if (valid == (int)(extent->state[page] >> 31))
        return;
    extent->state[page] ^= THEMIS_STORE_ARENA_VALID;
    extent->valid += valid ? 1 : UINT32_MAX;
}

static themis_status_t pages_set(object_t *object, const themis_store_entry_t *entry)
{
    const themis_store_entry_pages_t *body = themis_store_entry_body(entry);
    const uint64_t *bits = (const uint64_t *)(body + 1);
    extent_t *extent = extent_at(&object->extents, body->offset);

    if (!extent || body->first >= body->end || body->end > extent->pages ||
        (entry->count && entry->count != (body->end - body->first + 63) / 64))
        return THEMIS_CORRUPT;
    for (uint32_t i = 0; i < body->end - body->first; i++)
        page_set(extent, body->first + i, entry->count == 0 || (bits[i / 64] >> i % 64 & 1));
    return THEMIS_OK;
}

static themis_status_t shared_set(object_t *object, const themis_store_entry_t *entry)
{
    const themis_store_entry_shared_t *body = themis_store_entry_body(entry);
    extent_t *extent = extent_at(&object->extents, body->offset);

    if (!extent)
        return THEMIS_CORRUPT;
    extent->shared_unit = body->unit < NO_UNIT ? (uint32_t)body->unit : NO_UNIT;
    return THEMIS_OK;
}

static themis_status_t drop(object_t *object, uint64_t offset)
{
    extents_t *extents = &object->extents;
    uint32_t index = themis_store_arena_extents_find(extents, offset, 0);

    if (index == extents->count || extents->extent[index]->offset != offset)
        return THEMIS_CORRUPT;
    extent_t *extent = extents->extent[index];
    extents->allocated -= (uint64_t)extent->pages * PAGE;
    memmove(extents->extent + index, extents->extent + index + 1,
            (extents->count - index - 1) * sizeof *extents->extent);
    extents->count--;
    free(extent);
    return THEMIS_OK;
}

static themis_status_t cell_set(object_t *object, const themis_store_entry_t *entry)
{
    const uint64_t *unit = themis_store_entry_body(entry);

    if (entry->count && !object->cell && !(object->cell = calloc(1, sizeof *object->cell)))
        return THEMIS_NO_MEMORY;
    if (entry->count) {
        object->cell->unit = *unit < NO_UNIT ? (uint32_t)*unit : NO_UNIT;
        return THEMIS_OK;
    }
    free(object->cell);
    object->cell = NULL;
    return THEMIS_OK;
}

static themis_status_t object_change(recovery_t *recovery, object_t *object, const themis_store_entry_t *entry)
{
    const themis_store_entry_size_t *size = themis_store_entry_body(entry);
    const uint64_t *offset = themis_store_entry_body(entry);

    switch (entry->type) {
    case THEMIS_STORE_ENTRY_OBJECT:
        return THEMIS_CORRUPT; /* it is there */
    case THEMIS_STORE_ENTRY_REMOVE:
        object_remove(recovery, object);
        return THEMIS_OK;
    case THEMIS_STORE_ENTRY_SIZE:
        object->end = object->changes.end = size->end;
        object->modified = object->changes.modified = size->modified;
        return THEMIS_OK;
    case THEMIS_STORE_ENTRY_CUT:
        themis_store_arena_extents_forget(&object->extents, *offset);
        return THEMIS_OK;
    case THEMIS_STORE_ENTRY_DROP:
        return drop(object, *offset);
    case THEMIS_STORE_ENTRY_EXTENTS:
        return extents_add(object, entry);
    case THEMIS_STORE_ENTRY_PAGES:
        return pages_set(object, entry);
    case THEMIS_STORE_ENTRY_SHARED:
        return shared_set(object, entry);
    default:
        return cell_set(object, entry);
    }
}

/* A checkpoint has the object as it was at a position; what the log says before that is known. */
static themis_status_t entry_handle(void *arg, uint64_t position, const themis_store_entry_t *entry)
{
    recovery_t *recovery = arg;

    if (entry->type == THEMIS_STORE_ENTRY_SEGMENT)
        return themis_store_space_recover_segment(recovery->arena->space, entry->subject,
                                                  themis_store_entry_body(entry));
    if (entry->type == THEMIS_STORE_ENTRY_BLOCK)
        return entry->subject < NO_UNIT
                   ? themis_store_arena_durable_know_block(recovery->arena, (uint32_t)entry->subject, entry->count != 0)
                   : THEMIS_CORRUPT;
    if (entry->type == THEMIS_STORE_ENTRY_COMMIT || entry->type == THEMIS_STORE_ENTRY_END)
        return THEMIS_OK;
    object_t *object = object_find(recovery, entry->subject);
    if (!object)
        return entry->type == THEMIS_STORE_ENTRY_OBJECT ? object_add(recovery, entry) : THEMIS_OK;
    if (position && position < object->position)
        return THEMIS_OK;
    return object_change(recovery, object, entry);
}

/* --- what clients have written directly -----------------------------------------------------------------------------
 */

static int is_trusted(const arena_t *arena)
{
    return !themis_store_log_is_after_restart(arena->log);
}

/* Pages that clients have filled, as far as they are below the end. Such a block is not the extent's any more. */
static void shared_take_over(const arena_t *arena, const object_t *object, extent_t *extent)
{
    if (extent->shared_unit == NO_UNIT)
        return;
    if (is_trusted(arena) && themis_store_space_recover_is_block(arena->space, extent->shared_unit, 0)) {
        const uint8_t *states = themis_store_space_address(arena->space, extent->shared_unit);
        for (uint32_t page = 0; page < extent->pages && page < PAGE; page++)
            if (states[page] == THEMIS_UTIL_DIRECT_PAGE_VALID && extent->offset + (uint64_t)page * PAGE < object->end)
                themis_store_arena_extent_make_valid(extent, page);
    }
    themis_store_arena_extent_unshare(extent);
}

static void cell_take_over(const arena_t *arena, object_t *object)
{
    themis_store_arena_cell_t *cell = object->cell;

    if (!cell)
        return;
    if (is_trusted(arena) && themis_store_space_recover_is_block(arena->space, cell->unit, 0)) {
        cell->shared = (themis_util_direct_cell_t *)themis_store_space_address(arena->space, cell->unit);
        themis_store_arena_object_fold(object);
    }
    object->cell = NULL;
    object->changes.cell = 1;
    free(cell);
}

/* Nobody knows what is in pages beyond the end: a write may have been under way there, or be newer than the log. */
static void beyond_end_discard(object_t *object)
{
    extents_t *extents = &object->extents;

    for (uint32_t i = extents->count; i-- > 0 && themis_store_arena_extent_end(extents->extent[i]) > object->end;) {
        extent_t *extent = extents->extent[i];
        uint64_t kept = object->end > extent->offset ? object->end - extent->offset : 0;
        for (uint32_t page = (uint32_t)((kept + PAGE - 1) / PAGE); page < extent->pages; page++)
            if (extent->state[page] & THEMIS_STORE_ARENA_VALID) {
                page_set(extent, page, 0);
                themis_store_arena_extent_note(extent, page);
            }
    }
    object->has_tail = object->end % PAGE != 0;
}

static themis_status_t object_recover(arena_t *arena, object_t *object)
{
    const extents_t *extents = &object->extents;
    themis_status_t status = THEMIS_OK;

    cell_take_over(arena, object);
    for (uint32_t i = 0; i < extents->count && status == THEMIS_OK; i++) {
        status = themis_store_space_recover_block(arena->space, extents->extent[i]->unit, extents->extent[i]->order);
        if (status == THEMIS_OK)
            shared_take_over(arena, object, extents->extent[i]);
    }
    beyond_end_discard(object);
    return status;
}

static themis_status_t objects_each(arena_t *arena, themis_status_t (*act)(arena_t *arena, object_t *object))
{
    themis_status_t status = THEMIS_OK;

    for (int i = 0; i < THEMIS_STORE_ARENA_SHARDS; i++)
        for (object_t *object = arena->shards[i].objects; object && status == THEMIS_OK; object = object->hh.next)
            status = act(arena, object);
    return status;
}

/* --- clients of the earlier run -------------------------------------------------------------------------------------
 */

/* Takes the grants back. 1: a copy is under way; its client looks whether it has its grant only when it ends. */
static int slots_revoke(const arena_t *arena, uint32_t unit)
{
    themis_util_direct_slot_t *slots = (themis_util_direct_slot_t *)themis_store_space_address(arena->space, unit);
    int copying = 0;

    for (int i = 0; i < THEMIS_UTIL_DIRECT_SLOTS; i++) {
        atomic_store(&slots[i].grant, 0);
        copying |= atomic_load(&slots[i].copies) != 0;
    }
    return copying;
}

static int any_copying(const arena_t *arena)
{
    int copying = 0;

    for (size_t i = 0; i < arena->block_count; i++)
        copying |= slots_revoke(arena, arena->blocks[i]);
    return copying;
}

/* Blocks of slots that a client may still use stay in use. */
static themis_status_t slots_recover(arena_t *arena)
{
    const struct timespec pause = {.tv_nsec = 10 * THEMIS_NS_PER_MS};
    uint64_t limit = themis_util_clock_now() + COPIES_LIMIT;
    themis_status_t status = THEMIS_OK;

    for (size_t i = 0; i < arena->block_count; i++)
        if (!themis_store_space_recover_is_block(arena->space, arena->blocks[i], SLOTS_ORDER))
            return THEMIS_CORRUPT;
    if (!is_trusted(arena))
        return THEMIS_OK;
    while (any_copying(arena) && themis_util_clock_now() < limit)
        nanosleep(&pause, NULL);
    if (!any_copying(arena))
        return THEMIS_OK;
    themis_warn(
        "a client of the earlier server is still copying: what is free in its memory is not used before the next "
        "start");
    themis_store_space_recover_hold(arena->space);
    for (size_t i = 0; i < arena->block_count && status == THEMIS_OK; i++)
        status = themis_store_space_recover_block(arena->space, arena->blocks[i], SLOTS_ORDER);
    return status;
}

/* The log must not say of anything that is free that it has ends or states. */
static themis_status_t blocks_forget(arena_t *arena)
{
    themis_status_t status = THEMIS_OK;

    for (size_t i = arena->block_count; i-- > 0 && status == THEMIS_OK;)
        if (!themis_store_space_recover_is_held(arena->space, arena->blocks[i]))
            status = themis_store_arena_durable_block(arena, arena->blocks[i], 0);
    return status;
}

static themis_status_t object_flush(arena_t *arena, object_t *object)
{
    return themis_store_arena_durable_flush(arena, object);
}

themis_status_t themis_store_arena_recover(arena_t *arena)
{
    recovery_t recovery = {.arena = arena};
    themis_status_t status = themis_store_log_replay(arena->log, entry_handle, &recovery);

    if (status == THEMIS_OK)
        status = themis_store_space_recover_files(arena->space);
    if (status == THEMIS_OK)
        status = slots_recover(arena);
    if (status == THEMIS_OK)
        status = objects_each(arena, object_recover);
    if (status == THEMIS_CORRUPT) {
        themis_error("the arena's log and its segments do not belong together; nothing was changed");
        status = THEMIS_CONFIG;
    }
    if (status == THEMIS_OK)
        status = themis_store_log_start(arena->log);
    if (status == THEMIS_OK)
        status = themis_store_space_recover_end(arena->space);
    if (status == THEMIS_OK)
        status = blocks_forget(arena);
    return status == THEMIS_OK ? objects_each(arena, object_flush) : status;
}
