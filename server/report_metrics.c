/* SPDX-License-Identifier: BSD-3-Clause */
/* OpenMetrics text: a family a function call, its samples together, as the format demands. */
#include <stdio.h>
#include <stdlib.h>
#include "server/report.h"

/* A label's value: backslash, quote and newline escaped. */
static void put_label(FILE *out, const char *value)
{
    for (; *value != '\0'; value++) {
        if (*value == '\\' || *value == '"')
            fputc('\\', out);
        if (*value == '\n')
            fputs("\\n", out);
        else
            fputc(*value, out);
    }
}

static void put_job(FILE *out, const themis_sched_job_t *job)
{
    fputs("job_id=\"", out);
    put_label(out, job->identity.id);
    fprintf(out, "\",uid=\"%u\",gid=\"%u\"", job->identity.uid, job->identity.gid);
}

/* The next job that has samples from `job` on, or NULL. */
static themis_sched_job_t *shown_from(themis_sched_job_table_t *jobs, const themis_sched_t *sched,
                                      themis_sched_job_t *job)
{
    while (job != NULL && !themis_sched_has_requested(sched, job))
        job = themis_sched_job_table_next(jobs, job);
    return job;
}

static themis_sched_job_t *first_shown(themis_sched_job_table_t *jobs, const themis_sched_t *sched)
{
    return shown_from(jobs, sched, themis_sched_job_table_first(jobs));
}

static themis_sched_job_t *next_shown(themis_sched_job_table_t *jobs, const themis_sched_t *sched,
                                      themis_sched_job_t *job)
{
    return shown_from(jobs, sched, themis_sched_job_table_next(jobs, job));
}

static void put_family(FILE *out, const char *name, const char *type, const char *help)
{
    fprintf(out, "# TYPE %s %s\n# HELP %s %s\n", name, type, name, help);
}

/* The counters of a job, as one table. */
typedef enum value {
    VALUE_READ,
    VALUE_WRITTEN,
    VALUE_COST,
    VALUE_REQUESTS,
    VALUE_METADATA,
    VALUE_QUEUED,
    VALUE_QUEUED_BYTES,
    VALUE_CLIENTS,
    VALUE_NODES,
    VALUE_SHARE,
    VALUES
} value_t;

static const struct {
    const char *name, *type, *help;
} families[VALUES] = {
    [VALUE_READ] = {"themis_job_read_bytes", "counter", "Bytes read by the job."},
    [VALUE_WRITTEN] = {"themis_job_written_bytes", "counter", "Bytes written by the job."},
    [VALUE_COST] = {"themis_job_cost_bytes", "counter", "Bytes charged to the job, time of metadata included."},
    [VALUE_REQUESTS] = {"themis_job_requests", "counter", "Requests ended."},
    [VALUE_METADATA] = {"themis_job_metadata_requests", "counter", "Requests ended that move no data."},
    [VALUE_QUEUED] = {"themis_job_queued_requests", "gauge", "Requests that wait."},
    [VALUE_QUEUED_BYTES] = {"themis_job_queued_bytes", "gauge", "Bytes of the requests that wait."},
    [VALUE_CLIENTS] = {"themis_job_clients", "gauge", "Connections of the job."},
    [VALUE_NODES] = {"themis_job_nodes", "gauge", "Compute nodes of the job."},
    [VALUE_SHARE] = {"themis_job_share_ratio", "gauge", "Part of this server that the job is due."},
};

static double value_of(const themis_sched_job_t *job, const themis_sched_t *sched, value_t value)
{
    switch (value) {
    case VALUE_READ:
        return (double)job->bytes_read;
    case VALUE_WRITTEN:
        return (double)job->bytes_written;
    case VALUE_COST:
        return (double)job->cost;
    case VALUE_REQUESTS:
        return (double)job->requests;
    case VALUE_METADATA:
        return (double)job->metadata;
    case VALUE_QUEUED:
        return (double)job->queued;
    case VALUE_QUEUED_BYTES:
        return (double)job->queued_bytes;
    case VALUE_CLIENTS:
        return job->clients;
    case VALUE_NODES:
        return job->identity.nodes;
    default:
        return themis_sched_share(sched, job);
    }
}

