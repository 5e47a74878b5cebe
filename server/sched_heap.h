/* SPDX-License-Identifier: BSD-3-Clause */
/* A heap of scheduler entries with four children a node, least (key, order) first; each entry knows its position. Keys
 * are kept in the heap itself, so that sifting touches no entry but those that move. O(log n), and no allocation but in
 * reserve. */
#ifndef THEMIS_SERVER_SCHED_HEAP_H
#define THEMIS_SERVER_SCHED_HEAP_H
#include <stdint.h>
#include "themis/status.h"

struct themis_sched_entry;

typedef struct themis_sched_heap_place {
    double key;
    uint64_t order;
    struct themis_sched_entry *entry;
} themis_sched_heap_place_t;

typedef struct themis_sched_heap {
    themis_sched_heap_place_t *at; /* 0 to count - 1; owned */
    uint32_t count, capacity;
} themis_sched_heap_t;

themis_status_t themis_sched_heap_reserve(themis_sched_heap_t *heap, uint32_t entries);
void themis_sched_heap_release(themis_sched_heap_t *heap);
/* Puts the entry in, or at its new place if it is in; by entry->key and entry->order. */
void themis_sched_heap_set(themis_sched_heap_t *heap, struct themis_sched_entry *entry);
/* Takes the entry out, if it is in. */
void themis_sched_heap_remove(themis_sched_heap_t *heap, struct themis_sched_entry *entry);
/* The least, or NULL. */
struct themis_sched_entry *themis_sched_heap_least(const themis_sched_heap_t *heap);
#endif
