/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A better pattern than the greedy one. The greedy patterns of many periods say which numbers of instances are
 * possible; the smallest period that such numbers allow (its longest application, or all bytes at full bandwidth) tells
 * how good they could become at best. The most promising ones are shortened, which improves both measures at once.
 */
#include <math.h>
#include <stdlib.h>
#include "persched/fill.h"
#include "persched/linear_program.h"
#include "persched/search.h"

/* Candidates kept and tried; periods tried when one is shortened without a linear program. */
enum { KEPT = 64, TRIED = 10, SHORTENINGS = 40, DEFAULT_SIZE = 6000, ORDERS = 4 };

/* Differences that rounding may make, and the least difference of measures that counts. */
static const double ROUNDING = 1e-9, GAIN = 1e-7;

typedef struct candidate {
    double period;               /* whose greedy pattern it is */
    double efficiency, dilation; /* at best */
} candidate_t;

typedef struct improvement {
    const themis_persched_tasks_t *tasks;
    const themis_persched_parameters_t *parameters;
    double bandwidth, efficiency, dilation; /* of the plan: not to become worse */
    uint32_t size;
    themis_persched_filling_t filling;
    candidate_t candidate[KEPT]; /* [candidates], the most promising first */
    uint32_t candidates;
    themis_persched_pattern_t *best; /* owned */
} improvement_t;

/* The least period for so many instances. */
static double period_least(const improvement_t *m, const uint32_t *instances)
{
    double longest = 0, bytes = 0;

    for (uint32_t k = 0; k < m->tasks->count; k++) {
        const themis_persched_task_t *task = &m->tasks->task[k];

        longest = fmax(longest, instances[k] * (task->compute + task->reserve / task->rate));
        bytes += instances[k] * task->reserve;
    }
    return fmax(longest, bytes / m->bandwidth);
}

/* The more SysEff the better; among equals the less dilation, then the shorter period. */
static int candidate_precedes(const candidate_t *a, const candidate_t *b)
{
    if (fabs(a->efficiency - b->efficiency) > ROUNDING)
        return a->efficiency > b->efficiency;
    if (fabs(a->dilation - b->dilation) > ROUNDING)
        return a->dilation < b->dilation;
    return a->period < b->period;
}

/* One candidate of equal measures is enough. */
static void candidate_add(improvement_t *m, candidate_t candidate)
{
    uint32_t at = 0;

    while (at < m->candidates && candidate_precedes(&m->candidate[at], &candidate))
        at++;
    if (at == KEPT || (at > 0 && fabs(m->candidate[at - 1].efficiency - candidate.efficiency) <= ROUNDING &&
                       fabs(m->candidate[at - 1].dilation - candidate.dilation) <= ROUNDING))
        return;
    if (m->candidates < KEPT)
        m->candidates++;
    for (uint32_t i = m->candidates - 1; i > at; i--)
        m->candidate[i] = m->candidate[i - 1];
    m->candidate[at] = candidate;
}

/* Whether these measures are better than those of the best pattern so far, and not worse than those of the plan. */
static int measures_improve(const improvement_t *m, double efficiency, double dilation)
{
    if (efficiency < m->efficiency || efficiency < m->best->efficiency - GAIN || dilation > m->dilation)
        return 0;
    return efficiency > m->best->efficiency + GAIN || dilation < m->best->dilation - GAIN;
}

static void candidate_consider(improvement_t *m, double period)
{
    const uint32_t *instances = m->filling.instances;
    double least = period_least(m, instances), efficiency = themis_persched_efficiency(m->tasks, instances, least);
    double dilation = themis_persched_dilation(m->tasks, instances, least);

    if (measures_improve(m, efficiency, dilation))
        candidate_add(m, (candidate_t){period, efficiency, dilation});
}

/* Whether the effort of the parameters is spent: once for finding candidates, once for filling their periods again. */
static int improvement_exhausted(const improvement_t *m, int times)
{
    return m->parameters->effort != 0 && m->filling.timeline.steps > times * m->parameters->effort;
}

static themis_status_t candidates_find(improvement_t *m)
{
    double first = themis_persched_first_period(m->tasks, m->parameters), last = first * m->parameters->factor;
    themis_status_t status = themis_persched_filling_run(&m->filling, m->best->period);

    if (status == THEMIS_OK)
        candidate_consider(m, m->best->period);
    for (double period = first; period <= last; period *= 1 + m->parameters->epsilon / 2) {
        if (improvement_exhausted(m, 1))
            break;
        status = themis_persched_filling_run(&m->filling, period);
        if (status == THEMIS_OK)
            candidate_consider(m, period);
        else if (status != THEMIS_RANGE && status != THEMIS_CANCELED)
            return status;
    }
    return THEMIS_OK;
}

/* Takes the pattern over if it is better, and frees it otherwise. */
static void pattern_offer(improvement_t *m, themis_persched_pattern_t *p)
{
    if (measures_improve(m, p->efficiency, p->dilation)) {
        themis_persched_pattern_free(m->best);
        m->best = p;
    } else {
        themis_persched_pattern_free(p);
    }
}

