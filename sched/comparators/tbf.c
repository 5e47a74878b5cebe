/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The comparator "tbf": Lustre's token bucket filter as Qian et al. (SC 17) extend it. A rule for each job gives it
 * `tbf_rate` requests a second, whatever their size. A heap is keyed by the deadline, at which the next token is there;
 * a request is served when its deadline has come, to its end. Hard token compensation: while a queue holds requests its
 * bucket has no depth, and the deadline advances by one token from where it was, not from now, so that what was served
 * late is made good. In a pause the bucket fills up to `depth` tokens. Proportional sharing of spare bandwidth: the
 * rates of rules whose buckets are full are spare, and go to the others in proportion to theirs. As all rates are the
 * same, all buckets that are not full fill at one speed, and deadlines are kept in tokens that such a one has got since
 * the beginning. Jobs that never asked for anything, as those of administrators' tools, have no rule. Not
 * work-conserving, on purpose.
 */
#include <stdlib.h>
#include "sched/draw.h"

static const double depth = 3;

typedef struct tbf {
    themis_sched_heap_t waiting; /* with requests, by deadline */
    themis_sched_heap_t filling; /* without, and the bucket is not full yet; by deadline */
    uint32_t rules, active;      /* active: without those whose buckets are full */
    double tokens, counted;      /* that each bucket has got by that time (ns) */
} tbf_t;

static themis_status_t tbf_create(themis_sched_t *sched, uint64_t now)
{
    tbf_t *state = calloc(1, sizeof *state);

    if (state == NULL)
        return THEMIS_NO_MEMORY;
    state->counted = (double)now;
    sched->state = state;
    return THEMIS_OK;
}

static void tbf_destroy(themis_sched_t *sched)
{
    tbf_t *state = sched->state;

    themis_sched_heap_release(&state->waiting);
    themis_sched_heap_release(&state->filling);
    free(state);
}

static themis_status_t tbf_reserve(themis_sched_t *sched, uint32_t entries)
{
    tbf_t *state = sched->state;
    themis_status_t status = themis_sched_heap_reserve(&state->waiting, entries);

    return status == THEMIS_OK ? themis_sched_heap_reserve(&state->filling, entries) : status;
}

/* Tokens a ns that a bucket gets which is not full. */
static double speed(const themis_sched_t *sched)
{
    const tbf_t *state = sched->state;
    double spare = state->active > 0 ? (double)state->rules / state->active : 1;

    return sched->options.tbf_rate * spare * 1e-9;
}

/* Brings `tokens` up to date, bucket by bucket that has become full meanwhile. */
static void count_tokens(themis_sched_t *sched, uint64_t now)
{
    tbf_t *state = sched->state;

    while (state->filling.count > 0) {
        themis_sched_entry_t *least = sched->entries[themis_sched_heap_least(&state->filling)];
        double missing = least->deadline + depth - 1 - state->tokens;
        double full = state->counted + (missing > 0 ? missing / speed(sched) : 0);
        if (full > (double)now)
            break;
        state->tokens += missing > 0 ? missing : 0;
        state->counted = full;
        themis_sched_heap_remove(&state->filling, least->slot);
        least->active = 0;
        state->active--;
    }
    state->tokens += ((double)now - state->counted) * speed(sched);
    state->counted = (double)now;
}

/* Puts the entry where it belongs, whatever it was. */
static void place(tbf_t *state, themis_sched_entry_t *entry)
{
    int asks = themis_sched_asks(entry);

    if (asks && !entry->active) {
        entry->active = 1;
        state->active++;
    }
    if (!asks && entry->active)
        themis_sched_heap_set(&state->filling, entry->slot, entry->deadline);
    else
        themis_sched_heap_remove(&state->filling, entry->slot);
    if (!themis_sched_waits(entry))
        themis_sched_heap_remove(&state->waiting, entry->slot);
    else
        themis_sched_heap_set(&state->waiting, entry->slot, themis_sched_has_begun(entry) ? -1 : entry->deadline);
}

static void tbf_join(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    tbf_t *state = sched->state;

    count_tokens(sched, now);
    entry->deadline = state->tokens;
    entry->active = entry->rule = themis_sched_has_requested(sched, entry->job);
    state->rules += (uint32_t)entry->rule;
    state->active += (uint32_t)entry->active;
    place(state, entry);
}

static void tbf_leave(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    tbf_t *state = sched->state;

    count_tokens(sched, now);
    themis_sched_heap_remove(&state->waiting, entry->slot);
    themis_sched_heap_remove(&state->filling, entry->slot);
    state->rules -= (uint32_t)entry->rule;
    state->active -= (uint32_t)entry->active;
    entry->rule = entry->active = 0;
}

static void tbf_rename(themis_sched_t *sched, themis_sched_entry_t *entry, uint32_t from)
{
    tbf_t *state = sched->state;

    themis_sched_heap_rename(&state->waiting, from, entry->slot);
    themis_sched_heap_rename(&state->filling, from, entry->slot);
}

static void tbf_wake(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    tbf_t *state = sched->state;

    count_tokens(sched, now);
    state->rules += !entry->rule;
    entry->rule = 1;
    if (entry->deadline < state->tokens - (depth - 1))
        entry->deadline = state->tokens - (depth - 1);
}

static void tbf_charge(themis_sched_t *sched, themis_sched_entry_t *entry, double bytes)
{
}

static void tbf_update(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    count_tokens(sched, now);
    place(sched->state, entry);
}

/* ns; when a bucket has got `missing` tokens more, or when another is full, which fills this one faster. */
static uint64_t next_token(const themis_sched_t *sched, double missing)
{
    const tbf_t *state = sched->state;

    if (state->filling.count > 0) {
        double full = sched->entries[themis_sched_heap_least(&state->filling)]->deadline + depth - 1 - state->tokens;
        missing = full < missing ? full : missing;
    }
    return (uint64_t)(state->counted + missing / speed(sched)) + 1;
}

static themis_sched_entry_t *tbf_pick(themis_sched_t *sched, uint64_t now, uint64_t *wake)
{
    tbf_t *state = sched->state;

    if (state->waiting.count == 0)
        return NULL;
    themis_sched_entry_t *least = sched->entries[themis_sched_heap_least(&state->waiting)];
    if (themis_sched_has_begun(least))
        return least;
    count_tokens(sched, now);
    double missing = least->deadline - state->tokens;
    if (missing > 0) {
        *wake = next_token(sched, missing);
        return NULL;
    }
    least->deadline += 1;
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
