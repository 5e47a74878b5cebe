/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/arena_durable.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "store/arena_entries.h"
#include "store/arena_keeper.h"
#include "store/arena_recovery.h"
#include "store/exclusive_use.h"
#include "store/log.h"
#include "store/space_durable.h"
#include "util/clock.h"
#include "util/directory.h"
#include "util/log.h"
#include "util/status.h"

enum {
    BATCH = 256 << 10 /* bytes of entries after which a frame ends, where it may */
};
/* The log's time of the last change may be older by this, ns. */
#define TIME_STEP THEMIS_NS_PER_S

typedef themis_store_arena_t arena_t;
typedef themis_store_object_t object_t;
typedef themis_store_arena_extent_t extent_t;
typedef themis_store_arena_changes_t changes_t;

themis_status_t themis_store_arena_durable_admit(const arena_t *arena)
{
    return !arena->log || themis_store_log_has_room(arena->log) ? THEMIS_OK : THEMIS_NO_SPACE;
}

static themis_status_t entries_append(const arena_t *arena, themis_store_entries_t *entries)
{
    themis_status_t status =
        entries->length ? themis_store_log_append(arena->log, entries->bytes, entries->length) : THEMIS_OK;

    entries->length = 0;
    return status;
}

/* --- changes of an object -------------------------------------------------------------------------------------------
 */

static int size_has_changed(const object_t *object)
{
    const changes_t *changes = &object->changes;

    return object->end != changes->end || changes->touch || object->modified < changes->modified ||
           object->modified > changes->modified + TIME_STEP;
}

static int has_changes(const object_t *object)
{
    const changes_t *changes = &object->changes;

    return changes->extents || changes->has_dropped || changes->has_cut || changes->cell || size_has_changed(object);
}

/* Entries of the first extents of the list, of all if they belong together, and *last of them. */
static themis_status_t extents_collect(const object_t *object, themis_store_entries_t *entries, extent_t **last)
{
    themis_status_t status = THEMIS_OK;

    for (extent_t *extent = object->changes.extents; extent && status == THEMIS_OK; extent = extent->changed) {
        status = themis_store_arena_entries_extent(entries, object->id, extent);
        *last = extent;
        if (entries->length >= BATCH && !object->changes.has_dropped)
            break;
    }
    return status;
}

/* The log has the extents of the list up to `last`. */
static void extents_forget(changes_t *changes, const extent_t *last)
{
    extent_t *extent;

    do {
        extent = changes->extents;
        changes->extents = extent->changed;
        extent->is_changed = extent->is_new = extent->is_new_shared = 0;
        extent->changed_first = extent->changed_end = 0;
    } while (extent != last);
}

/* What is about the object as a whole. */
static themis_status_t whole_collect(const object_t *object, themis_store_entries_t *entries)
{
    const changes_t *changes = &object->changes;
    themis_status_t status = THEMIS_OK;

    if (changes->has_cut)
        status = themis_store_arena_entries_offset(entries, THEMIS_STORE_ENTRY_CUT, object->id, changes->cut);
    if (status == THEMIS_OK && changes->cell)
        status = themis_store_arena_entries_cell(entries, object);
    if (status == THEMIS_OK && (changes->has_cut || size_has_changed(object)))
        status = themis_store_arena_entries_size(entries, object);
    return status;
}

static void whole_forget(object_t *object)
{
    changes_t *changes = &object->changes;

    if (size_has_changed(object) || changes->has_cut) {
        changes->end = object->end;
        changes->modified = object->modified;
    }
    changes->has_dropped = changes->has_cut = changes->cell = changes->touch = 0;
}

static themis_status_t changes_append(const arena_t *arena, object_t *object, themis_store_entries_t *entries)
{
    changes_t *changes = &object->changes;
    themis_status_t status = THEMIS_OK;
    extent_t *last;

    if (changes->has_dropped)
        status = themis_store_arena_entries_offset(entries, THEMIS_STORE_ENTRY_DROP, object->id, changes->dropped);
    do {
        last = NULL;
        if (status == THEMIS_OK)
            status = extents_collect(object, entries, &last);
        if (status == THEMIS_OK && (!last || !last->changed))
            status = whole_collect(object, entries);
        if (status == THEMIS_OK)
            status = entries_append(arena, entries);
        if (status == THEMIS_OK && last)
            extents_forget(changes, last);
    } while (status == THEMIS_OK && changes->extents);
    if (status == THEMIS_OK)
        whole_forget(object);
    return status;
}

