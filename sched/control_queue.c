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
    /* The account is overdrawn by no more than one item: its part of the time since must have paid for the rest. */
    uint64_t ahead = THEMIS_SCHED_CONTROL_PART * THEMIS_SCHED_CONTROL_BURST;
    if (queue->paid > now + ahead) {
        *wake = queue->paid - ahead < *wake ? queue->paid - ahead : *wake;
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
    queue->paid = (queue->paid > now ? queue->paid : now) + THEMIS_SCHED_CONTROL_PART * service;
}
