/* SPDX-License-Identifier: BSD-3-Clause */
#include "sched/heap.h"
#include <stdlib.h>
#include <string.h>

static const uint64_t absent = UINT64_MAX;

/* Doubles order as unsigned integers once negative ones are inverted and the sign bit of the others is set. */
static uint64_t ordered(double key)
{
    uint64_t bits;

    memcpy(&bits, &key, sizeof bits);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

/* Replays the matches on the slot's path to the root. Without branches on keys, as they cannot be predicted. */
static void replay(themis_sched_heap_t *heap, uint32_t slot)
{
    const uint64_t *keys = heap->key;
    uint32_t best = slot, other = slot ^ 1;
    uint64_t key = keys[slot];

    for (uint32_t node = (heap->capacity + slot) / 2;; node /= 2) {
        uint64_t rival = keys[other];
        int wins = rival <= key;
        best = wins ? other : best;
        key = wins ? rival : key;
        heap->winner[node] = best;
        if (node == 1)
            return;
        other = heap->winner[node ^ 1];
    }
}

/* Replays all matches, from the leaves up. */
static void replay_all(themis_sched_heap_t *heap)
{
    for (uint32_t node = heap->capacity - 1; node > 0; node--) {
        uint32_t left = 2 * node, right = left + 1;
        left = left < heap->capacity ? heap->winner[left] : left - heap->capacity;
        right = right < heap->capacity ? heap->winner[right] : right - heap->capacity;
        heap->winner[node] = heap->key[left] <= heap->key[right] ? left : right;
    }
}

themis_status_t themis_sched_heap_reserve(themis_sched_heap_t *heap, uint32_t entries)
{
    uint32_t capacity = heap->capacity == 0 ? 64 : heap->capacity;

    if (entries <= heap->capacity)
        return THEMIS_OK;
    while (capacity < entries)
        capacity *= 2;
    uint64_t *key = realloc(heap->key, capacity * sizeof *key);
    heap->key = key == NULL ? heap->key : key;
    uint32_t *winner = realloc(heap->winner, capacity * sizeof *winner);
    heap->winner = winner == NULL ? heap->winner : winner;
    if (key == NULL || winner == NULL)
        return THEMIS_NO_MEMORY;
    for (uint32_t slot = heap->capacity; slot < capacity; slot++)
        heap->key[slot] = absent;
    heap->capacity = capacity;
    replay_all(heap);
    return THEMIS_OK;
}

void themis_sched_heap_release(themis_sched_heap_t *heap)
{
    free(heap->key);
    free(heap->winner);
    *heap = (themis_sched_heap_t){0};
}

static void set_key(themis_sched_heap_t *heap, uint32_t slot, uint64_t key)
{
    if (heap->key[slot] == key)
        return;
    heap->count += heap->key[slot] == absent;
    heap->count -= key == absent;
    heap->key[slot] = key;
    replay(heap, slot);
}

void themis_sched_heap_set(themis_sched_heap_t *heap, uint32_t slot, double key)
{
    set_key(heap, slot, ordered(key));
}

void themis_sched_heap_remove(themis_sched_heap_t *heap, uint32_t slot)
{
    set_key(heap, slot, absent);
}

void themis_sched_heap_move(themis_sched_heap_t *heap, uint32_t from, uint32_t to)
{
    uint64_t key = heap->key[from];

    set_key(heap, from, absent);
    set_key(heap, to, key);
}