static void put_values(FILE *out, themis_sched_job_table_t *jobs, const themis_sched_t *sched)
{
    for (int value = 0; value < VALUES; value++) {
        const char *suffix = families[value].type[0] == 'c' ? "_total" : "";
        put_family(out, families[value].name, families[value].type, families[value].help);
        for (themis_sched_job_t *job = first_shown(jobs, sched); job != NULL; job = next_shown(jobs, sched, job)) {
            fprintf(out, "%s%s{", families[value].name, suffix);
            put_job(out, job);
            fprintf(out, "} %.17g\n", value_of(job, sched, (value_t)value));
        }
    }
}

/* Buckets from 1 us to about 17 s, every second power of two: finer ones cost Prometheus more than they tell. */
enum { FIRST_BUCKET = 9, LAST_BUCKET = 33 };

static void put_histogram(FILE *out, const char *name, const themis_sched_job_t *job,
                          const themis_sched_histogram_t *histogram, uint64_t sum)
{
    uint64_t seen = 0;

    for (int k = 0; k < THEMIS_SCHED_HISTOGRAM_BUCKETS; k++) {
        seen += histogram->counts[k];
        if (k < FIRST_BUCKET || k > LAST_BUCKET || (k - FIRST_BUCKET) % 2 != 0)
            continue;
        fprintf(out, "%s_bucket{", name);
        put_job(out, job);
        fprintf(out, ",le=\"%.9g\"} %llu\n", (double)(UINT64_C(2) << k) / 1e9, (unsigned long long)seen);
    }
    fprintf(out, "%s_bucket{", name);
    put_job(out, job);
    fprintf(out, ",le=\"+Inf\"} %llu\n%s_count{", (unsigned long long)seen, name);
    put_job(out, job);
    fprintf(out, "} %llu\n%s_sum{", (unsigned long long)seen, name);
    put_job(out, job);
    fprintf(out, "} %.9g\n", (double)sum / 1e9);
}

static void put_histograms(FILE *out, themis_sched_job_table_t *jobs, const themis_sched_t *sched)
{
    put_family(out, "themis_job_wait_seconds", "histogram", "Time from a request's arrival to its first slice.");
    for (themis_sched_job_t *job = first_shown(jobs, sched); job != NULL; job = next_shown(jobs, sched, job))
        put_histogram(out, "themis_job_wait_seconds", job, &job->wait, job->wait_ns);
    put_family(out, "themis_job_service_seconds", "histogram", "Time that a request was being served.");
    for (themis_sched_job_t *job = first_shown(jobs, sched); job != NULL; job = next_shown(jobs, sched, job))
        put_histogram(out, "themis_job_service_seconds", job, &job->service, job->service_ns);
}

static void put_gauge(FILE *out, const char *name, const char *help, double value)
{
    put_family(out, name, "gauge", help);
    fprintf(out, "%s %.17g\n", name, value);
}

static void put_server(FILE *out, const themis_server_report_server_t *server, themis_sched_job_table_t *jobs,
                       const themis_sched_t *sched)
{
    put_family(out, "themis_server", "info", "The server and its policy.");
    fputs("themis_server_info{name=\"", out);
    put_label(out, server->name);
    fprintf(out, "\",index=\"%u\",policy=\"%s\",draw=\"%s\"} 1\n", server->index, themis_sched_policy(sched),
            themis_sched_draw(sched));
    put_gauge(out, "themis_jobs", "Jobs that have asked for something.", themis_server_report_count(jobs, sched));
    put_gauge(out, "themis_sessions", "Sessions of clients.", server->sessions);
    put_gauge(out, "themis_workers", "Worker threads.", server->workers);
    put_gauge(out, "themis_queued_requests", "Requests that wait, over all jobs.", (double)themis_sched_queued(sched));
    put_gauge(out, "themis_store_capacity_bytes", "Size of the store.", (double)server->capacity);
    put_gauge(out, "themis_store_used_bytes", "Bytes of the store in use.", (double)server->used);
    put_gauge(out, "themis_servers_known", "Servers whose tables are known, this one included.", server->known);
    put_family(out, "themis_exchange_rounds", "counter", "Rounds of the exchange between servers.");
    fprintf(out, "themis_exchange_rounds_total %llu\n", (unsigned long long)server->rounds);
    put_gauge(out, "themis_uptime_seconds", "Time since the server started.", (double)server->uptime / 1e9);
}

char *themis_server_report_metrics(const themis_server_report_server_t *server, themis_sched_job_table_t *jobs,
                                   const themis_sched_t *sched)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (out == NULL)
        return NULL;
    put_server(out, server, jobs, sched);
    put_values(out, jobs, sched);
    put_histograms(out, jobs, sched);
    fputs("# EOF\n", out);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}
