/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/periodic_view.h"
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "history/rate.h"
#include "tools/command.h"
#include "tools/json.h"
#include "tools/statistics.h"
#include "util/clock.h"

typedef themis_tools_periodic_view_t view_t;
typedef themis_tools_periodic_source_t source_t;

/* Periods that a job is judged by, and how old the last record of a running job can be, in s. */
enum { PERIODS = 12, OLDEST = 3600 };

/* Appends the jobs of one server. */
static int jobs_add(json_t *jobs, const source_t *source, uint32_t server)
{
    const char *error;
    json_t *more = themis_tools_statistics_jobs(source->servers->session, server, &error);

    if (!more)
        return themis_tools_error("server %u: %s", server, error);
    json_array_extend(jobs, more);
    json_decref(more);
    return THEMIS_TOOLS_OK;
}

/* The policy of one server, its jobs, and what it can move. */
static int server_add(view_t *v, json_t *jobs, const source_t *source, uint32_t server)
{
    themis_tools_periodic_policy_t *policy = &v->policy[server];
    int result = themis_tools_periodic_servers_get(source->servers, server, policy);

    if (result == THEMIS_TOOLS_OK)
        result = jobs_add(jobs, source, server);
    if (result != THEMIS_TOOLS_OK)
        return source->lenient ? THEMIS_TOOLS_OK : result;
    v->server[server] = (themis_persched_follow_server_t){.policy = policy->policy, .ours = policy->ours};
    v->view.bandwidth += policy->bandwidth;
    return policy->bandwidth > 0 || source->bandwidth > 0
               ? THEMIS_TOOLS_OK
               : themis_tools_error("server %u has no store_bandwidth: give that of all servers by --bandwidth",
                                    server);
}

static int servers_take(view_t *v, json_t *jobs, const source_t *source)
{
    uint32_t count = source->servers->count, answer = 0;
    int result = THEMIS_TOOLS_OK;

    v->view.server = v->server = calloc(count, sizeof *v->server);
    v->policy = calloc(count, sizeof *v->policy);
    v->view.servers = count;
    if (!v->server || !v->policy)
        return themis_tools_error("out of memory");
    for (uint32_t i = 0; i < count && result == THEMIS_TOOLS_OK; i++)
        result = server_add(v, jobs, source, i);
    for (uint32_t i = 0; i < count; i++)
        answer += v->server[i].policy != NULL;
    if (result == THEMIS_TOOLS_OK && answer == 0)
        result = THEMIS_TOOLS_FAILED; /* which each has been told of */
    if (source->bandwidth > 0)
        v->view.bandwidth = source->bandwidth;
    return result;
}

/* 1: servers know the job. *fit is the mean of those that have windows for it. */
static int is_running(const json_t *jobs, const themis_history_record_t *record, double *fit)
{
    double sum = 0;
    uint32_t counted = 0;
    int found = 0;
    size_t i;
    json_t *row;

    json_array_foreach(jobs, i, row)
    {
        if (strcmp(themis_tools_json_text(row, "job"), record->job) != 0 ||
            themis_tools_json_number(row, "uid") != record->user)
            continue;
        found = 1;
        if (json_is_number(json_object_get(row, "plan_fit"))) {
            sum += themis_tools_json_number(row, "plan_fit");
            counted++;
        }
    }
    *fit = counted ? sum / counted : -1;
    return found;
}

static int is_same_job(const themis_history_record_t *a, const themis_history_record_t *b)
{
    return a->user == b->user && strcmp(a->job, b->job) == 0;
}

/* A job has several records if it calls itself by several names, or if a server was away for long: the one that ends
 * last stands for it, with what belongs to it. */
static int is_newest(const themis_tools_history_t *history, size_t at)
{
    const themis_history_record_t *record = &history->entry[at].record;

    for (size_t i = 0; i < history->count; i++) {
        const themis_history_record_t *other = &history->entry[i].record;

        if (other->interim && is_same_job(other, record) &&
            (other->end > record->end || (other->end == record->end && i < at)))
            return 0;
    }
    return 1;
}

/* Whether a record is of the same run of the job as its newest; NULL: all are. */
static int is_part(const themis_history_record_t *record, const themis_history_record_t *newest)
{
    return !newest || (record->interim && is_same_job(record, newest) && record->end >= newest->start);
}

