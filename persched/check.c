/* SPDX-License-Identifier: BSD-3-Clause */
/* The independent check: it uses neither timeline nor tasks, only the problem and the pattern. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "persched/persched.h"

static const double TOLERANCE = 1e-6;

typedef struct check {
    const themis_persched_problem_t *problem;
    const themis_persched_pattern_t *pattern;
    char *error;
    size_t size;
} check_t;

__attribute__((format(printf, 2, 3))) static themis_status_t check_fail(const check_t *c, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    vsnprintf(c->error, c->size, format, list);
    va_end(list);
    return THEMIS_CORRUPT;
}

static const themis_persched_application_t *lane_application(const check_t *c, uint32_t k)
{
    return &c->problem->application[c->pattern->lane[k].application];
}

static double application_rate(const check_t *c, const themis_persched_application_t *a)
{
    return themis_persched_rate(&c->problem->platform, a);
}

/* Windows in order, within [compute_end, end], none above the application's rate, and all bytes moved. */
static themis_status_t check_windows(const check_t *c, uint32_t k, uint32_t i, double end)
{
    const themis_persched_application_t *a = lane_application(c, k);
    const themis_persched_instance_t *instance = &c->pattern->lane[k].instance[i];
    double at = instance->compute_end, slack = TOLERANCE * c->pattern->period, bytes = 0;

    for (uint32_t w = 0; w < instance->windows; w++) {
        const themis_persched_window_t *window = &instance->window[w];

        if (!(window->begin >= at - slack) || !(window->end >= window->begin) || !(window->end <= end + slack))
            return check_fail(c, "lane %u instance %u: window %u from %.9g to %.9g is not within %.9g to %.9g", k, i, w,
                              window->begin, window->end, at, end);
        if (!(window->bandwidth > 0) || !(window->bandwidth <= application_rate(c, a) * (1 + TOLERANCE)))
            return check_fail(c, "lane %u instance %u: bandwidth %.9g of window %u exceeds %.9g", k, i,
                              window->bandwidth, w, application_rate(c, a));
        bytes += (window->end - window->begin) * window->bandwidth;
        at = window->end;
    }
    if (!(fabs(bytes - a->volume * (2 - a->confidence)) <= TOLERANCE * a->volume))
        return check_fail(c, "lane %u instance %u: %.9g bytes instead of %.9g", k, i, bytes,
                          a->volume * (2 - a->confidence));
    return THEMIS_OK;
}

/* Instances follow each other round the circle, once. */
static themis_status_t check_lane(const check_t *c, uint32_t k)
{
    const themis_persched_lane_t *lane = &c->pattern->lane[k];
    double period = c->pattern->period, slack = TOLERANCE * period, all = 0;
    themis_status_t status = THEMIS_OK;

    if (lane->application >= c->problem->applications || lane->instances == 0)
        return check_fail(c, "lane %u has no application or no instance", k);
    for (uint32_t i = 0; i < lane->instances && status == THEMIS_OK; i++) {
        const themis_persched_instance_t *now = &lane->instance[i];
        double next = lane->instance[(i + 1) % lane->instances].compute_begin, turn = next - now->compute_begin;

        turn += lane->instances == 1 ? period : turn < 0 ? period : 0;
        all += turn;
        if (!(now->compute_begin >= 0) || !(now->compute_begin < period))
            return check_fail(c, "lane %u instance %u begins at %.9g", k, i, now->compute_begin);
        if (!(fabs(now->compute_end - now->compute_begin - lane_application(c, k)->compute) <= slack))
            return check_fail(c, "lane %u instance %u computes from %.9g to %.9g", k, i, now->compute_begin,
                              now->compute_end);
        status = check_windows(c, k, i, now->compute_begin + turn);
    }
    if (status == THEMIS_OK && !(fabs(all - period) <= slack))
        return check_fail(c, "lane %u goes round %.9g times", k, all / period);
    return status;
}

/* From this time on the sum of all bandwidths is larger or smaller. */
typedef struct change {
    double time, bandwidth;
} change_t;

static int change_compare(const void *a, const void *b)
{
    const change_t *x = a, *y = b;

    return x->time < y->time ? -1 : x->time > y->time ? 1 : x->bandwidth < y->bandwidth ? -1 : 1;
}

