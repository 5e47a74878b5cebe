/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The policy "min-dilation": the job that has suffered most from the others is served first. This is the online
 * heuristic of that name (Gainaru et al., "Scheduling the I/O of HPC applications under congestion", IPDPS 2015), with
 * what a server sees of a job in the last minutes: it does I/O while it has requests, and computes otherwise; alone it
 * would have done its I/O at the rate of the device, or at that of its nodes if node_bandwidth is known. What its I/O
 * took beyond that is its delay, and its dilation is elapsed / (elapsed - delay).
 *
 * Who has suffered little waits, but no job waits for more than `patience`: then it is served once, the one that has
 * waited longest first.
 */
#include "sched/state.h"
#include "util/clock.h"

/* Jobs are ranked anew this often; with more jobs than RANK_JOBS for every such time, less often. */
static const uint64_t rank_interval = 10 * THEMIS_NS_PER_MS;
enum { RANK_JOBS = 1000 };

static const double memory = 60;  /* s; what was longer ago counts for 1/e */
static const double patience = 2; /* s */

typedef struct min_dilation {
    uint64_t next, last; /* ns; when jobs are ranked anew, and when they were */
    double bytes;        /* charged since */
    double device;       /* bytes/ns, the highest rate of late */
} min_dilation_t;

typedef struct account {
    double key;                  /* the fraction of its time by which the job was delayed, negative */
    double elapsed, busy, alone; /* s: since it joined, with requests, and what these would have taken without others */
    uint64_t ranked;             /* ns; when that was */
    uint64_t waits;              /* ns; since when it waits: it was served, or its queue was empty */
} account_t;
_Static_assert(sizeof(account_t) <= THEMIS_SCHED_DRAW_BYTES, "account of an entry");

static account_t *account_of(themis_sched_entry_t *entry)
{
    return (account_t *)(void *)entry->draw;
}

static void min_dilation_init(themis_sched_t *sched, uint64_t now)
{
    *(min_dilation_t *)sched->state = (min_dilation_t){.next = now, .last = now};
}

static void min_dilation_join(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    *account_of(entry) = (account_t){.ranked = now, .waits = now};
}

/* bytes/ns that the job could have without others. The scheduler knows the rate of a device that is limited, else that
 * of one slice, of which there may be many at a time. */
static double rate_alone(const themis_sched_t *sched, const themis_sched_job_t *job)
{
    const min_dilation_t *state = sched->state;
    uint32_t nodes = job->identity.nodes == 0 ? 1 : job->identity.nodes;
    double of_nodes = (double)sched->options.node_bandwidth / 1e9 * nodes, rate = sched->rate;

    if (sched->limit.bandwidth == 0 && state->device > rate)
        rate = state->device;
    return of_nodes > 0 && of_nodes < rate ? of_nodes : rate;
}

static void min_dilation_charge(themis_sched_t *sched, themis_sched_entry_t *entry, double bytes)
{
    account_of(entry)->alone += bytes / rate_alone(sched, entry->job) / 1e9;
    ((min_dilation_t *)sched->state)->bytes += bytes;
}

/* s with requests since it was ranked. Each time that an idle one gets a request it is ranked. */
static double busy_time(const themis_sched_entry_t *entry, uint64_t ranked, uint64_t now, int was_idle)
{
    uint64_t end = was_idle ? entry->idle_since : now;

    return end > ranked ? (double)(end - ranked) / 1e9 : 0;
}

static void rank(themis_sched_entry_t *entry, uint64_t now, int was_idle)
{
    account_t *account = account_of(entry);
    double passed = (double)(now - account->ranked) / 1e9, busy = busy_time(entry, account->ranked, now, was_idle);
    double kept = passed < memory ? 1 - passed / memory : 0, waited = (double)(now - account->waits) / 1e9;

    account->ranked = now;
    account->elapsed = account->elapsed * kept + passed;
    account->busy = account->busy * kept + busy;
    account->alone *= kept;
    if (account->alone > account->busy)
        account->alone = account->busy;
    account->key = account->elapsed > 0 ? (account->alone - account->busy) / account->elapsed : 0;
    if (entry->head != NULL && waited > patience)
        account->key = -waited;
}

static void min_dilation_wake(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    account_of(entry)->waits = now;
    rank(entry, now, entry->serving == 0);
}

/* A request was taken, or has ended. */
static void min_dilation_update(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    account_of(entry)->waits = now;
}

static double min_dilation_key(const themis_sched_entry_t *entry)
{
    return ((const account_t *)(const void *)entry->draw)->key;
}

static void device_measure(themis_sched_t *sched, uint64_t now)
{
    min_dilation_t *state = sched->state;
    double rate = now > state->last ? state->bytes / (double)(now - state->last) : 0;

    state->device = rate > 0.999 * state->device ? rate : 0.999 * state->device;
    state->bytes = 0;
    state->last = now;
}

static void rank_all(themis_sched_t *sched, uint64_t now)
{
    for (uint32_t i = 0; i < sched->count; i++) {
        themis_sched_entry_t *entry = sched->entries[i];
        rank(entry, now, !themis_sched_entry_is_busy(entry));
        if (themis_sched_heap_has(&sched->order, i))
            themis_sched_heap_set(&sched->order, i, account_of(entry)->key);
    }
}

static themis_sched_entry_t *min_dilation_pick(themis_sched_t *sched, uint64_t now, uint64_t *wake)
{
    min_dilation_t *state = sched->state;

    if (now >= state->next) {
        device_measure(sched, now);
        rank_all(sched, now);
        state->next = now + rank_interval * (1 + sched->count / RANK_JOBS);
    }
    return sched->order.count == 0 ? NULL : sched->entries[themis_sched_heap_min(&sched->order)];
}

const themis_sched_draw_ops_t themis_sched_draw_min_dilation = {.state_bytes = sizeof(min_dilation_t),
                                                                .init = min_dilation_init,
                                                                .join = min_dilation_join,
                                                                .charge = min_dilation_charge,
                                                                .wake = min_dilation_wake,
                                                                .update = min_dilation_update,
                                                                .key = min_dilation_key,
                                                                .pick = min_dilation_pick};