/* Fills shorter and shorter periods with the same numbers of instances. */
static themis_status_t candidate_refill(improvement_t *m, double period)
{
    uint32_t *limit = calloc(m->tasks->count, sizeof *limit);
    double least, shortest = period;
    themis_persched_pattern_t *p;
    themis_status_t status = limit ? themis_persched_filling_run(&m->filling, period) : THEMIS_NO_MEMORY;

    if (status != THEMIS_OK) {
        free(limit);
        return status;
    }
    for (uint32_t k = 0; k < m->tasks->count; k++)
        limit[k] = m->filling.instances[k];
    least = period_least(m, limit);
    m->filling.limit = limit;
    for (int i = 0; i < SHORTENINGS && !improvement_exhausted(m, 2); i++) {
        double shorter = period - (period - least) * (i + 1) / SHORTENINGS;
        int same = themis_persched_filling_run(&m->filling, shorter) == THEMIS_OK;

        for (uint32_t k = 0; k < m->tasks->count && same; k++)
            same = m->filling.instances[k] == limit[k];
        shortest = same ? shorter : shortest;
    }
    status = themis_persched_filling_pattern(&m->filling, shortest, &p);
    m->filling.limit = NULL;
    free(limit);
    if (status == THEMIS_OK)
        pattern_offer(m, p);
    return status == THEMIS_RANGE ? THEMIS_OK : status;
}

static uint32_t pattern_instances(const themis_persched_pattern_t *p)
{
    uint32_t sum = 0;

    for (uint32_t k = 0; k < p->lanes; k++)
        sum += p->lane[k].instances;
    return sum;
}

/*
 * Shortens the pattern by linear programs, from each optimum on with another order of the events that it has put at the
 * same time; stops when several orders in a row gain nothing. RANGE or UNSUPPORTED if that is not possible.
 */
static themis_status_t pattern_shorten(improvement_t *m, const themis_persched_pattern_t *p)
{
    themis_persched_pattern_t *shortest = NULL, *shorter;
    themis_status_t status = THEMIS_RANGE;

    if (themis_persched_program_size(p->lanes, pattern_instances(p)) > m->size)
        return THEMIS_RANGE;
    for (uint32_t seed = 0, failed = 0; failed < ORDERS; seed++) {
        themis_status_t solved =
            themis_persched_program_shorten(m->tasks, m->bandwidth, shortest ? shortest : p, seed, &shorter);

        failed++;
        if (solved != THEMIS_OK)
            continue;
        if (!shortest || shorter->period < shortest->period * (1 - GAIN)) {
            themis_persched_pattern_free(shortest);
            shortest = shorter;
            failed = 0;
        } else {
            themis_persched_pattern_free(shorter);
        }
        status = THEMIS_OK;
    }
    if (shortest)
        pattern_offer(m, shortest);
    return status;
}

static themis_status_t candidate_try(improvement_t *m, double period)
{
    themis_persched_pattern_t *p;
    themis_status_t status = themis_persched_filling_pattern(&m->filling, period, &p);

    if (status != THEMIS_OK)
        return status;
    status = pattern_shorten(m, p);
    themis_persched_pattern_free(p);
    if (status == THEMIS_RANGE || status == THEMIS_UNSUPPORTED)
        status = candidate_refill(m, period);
    return status;
}

static themis_status_t improvement_run(improvement_t *m)
{
    themis_status_t status = candidates_find(m);

    if (status == THEMIS_OK)
        status = pattern_shorten(m, m->best);
    if (status == THEMIS_RANGE || status == THEMIS_UNSUPPORTED)
        status = THEMIS_OK;
    for (uint32_t i = 0; i < m->candidates && i < TRIED && status == THEMIS_OK && !improvement_exhausted(m, 2); i++)
        if (measures_improve(m, m->candidate[i].efficiency, m->candidate[i].dilation))
            status = candidate_try(m, m->candidate[i].period);
    return status;
}

themis_status_t themis_persched_improve(const themis_persched_problem_t *problem,
                                        const themis_persched_parameters_t *parameters,
                                        const themis_persched_pattern_t *plan, uint32_t size,
                                        themis_persched_pattern_t **improved)
{
    improvement_t m = {.parameters = parameters,
                       .bandwidth = problem->platform.bandwidth,
                       .efficiency = plan->efficiency,
                       .dilation = plan->dilation,
                       .size = size ? size : DEFAULT_SIZE};
    themis_persched_tasks_t *tasks = NULL;
    themis_status_t status = themis_persched_tasks_make(problem, &tasks);

    m.tasks = tasks;
    if (status == THEMIS_OK)
        status = themis_persched_pattern_copy(tasks, plan, &m.best);
    if (status == THEMIS_OK)
        status = themis_persched_filling_make(&m.filling, tasks, m.bandwidth);
    if (status == THEMIS_OK)
        status = improvement_run(&m);
    themis_persched_filling_release(&m.filling);
    free(tasks);
    if (status != THEMIS_OK) {
        themis_persched_pattern_free(m.best);
        return status;
    }
    m.best->complete = plan->complete;
    *improved = m.best;
    return THEMIS_OK;
}
