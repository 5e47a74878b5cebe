/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/statistics.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "util/clock.h"

static double number(const json_t *object, const char *name)
{
    return json_number_value(json_object_get(object, name));
}

static const char *word(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? text : "";
}

static json_t *ask(themis_t *session, uint32_t server, const char *what)
{
    char *text;

    if (themis_query(session, server, what, &text) != THEMIS_OK)
        return NULL;
    json_t *json = json_loads(text, 0, NULL);
    free(text);
    return json;
}

/* Only jobs that have asked for something: who looks on is none. */
static void add_asked(json_t *jobs, const json_t *page)
{
    json_t *row;
    size_t i;

    json_array_foreach(page, i, row)
    {
        if (json_is_true(json_object_get(row, "asked")))
            json_array_append(jobs, row);
    }
}

json_t *themis_tools_jobs_ask(themis_t *session, uint32_t server)
{
    json_t *jobs = json_array(), *page;
    char question[40] = "jobs";
    double before, last = 0;

    do {
        page = ask(session, server, question);
        if (!page) {
            json_decref(jobs);
            return NULL;
        }
        before = last;
        last = number(json_array_get(page, json_array_size(page) - 1), "number"); /* 0 of an empty page */
        add_asked(jobs, page);
        json_decref(page);
        snprintf(question, sizeof question, "jobs %.0f", last);
    } while (last > before);
    return jobs;
}

static void fill_server(themis_tools_server_t *server, const json_t *json)
{
    const json_t *sharing = json_object_get(json, "sharing");

    *server = (themis_tools_server_t){.reachable = 1,
                                      .name = word(json, "name"),
                                      .policy = word(sharing, "policy"),
                                      .draw = word(sharing, "draw"),
                                      .error = "",
                                      .jobs = number(json, "jobs"),
                                      .queued = number(json, "queued"),
                                      .capacity = number(json, "capacity_bytes"),
                                      .used = number(json, "used_bytes"),
                                      .bytes_read = number(json, "bytes_read"),
                                      .bytes_written = number(json, "bytes_written")};
}

static themis_tools_job_t *find_job(const themis_tools_sample_t *sample, const char *id, uint32_t uid)
{
    for (uint32_t i = 0; i < sample->count; i++)
        if (sample->job[i].uid == uid && strcmp(sample->job[i].id, id) == 0)
            return &sample->job[i];
    return NULL;
}

static themis_tools_job_t *obtain_job(themis_tools_sample_t *sample, const json_t *row)
{
    uint32_t uid = (uint32_t)number(row, "uid");
    themis_tools_job_t *job = find_job(sample, word(row, "job"), uid);

    if (job)
        return job;
    themis_tools_job_t *grown = realloc(sample->job, (sample->count + 1) * sizeof *grown);
    if (!grown)
        return NULL;
    sample->job = grown;
    job = &sample->job[sample->count++];
    *job = (themis_tools_job_t){.id = word(row, "job"), .uid = uid, .gid = (uint32_t)number(row, "gid")};
    return job;
}

/* Adds one server's row of a job. */
static void add_row(themis_tools_job_t *job, const json_t *row)
{
    uint32_t nodes = (uint32_t)number(row, "nodes"), priority = (uint32_t)number(row, "priority");

    job->nodes = nodes > job->nodes ? nodes : job->nodes;
    job->priority = priority > job->priority ? priority : job->priority;
    job->active |= json_is_true(json_object_get(row, "active"));
    job->bytes_read += number(row, "bytes_read");
    job->bytes_written += number(row, "bytes_written");
    job->cost += number(row, "cost_bytes");
    job->requests += number(row, "requests");
    job->queued += number(row, "queued");
    job->queued_bytes += number(row, "queued_bytes");
    job->waits += number(row, "waits");
    job->wait += number(row, "wait_s");
}

static int add_rows(themis_tools_sample_t *sample, const json_t *rows)
{
    json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        themis_tools_job_t *job = obtain_job(sample, row);
        if (!job)
            return -1;
        add_row(job, row);
    }
    return 0;
}

/* What is due to a job: its share of each server, by what the server moved since the last sample, or alike. */
static void add_dues(themis_tools_sample_t *sample, const double *weights, double all)
{
    json_t *row;
    size_t i;

    for (uint32_t s = 0; s < sample->servers; s++)
        json_array_foreach(sample->texts[2 * s + 1], i, row)
        {
            themis_tools_job_t *job = find_job(sample, word(row, "job"), (uint32_t)number(row, "uid"));
            if (job)
                job->due += number(row, "share") * weights[s] / all;
        }
}

static double server_weight(const themis_tools_sample_t *before, const themis_tools_server_t *server, uint32_t index)
{
    const themis_tools_server_t *old = before && index < before->servers ? &before->server[index] : NULL;

    if (!old)
        return 0;
    return server->bytes_read + server->bytes_written - old->bytes_read - old->bytes_written;
}

static int compute_dues(const themis_tools_sample_t *before, themis_tools_sample_t *sample)
{
    double *weights = calloc(sample->servers + 1, sizeof *weights), all = 0;

    if (!weights)
        return -1;
    for (uint32_t s = 0; s < sample->servers; s++)
        all += weights[s] = server_weight(before, &sample->server[s], s);
    if (all <= 0) {
        all = 0;
        for (uint32_t s = 0; s < sample->servers; s++)
            all += weights[s] = sample->server[s].reachable;
    }
    if (all > 0)
        add_dues(sample, weights, all);
    free(weights);
    return 0;
}