static size_t windows_count(const themis_persched_pattern_t *p)
{
    size_t count = 0;

    for (uint32_t k = 0; k < p->lanes; k++)
        for (uint32_t i = 0; i < p->lane[k].instances; i++)
            count += p->lane[k].instance[i].windows;
    return count;
}

/* Lays a window on [0, period), in two parts where it passes the end; windows are shortened by what rounding may add.
 */
static size_t changes_add(change_t *change, const themis_persched_window_t *w, double period)
{
    double slack = 0.5 * TOLERANCE * fmin(period, w->end - w->begin), begin = w->begin + slack, end = w->end - slack;
    double shift = floor(begin / period) * period;
    size_t n = 0;

    if (w->end - w->begin <= TOLERANCE * TOLERANCE * period)
        return 0;
    begin -= shift, end -= shift;
    change[n++] = (change_t){begin, w->bandwidth};
    if (end > period) {
        change[n++] = (change_t){period, -w->bandwidth};
        change[n++] = (change_t){0, w->bandwidth};
        end -= period;
    }
    change[n++] = (change_t){end, -w->bandwidth};
    return n;
}

static themis_status_t check_sum(const check_t *c, const change_t *change, size_t count)
{
    double sum = 0, limit = c->problem->platform.bandwidth, since = 0, slack = TOLERANCE * c->pattern->period;

    for (size_t i = 0; i < count; i++) {
        if (sum <= limit * (1 + TOLERANCE))
            since = change[i].time;
        else if (change[i].time - since > slack)
            return check_fail(c, "at %.9g all windows together have %.9g bytes/s, more than %.9g", since, sum, limit);
        sum += change[i].bandwidth;
    }
    return THEMIS_OK;
}

static themis_status_t check_capacity(const check_t *c)
{
    const themis_persched_pattern_t *p = c->pattern;
    change_t *change = calloc(4 * windows_count(p) + 1, sizeof *change);
    size_t count = 0;
    themis_status_t status;

    if (!change)
        return THEMIS_NO_MEMORY;
    for (uint32_t k = 0; k < p->lanes; k++)
        for (uint32_t i = 0; i < p->lane[k].instances; i++)
            for (uint32_t w = 0; w < p->lane[k].instance[i].windows; w++)
                count += changes_add(change + count, &p->lane[k].instance[i].window[w], p->period);
    qsort(change, count, sizeof *change, change_compare);
    status = check_sum(c, change, count);
    free(change);
    return status;
}

static themis_status_t check_measures(const check_t *c)
{
    const themis_persched_pattern_t *p = c->pattern;
    double efficiency = 0, dilation = 0;

    for (uint32_t k = 0; k < p->lanes; k++) {
        const themis_persched_application_t *a = lane_application(c, k);
        double duration = a->compute + a->volume / application_rate(c, a);

        efficiency += a->nodes * a->compute * p->lane[k].instances / p->period / c->problem->platform.nodes;
        dilation = fmax(dilation, p->period / p->lane[k].instances / duration);
    }
    if (!(fabs(efficiency - p->efficiency) <= TOLERANCE) || !(fabs(dilation - p->dilation) <= TOLERANCE * dilation))
        return check_fail(c, "SysEff is %.9g and dilation %.9g, not %.9g and %.9g", efficiency, dilation, p->efficiency,
                          p->dilation);
    return THEMIS_OK;
}

themis_status_t themis_persched_check(const themis_persched_problem_t *problem,
                                      const themis_persched_pattern_t *pattern, char *error, size_t size)
{
    check_t c = {problem, pattern, error, size};
    themis_status_t status = themis_persched_problem_check(problem, NULL);
    uint64_t lanes = 0;

    if (status != THEMIS_OK)
        return status;
    for (uint32_t i = 0; i < problem->applications; i++)
        lanes += problem->application[i].number;
    if (!(pattern->period > 0) || pattern->lanes != lanes)
        return check_fail(&c, "period %.9g with %u lanes for %u applications", pattern->period, pattern->lanes,
                          (unsigned)lanes);
    for (uint32_t k = 0; k < pattern->lanes && status == THEMIS_OK; k++)
        status = check_lane(&c, k);
    if (status == THEMIS_OK)
        status = check_capacity(&c);
    return status == THEMIS_OK ? check_measures(&c) : status;
}
