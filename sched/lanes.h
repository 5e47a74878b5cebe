/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plan of periodic I/O applied to the jobs of the scheduler: which job has which lane, what share that gives it now,
 * and whether its I/O happens where the plan has it. Internal to sched/.
 */
#pragma once
#include "sched/state.h"

/* 1: there is a plan, and the policy follows it. */
static inline int themis_sched_lanes_are_in_force(const themis_sched_t *sched)
{
    return sched->policy.periodic && sched->plan != NULL;
}

/* Gives lanes to jobs: those whose id is the lane's, then those whose application is, in the order of their ids, so
 * that all servers come to the same. What a job calls its application so takes no lane of another one's id. Jobs
 * without a lane keep the policy's share. */
void themis_sched_lanes_match(themis_sched_t *sched);
/* Without a plan in force. */
void themis_sched_lanes_clear(themis_sched_t *sched);
/* Brings the planned shares of all entries up to date if it is time for it; 1: some may have changed. */
int themis_sched_lanes_refresh(themis_sched_t *sched, uint64_t now);
