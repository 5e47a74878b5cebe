/* SPDX-License-Identifier: BSD-3-Clause */
#include <math.h>
#include <stdlib.h>
#include "persched/problem.h"

/* An application that never waits: what it adds to SysEff, and the bandwidth that it needs on average. */
typedef struct demand {
    double efficiency, bandwidth;
} demand_t;

static int demand_compare(const void *a, const void *b)
{
    const demand_t *x = a, *y = b;
    double left = x->efficiency * y->bandwidth, right = y->efficiency * x->bandwidth;

    return left < right ? 1 : left > right ? -1 : 0;
}

/*
 * SysEff is linear in the rates of instances, and so is the bandwidth that they need: the best rates are those of a
 * fractional knapsack, most SysEff per byte first.
 */
static double knapsack(demand_t *demand, uint32_t count, double bandwidth)
{
    double sum = 0;

    qsort(demand, count, sizeof *demand, demand_compare);
    for (uint32_t i = 0; i < count && bandwidth > 0; i++) {
        sum += demand[i].efficiency * fmin(1, bandwidth / demand[i].bandwidth);
        bandwidth -= demand[i].bandwidth;
    }
    return sum;
}

themis_status_t themis_persched_bounds(const themis_persched_problem_t *problem, themis_persched_bounds_t *bounds)
{
    const themis_persched_platform_t *p = &problem->platform;
    themis_status_t status = themis_persched_problem_check(problem, NULL);
    demand_t *demand = status == THEMIS_OK ? calloc(problem->applications, sizeof *demand) : NULL;
    double bandwidth = 0;

    if (!demand)
        return status != THEMIS_OK ? status : THEMIS_NO_MEMORY;
    bounds->efficiency = 0;
    for (uint32_t i = 0; i < problem->applications; i++) {
        const themis_persched_application_t *a = &problem->application[i];
        double duration = a->compute + themis_persched_io_time(p, a);

        demand[i].efficiency = a->number * a->nodes * a->compute / (p->nodes * duration);
        demand[i].bandwidth = a->number * a->volume / duration;
        bounds->efficiency += demand[i].efficiency;
        bandwidth += demand[i].bandwidth;
    }
    bounds->capacity_efficiency = knapsack(demand, problem->applications, p->bandwidth);
    bounds->capacity_dilation = fmax(1, bandwidth / p->bandwidth);
    free(demand);
    return THEMIS_OK;
}
