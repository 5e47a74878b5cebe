/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The comparator "gift" (Patel et al., FAST 20), as the paper of ThemisIO ports it: every interval the pending requests
 * are polled, basic synchronous I/O progress with coupons and the linear program give each job a segment of [0,1), and
 * a uniform draw over [0,1) says whose request is served, to its end. A draw that falls in a gap or on an empty queue
 * serves nobody for a cycle, in which a request would have been served, and a job without pending requests at the poll
 * waits for the next one: not work-conserving, on purpose.
 *
 * The coordinator sees one server, this one: then o_a = m_a, and the program max sum(o_a x_a) with sum(m_a x_a) <= 1
 * and lb_a <= x_a <= 1 has many optima. Taken is the one that throttles least: all are raised from lb_a to f_a + r_a,
 * and what is left is given in proportion.
 */
#include <stdlib.h>
#include "sched/draw.h"

typedef struct gift {
    uint64_t next;    /* ns; of the next poll */
    uint64_t blocked; /* ns; end of a lost cycle, where no device limit keeps it */
    double length;    /* bytes of a request, smoothed; at least a quantum */
} gift_t;

/* A job may be throttled while its coupons are redeemed at least at this rate. */
static const double trust = 0.8;
/* The largest part of its bandwidth that is taken from a job in one interval. */
static const double throttle = 0.1;

static themis_status_t gift_create(themis_sched_t *sched, uint64_t now)
{
    gift_t *state = calloc(1, sizeof *state);

    if (state == NULL)
        return THEMIS_NO_MEMORY;
    state->next = now;
    state->length = (double)sched->options.quantum;
    sched->state = state;
    return THEMIS_OK;
}

static void gift_destroy(themis_sched_t *sched)
{
    free(sched->state);
}

static void gift_join(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    entry->low = entry->high = 0;
    entry->issued = entry->redeemed = 1;
}

static void gift_leave(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
}

static void gift_wake(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
}

static void gift_charge(themis_sched_t *sched, themis_sched_entry_t *entry, double bytes)
{
}

static void gift_update(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
}

static double pending(const themis_sched_entry_t *entry)
{
    return (double)entry->job->queued + entry->serving;
}

/* lb_a: the least part of its requests that a job with `m` of them is granted. */
static double lower_bound(const themis_sched_entry_t *entry, double m, double f, double r, int may_throttle)
{
    double credit = entry->redeemed / entry->issued >= trust ? entry->redeemed - trust * entry->issued : 0;

    if (credit <= 0 || !may_throttle)
        return f + r;
    return credit > throttle * f * m ? (1 - throttle) * f + r : f - credit / m + r;
}

/* Grants of one interval: r_a, then x_a. On one server f leaves no room to redeem, but the formula is kept whole. */
static double grant(themis_sched_entry_t *entry, double all, int may_throttle, double *spare)
{
    double m = pending(entry), f = 1 / all;
    double owed = entry->issued - entry->redeemed, room = 1 - all * f;
    double redeem = owed < room ? owed : room;
    double r = redeem > 0 ? redeem / m : 0, lower = lower_bound(entry, m, f, r, may_throttle);
    double x = f + r;

    entry->redeemed += redeem > 0 ? redeem : 0;
    x = x > 1 ? 1 : x;
    if (m * x > *spare)
        x = *spare / m > lower ? *spare / m : lower;
    if (x < f + r)
        entry->redeemed -= (f + r - x) * m;
    *spare -= m * x;
    return m * x;
}

static void poll_pending(themis_sched_t *sched)
{
    double all = 0, issued = 0, redeemed = 0, at = 0, spare = 1;

    for (uint32_t i = 0; i < sched->count; i++) {
        const themis_sched_entry_t *entry = sched->entries[i];
        all += pending(entry);
        issued += entry->issued;
        redeemed += entry->redeemed;
    }
    int may_throttle = redeemed / issued > trust; /* 1 while no coupon was issued */
    for (uint32_t i = 0; i < sched->count; i++) {
        themis_sched_entry_t *entry = sched->entries[i];
        entry->low = at;
        if (pending(entry) > 0)
            at += grant(entry, all, may_throttle, &spare);
        entry->high = at;
    }
}

/* Nobody is served for as long as a request takes: so the parts of time are the lengths of the segments. (For requests
 * below a quantum it is longer, so that a server does not spin.) */
static themis_sched_entry_t *lose_cycle(themis_sched_t *sched, uint64_t now, uint64_t *wake)
{
    gift_t *state = sched->state;
    double cycle = state->length / sched->bandwidth;

    if (sched->options.bandwidth > 0)
        sched->limit_free += cycle;
    state->blocked = now + (uint64_t)cycle + 1;
    *wake = sched->options.bandwidth > 0 ? (uint64_t)sched->limit_free + 1 : state->blocked;
    return NULL;
}

static void measure(gift_t *state, const themis_sched_t *sched, const themis_sched_item_t *item)
{
    uint64_t total = item->total > sched->options.quantum ? item->total : sched->options.quantum;

    state->length += ((double)total - state->length) / 8;
}

/* One whose request has begun, or else the last that may be served at all; NULL if there is none. */
static themis_sched_entry_t *find_begun(const themis_sched_t *sched)
{
    themis_sched_entry_t *found = NULL;

    for (uint32_t i = 0; i < sched->count && (found == NULL || !themis_sched_has_begun(found)); i++)
        if (themis_sched_waits(sched->entries[i]))
            found = sched->entries[i];
    return found;
}

static themis_sched_entry_t *gift_pick(themis_sched_t *sched, uint64_t now, uint64_t *wake)
{
    gift_t *state = sched->state;

    if (sched->options.bandwidth == 0 && now < state->blocked) {
        *wake = state->blocked;
        return NULL;
    }
    if (now >= state->next) {
        poll_pending(sched);
        state->next = now + sched->options.gift_interval;
    }
    themis_sched_entry_t *begun = find_begun(sched);
    if (begun == NULL || themis_sched_has_begun(begun))
        return begun;
    double at = themis_sched_uniform(sched);
    for (uint32_t i = 0; i < sched->count; i++) {
        themis_sched_entry_t *entry = sched->entries[i];
        if (at < entry->low || at >= entry->high)
            continue;
        if (!themis_sched_waits(entry))
            break;
        measure(state, sched, entry->head);
        return entry;
    }
    return lose_cycle(sched, now, wake);
}

const themis_sched_ops_t themis_sched_gift = {
    .name = "gift",
    .create = gift_create,
    .destroy = gift_destroy,
    .join = gift_join,
    .leave = gift_leave,
    .wake = gift_wake,
    .charge = gift_charge,
    .update = gift_update,
    .pick = gift_pick,
};
