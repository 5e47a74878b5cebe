/* SPDX-License-Identifier: BSD-3-Clause */
#include "persched/online.h"
#include <math.h>
#include <stdlib.h>
#include "persched/problem.h"

typedef struct runner {
    const themis_persched_task_t *task;
    double compute_end; /* while it computes; INFINITY otherwise */
    double wanted;      /* since when it wants I/O */
    double volume;      /* of one instance */
    double left;        /* bytes of the instance under way */
    double rate;        /* bytes/s that it has now */
    double last;        /* end of the last instance */
    double key, key2;   /* of the order; smaller first */
    uint32_t done;
} runner_t;

typedef struct simulation {
    const themis_persched_online_t *online;
    runner_t *runner;   /* [count] */
    runner_t **waiting; /* [waitings] those that want I/O */
    uint32_t count, waitings;
    double now, bandwidth;
} simulation_t;

const char *themis_persched_heuristic_name(themis_persched_heuristic_t heuristic)
{
    static const char *const names[] = {"first-come", "min-dilation", "max-efficiency", "min-max"};

    return names[heuristic];
}

static void runner_rank(const simulation_t *s, runner_t *r)
{
    double relative = s->now > 0 ? r->done * r->task->duration / s->now : 0;
    double gain = -r->task->weight / r->volume;

    r->key = 0;
    r->key2 = r->wanted;
    switch (s->online->heuristic) {
    case THEMIS_PERSCHED_MIN_DILATION:
        r->key2 = relative;
        break;
    case THEMIS_PERSCHED_MAX_EFFICIENCY:
        r->key2 = gain;
        break;
    case THEMIS_PERSCHED_MIN_MAX:
        r->key = relative >= s->online->gamma;
        r->key2 = r->key > 0 ? gain : relative;
        break;
    default:
        break;
    }
    if (s->online->keep && r->rate > 0)
        r->key = -1;
}

static int runner_compare(const void *a, const void *b)
{
    const runner_t *x = *(runner_t *const *)a, *y = *(runner_t *const *)b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->key2 != y->key2)
        return x->key2 < y->key2 ? -1 : 1;
    return x->wanted != y->wanted ? (x->wanted < y->wanted ? -1 : 1) : x < y ? -1 : 1;
}

static void bandwidth_grant(simulation_t *s)
{
    double left = s->bandwidth;

    for (uint32_t i = 0; i < s->waitings; i++)
        runner_rank(s, s->waiting[i]);
    qsort(s->waiting, s->waitings, sizeof *s->waiting, runner_compare);
    for (uint32_t i = 0; i < s->waitings; i++) {
        runner_t *r = s->waiting[i];

        r->rate = fmin(r->task->rate, left);
        if (s->online->whole && r->rate < r->task->rate * (1 - 1e-9))
            r->rate = 0;
        left = fmax(0, left - r->rate);
    }
}

/* When something happens next. */
static double next_event(const simulation_t *s)
{
    double next = INFINITY;

    for (uint32_t k = 0; k < s->count; k++)
        next = fmin(next, s->runner[k].compute_end);
    for (uint32_t i = 0; i < s->waitings; i++)
        if (s->waiting[i]->rate > 0)
            next = fmin(next, s->now + s->waiting[i]->left / s->waiting[i]->rate);
    return next;
}

/* Also where what is left takes less time than a double can add to `time`. */
static int instance_ended(const runner_t *r, double time)
{
    return r->left <= 1e-9 * r->volume || (r->rate > 0 && time + r->left / r->rate <= time);
}

static void simulation_advance(simulation_t *s, double time)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < s->waitings; i++) {
        runner_t *r = s->waiting[i];

        r->left -= (time - s->now) * r->rate;
        if (!instance_ended(r, time)) {
            s->waiting[kept++] = r;
            continue;
        }
        r->done++;
        r->last = time;
        r->rate = 0;
        r->compute_end = time + r->task->compute;
    }
    s->waitings = kept;
    s->now = time;
    for (uint32_t k = 0; k < s->count; k++) {
        runner_t *r = &s->runner[k];

        if (r->compute_end > time)
            continue;
        r->compute_end = INFINITY;
        r->wanted = time;
        r->left = r->volume;
        s->waiting[s->waitings++] = r;
    }
}

static int simulation_ended(const simulation_t *s)
{
    uint32_t least = UINT32_MAX, most = 0;

    for (uint32_t k = 0; k < s->count; k++) {
        least = s->runner[k].done < least ? s->runner[k].done : least;
        most = s->runner[k].done > most ? s->runner[k].done : most;
    }
    return least >= s->online->instances || most >= s->online->longest * s->online->instances;
}

static void outcome_measure(const simulation_t *s, themis_persched_outcome_t *outcome)
{
    *outcome = (themis_persched_outcome_t){.end = s->now};
    for (uint32_t k = 0; k < s->count; k++) {
        const runner_t *r = &s->runner[k];

        outcome->efficiency += r->done ? r->done * r->task->weight / r->last : 0;
        outcome->dilation = fmax(outcome->dilation, r->done ? r->last / (r->done * r->task->duration) : INFINITY);
    }
}

static int online_is_valid(const themis_persched_online_t *o)
{
    return (unsigned)o->heuristic < THEMIS_PERSCHED_HEURISTICS && o->gamma >= 0 && o->gamma <= 1 && o->instances >= 1 &&
           o->longest >= 1;
}

themis_status_t themis_persched_simulate(const themis_persched_problem_t *problem,
                                         const themis_persched_online_t *online, themis_persched_outcome_t *outcome)
{
    simulation_t s = {.online = online, .bandwidth = problem->platform.bandwidth};
    themis_persched_tasks_t *tasks = NULL;
    themis_status_t status = online_is_valid(online) ? THEMIS_OK : THEMIS_INVALID;

    if (status == THEMIS_OK)
        status = themis_persched_tasks_make(problem, &tasks);
    if (status != THEMIS_OK)
        return status;
    s.count = tasks->count;
    s.runner = calloc(s.count, sizeof *s.runner);
    s.waiting = calloc(s.count, sizeof(runner_t *));
    status = s.runner && s.waiting ? THEMIS_OK : THEMIS_NO_MEMORY;
    for (uint32_t k = 0; k < s.count && status == THEMIS_OK; k++) {
        const themis_persched_task_t *task = &tasks->task[k];

        s.runner[k] = (runner_t){
            .task = task, .compute_end = task->compute, .volume = problem->application[task->application].volume};
    }
    while (status == THEMIS_OK && !simulation_ended(&s)) {
        simulation_advance(&s, next_event(&s));
        bandwidth_grant(&s);
    }
    if (status == THEMIS_OK)
        outcome_measure(&s, outcome);
    free(s.waiting);
    free(s.runner);
    free(tasks);
    return status;
}
