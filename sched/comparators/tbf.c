/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The comparator "tbf": Lustre's token bucket filter as Qian et al. (SC 17) extend it. A rule for each job gives it
 * `tbf_rate` requests a second, whatever their size. A heap is keyed by the deadline, at which the next token is there;
 * a request is served when its deadline has come, to its end. Hard token compensation: while a queue holds requests its
 * bucket has no depth, and the deadline advances by one token from where it was, not from now, so that a delay is made
 * up for. In a pause the bucket fills up to `depth` tokens. Proportional sharing of spare bandwidth: the rates of rules
 * whose buckets are full are spare, and go to the others in proportion to theirs. As all rates are the same, all
 * buckets that are not full fill at one speed, and deadlines are counted in the tokens that such a bucket has got since
 * the beginning. Jobs without any request so far, such as those of administrators' tools, have no rule. Not
 * work-conserving, on purpose.
 */
#include "sched/state.h"

static const double depth = 3;

typedef struct tbf {
    themis_sched_heap_t filling; /* slots without requests whose bucket is not full yet; by deadline */
    uint32_t rules, active;      /* active: those whose buckets are not full */
    double tokens, counted;      /* that each bucket has got by that time (ns) */
} tbf_t;

typedef struct account {
    double deadline; /* tokens at which its next one is there */
    int rule;        /* has one */
    int active;      /* has requests, or its bucket is filling: its rate is not spare */
} account_t;
_Static_assert(sizeof(account_t) <= THEMIS_SCHED_DRAW_BYTES, "account of an entry");

static account_t *account_of(themis_sched_entry_t *entry)
{
    return (account_t *)(void *)entry->draw;
}

static void tbf_init(themis_sched_t *sched, uint64_t now)
{
    ((tbf_t *)sched->state)->counted = (double)now;
}

static void tbf_release(void *state)
{
    themis_sched_heap_release(&((tbf_t *)state)->filling);
}

static themis_status_t tbf_reserve(void *state, uint32_t entries)
{
    return themis_sched_heap_reserve(&((tbf_t *)state)->filling, entries);
}

/* Tokens a ns for each bucket that is not full. */
static double token_rate(const themis_sched_t *sched)
{
    const tbf_t *state = sched->state;
    double spare = state->active > 0 ? (double)state->rules / state->active : 1;

    return sched->options.tbf_rate * spare * 1e-9;
}

/* Tokens until the first of the filling buckets is full. */
static double missing_tokens(const themis_sched_t *sched)
{
    const tbf_t *state = sched->state;

    return account_of(sched->entries[themis_sched_heap_min(&state->filling)])->deadline + depth - 1 - state->tokens;
}

/* Brings `tokens` up to date, bucket by bucket that has become full meanwhile. */
static void count_tokens(themis_sched_t *sched, uint64_t now)
{
    tbf_t *state = sched->state;

    while (state->filling.count > 0) {
        double missing = missing_tokens(sched);
        double full = state->counted + (missing > 0 ? missing / token_rate(sched) : 0);
        if (full > (double)now)
            break;
        state->tokens += missing > 0 ? missing : 0;
        state->counted = full;
        uint32_t slot = themis_sched_heap_min(&state->filling);
        themis_sched_heap_remove(&state->filling, slot);
        account_of(sched->entries[slot])->active = 0;
        state->active--;
    }
    state->tokens += ((double)now - state->counted) * token_rate(sched);
    state->counted = (double)now;
}

static void bucket_update(tbf_t *state, themis_sched_entry_t *entry)
{
    account_t *account = account_of(entry);
    int busy = themis_sched_entry_is_busy(entry);

    if (busy && !account->active) {
        account->active = 1;
        state->active++;
    }
    if (!busy && account->active)
        themis_sched_heap_set(&state->filling, entry->slot, account->deadline);
    else
        themis_sched_heap_remove(&state->filling, entry->slot);
}

static void tbf_join(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    int rule = themis_sched_entry_has_requested(entry);
    tbf_t *state = sched->state;

    count_tokens(sched, now);
    *account_of(entry) = (account_t){.deadline = state->tokens, .rule = rule, .active = rule};
    state->rules += (uint32_t)rule;
    state->active += (uint32_t)rule;
    bucket_update(state, entry);
}

static void tbf_leave(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    tbf_t *state = sched->state;

    count_tokens(sched, now);
    themis_sched_heap_remove(&state->filling, entry->slot);
    state->rules -= (uint32_t)account_of(entry)->rule;
    state->active -= (uint32_t)account_of(entry)->active;
}

static void tbf_move(themis_sched_t *sched, themis_sched_entry_t *entry, uint32_t from)
{
    themis_sched_heap_move(&((tbf_t *)sched->state)->filling, from, entry->slot);
}

static void tbf_wake(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    account_t *account = account_of(entry);
    tbf_t *state = sched->state;

    count_tokens(sched, now);
    state->rules += !account->rule;
    account->rule = 1;
    if (account->deadline < state->tokens - (depth - 1))
        account->deadline = state->tokens - (depth - 1);
}

static double tbf_key(const themis_sched_entry_t *entry)
{
    return themis_sched_entry_is_started(entry) ? -1 : ((const account_t *)(const void *)entry->draw)->deadline;
}

static void tbf_update(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    count_tokens(sched, now);
    bucket_update(sched->state, entry);
}

/* ns; when a bucket has got `missing` tokens more, or when another is full, which fills this one faster. */
static uint64_t next_token(const themis_sched_t *sched, double missing)
{
    const tbf_t *state = sched->state;

    if (state->filling.count > 0) {
        double full = missing_tokens(sched);
        missing = full < missing ? full : missing;
    }
    return (uint64_t)(state->counted + missing / token_rate(sched)) + 1;
}

static themis_sched_entry_t *tbf_pick(themis_sched_t *sched, uint64_t now, uint64_t *wake)
{
    const tbf_t *state = sched->state;

    if (sched->order.count == 0)
        return NULL;
    themis_sched_entry_t *next = sched->entries[themis_sched_heap_min(&sched->order)];
    if (themis_sched_entry_is_started(next))
        return next;
    count_tokens(sched, now);
    double missing = account_of(next)->deadline - state->tokens;
    if (missing > 0) {
        *wake = next_token(sched, missing);
        return NULL;
    }
    account_of(next)->deadline += 1;
    return next;
}

const themis_sched_draw_ops_t themis_sched_draw_tbf = {
    .state_bytes = sizeof(tbf_t),
    .init = tbf_init,
    .release = tbf_release,
    .reserve = tbf_reserve,
    .join = tbf_join,
    .leave = tbf_leave,
    .move = tbf_move,
    .wake = tbf_wake,
    .key = tbf_key,
    .update = tbf_update,
    .pick = tbf_pick,
};
