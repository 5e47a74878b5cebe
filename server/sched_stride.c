/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The draw "stride": deterministic, by virtual time (start-time fair queueing). Each entry has a pass, which grows by
 * bytes/share; the least pass is next. The virtual time is the pass of what was last picked. An entry that comes back
 * after a pause starts from the virtual time of one to two graces ago, if it is behind that: what it was due in a short
 * pause it still gets, what it was due in a long one it does not.
 *
 * Turns: clients that have one request at a time would, served slice by slice in exact turns, end together and then
 * leave the device idle together. So a request of a job that had one at a time for a second goes on, ahead of its due
 * by at most THEMIS_SCHED_TURN quanta; then its client prepares the next one while others are served.
 */
#include <stdlib.h>
#include "server/sched_ops.h"
#include "util/clock.h"

typedef struct stride {
    themis_sched_heap_t heap;
    double virtual_time;
    double recent, older;       /* virtual time at the last two snapshots */
    uint64_t snapshot;          /* ns; of the last one */
    themis_sched_entry_t *turn; /* last picked, or NULL */
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
}

static void stride_leave(themis_sched_t *sched, themis_sched_entry_t *entry)
{
    stride_t *state = sched->state;

    themis_sched_heap_remove(&state->heap, entry->slot);
    if (state->turn == entry)
        state->turn = NULL;
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

static void stride_wake(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    stride_t *state = sched->state;

    take_snapshot(state, now);
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

/* Does the entry that was served last go on? */
static int has_turn(const themis_sched_t *sched, const themis_sched_entry_t *entry, const themis_sched_entry_t *least,
                    uint64_t now)
{
    if (entry == NULL || !themis_sched_waits(entry) || now - entry->crowded < THEMIS_NS_PER_S)
        return 0;
    double ahead = (entry->pass - least->pass) * entry->share;
    return entry->head->bytes < entry->head->total && ahead <= THEMIS_SCHED_TURN * (double)sched->options.quantum;
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
    if (!has_turn(sched, state->turn, least, now))
        state->turn = least;
    return state->turn;
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
