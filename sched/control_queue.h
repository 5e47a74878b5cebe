/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control requests of clients, which are served outside of the scheduler: administration (STATUS, POLICY, SHUTDOWN), a
 * HELLO that is repeated, and HEARTBEATs beyond those that are served at once.
 *
 * They make no job active in the policy's tree, and no job is charged for them. Instead all of them together have one
 * small account: a THEMIS_SCHED_CONTROL_PART-th of one worker's time, of which at most THEMIS_SCHED_CONTROL_BURST ns
 * may be used at once. One is served at a time, and what is beyond the account waits. So however many there are, other
 * requests lose no more than that part of a worker.
 *
 * Jobs take turns, request by request. Who asks for much delays what it asks itself: with n jobs that have control
 * requests, each of which takes at most t ns, the first one of a job waits for n of them, n * t *
 * THEMIS_SCHED_CONTROL_PART.
 *
 * Pure computation on the times that it is given; O(1), no allocation. A queue of zeros is empty. Threads: the caller
 * serialises (the engine's mutex).
 */
#ifndef THEMIS_SCHED_CONTROL_QUEUE_H
#define THEMIS_SCHED_CONTROL_QUEUE_H
#include <stdint.h>
#include "sched/job_table.h"

enum { THEMIS_SCHED_CONTROL_PART = 20 };
#define THEMIS_SCHED_CONTROL_BURST UINT64_C(50000000)

/* Embedded in each request of the engine. */
typedef struct themis_sched_control_item {
    themis_sched_job_t *job; /* that asked */
    struct themis_sched_control_item *next, *prev;
} themis_sched_control_item_t;

typedef struct themis_sched_control_queue {
    themis_sched_job_t *turns; /* list of the jobs with items; the first one's turn is next */
    uint64_t queued;           /* items */
    int serving;               /* 1: an item was taken and is not done */
    uint64_t paid;             /* ns; until when what was served is paid for */
} themis_sched_control_queue_t;

void themis_sched_control_queue_add(themis_sched_control_queue_t *queue, themis_sched_job_t *job,
                                    themis_sched_control_item_t *item);
/* Takes the next item out, if one may be served now. NULL: *wake is lowered to the time at which to ask again, if it is
 * known; otherwise that is after an add or done. */
themis_sched_control_item_t *themis_sched_control_queue_next(themis_sched_control_queue_t *queue, uint64_t now,
                                                             uint64_t *wake);
/* What was taken took `service` ns. */
void themis_sched_control_queue_done(themis_sched_control_queue_t *queue, uint64_t service, uint64_t now);
/* Takes an item out that waits. */
void themis_sched_control_queue_remove(themis_sched_control_queue_t *queue, themis_sched_control_item_t *item);
#endif
