/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/report.h"
#include <stdlib.h>
#include <string.h>

uint32_t themis_server_report_count(themis_sched_job_table_t *jobs, const themis_sched_t *sched)
{
    uint32_t count = 0;

    for (themis_sched_job_t *job = themis_sched_job_table_first(jobs); job != NULL;
         job = themis_sched_job_table_next(jobs, job))
        count += themis_sched_has_requested(sched, job) != 0;
    return count;
}

static json_t *integer(uint64_t value)
{
    return json_integer((json_int_t)value);
}

json_t *themis_server_report_string(const char *text)
{
    json_t *json = json_string(text);
    char *plain = json ? NULL : strdup(text);

    if (!plain)
        return json;
    for (char *at = plain; *at; at++)
        *at = (unsigned char)*at < 128 ? *at : '_';
    json = json_string(plain);
    free(plain);
    return json;
}

static json_t *seconds(uint64_t ns)
{
    return json_real((double)ns / 1e9);
}

/* null: the job has no windows in a plan. */
static json_t *plan_fit(const themis_sched_t *sched, const themis_sched_job_t *job)
{
    double fit = themis_sched_plan_fit(sched, job);

    return fit < 0 ? json_null() : json_real(fit);
}

static json_t *quantile_us(const themis_sched_histogram_t *histogram, double q)
{
    return json_real((double)themis_sched_histogram_quantile(histogram, q) / 1e3);
}

/* NULL when memory is short. */
static json_t *job_json(const themis_sched_job_t *job, const themis_sched_t *sched)
{
    const struct {
        const char *name;
        json_t *value;
    } fields[] = {
        {"number", integer(job->number)},
        {"job", themis_server_report_string(job->identity.id)},
        {"uid", integer(job->identity.uid)},
        {"gid", integer(job->identity.gid)},
        {"nodes", integer(job->identity.nodes)},
        {"priority", integer(job->identity.priority)},
        {"active", json_boolean(job->active)},
        {"clients", integer(job->clients)},
        {"asked", json_boolean(themis_sched_has_requested(sched, job))},
        {"share", json_real(themis_sched_share(sched, job))},
        {"plan_fit", plan_fit(sched, job)},
        {"bytes_read", integer(job->bytes_read)},
        {"bytes_written", integer(job->bytes_written)},
        {"cost_bytes", integer(job->cost)},
        {"requests", integer(job->requests)},
        {"metadata", integer(job->metadata)},
        {"queued", integer(job->queued)},
        {"queued_bytes", integer(job->queued_bytes)},
        {"waits", integer(themis_sched_histogram_count(&job->wait))},
        {"wait_s", seconds(job->wait_ns)},
        {"service_s", seconds(job->service_ns)},
        {"wait_p50_us", quantile_us(&job->wait, 0.5)},
        {"wait_p99_us", quantile_us(&job->wait, 0.99)},
        {"service_p50_us", quantile_us(&job->service, 0.5)},
        {"service_p99_us", quantile_us(&job->service, 0.99)},
    };
    json_t *row = json_object();
    int failed = 0;

    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        failed |= json_object_set_new(row, fields[i].name, fields[i].value);
    if (!failed)
        return row;
    json_decref(row);
    return NULL;
}

char *themis_server_report_jobs(themis_sched_job_table_t *jobs, const themis_sched_t *sched, uint64_t after)
{
    json_t *rows = json_array();
    themis_sched_job_t *job = themis_sched_job_table_first(jobs);
    int failed = rows == NULL;

    while (job != NULL && job->number <= after)
        job = themis_sched_job_table_next(jobs, job);
    for (; job != NULL && !failed && json_array_size(rows) < THEMIS_SERVER_REPORT_PAGE;
         job = themis_sched_job_table_next(jobs, job))
        failed = json_array_append_new(rows, job_json(job, sched)) != 0;
    char *text = failed ? NULL : json_dumps(rows, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(rows);
    return text;
}
