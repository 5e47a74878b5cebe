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

/* The policy of one server, and what it can move. */
static int policy_add(view_t *v, const source_t *source, uint32_t server)
{
    const char *error;
    json_t *json = themis_tools_json_query(source->session, server, "policy", &error);

    if (!json)
        return themis_tools_error("server %u: %s", server, error);
    const char *policy = themis_tools_json_text(json, "policy");
    double bandwidth = themis_tools_json_number(json, "store_bandwidth_bytes_per_s");
    int fits = strlen(policy) < sizeof v->policy;
    if (server == 0 && fits)
        snprintf(v->policy, sizeof v->policy, "%s", policy);
    v->view.policy = fits && strcmp(v->policy, policy) == 0 && (server == 0 || v->view.policy) ? v->policy : NULL;
    v->view.bandwidth += bandwidth;
    json_decref(json);
    return bandwidth > 0 || source->bandwidth > 0
               ? THEMIS_TOOLS_OK
               : themis_tools_error("server %u has no store_bandwidth: give that of all servers by --bandwidth",
                                    server);
}

/* Appends the jobs of one server. */
static int jobs_add(json_t *jobs, const source_t *source, uint32_t server)
{
    const char *error;
    json_t *more = themis_tools_statistics_jobs(source->session, server, &error);

    if (!more)
        return themis_tools_error("server %u: %s", server, error);
    json_array_extend(jobs, more);
    json_decref(more);
    return THEMIS_TOOLS_OK;
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

/* The sum of what all jobs moved; owned by the caller. */
static int series_sum(const themis_tools_history_t *history, themis_history_series_t *all)
{
    enum { SAMPLES = 8192 };
    double start = INFINITY, interval = 0;

    *all = (themis_history_series_t){0};
    for (size_t i = 0; i < history->count; i++) {
        const themis_history_series_t *series = &history->entry[i].series;

        if (series->count == 0)
            continue;
        start = fmin(start, series->start);
        interval = fmax(interval, series->interval);
    }
    if (interval == 0)
        return THEMIS_TOOLS_OK;
    themis_status_t status = themis_history_series_make(all, start, interval, SAMPLES);
    for (size_t i = 0; i < history->count && status == THEMIS_OK; i++)
        if (history->entry[i].series.count > 0)
            status = themis_history_series_add_all(all, &history->entry[i].series);
    return status == THEMIS_OK ? THEMIS_TOOLS_OK : themis_tools_error("out of memory");
}

/* `known`: what is known of it beside its record. */
static int job_add(view_t *v, const source_t *source, const themis_history_entry_t *entry,
                   themis_persched_follow_job_t known)
{
    const themis_history_record_t *record = &entry->record;
    themis_history_phases_t phases;

    if (themis_history_phases_recent(&entry->series, source->since, record->end, PERIODS, &phases) != THEMIS_OK)
        return themis_tools_error("out of memory");
    known.name = record->job;
    known.user = record->user;
    known.nodes = record->nodes > 0 ? record->nodes : 1;
    known.compute = phases.compute;
    known.volume = phases.volume;
    known.period = phases.period;
    known.confidence = phases.confidence;
    known.phases = phases.count;
    known.until = record->end;
    v->job[v->view.jobs++] = known;
    return THEMIS_TOOLS_OK;
}

/* Of the records, those of jobs that run. */
static int records_take(view_t *v, const source_t *source, const json_t *jobs)
{
    themis_history_series_t all = {0};
    double fit;

    v->view.job = v->job = calloc(v->history.count + 1, sizeof *v->job);
    if (!v->job)
        return themis_tools_error("out of memory");
    int result = series_sum(&v->history, &all);
    for (size_t i = 0; i < v->history.count && result == THEMIS_TOOLS_OK; i++) {
        const themis_history_entry_t *entry = &v->history.entry[i];

        if (!entry->record.interim || !*entry->record.job || !is_running(jobs, &entry->record, &fit))
            continue;
        double own = themis_history_own_rate(&entry->series, &all, v->view.bandwidth);
        const themis_persched_follow_job_t known = {.fit = fit,
                                                    .rate = own > 0 ? fmax(own, entry->record.peak_bandwidth) : 0};
        result = job_add(v, source, entry, known);
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
    themis_session_info_t info;
    json_t *jobs = json_array();
    int result = THEMIS_TOOLS_OK;

    v->view.now = (double)themis_util_clock_wall() / 1e9;
    themis_session_info(source->session, &info);
    for (uint32_t i = 0; i < info.servers && result == THEMIS_TOOLS_OK; i++) {
        result = policy_add(v, source, i);
        if (result == THEMIS_TOOLS_OK)
            result = jobs_add(jobs, source, i);
    }
    if (source->bandwidth > 0)
        v->view.bandwidth = source->bandwidth;
    v->view.node_bandwidth = source->node_bandwidth;
    if (result == THEMIS_TOOLS_OK)
        result = history_take(v, source, jobs);
    json_decref(jobs);
    return result;
}

void themis_tools_periodic_view_release(view_t *v)
{
    free(v->job);
    themis_tools_history_release(&v->history);
    *v = (view_t){.job = NULL};
}
