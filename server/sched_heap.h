/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A heap of slots (indices into sched->entries) with four children a node, least key first; among equal keys the one
 * that got its key first. A place takes 16 bytes and the four children of a node one cache line, and positions are kept
 * by slot: sifting touches no entry. O(log n), and no allocation but in reserve.
 */
#ifndef THEMIS_SERVER_SCHED_HEAP_H
#define THEMIS_SERVER_SCHED_HEAP_H
#include <stdint.h>
#include "themis/status.h"

/* The key in an order-preserving form, then a counter that tells which was set first, then the slot: one number, so
 * that the least of four is found without branches, which nobody could predict here. */
typedef unsigned __int128 themis_sched_heap_place_t;

typedef struct themis_sched_heap {
    themis_sched_heap_place_t *at; /* 0 to count - 1; inside `block` */
    void *block;                   /* owned */
    uint32_t *position;            /* of each slot, counted from 1; 0: not in; owned */
    uint32_t count, capacity;
    uint32_t set; /* counts the keys that were set; may wrap */
} themis_sched_heap_t;

/* Room for slots below `entries`. A heap of zeros is empty. */
themis_status_t themis_sched_heap_reserve(themis_sched_heap_t *heap, uint32_t entries);
void themis_sched_heap_release(themis_sched_heap_t *heap);
/* Puts the slot in, or at its new place if it is in. */
void themis_sched_heap_set(themis_sched_heap_t *heap, uint32_t slot, double key);
/* Takes the slot out, if it is in. */
void themis_sched_heap_remove(themis_sched_heap_t *heap, uint32_t slot);
/* What was in as `from`, if it was, is called `to` now, which is not in. */
void themis_sched_heap_rename(themis_sched_heap_t *heap, uint32_t from, uint32_t to);

/* Takes `by` off all keys. */
void themis_sched_heap_lower(themis_sched_heap_t *heap, double by);

/* The slot of the least key; only where count > 0. */
static inline uint32_t themis_sched_heap_least(const themis_sched_heap_t *heap)
{
    return (uint32_t)heap->at[0];
}

static inline int themis_sched_heap_has(const themis_sched_heap_t *heap, uint32_t slot)
{
    return heap->position[slot] != 0;
}
#endif
