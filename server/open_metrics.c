/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/open_metrics.h"
#include <stddef.h>
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

/* The first job from `job` on that has samples, or NULL. */
static themis_sched_job_t *shown_from(themis_sched_job_table_t *jobs, const themis_sched_t *sched,
                                      themis_sched_job_t *job)
{
    while (job != NULL && !themis_sched_has_asked(sched, job))
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

/* What a job's counters are called; the metrics of a job but for its share and its histograms. */
typedef struct family {
    const char *name, *help;
    int is_counter;
    size_t offset, size; /* in the job */
} family_t;

#define MEMBER(member) offsetof(themis_sched_job_t, member), sizeof(((themis_sched_job_t *)0)->member)
static const family_t families[] = {
    {"themis_job_read_bytes", "Bytes read by the job.", 1, MEMBER(bytes_read)},
    {"themis_job_written_bytes", "Bytes written by the job.", 1, MEMBER(bytes_written)},
    {"themis_job_cost_bytes", "Bytes charged to the job, time of metadata included.", 1, MEMBER(cost)},
    {"themis_job_requests", "Requests ended.", 1, MEMBER(requests)},
    {"themis_job_metadata_requests", "Requests ended that move no data.", 1, MEMBER(metadata)},
    {"themis_job_queued_requests", "Requests that wait.", 0, MEMBER(queued)},
    {"themis_job_queued_bytes", "Bytes of the requests that wait.", 0, MEMBER(queued_bytes)},
    {"themis_job_clients", "Connections of the job.", 0, MEMBER(clients)},
    {"themis_job_nodes", "Compute nodes of the job.", 0, MEMBER(identity.nodes)},
};

static double counter_of(const themis_sched_job_t *job, const family_t *family)
{
    const char *at = (const char *)job + family->offset;

    return family->size == sizeof(uint32_t) ? *(const uint32_t *)at : (double)*(const uint64_t *)at;
}

static void put_sample(FILE *out, const char *name, const char *suffix, const themis_sched_job_t *job, double value)
{
    fprintf(out, "%s%s{", name, suffix);
    put_job(out, job);
    fprintf(out, "} %.17g\n", value);
}

static void put_values(FILE *out, themis_sched_job_table_t *jobs, const themis_sched_t *sched)
{
    static const char *const share = "themis_job_share_ratio";

    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        const family_t *family = &families[i];
        put_family(out, family->name, family->is_counter ? "counter" : "gauge", family->help);
        for (themis_sched_job_t *job = first_shown(jobs, sched); job != NULL; job = next_shown(jobs, sched, job))
            put_sample(out, family->name, family->is_counter ? "_total" : "", job, counter_of(job, family));
    }
    put_family(out, share, "gauge", "Part of this server that the job is due.");
    for (themis_sched_job_t *job = first_shown(jobs, sched); job != NULL; job = next_shown(jobs, sched, job))
        put_sample(out, share, "", job, themis_sched_share(sched, job));
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
    fprintf(out, ",le=\"+Inf\"} %llu\n", (unsigned long long)seen);
    put_sample(out, name, "_count", job, (double)seen);
    fprintf(out, "%s_sum{", name);
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

static void put_server(FILE *out, const themis_server_open_metrics_t *server, themis_sched_job_table_t *jobs,
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

char *themis_server_open_metrics_text(const themis_server_open_metrics_t *server, themis_sched_job_table_t *jobs,
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
