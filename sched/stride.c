/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The draw "stride": deterministic, by virtual time (start-time fair queueing). Each entry has a pass, which grows by
 * bytes/share; the least pass is next. The virtual time is the pass of what was last picked. An entry that comes back
 * after a pause starts from the virtual time of one to two graces ago, if it is behind that: what it was due in a short
 * pause it still gets, what it was due in a long one it does not.
 *
 * Phases: clients with one request at a time that are served exactly evenly end their requests together, and then leave
 * the device idle together. So where such a job finds the device idle it moves ahead or back by a random part of a
 * request, between 0 and THEMIS_SCHED_PHASE quanta behind what it is due; from then on its requests end at other times
 * than those of others. Where that does not help it is tried ever more seldom.
 */
#include <stdlib.h>
#include "sched/draw.h"
#include "util/clock.h"

typedef struct stride {
    themis_sched_heap_t heap;
    double virtual_time;
    double recent, older; /* virtual time at the last two snapshots */
    uint64_t snapshot;    /* ns; of the last one */
} stride_t;

static themis_status_t stride_create(themis_sched_t *sched, uint64_t now)
{
    stride_t *state = calloc(1, sizeof *state);

    if (state == NULL)
        return THEMIS_NO_MEMORY;
    state->snapshot = now;
    sched->state = state;
    return THEMIS_OK;
}

static void stride_destroy(themis_sched_t *sched)
{
    stride_t *state = sched->state;

    themis_sched_heap_release(&state->heap);
    free(state);
}

static themis_status_t stride_reserve(themis_sched_t *sched, uint32_t entries)
{
    return themis_sched_heap_reserve(&((stride_t *)sched->state)->heap, entries);
}

static void stride_join(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    entry->pass = ((stride_t *)sched->state)->virtual_time;
    entry->crowded = now; /* it is to show that it has one request at a time */
    entry->phase = 0;
    entry->shift_pause = 0;
}

static void stride_leave(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    themis_sched_heap_remove(&((stride_t *)sched->state)->heap, entry->slot);
}

static void stride_rename(themis_sched_t *sched, themis_sched_entry_t *entry, uint32_t from)
{
    themis_sched_heap_rename(&((stride_t *)sched->state)->heap, from, entry->slot);
}

static void take_snapshot(stride_t *state, uint64_t now)
{
    if (now - state->snapshot < THEMIS_SCHED_GRACE)
        return;
    state->older = now - state->snapshot < 2 * THEMIS_SCHED_GRACE ? state->recent : state->virtual_time;
    state->recent = state->virtual_time;
    state->snapshot = now;
}

static const uint64_t first_pause = THEMIS_NS_PER_S / 4, last_pause = 2 * THEMIS_NS_PER_S;

static void shift_phase(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    uint64_t most = THEMIS_SCHED_PHASE * sched->options.quantum, total = entry->head->total;
    int lone = now - entry->crowded >= THEMIS_NS_PER_S;

    /* An idle time below an eighth of a slice is how long replies take; a request of one slice is never shared. */
    if (!lone || sched->idle < themis_sched_cycle(sched) / 8 || total <= sched->options.quantum ||
        now - entry->shifted < entry->shift_pause)
        return;
    double phase = themis_sched_uniform(sched) * (double)(total < most ? total : most);
    entry->pass += (phase - entry->phase) / entry->share;
    entry->phase = phase;
    entry->shifted = now;
    entry->shift_pause = entry->shift_pause == 0 ? first_pause : 2 * entry->shift_pause;
    if (entry->shift_pause > last_pause)
        entry->shift_pause = last_pause;
}

static void stride_wake(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    stride_t *state = sched->state;

    take_snapshot(state, now);
    shift_phase(sched, entry, now);
    if (entry->pass < state->older)
        entry->pass = state->older;
}

static void stride_charge(themis_sched_t *sched, themis_sched_entry_t *entry, double bytes)
{
    entry->pass += bytes / entry->share;
}

static void stride_update(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    stride_t *state = sched->state;

    if (!themis_sched_waits(entry))
        themis_sched_heap_remove(&state->heap, entry->slot);
    else
        themis_sched_heap_set(&state->heap, entry->slot, entry->pass);
    if (state->heap.count > 0) /* the next decision's */
        __builtin_prefetch(sched->entries[themis_sched_heap_least(&state->heap)], 1);
}

/* What an entry is ahead or behind counts in bytes, so its virtual length changes with the share. */
static void stride_reshare(themis_sched_t *sched, themis_sched_entry_t *entry, double old)
{
    stride_t *state = sched->state;

    if (old <= 0 || entry->share <= 0)
        return;
    entry->pass = state->virtual_time + (entry->pass - state->virtual_time) * (old / entry->share);
    if (themis_sched_heap_has(&state->heap, entry->slot))
        themis_sched_heap_set(&state->heap, entry->slot, entry->pass);
}

/* Moves the origin before doubles become coarse: at 2^50 they still tell quarters of a byte apart. */
static void rebase(themis_sched_t *sched, stride_t *state)
{
    double origin = state->virtual_time;

    if (origin < 0x1p50)
        return;
    for (uint32_t i = 0; i < sched->count; i++)
        sched->entries[i]->pass -= origin;
    themis_sched_heap_lower(&state->heap, origin);
    state->virtual_time = 0;
    state->recent -= origin;
    state->older -= origin;
}

static themis_sched_entry_t *stride_pick(themis_sched_t *sched, uint64_t now, uint64_t *wake)
{
    stride_t *state = sched->state;

    rebase(sched, state);
    take_snapshot(state, now);
    if (state->heap.count == 0)
        return NULL;
    themis_sched_entry_t *least = sched->entries[themis_sched_heap_least(&state->heap)];
    if (least->pass > state->virtual_time)
        state->virtual_time = least->pass;
    return least;
}

const themis_sched_ops_t themis_sched_stride = {
    .name = "stride",
    .create = stride_create,
    .destroy = stride_destroy,
    .reserve = stride_reserve,
    .join = stride_join,
    .leave = stride_leave,
    .rename = stride_rename,
    .wake = stride_wake,
    .charge = stride_charge,
    .update = stride_update,
    .reshare = stride_reshare,
    .pick = stride_pick,
};
