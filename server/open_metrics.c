/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/open_metrics.h"
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <config.h>

/* The jobs that have samples. */
typedef struct shown {
    const themis_sched_job_t **jobs;
    uint32_t count;
} shown_t;

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

static void put_fit(FILE *out, const shown_t *shown, const themis_sched_t *sched)
{
    static const char *const fit = "themis_job_plan_fit_ratio";

    put_family(out, fit, "gauge", "Part of the bytes of the job's last period that were moved in its planned windows.");
    for (uint32_t i = 0; i < shown->count; i++)
        if (themis_sched_plan_fit(sched, shown->jobs[i]) >= 0)
            put_sample(out, fit, "", shown->jobs[i], themis_sched_plan_fit(sched, shown->jobs[i]));
}

static void put_values(FILE *out, const shown_t *shown, const themis_sched_t *sched)
{
    static const char *const share = "themis_job_share_ratio";

    for (size_t k = 0; k < sizeof families / sizeof *families; k++) {
        const family_t *family = &families[k];
        put_family(out, family->name, family->is_counter ? "counter" : "gauge", family->help);
        for (uint32_t i = 0; i < shown->count; i++)
            put_sample(out, family->name, family->is_counter ? "_total" : "", shown->jobs[i],
                       counter_of(shown->jobs[i], family));
    }
    put_family(out, share, "gauge", "Part of this server that the job is due.");
    for (uint32_t i = 0; i < shown->count; i++)
        put_sample(out, share, "", shown->jobs[i], themis_sched_share(sched, shown->jobs[i]));
    put_fit(out, shown, sched);
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

static void put_histograms(FILE *out, const shown_t *shown)
{
    static const char *const wait = "themis_job_wait_seconds", *const service = "themis_job_service_seconds";

    put_family(out, wait, "histogram", "Time from a request's arrival to its first slice.");
    for (uint32_t i = 0; i < shown->count; i++)
        put_histogram(out, wait, shown->jobs[i], &shown->jobs[i]->wait, shown->jobs[i]->wait_ns);
    put_family(out, service, "histogram", "Time that a request was being served.");
    for (uint32_t i = 0; i < shown->count; i++)
        put_histogram(out, service, shown->jobs[i], &shown->jobs[i]->service, shown->jobs[i]->service_ns);
}

static void put_gauge(FILE *out, const char *name, const char *help, double value)
{
    put_family(out, name, "gauge", help);
    fprintf(out, "%s %.17g\n", name, value);
}

static void put_direct(FILE *out, const themis_server_direct_usage_t *direct)
{
    put_family(out, "themis_direct_bytes", "counter", "Bytes that clients on this host have moved themselves.");
    fprintf(out, "themis_direct_bytes_total{direction=\"read\"} %llu\n", (unsigned long long)direct->read);
    fprintf(out, "themis_direct_bytes_total{direction=\"write\"} %llu\n", (unsigned long long)direct->written);
    put_gauge(out, "themis_direct_grants", "Objects that clients may access themselves, over all clients.",
              direct->grants);
}

static void put_counter(FILE *out, const char *name, const char *help, uint64_t value)
{
    put_family(out, name, "counter", help);
    fprintf(out, "%s_total %llu\n", name, (unsigned long long)value);
}

static void put_history(FILE *out, const themis_server_history_counts_t *history)
{
    put_counter(out, "themis_history_records", "Records of jobs that have ended.", history->records);
    put_counter(out, "themis_history_dropped_records", "Records that could not be written.", history->dropped);
    put_counter(out, "themis_history_written_bytes", "Bytes written to the history of jobs.", history->bytes);
}

static void put_server(FILE *out, const themis_server_open_metrics_t *server, uint32_t jobs,
                       const themis_sched_t *sched)
{
    put_family(out, "themis_server", "info", "The server, its version and its policy.");
    fputs("themis_server_info{name=\"", out);
    put_label(out, server->name);
    fprintf(out, "\",index=\"%u\",version=\"%s\",policy=\"%s\",draw=\"%s\"} 1\n", server->index, PACKAGE_VERSION,
            themis_sched_policy(sched), themis_sched_draw(sched));
    put_gauge(out, "themis_jobs", "Jobs that have asked for something.", jobs);
    put_gauge(out, "themis_sessions", "Sessions of clients.", server->sessions);
    put_gauge(out, "themis_workers", "Worker threads.", server->workers);
    put_gauge(out, "themis_queued_requests", "Requests that wait, over all jobs.", (double)themis_sched_queued(sched));
    put_gauge(out, "themis_store_capacity_bytes", "Size of the store.", (double)server->capacity);
    put_gauge(out, "themis_store_used_bytes", "Bytes of the store in use.", (double)server->used);
    put_gauge(out, "themis_servers_known", "Servers whose tables are known, this one included.", server->known);
    put_family(out, "themis_exchange_rounds", "counter", "Rounds of the exchange between servers.");
    fprintf(out, "themis_exchange_rounds_total %llu\n", (unsigned long long)server->rounds);
    put_direct(out, &server->direct);
    put_history(out, &server->history);
    put_gauge(out, "themis_uptime_seconds", "Time since the server started.", (double)server->uptime / 1e9);
}

/* THEMIS_NO_MEMORY, or `shown` gets its array, which is to be freed. */
static themis_status_t shown_find(shown_t *shown, themis_sched_job_table_t *jobs, const themis_sched_t *sched)
{
    *shown = (shown_t){.jobs = malloc((themis_sched_job_table_count(jobs) + 1) * sizeof(themis_sched_job_t *))};
    if (shown->jobs == NULL)
        return THEMIS_NO_MEMORY;
    for (themis_sched_job_t *job = themis_sched_job_table_first(jobs); job != NULL;
         job = themis_sched_job_table_next(jobs, job))
        if (themis_sched_has_requested(sched, job))
            shown->jobs[shown->count++] = job;
    return THEMIS_OK;
}

char *themis_server_open_metrics_text(const themis_server_open_metrics_t *server, themis_sched_job_table_t *jobs,
                                      const themis_sched_t *sched)
{
    char *text = NULL;
    size_t size = 0;
    shown_t shown;
    FILE *out = shown_find(&shown, jobs, sched) == THEMIS_OK ? open_memstream(&text, &size) : NULL;

    if (out != NULL) {
        put_server(out, server, shown.count, sched);
        put_values(out, &shown, sched);
        put_histograms(out, &shown);
        fputs("# EOF\n", out);
        if (fclose(out) != 0) {
            free(text);
            text = NULL;
        }
    }
    free(shown.jobs);
    return text;
}
