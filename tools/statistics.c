/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/statistics.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/json.h"
#include "tools/sessions.h"
#include "util/clock.h"

/* Only jobs that have asked for something: monitoring clients are not shown. */
static void asked_add(json_t *jobs, const json_t *page)
{
    json_t *row;
    size_t i;

    json_array_foreach(page, i, row)
    {
        if (json_is_true(json_object_get(row, "asked")))
            json_array_append(jobs, row);
    }
}

json_t *themis_tools_statistics_jobs(themis_t *session, uint32_t server, const char **error)
{
    json_t *jobs = json_array(), *page;
    char question[40] = "jobs";
    double before, last = 0;

    do {
        page = themis_tools_json_query(session, server, question, error);
        if (!page) {
            json_decref(jobs);
            return NULL;
        }
        before = last;
        last = themis_tools_json_number(json_array_get(page, json_array_size(page) - 1),
                                        "number"); /* 0 of an empty page */
        asked_add(jobs, page);
        json_decref(page);
        snprintf(question, sizeof question, "jobs %.0f", last);
    } while (last > before);
    return jobs;
}

double themis_tools_statistics_missed(const json_t *server, uint32_t number, double before)
{
    json_t *missed;
    size_t i;

    json_array_foreach(json_object_get(server, "unreachable"), i, missed)
    {
        double since = themis_tools_json_number(missed, "since_s");
        if (themis_tools_json_number(missed, "index") == number && (before == 0 || since < before))
            before = since;
    }
    return before;
}

static void server_fill(themis_tools_server_t *server, json_t *json)
{
    const json_t *sharing = json_object_get(json, "sharing");

    *server = (themis_tools_server_t){.reachable = 1,
                                      .name = themis_tools_json_text(json, "name"),
                                      .policy = themis_tools_json_text(sharing, "policy"),
                                      .draw = themis_tools_json_text(sharing, "draw")};
    json_unpack(json, "{s?F, s?F, s?F, s?F, s?F, s?F}", "jobs", &server->jobs, "queued", &server->queued,
                "capacity_bytes", &server->capacity, "used_bytes", &server->used, "bytes_read", &server->bytes_read,
                "bytes_written", &server->bytes_written);
}

static themis_tools_job_t *job_find(const themis_tools_statistics_t *sample, const char *id, uint32_t uid)
{
    for (uint32_t i = 0; i < sample->count; i++)
        if (sample->job[i].uid == uid && strcmp(sample->job[i].id, id) == 0)
            return &sample->job[i];
    return NULL;
}

static themis_tools_job_t *job_get(themis_tools_statistics_t *sample, const json_t *row)
{
    uint32_t uid = (uint32_t)themis_tools_json_number(row, "uid");
    themis_tools_job_t *job = job_find(sample, themis_tools_json_text(row, "job"), uid);

    if (job)
        return job;
    themis_tools_job_t *grown = realloc(sample->job, (sample->count + 1) * sizeof *grown);
    if (!grown)
        return NULL;
    sample->job = grown;
    job = &sample->job[sample->count++];
    *job = (themis_tools_job_t){
        .id = themis_tools_json_text(row, "job"), .uid = uid, .gid = (uint32_t)themis_tools_json_number(row, "gid")};
    return job;
}

/* Adds the counters of a job on one server. */
static void row_add(themis_tools_job_t *job, const json_t *row)
{
    uint32_t nodes = (uint32_t)themis_tools_json_number(row, "nodes"),
             priority = (uint32_t)themis_tools_json_number(row, "priority");

    job->nodes = nodes > job->nodes ? nodes : job->nodes;
    job->priority = priority > job->priority ? priority : job->priority;
    job->active |= json_is_true(json_object_get(row, "active"));
    job->bytes_read += themis_tools_json_number(row, "bytes_read");
    job->bytes_written += themis_tools_json_number(row, "bytes_written");
    job->cost += themis_tools_json_number(row, "cost_bytes");
    job->requests += themis_tools_json_number(row, "requests");
    job->queued += themis_tools_json_number(row, "queued");
    job->queued_bytes += themis_tools_json_number(row, "queued_bytes");
    job->waits += themis_tools_json_number(row, "waits");
    job->wait += themis_tools_json_number(row, "wait_s");
}

static int rows_add(themis_tools_statistics_t *sample, const json_t *rows)
{
    json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        themis_tools_job_t *job = job_get(sample, row);
        if (!job)
            return -1;
        row_add(job, row);
    }
    return 0;
}

