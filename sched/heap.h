/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A priority queue of slots (indices into sched->entries), smallest key first; among equal keys not the one that was
 * set last. A tournament tree: slots are the leaves of a binary tree, and each inner node holds the slot that won below
 * it. A slot's path to the root is known in advance, so all that it is compared with can be loaded at once, whereas a
 * binary heap must compare before it knows what to read next. O(log n); only reserve allocates.
 */
#pragma once
#include <stdint.h>
#include "themis/status.h"

typedef struct themis_sched_heap {
    uint64_t *key;    /* of each slot, in an order-preserving form; UINT64_MAX: absent; owned */
    uint32_t *winner; /* of each inner node, from 1, the root, to capacity - 1; owned */
    uint32_t count, capacity;
} themis_sched_heap_t;

/* Room for slots below `entries`. A heap of zeros is empty. */
themis_status_t themis_sched_heap_reserve(themis_sched_heap_t *heap, uint32_t entries);
void themis_sched_heap_release(themis_sched_heap_t *heap);
/* Inserts the slot, or changes its key. */
void themis_sched_heap_set(themis_sched_heap_t *heap, uint32_t slot, double key);
/* Removes the slot, if it is present. */
void themis_sched_heap_remove(themis_sched_heap_t *heap, uint32_t slot);
/* Renames the slot `from`, if it is present, to `to`, which is absent. */
void themis_sched_heap_move(themis_sched_heap_t *heap, uint32_t from, uint32_t to);

/* The slot of the smallest key; only where count > 0. */
static inline uint32_t themis_sched_heap_min(const themis_sched_heap_t *heap)
{
    return heap->winner[1];
}

static inline int themis_sched_heap_has(const themis_sched_heap_t *heap, uint32_t slot)
{
    return heap->key[slot] != UINT64_MAX;
}
