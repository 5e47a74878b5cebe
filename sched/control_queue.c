/* SPDX-License-Identifier: BSD-3-Clause */
#include "sched/control_queue.h"
#include <stddef.h>
#include <utlist.h>

void themis_sched_control_queue_add(themis_sched_control_queue_t *queue, themis_sched_job_t *job,
                                    themis_sched_control_item_t *item)
{
    if (job->control == NULL)
        DL_APPEND2(queue->turns, job, control_prev, control_next);
    item->job = job;
    DL_APPEND(job->control, item);
    queue->queued++;
}

void themis_sched_control_queue_remove(themis_sched_control_queue_t *queue, themis_sched_control_item_t *item)
{
    themis_sched_job_t *job = item->job;

    DL_DELETE(job->control, item);
    if (job->control == NULL)
        DL_DELETE2(queue->turns, job, control_prev, control_next);
    queue->queued--;
}

themis_sched_control_item_t *themis_sched_control_queue_next(themis_sched_control_queue_t *queue, uint64_t now,
                                                             uint64_t *wake)
{
    themis_sched_job_t *job = queue->turns;

    if (job == NULL || queue->serving)
        return NULL;
    /* The budget may be exceeded by one item: no further one until the debt is within the burst. */
    uint64_t ahead = THEMIS_SCHED_CONTROL_DIVISOR * THEMIS_SCHED_CONTROL_BURST;
    if (queue->charged_until > now + ahead) {
        *wake = queue->charged_until - ahead < *wake ? queue->charged_until - ahead : *wake;
        return NULL;
    }
    themis_sched_control_item_t *item = job->control;
    themis_sched_control_queue_remove(queue, item);
    if (job->control != NULL) {
        DL_DELETE2(queue->turns, job, control_prev, control_next);
        DL_APPEND2(queue->turns, job, control_prev, control_next);
    }
    queue->serving = 1;
    return item;
}

void themis_sched_control_queue_done(themis_sched_control_queue_t *queue, uint64_t service, uint64_t now)
{
    queue->serving = 0;
    queue->charged_until =
        (queue->charged_until > now ? queue->charged_until : now) + THEMIS_SCHED_CONTROL_DIVISOR * service;
}
