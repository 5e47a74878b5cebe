/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The policy "min-dilation": the job that has suffered most from the others is served first. This is the online
 * heuristic of that name (Gainaru et al., "Scheduling the I/O of HPC applications under congestion", IPDPS 2015), with
 * what a server sees of a job since it joined: it does I/O while it has requests, and computes otherwise; alone it
 * would have done its I/O at the rate of the device, or at that of its nodes if node_bandwidth is known. What its I/O
 * took beyond that is its delay, and its dilation is elapsed / (elapsed - delay). No job starves: the dilation of one
 * that waits grows, that of the one that is served falls.
 */
#include "sched/state.h"
#include "util/clock.h"

/* Jobs are ranked anew this often; with more jobs than RANK_JOBS for every such time, less often. */
static const uint64_t rank_interval = 10 * THEMIS_NS_PER_MS;
enum { RANK_JOBS = 1000 };

typedef struct min_dilation {
    uint64_t next; /* ns; when jobs are ranked anew */
} min_dilation_t;

typedef struct account {
    double key;           /* the fraction of its time by which the job was delayed, negative */
    double alone;         /* ns that its I/O would have taken without others */
    uint64_t joined;      /* ns */
    uint64_t busy_before; /* ns with requests before it joined this policy */
} account_t;
_Static_assert(sizeof(account_t) <= THEMIS_SCHED_DRAW_BYTES, "account of an entry");

static const account_t *account_of(const themis_sched_entry_t *entry)
{
    return (const account_t *)(const void *)entry->draw;
}

static void min_dilation_init(themis_sched_t *sched, uint64_t now)
{
    ((min_dilation_t *)sched->state)->next = now;
}

static void min_dilation_join(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    *(account_t *)(void *)entry->draw =
        (account_t){.joined = now, .busy_before = themis_sched_entry_busy_time(entry, now)};
}

/* bytes/ns that the job could have without others. */
static double rate_alone(const themis_sched_t *sched, const themis_sched_job_t *job)
{
    uint32_t nodes = job->identity.nodes == 0 ? 1 : job->identity.nodes;
    double rate = (double)sched->options.node_bandwidth / 1e9 * nodes;

    return rate > 0 && rate < sched->rate ? rate : sched->rate;
}

static void min_dilation_charge(themis_sched_t *sched, themis_sched_entry_t *entry, double bytes)
{
    ((account_t *)(void *)entry->draw)->alone += bytes / rate_alone(sched, entry->job);
}

static void rank(themis_sched_entry_t *entry, uint64_t now)
{
    account_t *account = (account_t *)(void *)entry->draw;
    double busy = (double)(themis_sched_entry_busy_time(entry, now) - account->busy_before);
    double delay = busy - account->alone;

    account->key = delay > 0 && now > account->joined ? -delay / (double)(now - account->joined) : 0;
}

static void min_dilation_wake(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    rank(entry, now);
}

static double min_dilation_key(const themis_sched_entry_t *entry)
{
    return account_of(entry)->key;
}

static void rank_all(themis_sched_t *sched, uint64_t now)
{
    for (uint32_t i = 0; i < sched->count; i++) {
        themis_sched_entry_t *entry = sched->entries[i];
        rank(entry, now);
        if (themis_sched_heap_has(&sched->order, i))
            themis_sched_heap_set(&sched->order, i, account_of(entry)->key);
    }
}

static themis_sched_entry_t *min_dilation_pick(themis_sched_t *sched, uint64_t now, uint64_t *wake)
{
    min_dilation_t *state = sched->state;

    if (now >= state->next) {
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
                                                                .key = min_dilation_key,
                                                                .pick = min_dilation_pick};
