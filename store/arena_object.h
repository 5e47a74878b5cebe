/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the arena share: the arena, its objects, and an object's end.
 *
 * While an object is pinned, processes of its owner copy into and out of its memory and raise the end in its cell. What
 * they write there is believed only as far as it can be true.
 */
#pragma once
#include <pthread.h>
#include "store/arena_extents.h"
#include "store/space.h"
#include "util/direct.h"
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

/* The highest bits of an id's hash (list.h) choose the shard. */
enum { THEMIS_STORE_ARENA_SHARDS = 64, THEMIS_STORE_ARENA_SHARD_SHIFT = 58 };

/* Where the processes of the owner have an object's end; in a block of the owner's memory. */
typedef struct themis_store_arena_cell {
    themis_util_direct_cell_t *shared;
    themis_store_location_t location;
    uint32_t unit; /* of the block, of order 0 */
    uint32_t pins; /* that came while it was the object's */
    struct themis_store_arena_cell *next;
} themis_store_arena_cell_t;

/* A truncation that took extents away while windows were in use. */
typedef struct themis_store_arena_cut {
    uint64_t generation, size; /* the object's since then */
    struct themis_store_arena_cut *next;
} themis_store_arena_cut_t;

typedef struct themis_store_arena_shadow themis_store_arena_shadow_t; /* store/arena_shadow.h */

struct themis_store_object {
    uint64_t id;
    uint32_t references; /* one for being in the table; under the shard's lock */
    UT_hash_handle hh;
    pthread_mutex_t lock; /* of all that follows */
    int removed;          /* 1: as the log says */
    uint64_t end, modified, generation;
    uint32_t windows; /* in use: prepared, not finished */
    themis_store_arena_cut_t *cuts;
    themis_store_arena_shadow_t *shadows;  /* uthash by offset; of pages that are claimed */
    themis_store_arena_shadow_t *replaced; /* no longer pages' shadows, but windows may use them */
    themis_store_arena_cell_t *cell;       /* NULL: none since the object was pinned or cut */
    themis_store_arena_cell_t *detached;   /* no longer the object's; pinned, or not yet freed */
    themis_store_arena_extents_t extents;
    themis_store_arena_changes_t changes; /* of a durable arena */
    int has_tail;                         /* 1: nobody knows what is in its last page beyond the end */
    uint64_t position;                    /* during recovery: what the log says before this is known already */
};

typedef struct themis_store_arena_shard {
    pthread_mutex_t lock;
    themis_store_object_t *objects;
} themis_store_arena_shard_t;

typedef struct themis_store_arena {
    themis_store_t base;
    themis_store_space_t *space;
    uint8_t *zeros; /* read-only */
    int mapped_file;
    /* of a durable arena */
    themis_store_log_t *log; /* NULL: it ends with the process */
    int directory, lock_fd;
    pthread_mutex_t blocks_lock;
    uint32_t *blocks; /* [block_count] units of blocks of slots */
    size_t block_count;
    struct themis_store_arena_keeper *keeper;
    themis_store_arena_shard_t shards[THEMIS_STORE_ARENA_SHARDS];
} themis_store_arena_t;

themis_store_arena_shard_t *themis_store_arena_shard(themis_store_arena_t *arena, uint64_t id);
/* In the shard, with one reference; NULL: no memory. */
themis_store_object_t *themis_store_arena_object_create(themis_store_arena_shard_t *shard, uint64_t id, uint32_t owner);

/* All that follow with the object's lock. */

/* The extent at byte `at`, or NULL for a hole; *end, above `at`, is lowered to the end of either. *index: where the
 * last search ended, and then its place in the list. */
themis_store_arena_extent_t *themis_store_arena_object_extent(const themis_store_object_t *object, uint64_t at,
                                                              uint32_t *index, uint64_t *end);

/* Brings end and modification time up to date with what was written directly. */
void themis_store_arena_object_fold(themis_store_object_t *object);
/* Takes over which pages were made valid directly. */
void themis_store_arena_object_fold_pages(themis_store_object_t *object);
/* Raises the end, for those who access the object directly as well, and sets the modification time. */
void themis_store_arena_object_raise(themis_store_object_t *object, uint64_t end);
/* For those who access the object directly as well. */
void themis_store_arena_object_set_modified(themis_store_object_t *object, uint64_t modified);
/* Folds, and takes the cell away from the object. */
void themis_store_arena_object_detach_cell(themis_store_object_t *object);
/* What a window of `generation` wrote at this byte and beyond has been cut away since. UINT64_MAX: nothing was. */
uint64_t themis_store_arena_object_limit(const themis_store_object_t *object, uint64_t generation);
/* Frees what is no longer the object's and no longer in use: detached cells without pins; the cuts, when there is no
 * window; extents, when there is neither a window nor a pin from before they were cut away. */
void themis_store_arena_object_collect(themis_store_arena_t *arena, themis_store_object_t *object);
