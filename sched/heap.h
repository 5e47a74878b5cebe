/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A priority queue of slots (indices into sched->entries), least key first; among equal keys not the one that was set
 * last. A tournament: slots are the leaves of a binary tree, and each inner node holds the slot that won below it. A
 * slot's way to the root is known before anything is read, so what it is to be compared with comes out of memory at
 * once, where a heap must compare to know what to read next. O(log n), and no allocation but in reserve.
 */
#ifndef THEMIS_SCHED_HEAP_H
#define THEMIS_SCHED_HEAP_H
#include <stdint.h>
#include "themis/status.h"

typedef struct themis_sched_heap {
    uint64_t *key;    /* of each slot, in an order-preserving form; UINT64_MAX: not in; owned */
    uint32_t *winner; /* of each inner node, from 1, the root, to capacity - 1; owned */
    uint32_t count, capacity;
} themis_sched_heap_t;

/* Room for slots below `entries`. A heap of zeros is empty. */
themis_status_t themis_sched_heap_reserve(themis_sched_heap_t *heap, uint32_t entries);
void themis_sched_heap_release(themis_sched_heap_t *heap);
/* Puts the slot in, or at its new place if it is in. */
void themis_sched_heap_set(themis_sched_heap_t *heap, uint32_t slot, double key);
/* Takes the slot out, if it is in. */
void themis_sched_heap_remove(themis_sched_heap_t *heap, uint32_t slot);
/* What was in as `from`, if it was, is called `to` now, which is not in. */
void themis_sched_heap_move(themis_sched_heap_t *heap, uint32_t from, uint32_t to);

/* Takes `by` off all keys. */
void themis_sched_heap_lower(themis_sched_heap_t *heap, double by);

/* The slot of the least key; only where count > 0. */
static inline uint32_t themis_sched_heap_min(const themis_sched_heap_t *heap)
{
    return heap->winner[1];
}

static inline int themis_sched_heap_has(const themis_sched_heap_t *heap, uint32_t slot)
{
    return heap->key[slot] != UINT64_MAX;
}
#endif
