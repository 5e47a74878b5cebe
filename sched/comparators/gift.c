/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The comparator "gift" (Patel et al., FAST 20), as the paper of ThemisIO ports it: every interval the pending requests
 * are polled, basic synchronous I/O progress with coupons and the linear program give each job a segment of [0,1), and
 * a uniform draw over [0,1) selects the job whose request is served, to its end. A draw that hits a gap or an empty
 * queue serves nobody for the time of a request, and a job without pending requests at the poll waits for the next
 * one: not work-conserving, on purpose.
 *
 * The coordinator sees one server, this one: then o_a = m_a, and the program max sum(o_a x_a) with sum(m_a x_a) <= 1
 * and lb_a <= x_a <= 1 has many optima. The one that throttles least is used: all are raised from lb_a to f_a + r_a,
 * and the rest is given in proportion.
 */
#include "sched/random.h"
#include "sched/state.h"

typedef struct gift {
    uint64_t next;    /* ns; of the next poll */
    uint64_t blocked; /* ns; end of a lost cycle, where no bandwidth limit enforces it */
    double length;    /* bytes of a request, smoothed; at least a quantum */
} gift_t;

typedef struct account {
    double low, high;        /* the segment */
    double issued, redeemed; /* coupons */
} account_t;
_Static_assert(sizeof(account_t) <= THEMIS_SCHED_DRAW_BYTES, "account of an entry");

/* A job may be throttled while its coupons are redeemed at least at this rate. */
static const double trust = 0.8;
/* The largest part of its bandwidth that is taken from a job in one interval. */
static const double throttle = 0.1;

static account_t *account_of(themis_sched_entry_t *entry)
{
    return (account_t *)(void *)entry->draw;
}

static void gift_init(themis_sched_t *sched, uint64_t now)
{
    *(gift_t *)sched->state = (gift_t){.next = now, .length = (double)sched->options.quantum};
}

static void gift_join(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    *account_of(entry) = (account_t){.issued = 1, .redeemed = 1};
}

static double pending_requests(const themis_sched_entry_t *entry)
{
    return (double)entry->job->queued + entry->serving;
}

/* lb_a: the smallest part of its requests that a job with `m` of them is granted. */
static double lower_bound(const account_t *account, double m, double f, double r, int may_throttle)
{
    double credit = account->redeemed / account->issued >= trust ? account->redeemed - trust * account->issued : 0;

    if (credit <= 0 || !may_throttle)
        return f + r;
    return credit > throttle * f * m ? (1 - throttle) * f + r : f - credit / m + r;
}

/* Grants of one interval: r_a, then x_a. On one server f leaves no room to redeem, but the formula is complete. */
static double grant_requests(account_t *account, double m, double all, int may_throttle, double *spare)
{
    double f = 1 / all, owed = account->issued - account->redeemed, room = 1 - all * f;
    double redeem = owed < room ? owed : room;
    double r = redeem > 0 ? redeem / m : 0, lower = lower_bound(account, m, f, r, may_throttle);
    double x = f + r;

    account->redeemed += redeem > 0 ? redeem : 0;
    x = x > 1 ? 1 : x;
    if (m * x > *spare)
        x = *spare / m > lower ? *spare / m : lower;
    if (x < f + r)
        account->redeemed -= (f + r - x) * m;
    *spare -= m * x;
    return m * x;
}

static void poll_pending(themis_sched_t *sched)
{
    double all = 0, issued = 0, redeemed = 0, at = 0, spare = 1;

    for (uint32_t i = 0; i < sched->count; i++) {
        const account_t *account = account_of(sched->entries[i]);
        all += pending_requests(sched->entries[i]);
        issued += account->issued;
        redeemed += account->redeemed;
    }
    int may_throttle = redeemed / issued > trust; /* 1 while no coupon was issued */
    for (uint32_t i = 0; i < sched->count; i++) {
        account_t *account = account_of(sched->entries[i]);
        double m = pending_requests(sched->entries[i]);
        account->low = at;
        if (m > 0)
            at += grant_requests(account, m, all, may_throttle, &spare);
        account->high = at;
    }
}

/* Serves nobody for as long as a request takes, so that the parts of time are the lengths of the segments. (For
 * requests below a quantum it is longer, so that a server does not spin.) */
static themis_sched_entry_t *lose_cycle(themis_sched_t *sched, uint64_t now, uint64_t *wake)
{
    gift_t *state = sched->state;

    themis_sched_bandwidth_limit_charge(&sched->limit, state->length);
    state->blocked = now + (uint64_t)(state->length / sched->rate) + 1;
    *wake = sched->limit.bandwidth > 0 ? (uint64_t)sched->limit.free_at + 1 : state->blocked;
    return NULL;
}

/* One whose request has begun, or else the last that may be served at all; NULL if there is none. */
static themis_sched_entry_t *find_started(const themis_sched_t *sched)
{
    themis_sched_entry_t *found = NULL;

    for (uint32_t i = 0; i < sched->count && (found == NULL || !themis_sched_entry_is_started(found)); i++)
        if (themis_sched_entry_is_ready(sched->entries[i]))
            found = sched->entries[i];
    return found;
}

static themis_sched_entry_t *draw_segment(themis_sched_t *sched)
{
    double at = themis_sched_uniform(&sched->random);

    for (uint32_t i = 0; i < sched->count; i++) {
        const account_t *account = account_of(sched->entries[i]);
        if (at >= account->low && at < account->high)
            return themis_sched_entry_is_ready(sched->entries[i]) ? sched->entries[i] : NULL;
    }
    return NULL;
}

static themis_sched_entry_t *gift_pick(themis_sched_t *sched, uint64_t now, uint64_t *wake)
{
    gift_t *state = sched->state;

    if (sched->limit.bandwidth == 0 && now < state->blocked) {
        *wake = state->blocked;
        return NULL;
    }
    if (now >= state->next) {
        poll_pending(sched);
        state->next = now + sched->options.gift_interval;
    }
    themis_sched_entry_t *started = find_started(sched);
    if (started == NULL || themis_sched_entry_is_started(started))
        return started;
    themis_sched_entry_t *entry = draw_segment(sched);
    if (entry == NULL)
        return lose_cycle(sched, now, wake);
    uint64_t total = entry->head->total, quantum = sched->options.quantum;
    state->length += ((double)(total > quantum ? total : quantum) - state->length) / 8;
    return entry;
}

const themis_sched_draw_ops_t themis_sched_draw_gift = {
    .state_bytes = sizeof(gift_t), .init = gift_init, .join = gift_join, .pick = gift_pick};
