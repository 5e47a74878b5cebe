/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/sched_heap.h"
#include <stdlib.h>
#include <string.h>

/* Places left free before the first, so that children (WAYS i + 1 and on) begin a cache line. */
enum { WAYS = 4, LEAD = WAYS - 1 };

themis_status_t themis_sched_heap_reserve(themis_sched_heap_t *heap, uint32_t entries)
{
    uint32_t capacity = heap->capacity == 0 ? 64 : heap->capacity;

    if (entries <= heap->capacity)
        return THEMIS_OK;
    while (capacity < entries)
        capacity *= 2;
    uint32_t *position = realloc(heap->position, capacity * sizeof *position);
    if (position == NULL)
        return THEMIS_NO_MEMORY;
    memset(position + heap->capacity, 0, (capacity - heap->capacity) * sizeof *position);
    heap->position = position;
    /* One cache line more than the places take: the lead. */
    themis_sched_heap_place_t *block = aligned_alloc(64, (capacity + WAYS) * sizeof *block);
    if (block == NULL)
        return THEMIS_NO_MEMORY;
    if (heap->count > 0)
        memcpy(block + LEAD, heap->at, heap->count * sizeof *block);
    free(heap->block);
    heap->block = block;
    heap->at = block + LEAD;
    heap->capacity = capacity;
    return THEMIS_OK;
}

void themis_sched_heap_release(themis_sched_heap_t *heap)
{
    free(heap->block);
    free(heap->position);
    *heap = (themis_sched_heap_t){0};
}

/* Doubles order as unsigned integers once negative ones are inverted and the sign bit of the others is set. */
static uint64_t ordered(double key)
{
    uint64_t bits;

    memcpy(&bits, &key, sizeof bits);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

static double key_of(themis_sched_heap_place_t place)
{
    uint64_t bits = (uint64_t)(place >> 64);
    double key;

    bits = bits >> 63 ? bits & ~(UINT64_C(1) << 63) : ~bits;
    memcpy(&key, &bits, sizeof key);
    return key;
}

static themis_sched_heap_place_t make_place(uint64_t key, uint32_t set, uint32_t slot)
{
    return (themis_sched_heap_place_t)key << 64 | (uint64_t)set << 32 | slot;
}

static void put(themis_sched_heap_t *heap, uint32_t index, themis_sched_heap_place_t place)
{
    heap->at[index] = place;
    heap->position[(uint32_t)place] = index + 1;
}

static uint32_t least_child(const themis_sched_heap_t *heap, uint32_t index)
{
    uint32_t first = WAYS * index + 1;
    uint32_t end = first + WAYS < heap->count ? first + WAYS : heap->count, least = first;
    themis_sched_heap_place_t best = heap->at[first];

    for (uint32_t child = first + 1; child < end; child++) {
        themis_sched_heap_place_t place = heap->at[child];
        int less = place < best;
        least = less ? child : least;
        best = less ? place : best;
    }
    return least;
}

static void settle(themis_sched_heap_t *heap, uint32_t index, themis_sched_heap_place_t place)
{
    while (index > 0 && place < heap->at[(index - 1) / WAYS]) {
        put(heap, index, heap->at[(index - 1) / WAYS]);
        index = (index - 1) / WAYS;
    }
    while (WAYS * index + 1 < heap->count) {
        uint32_t child = least_child(heap, index);
        if (place < heap->at[child])
            break;
        put(heap, index, heap->at[child]);
        index = child;
    }
    put(heap, index, place);
}

void themis_sched_heap_set(themis_sched_heap_t *heap, uint32_t slot, double key)
{
    uint32_t position = heap->position[slot];

    if (position != 0 && heap->at[position - 1] >> 64 == ordered(key))
        return;
    settle(heap, position != 0 ? position - 1 : heap->count++, make_place(ordered(key), ++heap->set, slot));
}

void themis_sched_heap_remove(themis_sched_heap_t *heap, uint32_t slot)
{
    uint32_t position = heap->position[slot];

    if (position == 0)
        return;
    heap->position[slot] = 0;
    themis_sched_heap_place_t last = heap->at[--heap->count];
    if ((uint32_t)last != slot)
        settle(heap, position - 1, last);
}

void themis_sched_heap_rename(themis_sched_heap_t *heap, uint32_t from, uint32_t to)
{
    uint32_t position = heap->position[from];

    heap->position[from] = 0;
    heap->position[to] = position;
    if (position != 0)
        heap->at[position - 1] = (heap->at[position - 1] & ~(themis_sched_heap_place_t)UINT32_MAX) | to;
}

void themis_sched_heap_lower(themis_sched_heap_t *heap, double by)
{
    for (uint32_t i = 0; i < heap->count; i++)
        heap->at[i] = make_place(ordered(key_of(heap->at[i]) - by), 0, (uint32_t)heap->at[i]);
}