/* The sum of what the records moved that are part of `newest`; owned by the caller. */
static int series_sum(const themis_tools_history_t *history, const themis_history_record_t *newest,
                      themis_history_series_t *sum)
{
    enum { SAMPLES = 8192 };
    double start = INFINITY, interval = 0;

    *sum = (themis_history_series_t){0};
    for (size_t i = 0; i < history->count; i++) {
        const themis_history_series_t *series = &history->entry[i].series;

        if (series->count == 0 || !is_part(&history->entry[i].record, newest))
            continue;
        start = fmin(start, series->start);
        interval = fmax(interval, series->interval);
    }
    if (interval == 0)
        return THEMIS_TOOLS_OK;
    themis_status_t status = themis_history_series_make(sum, start, interval, SAMPLES);
    for (size_t i = 0; i < history->count && status == THEMIS_OK; i++)
        if (history->entry[i].series.count > 0 && is_part(&history->entry[i].record, newest))
            status = themis_history_series_add_all(sum, &history->entry[i].series);
    return status == THEMIS_OK ? THEMIS_TOOLS_OK : themis_tools_error("out of memory");
}

/* `own`: what the job moved; `known`: what is known of it beside that and its record. */
static int job_add(view_t *v, const source_t *source, const themis_history_record_t *record,
                   const themis_history_series_t *own, themis_persched_follow_job_t known)
{
    themis_history_phases_t phases;

    if (themis_history_phases_recent(own, source->since, record->end, PERIODS, &phases) != THEMIS_OK)
        return themis_tools_error("out of memory");
    known.user = record->user;
    known.compute = phases.compute;
    known.volume = phases.volume;
    known.period = phases.period;
    known.confidence = phases.confidence;
    known.phases = phases.count;
    known.until = record->end;
    v->job[v->view.jobs++] = known;
    return THEMIS_TOOLS_OK;
}

/* The job of a record, with what its other records add. */
static int job_take(view_t *v, const source_t *source, const themis_history_record_t *newest, double fit,
                    const themis_history_series_t *all)
{
    themis_persched_follow_job_t known = {.name = newest->job, .fit = fit, .nodes = 1};
    double peak = 0;
    themis_history_series_t own;
    int result = series_sum(&v->history, newest, &own);

    for (size_t i = 0; i < v->history.count; i++) {
        const themis_history_record_t *part = &v->history.entry[i].record;

        if (!is_part(part, newest))
            continue;
        known.nodes = fmax(known.nodes, part->nodes);
        peak = fmax(peak, part->peak_bandwidth);
    }
    double rate = result == THEMIS_TOOLS_OK ? themis_history_own_rate(&own, all, v->view.bandwidth) : 0;
    known.rate = rate > 0 ? fmax(rate, peak) : 0;
    if (result == THEMIS_TOOLS_OK)
        result = job_add(v, source, newest, &own, known);
    themis_history_series_release(&own);
    return result;
}

/* Of the records, those of jobs that run. */
static int records_take(view_t *v, const source_t *source, const json_t *jobs)
{
    themis_history_series_t all = {0};
    double fit;

    v->view.job = v->job = calloc(v->history.count + 1, sizeof *v->job);
    if (!v->job)
        return themis_tools_error("out of memory");
    int result = series_sum(&v->history, NULL, &all);
    for (size_t i = 0; i < v->history.count && result == THEMIS_TOOLS_OK; i++) {
        const themis_history_record_t *record = &v->history.entry[i].record;

        if (record->interim && *record->job && is_running(jobs, record, &fit) && is_newest(&v->history, i))
            result = job_take(v, source, record, fit, &all);
    }
    themis_history_series_release(&all);
    return result;
}

static int history_take(view_t *v, const source_t *source, const json_t *jobs)
{
    const themis_tools_history_filter_t filter = {
        .user = -1, .series = 1, .since = v->view.now - OLDEST, .until = INFINITY};
    int result = themis_tools_history_read(&v->history, source->directories, &filter);

    return result == THEMIS_TOOLS_OK ? records_take(v, source, jobs) : result;
}

int themis_tools_periodic_view_take(view_t *v, const source_t *source)
{
    json_t *jobs = json_array();

    v->view.now = (double)themis_util_clock_wall() / 1e9;
    v->view.node_bandwidth = source->node_bandwidth;
    int result = servers_take(v, jobs, source);
    if (result == THEMIS_TOOLS_OK)
        result = history_take(v, source, jobs);
    json_decref(jobs);
    return result;
}

void themis_tools_periodic_view_release(view_t *v)
{
    free(v->job);
    free(v->server);
    free(v->policy);
    themis_tools_history_release(&v->history);
    *v = (view_t){.job = NULL};
}