static void compute_rates(const themis_tools_sample_t *before, themis_tools_sample_t *sample)
{
    double seconds = (double)(sample->time - before->time) / 1e9, all = 0;

    for (uint32_t s = 0; s < sample->servers && s < before->servers; s++) {
        themis_tools_server_t *server = &sample->server[s];
        server->read_s = (server->bytes_read - before->server[s].bytes_read) / seconds;
        server->written_s = (server->bytes_written - before->server[s].bytes_written) / seconds;
    }
    for (uint32_t i = 0; i < sample->count; i++) {
        static const themis_tools_job_t none;
        themis_tools_job_t *job = &sample->job[i];
        const themis_tools_job_t *found = find_job(before, job->id, job->uid), *old = found ? found : &none;
        job->read_s = (job->bytes_read - old->bytes_read) / seconds;
        job->written_s = (job->bytes_written - old->bytes_written) / seconds;
        job->got = job->cost - old->cost;
        all += job->got;
        if (job->waits > old->waits)
            job->wait_ms = 1e3 * (job->wait - old->wait) / (job->waits - old->waits);
    }
    for (uint32_t i = 0; i < sample->count && all > 0; i++)
        sample->job[i].got /= all;
}

static int compare(const void *a, const void *b)
{
    const themis_tools_job_t *x = a, *y = b;
    double dx = x->read_s + x->written_s, dy = y->read_s + y->written_s;

    return dx != dy ? (dx < dy ? 1 : -1) : strcmp(x->id, y->id);
}

int themis_tools_sample_take(themis_t *session, const themis_tools_sample_t *before, themis_tools_sample_t *sample)
{
    themis_session_info_t info;
    int failed = 0;

    themis_session_info(session, &info);
    *sample = (themis_tools_sample_t){.time = themis_util_clock_now(), .servers = info.servers};
    sample->server = calloc(info.servers, sizeof *sample->server);
    sample->texts = calloc(2 * (size_t)info.servers, sizeof *sample->texts);
    if (!sample->server || !sample->texts)
        return -1;
    for (uint32_t s = 0; s < info.servers && !failed; s++) {
        json_t **texts = &sample->texts[2 * s];
        texts[0] = ask(session, s, "server");
        texts[1] = texts[0] ? themis_tools_jobs_ask(session, s) : NULL;
        if (texts[1]) {
            fill_server(&sample->server[s], texts[0]);
            failed = add_rows(sample, texts[1]);
        } else {
            sample->server[s] = (themis_tools_server_t){.name = "", .policy = "", .draw = "", .error = "no answer"};
        }
    }
    if (before && sample->time > before->time)
        compute_rates(before, sample);
    failed |= compute_dues(before, sample);
    if (sample->count > 1)
        qsort(sample->job, sample->count, sizeof *sample->job, compare);
    return failed;
}

void themis_tools_sample_release(themis_tools_sample_t *sample)
{
    for (uint32_t i = 0; sample->texts && i < 2 * sample->servers; i++)
        json_decref(sample->texts[i]);
    free(sample->texts);
    free(sample->server);
    free(sample->job);
    *sample = (themis_tools_sample_t){0};
}

static json_t *server_json(const themis_tools_server_t *server)
{
    return json_pack("{s:b, s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:f, s:f}", "reachable", server->reachable, "name",
                     server->name, "policy", server->policy, "draw", server->draw, "jobs", server->jobs, "queued",
                     server->queued, "capacity_bytes", server->capacity, "used_bytes", server->used, "read_bytes_per_s",
                     server->read_s, "written_bytes_per_s", server->written_s);
}

static json_t *job_json(const themis_tools_job_t *job)
{
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:b, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "job", job->id,
                     "uid", (json_int_t)job->uid, "gid", (json_int_t)job->gid, "nodes", (json_int_t)job->nodes,
                     "priority", (json_int_t)job->priority, "active", job->active, "share_due", job->due, "share_got",
                     job->got, "read_bytes_per_s", job->read_s, "written_bytes_per_s", job->written_s, "queued",
                     job->queued, "wait_ms", job->wait_ms, "bytes_read", job->bytes_read, "bytes_written",
                     job->bytes_written, "requests", job->requests);
}

json_t *themis_tools_sample_json(const themis_tools_sample_t *sample)
{
    json_t *servers = json_array(), *jobs = json_array();

    for (uint32_t s = 0; s < sample->servers; s++)
        json_array_append_new(servers, server_json(&sample->server[s]));
    for (uint32_t i = 0; i < sample->count; i++)
        json_array_append_new(jobs, job_json(&sample->job[i]));
    return json_pack("{s:f, s:o, s:o}", "time_s", (double)sample->time / 1e9, "servers", servers, "jobs", jobs);
}

const char *themis_tools_bytes(double bytes, char *text)
{
    static const char units[] = " KMGTPE";
    int unit = 0;

    while (bytes >= 999.5 && units[unit + 1] != '\0') {
        bytes /= 1024;
        unit++;
    }
    if (unit == 0)
        snprintf(text, 8, "%.0f", bytes);
    else
        snprintf(text, 8, "%.*f%c", bytes < 9.995 ? 2 : bytes < 99.95 ? 1 : 0, bytes, units[unit]);
    return text;
}

const char *themis_tools_count(double count, char *text)
{
    static const char units[] = " kMGTPE";
    int unit = 0;

    if (count < 99999.5) {
        snprintf(text, 8, "%.0f", count);
        return text;
    }
    while (count >= 999.5 && units[unit + 1] != '\0') {
        count /= 1000;
        unit++;
    }
    snprintf(text, 8, "%.*f%c", count < 9.995 ? 2 : count < 99.95 ? 1 : 0, count, units[unit]);
    return text;
}
