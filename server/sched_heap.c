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
    themis_sched_heap_place_t *grown = realloc(heap->at, capacity * sizeof *grown);
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

static int before(const themis_sched_heap_place_t *a, const themis_sched_heap_place_t *b)
{
    return a->key < b->key || (a->key == b->key && a->order < b->order);
}

static void put(themis_sched_heap_t *heap, uint32_t position, const themis_sched_heap_place_t *place)
{
    heap->at[position] = *place;
    place->entry->heap = position + 1;
}

static uint32_t least_child(const themis_sched_heap_t *heap, uint32_t position)
{
    uint32_t first = 4 * position + 1, least = first;
    uint32_t end = first + 4 < heap->count ? first + 4 : heap->count;

    for (uint32_t child = first + 1; child < end; child++)
        if (before(&heap->at[child], &heap->at[least]))
            least = child;
    return least;
}

static void settle(themis_sched_heap_t *heap, uint32_t position, themis_sched_heap_place_t place)
{
    while (position > 0 && before(&place, &heap->at[(position - 1) / 4])) {
        put(heap, position, &heap->at[(position - 1) / 4]);
        position = (position - 1) / 4;
    }
    while (4 * position + 1 < heap->count) {
        uint32_t child = least_child(heap, position);
        if (!before(&heap->at[child], &place))
            break;
        put(heap, position, &heap->at[child]);
        position = child;
    }
    put(heap, position, &place);
}

void themis_sched_heap_set(themis_sched_heap_t *heap, themis_sched_entry_t *entry)
{
    themis_sched_heap_place_t place = {entry->key, entry->order, entry};

    settle(heap, entry->heap != 0 ? entry->heap - 1 : heap->count++, place);
}

void themis_sched_heap_remove(themis_sched_heap_t *heap, themis_sched_entry_t *entry)
{
    uint32_t position = entry->heap;

    if (position == 0)
        return;
    entry->heap = 0;
    themis_sched_heap_place_t last = heap->at[--heap->count];
    if (last.entry != entry)
        settle(heap, position - 1, last);
}

themis_sched_entry_t *themis_sched_heap_least(const themis_sched_heap_t *heap)
{
    return heap->count == 0 ? NULL : heap->at[0].entry;
}
