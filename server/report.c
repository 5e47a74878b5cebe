/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON for the tools. */
#include "server/report.h"
#include <jansson.h>
#include <stdlib.h>

static double us(uint64_t ns)
{
    return (double)ns / 1000;
}

uint32_t themis_server_report_count(themis_sched_job_table_t *jobs, const themis_sched_t *sched)
{
    uint32_t count = 0;

    for (themis_sched_job_t *job = themis_sched_job_table_first(jobs); job != NULL;
         job = themis_sched_job_table_next(jobs, job))
        count += themis_sched_has_requested(sched, job) != 0;
    return count;
}

/* Sets a field; a NULL value, where memory was short, makes the whole fail. */
static void set(json_t *object, const char *name, json_t *value, int *failed)
{
    if (json_object_set_new(object, name, value) != 0)
        *failed = 1;
}

static json_t *integer(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static void set_identity(json_t *row, const themis_sched_job_t *job, int *failed)
{
    set(row, "number", integer(job->number), failed);
    set(row, "job", json_string_nocheck(job->identity.id), failed);
    set(row, "uid", integer(job->identity.uid), failed);
    set(row, "gid", integer(job->identity.gid), failed);
    set(row, "nodes", integer(job->identity.nodes), failed);
    set(row, "priority", integer(job->identity.priority), failed);
    set(row, "active", json_boolean(job->active), failed);
    set(row, "clients", integer(job->clients), failed);
}

static void set_counters(json_t *row, const themis_sched_job_t *job, int *failed)
{
    set(row, "bytes_read", integer(job->bytes_read), failed);
    set(row, "bytes_written", integer(job->bytes_written), failed);
    set(row, "cost_bytes", integer(job->cost), failed);
    set(row, "requests", integer(job->requests), failed);
    set(row, "metadata", integer(job->metadata), failed);
    set(row, "queued", integer(job->queued), failed);
    set(row, "queued_bytes", integer(job->queued_bytes), failed);
    set(row, "waits", integer(themis_sched_histogram_count(&job->wait)), failed);
    set(row, "wait_s", json_real(us(job->wait_ns) / 1e6), failed);
    set(row, "service_s", json_real(us(job->service_ns) / 1e6), failed);
    set(row, "wait_p50_us", json_real(us(themis_sched_histogram_quantile(&job->wait, 0.5))), failed);
    set(row, "wait_p99_us", json_real(us(themis_sched_histogram_quantile(&job->wait, 0.99))), failed);
    set(row, "service_p50_us", json_real(us(themis_sched_histogram_quantile(&job->service, 0.5))), failed);
    set(row, "service_p99_us", json_real(us(themis_sched_histogram_quantile(&job->service, 0.99))), failed);
}

static json_t *job_row(const themis_sched_job_t *job, const themis_sched_t *sched, int *failed)
{
    json_t *row = json_object();

    set_identity(row, job, failed);
    set(row, "asked", json_boolean(themis_sched_has_requested(sched, job)), failed);
    set(row, "share", json_real(themis_sched_share(sched, job)), failed);
    set_counters(row, job, failed);
    return row;
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
        failed |= json_array_append_new(rows, job_row(job, sched, &failed)) != 0;
    char *text = failed ? NULL : json_dumps(rows, JSON_COMPACT | JSON_REAL_PRECISION(9));
    json_decref(rows);
    return text;
}
