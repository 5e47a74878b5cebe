/* SPDX-License-Identifier: BSD-3-Clause */
#include "persched/problem.h"
#include <math.h>
#include <stdlib.h>

enum { MAX_RUNNING = 1 << 20 };

static int positive(double value)
{
    return isfinite(value) && value > 0;
}

static int application_is_valid(const themis_persched_platform_t *p, const themis_persched_application_t *a)
{
    return positive(a->compute) && positive(a->volume) && positive(a->nodes) && a->nodes <= p->nodes &&
           a->number >= 1 && a->number <= MAX_RUNNING && (a->bandwidth == 0 || positive(a->bandwidth)) &&
           positive(a->confidence) && a->confidence <= 1;
}

themis_status_t themis_persched_problem_check(const themis_persched_problem_t *problem, uint32_t *culprit)
{
    const themis_persched_platform_t *p = &problem->platform;
    uint32_t none;
    uint64_t running = 0;
    double nodes = 0;

    culprit = culprit ? culprit : &none;
    *culprit = UINT32_MAX;
    if (!positive(p->nodes) || !positive(p->bandwidth) || !positive(p->node_bandwidth) || problem->applications == 0)
        return THEMIS_INVALID;
    for (uint32_t i = 0; i < problem->applications; i++) {
        if (!application_is_valid(p, &problem->application[i])) {
            *culprit = i;
            return THEMIS_INVALID;
        }
        running += problem->application[i].number;
        nodes += problem->application[i].nodes * problem->application[i].number;
    }
    return running <= MAX_RUNNING && nodes <= p->nodes * (1 + 1e-9) ? THEMIS_OK : THEMIS_INVALID;
}

double themis_persched_rate(const themis_persched_platform_t *platform, const themis_persched_application_t *a)
{
    return fmin(a->bandwidth > 0 ? a->bandwidth : a->nodes * platform->node_bandwidth, platform->bandwidth);
}

double themis_persched_io_time(const themis_persched_platform_t *platform, const themis_persched_application_t *a)
{
    return a->volume / themis_persched_rate(platform, a);
}

static void task_set(themis_persched_task_t *task, const themis_persched_problem_t *problem, uint32_t application,
                     uint32_t copy)
{
    const themis_persched_platform_t *p = &problem->platform;
    const themis_persched_application_t *a = &problem->application[application];

    *task = (themis_persched_task_t){.application = application,
                                     .copy = copy,
                                     .compute = a->compute,
                                     .reserve = a->volume * (2 - a->confidence),
                                     .rate = themis_persched_rate(p, a),
                                     .duration = a->compute + themis_persched_io_time(p, a),
                                     .weight = a->nodes * a->compute / p->nodes};
}

themis_status_t themis_persched_tasks_make(const themis_persched_problem_t *problem, themis_persched_tasks_t **tasks)
{
    themis_status_t status = themis_persched_problem_check(problem, NULL);
    themis_persched_tasks_t *made;
    uint32_t count = 0;

    if (status != THEMIS_OK)
        return status;
    for (uint32_t i = 0; i < problem->applications; i++)
        count += problem->application[i].number;
    made = calloc(1, sizeof *made + count * sizeof *made->task);
    if (!made)
        return THEMIS_NO_MEMORY;
    for (uint32_t i = 0; i < problem->applications; i++)
        for (uint32_t copy = 0; copy < problem->application[i].number; copy++)
            task_set(&made->task[made->count++], problem, i, copy);
    *tasks = made;
    return THEMIS_OK;
}

double themis_persched_efficiency(const themis_persched_tasks_t *tasks, const uint32_t *instances, double period)
{
    double sum = 0;

    for (uint32_t k = 0; k < tasks->count; k++)
        sum += tasks->task[k].weight * instances[k];
    return sum / period;
}

double themis_persched_dilation(const themis_persched_tasks_t *tasks, const uint32_t *instances, double period)
{
    double worst = 0;

    for (uint32_t k = 0; k < tasks->count; k++)
        worst = fmax(worst, period / (instances[k] * tasks->task[k].duration));
    return worst;
}
