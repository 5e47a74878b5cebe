/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Control requests of clients, which are served outside of the scheduler: administration (STATUS, POLICY, SHUTDOWN), a
 * repeated HELLO, and HEARTBEATs beyond those that are served at once.
 *
 * They make no job active in the policy's tree, and no job is charged for them. Instead all of them together have one
 * token bucket: 1 / THEMIS_SCHED_CONTROL_DIVISOR of one worker's time, of which at most THEMIS_SCHED_CONTROL_BURST ns
 * may be used at once. One is served at a time, and those beyond the budget wait. So however many there are, other
 * requests lose no more than that part of a worker.
 *
 * Jobs take turns, request by request. A job with many requests delays only its own: with n jobs that have control
 * requests, each of which takes at most t ns, the first one of a job waits for n of them, n * t *
 * THEMIS_SCHED_CONTROL_DIVISOR.
 *
 * Pure computation on the times that it is given; O(1), no allocation. A queue of zeros is empty. Threads: the caller
 * serialises (the engine's mutex).
 */
#pragma once
#include <stdint.h>
#include "sched/job_table.h"

enum { THEMIS_SCHED_CONTROL_DIVISOR = 20 };
#define THEMIS_SCHED_CONTROL_BURST UINT64_C(50000000)

/* Embedded in each request of the engine. */
typedef struct themis_sched_control_item {
    themis_sched_job_t *job; /* that sent the request */
    struct themis_sched_control_item *next, *prev;
} themis_sched_control_item_t;

typedef struct themis_sched_control_queue {
    themis_sched_job_t *turns; /* utlist of the jobs with items; the first one is next */
    uint64_t queued;           /* items */
    int serving;               /* 1: an item is being served */
    uint64_t charged_until;    /* ns; when the budget will have covered what was served */
} themis_sched_control_queue_t;

void themis_sched_control_queue_add(themis_sched_control_queue_t *queue, themis_sched_job_t *job,
                                    themis_sched_control_item_t *item);
/* Removes and returns the next item, if one may be served now. NULL: *wake is lowered to the time at which to ask
 * again, if it is known; otherwise that is after an add or done. */
themis_sched_control_item_t *themis_sched_control_queue_next(themis_sched_control_queue_t *queue, uint64_t now,
                                                             uint64_t *wake);
/* The item that themis_sched_control_queue_next returned was served in `service` ns. */
void themis_sched_control_queue_done(themis_sched_control_queue_t *queue, uint64_t service, uint64_t now);
/* Removes an item that waits. */
void themis_sched_control_queue_remove(themis_sched_control_queue_t *queue, themis_sched_control_item_t *item);
