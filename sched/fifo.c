/* SPDX-License-Identifier: BSD-3-Clause */
/* The policy "fifo": first come, first served, over all jobs. */
#include "sched/state.h"

static double fifo_key(const themis_sched_entry_t *entry)
{
    return (double)entry->head->sequence;
}

static themis_sched_entry_t *fifo_pick(themis_sched_t *sched, uint64_t now, uint64_t *wake)
{
    return sched->order.count == 0 ? NULL : sched->entries[themis_sched_heap_min(&sched->order)];
}

const themis_sched_draw_ops_t themis_sched_draw_fifo = {.key = fifo_key, .pick = fifo_pick};
