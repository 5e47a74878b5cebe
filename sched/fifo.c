/* SPDX-License-Identifier: BSD-3-Clause */
/* First come, first served, over all jobs: the entry whose head came first. */
#include <stdlib.h>
#include "sched/draw.h"

static themis_status_t fifo_create(themis_sched_t *sched, uint64_t now)
{
    sched->state = calloc(1, sizeof(themis_sched_heap_t));
    return sched->state == NULL ? THEMIS_NO_MEMORY : THEMIS_OK;
}

static void fifo_destroy(themis_sched_t *sched)
{
    themis_sched_heap_release(sched->state);
    free(sched->state);
}

static themis_status_t fifo_reserve(themis_sched_t *sched, uint32_t entries)
{
    return themis_sched_heap_reserve(sched->state, entries);
}

static void fifo_join(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
}

static void fifo_leave(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
}

static void fifo_wake(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
}

static void fifo_charge(themis_sched_t *sched, themis_sched_entry_t *entry, double bytes)
{
}

static void fifo_rename(themis_sched_t *sched, themis_sched_entry_t *entry, uint32_t from)
{
    themis_sched_heap_rename(sched->state, from, entry->slot);
}

static void fifo_update(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    if (!themis_sched_waits(entry))
        themis_sched_heap_remove(sched->state, entry->slot);
    else
        themis_sched_heap_set(sched->state, entry->slot, (double)entry->head->sequence);
}

static themis_sched_entry_t *fifo_pick(themis_sched_t *sched, uint64_t now, uint64_t *wake)
{
    const themis_sched_heap_t *heap = sched->state;

    return heap->count == 0 ? NULL : sched->entries[themis_sched_heap_least(heap)];
}

const themis_sched_ops_t themis_sched_fifo = {
    .name = "fifo",
    .create = fifo_create,
    .destroy = fifo_destroy,
    .reserve = fifo_reserve,
    .join = fifo_join,
    .leave = fifo_leave,
    .rename = fifo_rename,
    .wake = fifo_wake,
    .charge = fifo_charge,
    .update = fifo_update,
    .pick = fifo_pick,
};
