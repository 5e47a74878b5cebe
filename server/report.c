/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/report.h"
#include <jansson.h>
#include <stdlib.h>

uint32_t themis_server_report_count(themis_sched_job_table_t *jobs, const themis_sched_t *sched)
{
    uint32_t count = 0;

    for (themis_sched_job_t *job = themis_sched_job_table_first(jobs); job != NULL;
         job = themis_sched_job_table_next(jobs, job))
        count += themis_sched_has_asked(sched, job) != 0;
    return count;
}

static double quantile_us(const themis_sched_histogram_t *histogram, double q)
{
    return (double)themis_sched_histogram_quantile(histogram, q) / 1e3;
}

/* NULL when memory is short. */
static json_t *job_json(const themis_sched_job_t *job, const themis_sched_t *sched)
{
    json_t *id = json_string_nocheck(job->identity.id); /* any bytes */

    return json_pack("{s:I, s:o, s:I, s:I, s:I, s:I, s:b, s:I, s:b, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, "
                     "s:f, s:f, s:f, "
                     "s:f, s:f}",
                     "number", (json_int_t)job->number, "job", id, "uid", (json_int_t)job->identity.uid, "gid",
                     (json_int_t)job->identity.gid, "nodes", (json_int_t)job->identity.nodes, "priority",
                     (json_int_t)job->identity.priority, "active", job->active, "clients", (json_int_t)job->clients,
                     "asked", themis_sched_has_asked(sched, job), "share", themis_sched_share(sched, job), "bytes_read",
                     (json_int_t)job->bytes_read, "bytes_written", (json_int_t)job->bytes_written, "cost_bytes",
                     (json_int_t)job->cost, "requests", (json_int_t)job->requests, "metadata",
                     (json_int_t)job->metadata, "queued", (json_int_t)job->queued, "queued_bytes",
                     (json_int_t)job->queued_bytes, "waits", (json_int_t)themis_sched_histogram_count(&job->wait),
                     "wait_s", (double)job->wait_ns / 1e9, "service_s", (double)job->service_ns / 1e9, "wait_p50_us",
                     quantile_us(&job->wait, 0.5), "wait_p99_us", quantile_us(&job->wait, 0.99), "service_p50_us",
                     quantile_us(&job->service, 0.5), "service_p99_us", quantile_us(&job->service, 0.99));
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
