/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* strverscmp */
#include "sched/lanes.h"
#include <stdlib.h>
#include <string.h>
#include "util/log.h"

/* A job fits its lane if half of its bytes are moved in its windows; after so many periods without it is told. */
enum { MISFITS = 3 };

/* In the order of ids; batch systems number their jobs, and 9 comes before 10. */
static int compare_ids(const void *a, const void *b)
{
    const themis_sched_job_t *one = (*(themis_sched_entry_t *const *)a)->job;
    const themis_sched_job_t *other = (*(themis_sched_entry_t *const *)b)->job;
    int order = strverscmp(one->identity.id, other->identity.id);

    return order != 0 ? order : (one->identity.uid > other->identity.uid) - (one->identity.uid < other->identity.uid);
}

void themis_sched_lanes_clear(themis_sched_t *sched)
{
    for (uint32_t i = 0; i < sched->count; i++)
        sched->entries[i]->plan = (themis_sched_entry_plan_t){.lane = -1};
}

/* The first lane of that name that is not taken, or -1. */
static int32_t take_lane(themis_sched_periodic_t *plan, const char *name)
{
    uint32_t first, end = themis_sched_periodic_find(plan, name, &first);

    if (first == end)
        return -1;
    uint32_t *taken = &plan->lane[plan->by_name[first]].taken;
    return first + *taken < end ? (int32_t)plan->by_name[first + (*taken)++] : -1;
}

/* Ids go first: anyone can call an application by another job's id. */
static void lanes_choose(themis_sched_t *sched)
{
    for (uint32_t l = 0; l < sched->plan->lanes; l++)
        sched->plan->lane[l].taken = 0;
    for (uint32_t i = 0; i < sched->count; i++)
        sched->matching[i]->plan.chosen = take_lane(sched->plan, sched->matching[i]->job->identity.id);
    for (uint32_t i = 0; i < sched->count; i++)
        if (sched->matching[i]->plan.chosen < 0)
            sched->matching[i]->plan.chosen = take_lane(sched->plan, sched->matching[i]->job->application);
}

void themis_sched_lanes_match(themis_sched_t *sched)
{
    memcpy(sched->matching, sched->entries, sched->count * sizeof *sched->matching);
    qsort(sched->matching, sched->count, sizeof *sched->matching, compare_ids);
    lanes_choose(sched);
    for (uint32_t i = 0; i < sched->count; i++) {
        themis_sched_entry_t *entry = sched->matching[i];
        int32_t lane = entry->plan.chosen;
        if (lane != entry->plan.lane)
            entry->plan = (themis_sched_entry_plan_t){.lane = lane, .cost = entry->job->cost, .fit = 1};
    }
    sched->plan_until = 0;
}

/* At the end of a period: whether the job did its I/O in its windows. One that did none says nothing. */
static void judge_fit(themis_sched_entry_t *entry, const themis_sched_periodic_lane_t *lane)
{
    themis_sched_entry_plan_t *plan = &entry->plan;
    uint64_t all = plan->inside + plan->outside;

    if (all == 0)
        return;
    plan->fit = (double)plan->inside / (double)all;
    plan->misfits = plan->fit < 0.5 ? plan->misfits + 1 : 0;
    plan->inside = plan->outside = 0;
    if (plan->misfits == MISFITS)
        themis_warn(
            "plan: job %s of user %u moves only %.0f %% of its bytes in the windows of %s; a new plan is needed",
            entry->job->identity.id, entry->job->identity.uid, 100 * plan->fit, lane->application);
}

/* What was moved since the last look belongs to the share that was in force until now. */
static void count_moved(themis_sched_entry_t *entry)
{
    themis_sched_entry_plan_t *plan = &entry->plan;
    uint64_t moved = entry->job->cost - plan->cost;

    *(plan->share > 0 ? &plan->inside : &plan->outside) += moved;
    plan->cost = entry->job->cost;
}

int themis_sched_lanes_refresh(themis_sched_t *sched, uint64_t now)
{
    if (now < sched->plan_until)
        return 0;
    uint64_t until = UINT64_MAX, round = themis_sched_periodic_round(sched->plan, now);
    for (uint32_t i = 0; i < sched->count; i++) {
        themis_sched_entry_t *entry = sched->entries[i];
        if (entry->plan.lane < 0)
            continue;
        const themis_sched_periodic_lane_t *lane = &sched->plan->lane[entry->plan.lane];
        count_moved(entry);
        if (entry->plan.round != round)
            judge_fit(entry, lane);
        entry->plan.round = round;
        entry->plan.share = themis_sched_periodic_share(sched->plan, lane, now, &until);
    }
    sched->plan_until = until;
    return 1;
}
