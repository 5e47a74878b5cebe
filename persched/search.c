/* SPDX-License-Identifier: BSD-3-Clause */
/* PerSched: the search for a period, and its correction. */
#include <math.h>
#include <stdlib.h>
#include "persched/fill.h"
#include "persched/search.h"

const themis_persched_parameters_t themis_persched_defaults = {.epsilon = 0.01, .factor = 10, .effort = 12000000};

double themis_persched_first_period(const themis_persched_tasks_t *tasks, const themis_persched_parameters_t *p)
{
    double longest = 0;

    for (uint32_t k = 0; k < tasks->count; k++)
        longest = fmax(longest, tasks->task[k].compute + tasks->task[k].reserve / tasks->task[k].rate);
    return p->first_period > 0 ? p->first_period : longest;
}

static int parameters_are_valid(const themis_persched_parameters_t *p)
{
    return p->epsilon >= 1e-4 && p->epsilon <= 1 && p->factor >= 1 && p->factor <= 1000 && isfinite(p->first_period) &&
           p->first_period >= 0;
}

/* The best period of each kind; 0: none yet. */
typedef struct search {
    themis_persched_filling_t filling;
    const themis_persched_parameters_t *parameters;
    double best, best_efficiency;
    double fair, fair_dilation;
    int complete;
} search_t;

/* Improvements below this are rounding. */
static const double BETTER = 1e-6;

/* The first stride of the search, in steps of epsilon: a power of two. */
enum { COARSEST = 64 };

/* Of periods that are equally good the shortest is taken, whatever the order in which they are tried. */
static themis_status_t search_try(search_t *s, double period)
{
    s->filling.last_step = s->best > 0 ? s->parameters->effort : 0;
    themis_status_t status = themis_persched_filling_run(&s->filling, period);
    s->filling.last_step = 0;
    double gain = s->filling.efficiency - s->best_efficiency, relief = s->fair_dilation - s->filling.dilation;

    if (status == THEMIS_CANCELED && s->best == 0)
        return THEMIS_RANGE;
    if (status != THEMIS_OK)
        return status == THEMIS_RANGE || status == THEMIS_CANCELED ? THEMIS_OK : status;
    if (s->best == 0 || gain > BETTER || (gain > -BETTER && period < s->best)) {
        s->best = period;
        s->best_efficiency = s->filling.efficiency;
    }
    if (s->fair == 0 || relief > BETTER || (relief > -BETTER && period < s->fair)) {
        s->fair = period;
        s->fair_dilation = s->filling.dilation;
    }
    return THEMIS_OK;
}

/* Whether this part of the effort is spent. */
static int search_exhausted(const search_t *s, double part)
{
    return s->parameters->effort != 0 && s->filling.timeline.steps > part * s->parameters->effort;
}

/*
 * Coarse steps first, then the periods between them: if the effort does not suffice for all, those that were tried are
 * spread over the whole range.
 */
static themis_status_t search_periods(search_t *s)
{
    double first = themis_persched_first_period(s->filling.tasks, s->parameters), step = 1 + s->parameters->epsilon;
    uint32_t steps = (uint32_t)floor(log(s->parameters->factor) / log(step) + 1e-9);
    themis_status_t status = THEMIS_OK;

    s->complete = 1;
    for (uint32_t stride = COARSEST; stride >= 1 && s->complete; stride /= 2)
        for (uint32_t i = stride == COARSEST ? 0 : stride; i <= steps; i += stride == COARSEST ? stride : 2 * stride) {
            if (s->best > 0 && search_exhausted(s, 0.75)) {
                s->complete = 0;
                break;
            }
            status = search_try(s, first * pow(step, i));
            if (status != THEMIS_OK)
                return status;
        }
    return s->best == 0 ? THEMIS_RANGE : THEMIS_OK;
}

/* Shorter periods, as long as they hold what the best one does. */
static themis_status_t search_correct(search_t *s, double *period)
{
    double epsilon = s->parameters->epsilon, step = (s->best - s->best / (1 + epsilon)) * epsilon, same = 2e-5;
    themis_status_t status = THEMIS_OK;

    *period = s->best;
    while (status == THEMIS_OK && *period > step && !search_exhausted(s, 1)) {
        double shorter = *period - step;

        status = themis_persched_filling_run(&s->filling, shorter);
        if (status == THEMIS_OK && fabs(s->filling.efficiency - s->best_efficiency * s->best / shorter) >= same)
            break;
        if (status == THEMIS_OK)
            *period = shorter;
    }
    return status == THEMIS_RANGE || status == THEMIS_CANCELED ? THEMIS_OK : status;
}

static themis_status_t search_results(search_t *s, themis_persched_pattern_t **plan, themis_persched_pattern_t **fair)
{
    double period;
    themis_persched_pattern_t *best = NULL;
    themis_status_t status = search_correct(s, &period);

    if (status == THEMIS_OK)
        status = themis_persched_filling_pattern(&s->filling, period, &best);
    if (status == THEMIS_OK && fair)
        status = themis_persched_filling_pattern(&s->filling, s->fair, fair);
    if (status != THEMIS_OK) {
        themis_persched_pattern_free(best);
        return status;
    }
    best->complete = s->complete;
    if (fair)
        (*fair)->complete = s->complete;
    *plan = best;
    return THEMIS_OK;
}

themis_status_t themis_persched_plan(const themis_persched_problem_t *problem,
                                     const themis_persched_parameters_t *parameters, themis_persched_pattern_t **plan,
                                     themis_persched_pattern_t **fair)
{
    search_t s = {.parameters = parameters};
    themis_persched_tasks_t *tasks = NULL;
    themis_status_t status = parameters_are_valid(parameters) ? THEMIS_OK : THEMIS_INVALID;

    if (status == THEMIS_OK)
        status = themis_persched_tasks_make(problem, &tasks);
    if (status == THEMIS_OK)
        status = themis_persched_filling_make(&s.filling, tasks, problem->platform.bandwidth);
    if (status == THEMIS_OK)
        status = search_periods(&s);
    if (status == THEMIS_OK)
        status = search_results(&s, plan, fair);
    themis_persched_filling_release(&s.filling);
    free(tasks);
    return status;
}

themis_status_t themis_persched_fill(const themis_persched_problem_t *problem, double period,
                                     themis_persched_pattern_t **pattern)
{
    themis_persched_filling_t filling = {0};
    themis_persched_tasks_t *tasks = NULL;
    themis_status_t status = isfinite(period) && period > 0 ? THEMIS_OK : THEMIS_INVALID;

    if (status == THEMIS_OK)
        status = themis_persched_tasks_make(problem, &tasks);
    if (status == THEMIS_OK)
        status = themis_persched_filling_make(&filling, tasks, problem->platform.bandwidth);
    if (status == THEMIS_OK)
        status = themis_persched_filling_pattern(&filling, period, pattern);
    themis_persched_filling_release(&filling);
    free(tasks);
    return status;
}
