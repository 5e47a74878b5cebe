/* SPDX-License-Identifier: BSD-3-Clause */
#include "sched/bandwidth_limit.h"

int themis_sched_bandwidth_limit_is_busy(themis_sched_bandwidth_limit_t *limit, uint64_t now, uint64_t *wake)
{
    double earliest = (double)now - (double)THEMIS_SCHED_BANDWIDTH_BURST;

    if (limit->bandwidth == 0)
        return 0;
    if (limit->free_at < earliest)
        limit->free_at = earliest;
    if (limit->free_at <= (double)now)
        return 0;
    *wake = (uint64_t)limit->free_at + 1;
    return 1;
}

void themis_sched_bandwidth_limit_charge(themis_sched_bandwidth_limit_t *limit, double bytes)
{
    if (limit->bandwidth > 0)
        limit->free_at += bytes * 1e9 / (double)limit->bandwidth;
}

uint64_t themis_sched_bandwidth_limit_end_idle(themis_sched_bandwidth_limit_t *limit, uint64_t last_done, uint64_t now)
{
    if (limit->bandwidth > 0 && limit->free_at > (double)last_done)
        last_done = (uint64_t)limit->free_at;
    if (limit->free_at < (double)now)
        limit->free_at = (double)now;
    return now > last_done ? now - last_done : 0;
}
