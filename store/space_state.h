/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the space share: its segments and the free blocks in them. space.c allocates, space_durable.c has
 * what a durable arena's space adds to it.
 */
#pragma once
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include "store/space.h"
#include "store/space_memory.h"
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#define THEMIS_STORE_SPACE_NOWHERE UINT32_MAX

/* Links of a free list; used only for the first unit of a free block. */
typedef struct themis_store_space_unit {
    uint32_t next, previous;
} themis_store_space_unit_t;

/* Bits of a unit's state: the lower ones have 1 + the order of the free block that begins there, 0: none does. */
enum { THEMIS_STORE_SPACE_UNIT_ORDER = 0x7f, THEMIS_STORE_SPACE_UNIT_USED_BEFORE = 0x80 };

/* What an owner has: the free blocks of its segments. */
typedef struct themis_store_space_pool {
    uint32_t owner;
    uint32_t heads[THEMIS_STORE_SPACE_MAX_ORDER + 1]; /* of the free lists */
    uint32_t segments;                                /* how many */
    uint32_t growing;                                 /* the segment that is partly in use, or NOWHERE */
    UT_hash_handle hh;
} themis_store_space_pool_t;

typedef enum themis_store_space_segment_state {
    THEMIS_STORE_SPACE_SEGMENT_EMPTY,   /* addresses only */
    THEMIS_STORE_SPACE_SEGMENT_READY,   /* with new memory that can be passed on, for any owner */
    THEMIS_STORE_SPACE_SEGMENT_OWNED,   /* in a pool */
    THEMIS_STORE_SPACE_SEGMENT_CHANGING /* neither: its memory is being replaced */
} themis_store_space_segment_state_t;

typedef struct themis_store_space_segment {
    _Atomic int state;               /* themis_store_space_segment_state_t */
    themis_store_space_pool_t *pool; /* if owned */
    int fd;                          /* of memory that can be passed on, or of its file, or -1 */
    uint64_t serial;                 /* of that memory */
    uint32_t first, units;           /* place and size */
    _Atomic uint32_t opened;         /* units from the first on that are in use or in the free lists */
    uint32_t used;                   /* units */
    /* of a durable arena */
    _Atomic int dirty; /* 1: written to since it was synced */
    int exported;      /* 1: processes may have mapped it, now or in an earlier run */
    int held;          /* 1: a process of an earlier run may still write to it: nothing is used again */
} themis_store_space_segment_t;

/* A block that was freed, but not yet durably. */
typedef struct themis_store_space_freed {
    uint64_t position; /* of the log: what comes before says that it is free */
    uint32_t unit, order;
} themis_store_space_freed_t;

struct themis_store_space {
    uint8_t *base;
    int fd;        /* of the file, locked; -1: memory, or a durable arena */
    uint64_t size; /* bytes, a multiple of the unit */
    uint32_t count, step;
    int direct;  /* 1: blocks can be located */
    int divided; /* 1: into segments with an owner each */
    int populates;
    unsigned max_order;
    uint32_t segment_count, segment_units, reserve; /* segments that owners leave for others while they can */
    pthread_mutex_t change; /* taken before the lock, by who gives a segment to another owner; also of what follows */
    uint64_t serials;
    int warned; /* that a segment got no memory */
    pthread_mutex_t lock;
    themis_store_space_segment_t *segments;
    themis_store_space_pool_t *pools; /* uthash, by owner */
    themis_store_space_unit_t *units;
    uint8_t *states;       /* of units */
    _Atomic uint64_t used; /* units */
    /* The thread that populates pages holds no lock: at its priority it may not run for long, and others would have to
     * wait for it. */
    pthread_t populator;
    int has_populator;
    _Atomic int stop;
    sem_t wanted;
    _Atomic uint8_t *ranges;  /* of 2 MiB: how they are populated */
    uint32_t ahead;           /* ranges to keep populated ahead of use */
    _Atomic uint32_t growing; /* the segment that grew last */
    /* of a durable arena */
    themis_store_log_t *log;           /* borrowed, or NULL */
    int directory;                     /* borrowed */
    uint32_t user;                     /* whose processes blocks can be passed on to */
    int full;                          /* 1: the file system had no more room; it was logged */
    themis_store_space_freed_t *freed; /* a ring, oldest first */
    size_t freed_first, freed_count, freed_capacity;
};

/* All with the space's lock, or while nobody else uses it. */

/* Inserts a block into its pool's free lists, merged with its free buddies. */
void themis_store_space_block_insert(themis_store_space_t *space, const themis_store_space_segment_t *segment,
                                     uint32_t unit, unsigned order);
/* The blocks of units [from, end) of a segment. */
void themis_store_space_blocks_insert(themis_store_space_t *space, const themis_store_space_segment_t *segment,
                                      uint32_t from, uint32_t end);
/* NULL: no memory. */
themis_store_space_pool_t *themis_store_space_pool_get(themis_store_space_t *space, uint32_t owner);
void themis_store_space_segment_attach(themis_store_space_t *space, themis_store_space_segment_t *segment,
                                       themis_store_space_pool_t *pool);
/* A block that was allocated goes back to its pool. */
void themis_store_space_block_release(themis_store_space_t *space, uint32_t unit, unsigned order);

static inline uint64_t themis_store_space_segment_bytes(const themis_store_space_segment_t *segment)
{
    return (uint64_t)segment->units * THEMIS_STORE_SPACE_UNIT;
}

/* Gives room in its file to units [from, from + count) of a segment. 0: there is none; logged. */
int themis_store_space_durable_grow(themis_store_space_t *space, themis_store_space_segment_t *segment, uint32_t from,
                                    uint32_t count);
/* A new file instead of that of the segment, which is in no pool. */
themis_status_t themis_store_space_durable_renew(themis_store_space_t *space, themis_store_space_segment_t *segment,
                                                 uint32_t owner);
/* Appends what the segment is like to the log. */
themis_status_t themis_store_space_durable_log(themis_store_space_t *space, const themis_store_space_segment_t *segment,
                                               uint32_t owner);
/* Before processes are given its file. */
themis_status_t themis_store_space_durable_export(themis_store_space_t *space, themis_store_space_segment_t *segment);
/* 1: the block is free when that is durable. */
int themis_store_space_durable_free(themis_store_space_t *space, uint32_t unit, unsigned order);
/* Commits the log, if that frees blocks. */
int themis_store_space_durable_reclaim(themis_store_space_t *space);
