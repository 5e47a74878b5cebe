/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/sched/rig.h"
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

themis_sched_options_t rig_options(const char *policy, const char *draw)
{
    themis_sched_options_t made;

    themis_sched_options_init(&made);
    made.policy = policy;
    made.draw = draw;
    return made;
}

void rig_create(rig_t *rig, const themis_sched_options_t *options, int workers, int count)
{
    char error[256] = "";

    *rig = (rig_t){.now = 1000000000, .speed = 1, .metadata_time = 10000, .workers = workers};
    ck_assert_msg(themis_sched_create(options, rig->now, error, sizeof error, &rig->sched) == THEMIS_OK, "%s", error);
    ck_assert_int_eq(themis_sched_job_table_create(&rig->table), THEMIS_OK);
    rig->jobs = calloc((size_t)count, sizeof *rig->jobs);
    ck_assert_ptr_nonnull(rig->jobs);
}

void rig_destroy(rig_t *rig)
{
    themis_sched_destroy(rig->sched);
    themis_sched_job_table_destroy(rig->table);
    free(rig->jobs);
    *rig = (rig_t){0};
}

rig_job_t *rig_add(rig_t *rig, const char *id, uint32_t uid, uint32_t gid, uint32_t nodes, uint64_t bytes, int depth)
{
    themis_sched_job_identity_t identity = {.uid = uid, .gid = gid, .nodes = nodes, .priority = nodes};
    rig_job_t *job = &rig->jobs[rig->count++];
    int fresh, changed;

    snprintf(identity.id, sizeof identity.id, "%s", id);
    ck_assert_int_eq(themis_sched_job_table_join(rig->table, &identity, rig->now, &job->job, &fresh, &changed),
                     THEMIS_OK);
    ck_assert_int_eq(fresh, 1);
    ck_assert_int_eq(themis_sched_add_job(rig->sched, job->job, rig->now), THEMIS_OK);
    job->bytes = bytes;
    job->depth = depth;
    job->end = UINT64_MAX;
    return job;
}

static rig_job_t *job_of(rig_t *rig, const themis_sched_item_t *item)
{
    for (int i = 0; i < rig->count; i++)
        if (rig->jobs[i].job == item->job)
            return &rig->jobs[i];
    return NULL;
}

static uint64_t next_bytes(rig_job_t *job)
{
    if (job->file == 0)
        return job->bytes;
    uint64_t bytes = job->file - job->offset < job->bytes ? job->file - job->offset : job->bytes;
    job->offset = (job->offset + bytes) % job->file;
    return bytes;
}

static void send_requests(rig_t *rig)
{
    for (int i = 0; i < rig->count; i++) {
        rig_job_t *job = &rig->jobs[i];
        for (int k = 0; k < job->depth; k++) {
            rig_item_t *item = &job->items[k];
            if (item->ready > rig->now || rig->now < job->start || rig->now >= job->end)
                continue;
            if (job->job->queued == 0)
                job->headed = rig->now;
            item->item.bytes = next_bytes(job);
            item->ready = UINT64_MAX;
            item->asked = rig->now;
            item->slices = 0;
            themis_sched_enqueue(rig->sched, job->job, &item->item, rig->now);
        }
    }
}

static void end_slices(rig_t *rig)
{
    for (int w = 0; w < rig->workers; w++) {
        themis_sched_item_t *item = rig->worker[w].item;
        if (item == NULL || rig->worker[w].until > rig->now)
            continue;
        rig_job_t *job = job_of(rig, item);
        uint64_t slice = rig->worker[w].slice;
        rig->worker[w].item = NULL;
        item->bytes -= slice;
        job->moved += slice;
        if (job->job->queued == 0)
            job->headed = rig->now;
        themis_sched_done(rig->sched, item, slice, rig->now - rig->worker[w].started, rig->now);
        if (item->bytes == 0)
            ((rig_item_t *)item)->ready = rig->now + job->think;
    }
}

/* Gives work to free workers; returns the time at which to ask again. */
static uint64_t start_slices(rig_t *rig)
{
    uint64_t wake = UINT64_MAX;

    for (int w = 0; w < rig->workers; w++) {
        if (rig->worker[w].item != NULL)
            continue;
        uint64_t slice;
        themis_sched_item_t *item = themis_sched_next(rig->sched, rig->now, &slice, &wake);
        if (item == NULL)
            break;
        rig_job_t *job = job_of(rig, item);
        uint64_t waited = rig->now - job->headed;
        job->longest = waited > job->longest ? waited : job->longest;
        job->headed = rig->now;
        ((rig_item_t *)item)->slices++;
        rig->worker[w].item = item;
        rig->worker[w].slice = slice;
        rig->worker[w].started = rig->now;
        uint64_t service = slice == 0 ? rig->metadata_time : rig->overhead + (uint64_t)((double)slice / rig->speed);
        rig->worker[w].until = rig->now + service;
    }
    return wake;
}

static uint64_t next_event(const rig_t *rig, uint64_t wake)
{
    uint64_t next = wake;

    for (int w = 0; w < rig->workers; w++)
        if (rig->worker[w].item != NULL && rig->worker[w].until < next)
            next = rig->worker[w].until;
    for (int i = 0; i < rig->count; i++)
        for (int k = 0; k < rig->jobs[i].depth; k++) {
            uint64_t ready = rig->jobs[i].items[k].ready;
            if (ready == UINT64_MAX || rig->now >= rig->jobs[i].end)
                continue;
            ready = ready < rig->jobs[i].start ? rig->jobs[i].start : ready;
            next = ready < next ? ready : next;
        }
    return next;
}

void rig_run(rig_t *rig, uint64_t end)
{
    while (rig->now < end) {
        end_slices(rig);
        send_requests(rig);
        uint64_t wake = start_slices(rig);
        uint64_t next = next_event(rig, wake);
        int busy = 0;
        for (int w = 0; w < rig->workers; w++)
            busy += rig->worker[w].item != NULL;
        next = next > end ? end : next;
        next = next <= rig->now ? rig->now + 1 : next;
        if (busy < rig->workers && themis_sched_queued(rig->sched) > 0 && wake == UINT64_MAX)
            rig->idle_while_queued += next - rig->now;
        rig->now = next;
    }
}

void rig_run_seconds(rig_t *rig, double seconds)
{
    rig_run(rig, rig->now + (uint64_t)(seconds * 1e9));
}

void rig_reset(rig_t *rig)
{
    for (int i = 0; i < rig->count; i++) {
        rig->jobs[i].moved = 0;
        rig->jobs[i].longest = 0;
    }
    rig->idle_while_queued = 0;
}

double rig_part(const rig_t *rig, const rig_job_t *job)
{
    uint64_t all = 0;

    for (int i = 0; i < rig->count; i++)
        all += rig->jobs[i].moved;
    return all == 0 ? 0 : (double)job->moved / (double)all;
}

void rig_expect_part(const rig_t *rig, const rig_job_t *job, double expected, double tolerance)
{
    double part = rig_part(rig, job);

    ck_assert_msg(fabs(part / expected - 1) <= tolerance, "%s has %.4f, not %.4f", job->job->identity.id, part,
                  expected);
}
