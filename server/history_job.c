/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/history_job.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "util/clock.h"
#include "util/log.h"

/* Samples of a job in memory, 96 KiB. */
enum { SAMPLES = 4096 };

_Static_assert((int)THEMIS_HISTORY_SIZES == (int)THEMIS_SCHED_HISTOGRAM_BUCKETS,
               "sizes are counted as the record has them");

themis_server_history_job_t *themis_server_history_job_create(themis_sched_job_t *job, uint64_t now, uint64_t wall,
                                                              double interval)
{
    themis_server_history_job_t *made = calloc(1, sizeof *made);
    double start = (double)wall / 1e9;

    if (!made)
        return NULL;
    made->job = job;
    snprintf(made->id, sizeof made->id, "%s", job->identity.id);
    made->user = job->identity.uid;
    made->wall = wall;
    made->begun = made->written = now;
    made->start = start;
    made->interval = interval;
    /* samples of all servers begin at the same times, as far as their clocks agree */
    if (themis_history_series_make(&made->series, floor(start / interval) * interval, interval, SAMPLES) != THEMIS_OK) {
        free(made);
        return NULL;
    }
    themis_server_history_job_count(job, now, &made->last);
    made->now = made->last;
    return made;
}

void themis_server_history_job_destroy(themis_server_history_job_t *job)
{
    if (!job)
        return;
    themis_history_series_release(&job->series);
    themis_server_history_sharing_release(&job->sharing);
    free(job);
}

void themis_server_history_job_count(const themis_sched_job_t *job, uint64_t now,
                                     themis_server_history_counters_t *counters)
{
    *counters = (themis_server_history_counters_t){.read = job->bytes_read,
                                                   .written = job->bytes_written,
                                                   .requests = job->requests,
                                                   .metadata = job->metadata,
                                                   .wait_ns = job->wait_ns,
                                                   .metadata_wait_ns = job->metadata_wait_ns,
                                                   .time = now,
                                                   .heard = job->last_heard,
                                                   .nodes = job->identity.nodes,
                                                   .clients = job->clients};
    memcpy(counters->sizes, job->size.counts, sizeof counters->sizes);
}

void themis_server_history_job_summarise(themis_server_history_job_t *job)
{
    job->files = themis_server_history_sharing_files(&job->sharing);
    job->hosts = themis_server_history_sharing_hosts(&job->sharing);
    job->kind = themis_server_history_sharing_kind(&job->sharing);
    job->clients = job->most_clients;
    memcpy(job->record_application, job->application, sizeof job->application);
    memcpy(job->record_project, job->project, sizeof job->project);
}

/* s since 1970, by the clock that nobody sets. */
static double time_of(const themis_server_history_job_t *job, uint64_t time)
{
    return job->start + (time > job->begun ? (double)(time - job->begun) / 1e9 : 0);
}

static uint32_t clipped(uint64_t value)
{
    return value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

void themis_server_history_job_sample(themis_server_history_job_t *job)
{
    const themis_server_history_counters_t *now = &job->now, *last = &job->last;
    const themis_history_sample_t moved = {.read_bytes = now->read - last->read,
                                           .written_bytes = now->written - last->written,
                                           .requests = clipped(now->requests - last->requests),
                                           .metadata = clipped(now->metadata - last->metadata)};
    double begin = time_of(job, last->time), end = time_of(job, now->time);
    double bytes = (double)moved.read_bytes + (double)moved.written_bytes;

    if (bytes + moved.requests == 0) {
        job->last.time = now->time;
        return;
    }
    if (themis_history_series_add(&job->series, (begin + end) / 2, &moved) != THEMIS_OK)
        return; /* no memory: it counts with the next sample */
    job->peak = fmax(job->peak, bytes / fmax(end - begin, job->interval));
    job->last = *now;
}

int themis_server_history_job_is_worth(const themis_server_history_job_t *job)
{
    return job->now.requests > 0 || job->now.read + job->now.written > 0;
}

static void record_fill(const themis_server_history_job_t *job, int interim, themis_history_record_t *record)
{
    const themis_server_history_counters_t *now = &job->now;
    double end = time_of(job, interim ? now->time : now->heard);
    double ns = fmax(end - job->start, 1e-3) * 1e9;

    *record = (themis_history_record_t){.user = job->user,
                                        .nodes = now->nodes > job->hosts ? now->nodes : job->hosts,
                                        .io_nodes = job->hosts,
                                        .servers = 1,
                                        .clients = job->clients,
                                        .files = job->files,
                                        .start = job->start,
                                        .end = end,
                                        .interim = interim,
                                        .read_bytes = now->read,
                                        .written_bytes = now->written,
                                        .requests = now->requests,
                                        .metadata_operations = now->metadata,
                                        .metadata_waiting = (double)now->metadata_wait_ns / ns,
                                        .queue_length = (double)now->wait_ns / ns,
                                        .sharing = job->kind,
                                        .collective = -1,
                                        .peak_bandwidth = job->peak};
    memcpy(record->request_sizes, now->sizes, sizeof record->request_sizes);
    snprintf(record->job, sizeof record->job, "%s", job->id);
    snprintf(record->project, sizeof record->project, "%s", job->record_project);
    snprintf(record->application, sizeof record->application, "%s",
             *job->record_application ? job->record_application : "themis");
}

char *themis_server_history_job_line(const themis_server_history_job_t *job, int interim)
{
    themis_history_record_t record;
    char *line = NULL, error[128];

    record_fill(job, interim, &record);
    if (themis_history_phases_find(&job->series, &record.phases, NULL) != THEMIS_OK)
        record.phases = (themis_history_phases_t){0};
    if (themis_history_record_encode(&record, &job->series, &line, error, sizeof error) == THEMIS_OK)
        return line;
    themis_warn("job %s: no record in the history: %s", job->id, error);
    return NULL;
}
