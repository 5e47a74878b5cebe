/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/sched_heap.h"
#include <stdlib.h>
#include "server/sched_ops.h"

themis_status_t themis_sched_heap_reserve(themis_sched_heap_t *heap, uint32_t entries)
{
    uint32_t capacity = heap->capacity == 0 ? 64 : heap->capacity;

    if (entries < heap->capacity)
        return THEMIS_OK;
    while (capacity <= entries)
        capacity *= 2;
    themis_sched_entry_t **grown = realloc(heap->at, capacity * sizeof(*grown));
    if (grown == NULL)
        return THEMIS_NO_MEMORY;
    heap->at = grown;
    heap->capacity = capacity;
    return THEMIS_OK;
}

void themis_sched_heap_release(themis_sched_heap_t *heap)
{
    free(heap->at);
    *heap = (themis_sched_heap_t){0};
}

static int before(const themis_sched_entry_t *a, const themis_sched_entry_t *b)
{
    return a->key < b->key || (a->key == b->key && a->order < b->order);
}

static void put(themis_sched_heap_t *heap, uint32_t position, themis_sched_entry_t *entry)
{
    heap->at[position] = entry;
    entry->heap = position;
}

static void settle(themis_sched_heap_t *heap, uint32_t position, themis_sched_entry_t *entry)
{
    while (position > 1 && before(entry, heap->at[position / 2])) {
        put(heap, position, heap->at[position / 2]);
        position /= 2;
    }
    for (uint32_t child; (child = 2 * position) <= heap->count; position = child) {
        if (child < heap->count && before(heap->at[child + 1], heap->at[child]))
            child++;
        if (!before(heap->at[child], entry))
            break;
        put(heap, position, heap->at[child]);
    }
    put(heap, position, entry);
}

void themis_sched_heap_set(themis_sched_heap_t *heap, themis_sched_entry_t *entry)
{
    settle(heap, entry->heap != 0 ? entry->heap : ++heap->count, entry);
}

void themis_sched_heap_remove(themis_sched_heap_t *heap, themis_sched_entry_t *entry)
{
    uint32_t position = entry->heap;

    if (position == 0)
        return;
    entry->heap = 0;
    themis_sched_entry_t *last = heap->at[heap->count--];
    if (last != entry)
        settle(heap, position, last);
}

themis_sched_entry_t *themis_sched_heap_least(const themis_sched_heap_t *heap)
{
    return heap->count == 0 ? NULL : heap->at[1];
}
