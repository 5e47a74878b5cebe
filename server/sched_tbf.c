/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The comparator "tbf": Lustre's token bucket filter as Qian et al. (SC 17) extend it. A rule for each job gives it
 * `tbf_rate` requests (slices) a second. A heap is keyed by the deadline, the time at which the next token is there; a
 * request is served when its deadline has come. Hard token compensation: while a queue holds requests its bucket has no
 * depth, and the deadline advances by 1/rate from where it was, not from now, so that what was served late is made
 * good. After a pause the bucket holds at most `depth` tokens. Proportional sharing of spare bandwidth: what rules
 * without requests do not use goes to the others in proportion to their rates. Jobs that never asked for anything, as
 * those of administrators' tools, have no rule. Not work-conserving, on purpose.
 */
#include <stdlib.h>
#include "server/sched_ops.h"

static const double depth = 3;

typedef struct tbf {
    themis_sched_heap_t heap;
    uint32_t rules, active;
} tbf_t;

static themis_status_t tbf_create(themis_sched_t *sched, uint64_t now)
{
    sched->state = calloc(1, sizeof(tbf_t));
    return sched->state == NULL ? THEMIS_NO_MEMORY : THEMIS_OK;
}

static void tbf_destroy(themis_sched_t *sched)
{
    tbf_t *state = sched->state;

    themis_sched_heap_release(&state->heap);
    free(state);
}

static themis_status_t tbf_reserve(themis_sched_t *sched, uint32_t entries)
{
    return themis_sched_heap_reserve(&((tbf_t *)sched->state)->heap, entries);
}

static int is_active(const themis_sched_entry_t *entry)
{
    return entry->head != NULL || entry->serving > 0;
}

/* ns from one token to the next, with the spare rate of idle rules. */
static double token_time(const themis_sched_t *sched)
{
    const tbf_t *state = sched->state;
    double spare = state->active > 0 ? (double)state->rules / state->active : 1;

    return 1e9 / (sched->options.tbf_rate * spare);
}

static void tbf_join(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    tbf_t *state = sched->state;

    entry->active = is_active(entry);
    entry->rule = entry->active || entry->job->requests > 0;
    state->rules += (uint32_t)entry->rule;
    state->active += entry->active;
    entry->deadline = (double)now;
}

static void tbf_leave(themis_sched_t *sched, themis_sched_entry_t *entry)
{
    tbf_t *state = sched->state;

    themis_sched_heap_remove(&state->heap, entry->slot);
    state->rules -= (uint32_t)entry->rule;
    state->active -= (uint32_t)entry->active;
    entry->rule = entry->active = 0;
}

static void tbf_rename(themis_sched_t *sched, themis_sched_entry_t *entry, uint32_t from)
{
    themis_sched_heap_rename(&((tbf_t *)sched->state)->heap, from, entry->slot);
}

static void tbf_wake(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    tbf_t *state = sched->state;

    state->rules += !entry->rule;
    entry->rule = 1;
    double full = (double)now - (depth - 1) * token_time(sched);
    if (entry->deadline < full)
        entry->deadline = full;
}

static void tbf_charge(themis_sched_t *sched, themis_sched_entry_t *entry, double bytes)
{
}

static void tbf_update(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    tbf_t *state = sched->state;
    int active = is_active(entry);

    state->active += active - entry->active;
    entry->active = active;
    if (!themis_sched_waits(entry)) {
        themis_sched_heap_remove(&state->heap, entry->slot);
        return;
    }
    themis_sched_heap_set(&state->heap, entry->slot, entry->deadline);
}

static themis_sched_entry_t *tbf_pick(themis_sched_t *sched, uint64_t now, uint64_t *wake)
{
    tbf_t *state = sched->state;

    if (state->heap.count == 0)
        return NULL;
    themis_sched_entry_t *least = sched->entries[themis_sched_heap_least(&state->heap)];
    if (least->deadline > (double)now) {
        *wake = (uint64_t)least->deadline + 1;
        return NULL;
    }
    least->deadline += token_time(sched);
    return least;
}

const themis_sched_ops_t themis_sched_tbf = {
    .name = "tbf",
    .create = tbf_create,
    .destroy = tbf_destroy,
    .reserve = tbf_reserve,
    .join = tbf_join,
    .leave = tbf_leave,
    .rename = tbf_rename,
    .wake = tbf_wake,
    .charge = tbf_charge,
    .update = tbf_update,
    .pick = tbf_pick,
};