themis_status_t themis_store_arena_durable_flush(const arena_t *arena, object_t *object)
{
    themis_store_entries_t entries = {0};

    if (!arena->log || object->removed || !has_changes(object))
        return THEMIS_OK;
    themis_status_t status = changes_append(arena, object, &entries);
    themis_store_entries_free(&entries);
    return status;
}

themis_status_t themis_store_arena_durable_cut(const arena_t *arena, object_t *object, uint64_t size)
{
    uint64_t end = object->end;

    if (!arena->log)
        return THEMIS_OK;
    object->changes.has_cut = 1;
    object->changes.cut = size;
    object->end = size;
    themis_status_t status = themis_store_arena_durable_flush(arena, object);
    if (status != THEMIS_OK) {
        object->changes.has_cut = 0;
        object->end = end;
    }
    return status;
}

void themis_store_arena_durable_touch(object_t *object)
{
    object->changes.touch = 1;
}

void themis_store_arena_durable_clear_tail(const arena_t *arena, object_t *object)
{
    uint64_t inside = object->end % THEMIS_STORE_ARENA_PAGE, part_end = object->end;
    uint32_t index = 0;

    if (!object->has_tail)
        return;
    object->has_tail = 0;
    extent_t *extent = inside ? themis_store_arena_object_extent(object, object->end - 1, &index, &part_end) : NULL;
    uint32_t page = extent ? (uint32_t)((object->end - extent->offset) / THEMIS_STORE_ARENA_PAGE) : 0;
    if (!extent || !themis_store_arena_extent_is_valid(extent, page))
        return;
    uint8_t *memory = themis_store_arena_extent_page(arena->space, extent, page);
    memset(memory + inside, 0, THEMIS_STORE_ARENA_PAGE - inside);
    themis_store_space_durable_note(arena->space, memory);
}

/* --- objects and blocks ---------------------------------------------------------------------------------------------
 */

themis_status_t themis_store_arena_durable_create(const arena_t *arena, object_t *object)
{
    themis_store_entries_t entries = {0};

    if (!arena->log)
        return THEMIS_OK;
    object->extents.changes = &object->changes;
    object->changes.modified = object->modified;
    themis_status_t status = themis_store_arena_durable_admit(arena);
    if (status == THEMIS_OK)
        status = themis_store_arena_entries_object(&entries, object, 0);
    if (status == THEMIS_OK)
        status = entries_append(arena, &entries);
    themis_store_entries_free(&entries);
    return status;
}

themis_status_t themis_store_arena_durable_remove(const arena_t *arena, object_t *object)
{
    const themis_store_entry_t entry = {.type = THEMIS_STORE_ENTRY_REMOVE, .subject = object->id};

    if (!arena->log)
        return THEMIS_OK;
    pthread_mutex_lock(&object->lock); /* a checkpoint has the object as it was before, or does not have it */
    themis_status_t status = themis_store_log_append(arena->log, (const uint8_t *)&entry, sizeof entry);
    object->removed = status == THEMIS_OK;
    pthread_mutex_unlock(&object->lock);
    return status;
}

themis_status_t themis_store_arena_durable_know_block(arena_t *arena, uint32_t unit, int in_use)
{
    size_t i = 0;

    while (i < arena->block_count && arena->blocks[i] != unit)
        i++;
    if (!in_use && i < arena->block_count)
        arena->blocks[i] = arena->blocks[--arena->block_count];
    if (!in_use || i < arena->block_count)
        return THEMIS_OK;
    uint32_t *grown = realloc(arena->blocks, (arena->block_count + 1) * sizeof *grown);
    if (!grown)
        return THEMIS_NO_MEMORY;
    arena->blocks = grown;
    arena->blocks[arena->block_count++] = unit;
    return THEMIS_OK;
}

themis_status_t themis_store_arena_durable_block(arena_t *arena, uint32_t unit, int in_use)
{
    const themis_store_entry_t entry = {.type = THEMIS_STORE_ENTRY_BLOCK, .count = (uint32_t)in_use, .subject = unit};

    if (!arena->log)
        return THEMIS_OK;
    pthread_mutex_lock(&arena->blocks_lock);
    themis_status_t status = themis_store_log_append(arena->log, (const uint8_t *)&entry, sizeof entry);
    if (status == THEMIS_OK)
        status = themis_store_arena_durable_know_block(arena, unit, in_use);
    pthread_mutex_unlock(&arena->blocks_lock);
    return status;
}

/* --- durable on the device ------------------------------------------------------------------------------------------
 */

void themis_store_arena_durable_note(const arena_t *arena, const themis_store_window_t *window)
{
    for (size_t i = 0; arena->log && i < window->piece_count; i++)
        themis_store_space_durable_note(arena->space, window->pieces[i].iov_base);
}

