/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The draw "stride": deterministic, by virtual time (start-time fair queueing). Each entry has a pass, which grows by
 * bytes/share; the least pass is next. The virtual time is the pass of what was last picked. An entry that comes back
 * after a pause starts from the virtual time of one to two graces ago, if it is behind that: what it was due in a short
 * pause it still gets, what it was due in a long one it does not.
 *
 * Leads: clients with one request at a time that are served exactly evenly end their requests together, and then leave
 * the device idle together. So a job that had one request at a time for a second is kept ahead of its due by a part of
 * its requests, at most THEMIS_SCHED_LEAD quanta, another part for each job: while the client of one prepares its next
 * request, those of others wait. Where the device is idle nevertheless the part is drawn anew, ever more seldom.
 */
#include <stdlib.h>
#include "server/sched_ops.h"
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
    entry->lead = 0;
    entry->lead_part = themis_sched_uniform(sched);
}

static void stride_leave(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    themis_sched_heap_remove(&((stride_t *)sched->state)->heap, entry->slot);
}

static void stride_rename(themis_sched_t *sched, themis_sched_entry_t *entry, uint32_t from)
{
    themis_sched_heap_rename(&((stride_t *)sched->state)->heap, from, entry->slot);
}

/* The virtual time at which it is to be served next. */
static double due(const themis_sched_entry_t *entry)
{
    return entry->pass - entry->lead / entry->share;
}

static void take_snapshot(stride_t *state, uint64_t now)
{
    if (now - state->snapshot < THEMIS_SCHED_GRACE)
        return;
    state->older = now - state->snapshot < 2 * THEMIS_SCHED_GRACE ? state->recent : state->virtual_time;
    state->recent = state->virtual_time;
    state->snapshot = now;
}

static const uint64_t lead_first_wait = THEMIS_NS_PER_S / 4, lead_last_wait = 8 * THEMIS_NS_PER_S;

/* Draws the part anew where an eighth of a slice could have been served while no queue held a request. */
static void draw_lead(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    if (sched->idle < themis_sched_cycle(sched) / 8 || now - entry->lead_drawn < entry->lead_wait)
        return;
    entry->lead_part = themis_sched_uniform(sched);
    entry->lead = 0;
    entry->lead_drawn = now;
    entry->lead_wait = entry->lead_wait == 0 ? lead_first_wait : 2 * entry->lead_wait;
    if (entry->lead_wait > lead_last_wait)
        entry->lead_wait = lead_last_wait;
}

static void set_lead(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    uint64_t most = THEMIS_SCHED_LEAD * sched->options.quantum, total = entry->head->total;

    if (now - entry->crowded < THEMIS_NS_PER_S) {
        entry->lead = 0;
        entry->lead_wait = 0;
        return;
    }
    draw_lead(sched, entry, now);
    double lead = entry->lead_part * (double)(total < most ? total : most);
    if (total > sched->options.quantum && lead > entry->lead) /* others are served at once */
        entry->lead = lead;
}

static void stride_wake(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    stride_t *state = sched->state;

    take_snapshot(state, now);
    if (entry->pass < state->older)
        entry->pass = state->older;
    set_lead(sched, entry, now);
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
        themis_sched_heap_set(&state->heap, entry->slot, due(entry));
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
        themis_sched_heap_set(&state->heap, entry->slot, due(entry));
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
    if (due(least) > state->virtual_time)
        state->virtual_time = due(least);
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