/* What is due to a job: its share of each server, weighted by what the server moved since the last sample, or equally.
 */
static void dues_add(themis_tools_statistics_t *sample, const double *weights, double all)
{
    json_t *row;
    size_t i;

    for (uint32_t s = 0; s < sample->servers; s++)
        json_array_foreach(sample->texts[2 * s + 1], i, row)
        {
            themis_tools_job_t *job =
                job_find(sample, themis_tools_json_text(row, "job"), (uint32_t)themis_tools_json_number(row, "uid"));
            if (job)
                job->due += themis_tools_json_number(row, "share") * weights[s] / all;
        }
}

/* Counters of a server that answers only now, or has been started again, say nothing of the time between. */
static int is_comparable(const themis_tools_statistics_t *before, const themis_tools_statistics_t *sample)
{
    if (sample->time <= before->time || before->servers != sample->servers)
        return 0;
    for (uint32_t s = 0; s < sample->servers; s++) {
        const themis_tools_server_t *server = &sample->server[s], *old = &before->server[s];
        if (server->reachable != old->reachable || server->bytes_read < old->bytes_read ||
            server->bytes_written < old->bytes_written)
            return 0;
    }
    return 1;
}

/* Bytes that a server has moved since. */
static double bytes_since(const themis_tools_server_t *before, const themis_tools_server_t *server)
{
    return server->bytes_read + server->bytes_written - before->bytes_read - before->bytes_written;
}

static int dues_compute(const themis_tools_statistics_t *before, themis_tools_statistics_t *sample)
{
    double *weights = calloc(sample->servers + 1, sizeof *weights), all = 0;

    if (!weights)
        return -1;
    for (uint32_t s = 0; s < sample->servers; s++)
        all += weights[s] = before ? bytes_since(&before->server[s], &sample->server[s]) : 0;
    if (all <= 0) {
        all = 0;
        for (uint32_t s = 0; s < sample->servers; s++)
            all += weights[s] = sample->server[s].reachable;
    }
    if (all > 0)
        dues_add(sample, weights, all);
    free(weights);
    return 0;
}

/* What was known of the job; zeros where it was not there, or has left and come back since, with counters from 0. */
static themis_tools_job_t job_before(const themis_tools_statistics_t *before, const themis_tools_job_t *job)
{
    const themis_tools_job_t *old = job_find(before, job->id, job->uid);
    int is_same = old && job->bytes_read >= old->bytes_read && job->bytes_written >= old->bytes_written &&
                  job->cost >= old->cost && job->waits >= old->waits;

    return is_same ? *old : (themis_tools_job_t){0};
}

static void rates_compute(const themis_tools_statistics_t *before, themis_tools_statistics_t *sample)
{
    double seconds = (double)(sample->time - before->time) / 1e9, all = 0;

    for (uint32_t s = 0; s < sample->servers; s++) {
        themis_tools_server_t *server = &sample->server[s];
        server->read_s = (server->bytes_read - before->server[s].bytes_read) / seconds;
        server->written_s = (server->bytes_written - before->server[s].bytes_written) / seconds;
    }
    for (uint32_t i = 0; i < sample->count; i++) {
        themis_tools_job_t *job = &sample->job[i], old = job_before(before, job);
        job->read_s = (job->bytes_read - old.bytes_read) / seconds;
        job->written_s = (job->bytes_written - old.bytes_written) / seconds;
        job->got = job->cost - old.cost;
        all += job->got;
        if (job->waits > old.waits)
            job->wait_ms = 1e3 * (job->wait - old.wait) / (job->waits - old.waits);
    }
    for (uint32_t i = 0; i < sample->count && all > 0; i++)
        sample->job[i].got /= all;
}

static int job_compare(const void *a, const void *b)
{
    const themis_tools_job_t *x = a, *y = b;
    double dx = x->read_s + x->written_s, dy = y->read_s + y->written_s;

    return dx != dy ? (dx < dy ? 1 : -1) : strcmp(x->id, y->id);
}

/* The answers of server `s`, whose address is given. `again`: one that was down is tried again. Returns -1 if out of
 * memory. */