themis_status_t themis_store_arena_durable_sync(const arena_t *arena, object_t *object)
{
    pthread_mutex_lock(&object->lock);
    themis_store_arena_object_fold(object);
    themis_store_arena_object_fold_pages(object);
    themis_status_t status = themis_store_arena_durable_flush(arena, object);
    pthread_mutex_unlock(&object->lock);
    if (status == THEMIS_OK)
        status = themis_store_log_commit(arena->log, themis_store_space_durable_sync, arena->space);
    if (status == THEMIS_OK)
        themis_store_space_durable_release(arena->space);
    return status;
}

/* --- start and stop -------------------------------------------------------------------------------------------------
 */

/* Files of an arena, without a STORE file that says whose they are. */
static int is_arena_file(const char *name)
{
    return strncmp(name, "log.", 4) == 0 || strncmp(name, "checkpoint.", 11) == 0 || strncmp(name, "segment.", 8) == 0;
}

static themis_status_t directory_take(arena_t *arena, const themis_store_options_t *options)
{
    char content[64];

    snprintf(content, sizeof content, "arena of server %u", options->index);
    int made = mkdir(options->directory, 0700) == 0;
    if (!made && errno != EEXIST) {
        themis_error("directory = %s: cannot create: %s", options->directory, strerror(errno));
        return THEMIS_CONFIG;
    }
    themis_status_t status = themis_store_exclusive_use_directory("directory", options->directory, content,
                                                                  options->identity, is_arena_file, &arena->lock_fd);
    if (status != THEMIS_OK)
        return status;
    arena->directory = open(options->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (arena->directory >= 0 && (!made || themis_util_directory_sync(arena->directory, "..") == 0))
        return THEMIS_OK;
    themis_error("directory = %s: cannot use: %s", options->directory, strerror(errno));
    return themis_util_status_from_errno(errno);
}

static void on_log_file(void *arg)
{
    const arena_t *arena = arg;

    if (arena->keeper)
        themis_store_arena_keeper_wake(arena->keeper);
}

static themis_status_t log_open(arena_t *arena, const themis_store_options_t *options)
{
    themis_store_log_options_t log = {.directory = arena->directory,
                                      .size = options->size,
                                      .segment_units = themis_store_space_segment_units(options->size),
                                      .identity = *options->identity,
                                      .on_file = on_log_file,
                                      .arg = arena};

    if (options->boot)
        log.boot = *options->boot;
    else
        themis_store_identity_of_boot(&log.boot);
    return themis_store_log_open(&log, &arena->log);
}

themis_status_t themis_store_arena_durable_start(arena_t *arena, const themis_store_options_t *options)
{
    themis_status_t status = options->identity ? directory_take(arena, options) : THEMIS_INVALID;

    if (status == THEMIS_OK)
        status = log_open(arena, options);
    if (status == THEMIS_OK)
        status = themis_store_space_create(options, arena->log, arena->directory, &arena->space);
    if (status == THEMIS_OK)
        status = themis_store_arena_recover(arena);
    /* what is free now has to be free durably before it is used */
    if (status == THEMIS_OK)
        status = themis_store_log_commit(arena->log, themis_store_space_durable_sync, arena->space);
    return status == THEMIS_OK ? themis_store_arena_keeper_create(arena, &arena->keeper) : status;
}

static void object_stop(const arena_t *arena, object_t *object)
{
    themis_store_arena_object_fold(object);
    themis_store_arena_object_fold_pages(object);
    if (object->modified != object->changes.modified)
        themis_store_arena_durable_touch(object);
    themis_store_arena_durable_flush(arena, object);
}

void themis_store_arena_durable_stop(arena_t *arena)
{
    if (!arena->keeper)
        return; /* it was not started */
    themis_store_arena_keeper_destroy(arena->keeper);
    arena->keeper = NULL;
    for (int i = 0; i < THEMIS_STORE_ARENA_SHARDS; i++)
        for (object_t *object = arena->shards[i].objects; object; object = object->hh.next)
            object_stop(arena, object);
    if (themis_store_log_commit(arena->log, themis_store_space_durable_sync, arena->space) != THEMIS_OK)
        themis_warn("what was written last may not survive a power failure");
}

void themis_store_arena_durable_destroy(arena_t *arena)
{
    themis_store_log_destroy(arena->log);
    if (arena->directory >= 0)
        close(arena->directory);
    if (arena->lock_fd >= 0)
        close(arena->lock_fd);
    free(arena->blocks);
    pthread_mutex_destroy(&arena->blocks_lock);
}
