/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/arena_keeper.h"
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include "store/arena_entries.h"
#include "store/log.h"
#include "store/space_durable.h"
#include "util/log.h"
#include "util/min.h"

enum { EXTENTS_OF_ENTRY = 512 };
/* Bytes of log after which a checkpoint is written; and not before the log is half as long as the last one. */
#define LOG_BYTES (UINT64_C(16) * THEMIS_STORE_LOG_FILE_BYTES)

typedef themis_store_arena_t arena_t;
typedef themis_store_object_t object_t;

struct themis_store_arena_keeper {
    arena_t *arena;
    pthread_t thread;
    sem_t wanted;
    _Atomic int stop;
};

/* --- checkpoints ----------------------------------------------------------------------------------------------------
 */

/* The object as it is now, unless it was removed. */
static themis_status_t object_write(themis_store_checkpoint_t *checkpoint, object_t *object)
{
    themis_store_entries_t *entries = &checkpoint->entries;
    themis_status_t status = THEMIS_OK;

    pthread_mutex_lock(&object->lock);
    if (!object->removed) {
        themis_store_arena_object_fold(object);
        status = themis_store_arena_entries_object(entries, object, themis_store_log_position(checkpoint->log));
        for (uint32_t i = 0, end; i < object->extents.count && status == THEMIS_OK; i = end) {
            end = (uint32_t)themis_util_min(object->extents.count, (uint64_t)i + EXTENTS_OF_ENTRY);
            status = themis_store_arena_entries_extents(entries, object, i, end);
            if (status == THEMIS_OK)
                status = themis_store_checkpoint_flush(checkpoint, 0);
        }
        if (status == THEMIS_OK && object->cell)
            status = themis_store_arena_entries_cell(entries, object);
    }
    pthread_mutex_unlock(&object->lock);
    return status == THEMIS_OK ? themis_store_checkpoint_flush(checkpoint, 0) : status;
}

/* The objects of a shard, each with one more reference. */
static themis_status_t shard_hold(themis_store_arena_shard_t *shard, object_t ***objects, size_t *count)
{
    size_t held = 0;

    pthread_mutex_lock(&shard->lock);
    object_t **made = malloc((HASH_COUNT(shard->objects) + 1) * sizeof *made);
    for (object_t *object = shard->objects; made && object; object = object->hh.next) {
        object->references++;
        made[held++] = object;
    }
    pthread_mutex_unlock(&shard->lock);
    *objects = made;
    *count = held;
    return made ? THEMIS_OK : THEMIS_NO_MEMORY;
}

static themis_status_t shard_write(arena_t *arena, themis_store_checkpoint_t *checkpoint,
                                   themis_store_arena_shard_t *shard)
{
    object_t **objects;
    size_t count;
    themis_status_t status = shard_hold(shard, &objects, &count);

    for (size_t i = 0; i < count; i++) {
        if (status == THEMIS_OK)
            status = object_write(checkpoint, objects[i]);
        arena->base.ops->close(&arena->base, objects[i]);
    }
    free(objects);
    return status;
}

static themis_status_t blocks_write(arena_t *arena, themis_store_entries_t *entries)
{
    themis_status_t status = THEMIS_OK;

    pthread_mutex_lock(&arena->blocks_lock);
    for (size_t i = 0; i < arena->block_count && status == THEMIS_OK; i++)
        if (!themis_store_entries_add(entries, THEMIS_STORE_ENTRY_BLOCK, arena->blocks[i], 1, 0))
            status = THEMIS_NO_MEMORY;
    pthread_mutex_unlock(&arena->blocks_lock);
    return status;
}

themis_status_t themis_store_arena_checkpoint(arena_t *arena)
{
    themis_store_checkpoint_t checkpoint;
    themis_status_t status = themis_store_checkpoint_begin(arena->log, &checkpoint);

    if (status == THEMIS_OK)
        status = themis_store_space_durable_entries(arena->space, &checkpoint.entries);
    if (status == THEMIS_OK)
        status = blocks_write(arena, &checkpoint.entries);
    for (int i = 0; i < THEMIS_STORE_ARENA_SHARDS && status == THEMIS_OK; i++)
        status = shard_write(arena, &checkpoint, &arena->shards[i]);
    status = themis_store_checkpoint_end(&checkpoint, status, themis_store_space_durable_sync, arena->space);
    themis_store_space_durable_release(arena->space);
    return status;
}

/* --- the thread -----------------------------------------------------------------------------------------------------
 */

static void *keeper_main(void *arg)
{
    themis_store_arena_keeper_t *keeper = arg;
    themis_store_log_t *log = keeper->arena->log;
    int failed = 0;

    while (sem_wait(&keeper->wanted), !keeper->stop) {
        int has_room = themis_store_log_has_room(log);
        uint64_t length = themis_store_log_length(log);
        if (has_room ? length < LOG_BYTES || length < themis_store_log_checkpoint_bytes(log) / 2
                     : length <= THEMIS_STORE_LOG_FILE_BYTES)
            continue;
        themis_status_t status = themis_store_arena_checkpoint(keeper->arena);
        if (status != THEMIS_OK && !failed)
            themis_warn("the arena's log cannot be made shorter: %s", themis_status_string(status));
        failed = status != THEMIS_OK;
    }
    return NULL;
}

themis_status_t themis_store_arena_keeper_create(arena_t *arena, themis_store_arena_keeper_t **keeper)
{
    themis_store_arena_keeper_t *made = calloc(1, sizeof *made);

    if (!made)
        return THEMIS_NO_MEMORY;
    made->arena = arena;
    sem_init(&made->wanted, 0, 1);
    int cause = pthread_create(&made->thread, NULL, keeper_main, made);
    if (cause) {
        themis_error("cannot start a thread for the arena's log: %s", strerror(cause));
        sem_destroy(&made->wanted);
        free(made);
        return THEMIS_NO_MEMORY;
    }
    *keeper = made;
    return THEMIS_OK;
}

void themis_store_arena_keeper_wake(themis_store_arena_keeper_t *keeper)
{
    sem_post(&keeper->wanted);
}

void themis_store_arena_keeper_destroy(themis_store_arena_keeper_t *keeper)
{
    if (!keeper)
        return;
    keeper->stop = 1;
    sem_post(&keeper->wanted);
    pthread_join(keeper->thread, NULL);
    sem_destroy(&keeper->wanted);
    free(keeper);
}
