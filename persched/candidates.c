/* SPDX-License-Identifier: BSD-3-Clause */
#include "persched/candidates.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef themis_persched_candidates_t candidates_t;
typedef themis_persched_follow_job_t job_t;

static int positive(double value)
{
    return isfinite(value) && value > 0;
}

int themis_persched_candidates_is_periodic(const themis_persched_follow_options_t *options, const job_t *job)
{
    return job->name && *job->name && positive(job->nodes) && positive(job->compute) && positive(job->volume) &&
           positive(job->period) && job->compute <= job->period && job->phases >= options->min_phases &&
           job->confidence >= options->min_confidence;
}

static int job_compare(const void *a, const void *b)
{
    const job_t *x = *(const job_t *const *)a, *y = *(const job_t *const *)b;
    int order = strcmp(x->name, y->name);

    return order ? order : (x->user > y->user) - (x->user < y->user);
}

/* What a job was seen to move by itself counts, unless it is said what nodes can. */
static void applications_make(candidates_t *c, const themis_persched_follow_options_t *options,
                              const themis_persched_follow_view_t *view)
{
    int nodes_count = positive(view->node_bandwidth);

    c->platform.node_bandwidth = nodes_count ? view->node_bandwidth : view->bandwidth;
    for (uint32_t i = 0; i < c->count; i++) {
        const job_t *job = c->job[i];
        double own = positive(job->rate) ? job->rate : view->bandwidth;

        c->platform.nodes += job->nodes;
        c->application[i] = (themis_persched_application_t){.name = job->name,
                                                            .compute = job->compute,
                                                            .volume = job->volume,
                                                            .nodes = job->nodes,
                                                            .number = 1,
                                                            .confidence = 1 - options->headroom,
                                                            .bandwidth = nodes_count ? 0 : own};
    }
}

static void candidates_measure(candidates_t *c)
{
    for (uint32_t i = 0; i < c->count; i++) {
        const job_t *job = c->job[i];
        double alone = job->compute + themis_persched_io_time(&c->platform, &c->application[i]);

        c->efficiency += job->nodes * job->compute / job->period / c->platform.nodes;
        c->dilation = fmax(c->dilation, job->period / alone);
    }
}

static int period_compare(const void *a, const void *b)
{
    const job_t *x = *(const job_t *const *)a, *y = *(const job_t *const *)b;

    return (x->period > y->period) - (x->period < y->period);
}

/* Jobs so fast or slow that no pattern has room for them beside those in the middle, which lose nothing by them. */
static void extremes_drop(candidates_t *c)
{
    enum { EXTREME = 500 };
    uint32_t kept = 0;

    qsort(c->job, c->count, sizeof *c->job, period_compare);
    const double middle = c->count ? c->job[c->count / 2]->period : 0;
    for (uint32_t i = 0; i < c->count; i++)
        if (c->job[i]->period <= middle * EXTREME && middle <= c->job[i]->period * EXTREME)
            c->job[kept++] = c->job[i];
    c->count = kept;
}

themis_status_t themis_persched_candidates_find(const themis_persched_follow_options_t *options,
                                                const themis_persched_follow_view_t *view, candidates_t *c)
{
    *c = (candidates_t){.platform = {.bandwidth = view->bandwidth}};
    c->job = calloc(view->jobs + 1, sizeof *c->job);
    c->application = calloc(view->jobs + 1, sizeof *c->application);
    if (!c->job || !c->application) {
        themis_persched_candidates_release(c);
        return THEMIS_NO_MEMORY;
    }
    for (uint32_t i = 0; i < view->jobs && c->count < THEMIS_PERSCHED_FOLLOW_JOBS; i++)
        if (themis_persched_candidates_is_periodic(options, &view->job[i]))
            c->job[c->count++] = &view->job[i];
    extremes_drop(c);
    qsort(c->job, c->count, sizeof *c->job, job_compare);
    applications_make(c, options, view);
    candidates_measure(c);
    return THEMIS_OK;
}

void themis_persched_candidates_release(candidates_t *c)
{
    free(c->job);
    free(c->application);
    *c = (candidates_t){.count = 0};
}

themis_status_t themis_persched_candidates_plan(const candidates_t *c, themis_persched_pattern_t **pattern)
{
    /* Short patterns: jobs drift, and what is planned is judged at the end of a period. */
    enum { SHORT = 3, SMALL_PROGRAM = 1000 };
    const themis_persched_problem_t problem = {c->platform, c->application, c->count};
    themis_persched_parameters_t parameters = themis_persched_defaults;
    themis_persched_pattern_t *plan, *improved;

    parameters.factor = SHORT;
    themis_status_t status = themis_persched_plan(&problem, &parameters, &plan, NULL);
    if (status != THEMIS_OK)
        return status;
    if (themis_persched_improve(&problem, &parameters, plan, SMALL_PROGRAM, &improved) == THEMIS_OK) {
        themis_persched_pattern_free(plan);
        plan = improved;
    }
    *pattern = plan;
    return THEMIS_OK;
}