static int server_take(themis_t *session, themis_tools_statistics_t *sample, uint32_t s, const char *address, int again)
{
    const char *error = "it accepts no connection";
    json_t **texts = &sample->texts[2 * s];

    if (again || !themis_tools_session_is_down(session, s, NULL))
        texts[0] = themis_tools_json_query(session, s, "server", &error);
    texts[1] = texts[0] ? themis_tools_statistics_jobs(session, s, &error) : NULL;
    sample->server[s] = (themis_tools_server_t){.name = address, .policy = "", .draw = ""};
    snprintf(sample->server[s].error, sizeof sample->server[s].error, "%s", error);
    if (!texts[1])
        return 0;
    server_fill(&sample->server[s], texts[0]);
    return rows_add(sample, texts[1]);
}

static void missed_fill(themis_tools_statistics_t *sample)
{
    for (uint32_t s = 0; s < sample->servers; s++)
        for (uint32_t k = 0; k < sample->servers && !sample->server[s].reachable; k++)
            if (sample->server[k].reachable)
                sample->server[s].down_since =
                    themis_tools_statistics_missed(sample->texts[2 * k], s, sample->server[s].down_since);
}

int themis_tools_statistics_take(themis_t *session, const themis_tools_statistics_t *before, int again,
                                 themis_tools_statistics_t *sample)
{
    themis_session_info_t info;
    int failed = 0;

    themis_session_info(session, &info);
    *sample = (themis_tools_statistics_t){.time = themis_util_clock_now(), .servers = info.servers};
    sample->server = calloc(info.servers, sizeof *sample->server);
    sample->texts = calloc(2 * (size_t)info.servers, sizeof *sample->texts);
    sample->addresses = strdup(info.server_list);
    if (!sample->server || !sample->texts || !sample->addresses)
        return -1;
    char *rest = sample->addresses;
    for (uint32_t s = 0; s < info.servers && !failed; s++) {
        const char *address = strsep(&rest, ",");
        failed = server_take(session, sample, s, address ? address : "", again);
    }
    missed_fill(sample);
    if (before && !is_comparable(before, sample))
        before = NULL;
    if (before)
        rates_compute(before, sample);
    failed |= dues_compute(before, sample);
    if (sample->count > 1)
        qsort(sample->job, sample->count, sizeof *sample->job, job_compare);
    return failed;
}

void themis_tools_statistics_release(themis_tools_statistics_t *sample)
{
    for (uint32_t i = 0; sample->texts && i < 2 * sample->servers; i++)
        json_decref(sample->texts[i]);
    free(sample->texts);
    free(sample->addresses);
    free(sample->server);
    free(sample->job);
    *sample = (themis_tools_statistics_t){0};
}

static json_int_t whole(double value)
{
    return (json_int_t)llround(value);
}

static json_t *server_json(const themis_tools_server_t *server)
{
    if (!server->reachable) {
        json_t *json = json_pack("{s:b, s:s, s:s}", "reachable", 0, "name", server->name, "error", server->error);
        if (server->down_since > 0)
            json_object_set_new(json, "down_since_s", json_real(server->down_since));
        return json;
    }
    return json_pack("{s:b, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I}", "reachable", server->reachable, "name",
                     server->name, "policy", server->policy, "draw", server->draw, "jobs", whole(server->jobs),
                     "queued", whole(server->queued), "capacity_bytes", whole(server->capacity), "used_bytes",
                     whole(server->used), "read_bytes_per_s", whole(server->read_s), "written_bytes_per_s",
                     whole(server->written_s));
}

static json_t *job_json(const themis_tools_job_t *job)
{
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:b, s:f, s:f, s:I, s:I, s:I, s:f, s:I, s:I, s:I}", "job", job->id,
                     "uid", (json_int_t)job->uid, "gid", (json_int_t)job->gid, "nodes", (json_int_t)job->nodes,
                     "priority", (json_int_t)job->priority, "active", job->active, "share_due", job->due, "share_got",
                     job->got, "read_bytes_per_s", whole(job->read_s), "written_bytes_per_s", whole(job->written_s),
                     "queued", whole(job->queued), "wait_ms", job->wait_ms, "bytes_read", whole(job->bytes_read),
                     "bytes_written", whole(job->bytes_written), "requests", whole(job->requests));
}

json_t *themis_tools_statistics_json(const themis_tools_statistics_t *sample)
{
    json_t *servers = json_array(), *jobs = json_array();

    for (uint32_t s = 0; s < sample->servers; s++)
        json_array_append_new(servers, server_json(&sample->server[s]));
    for (uint32_t i = 0; i < sample->count; i++)
        json_array_append_new(jobs, job_json(&sample->job[i]));
    return json_pack("{s:f, s:o, s:o}", "time_s", (double)sample->time / 1e9, "servers", servers, "jobs", jobs);
}
