/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The scheduler: which job's request is served next, and how many bytes of it.
 *
 * Requests wait in one queue per job. A worker calls themis_sched_next, moves at most the bytes it is told, and calls
 * themis_sched_done; a request that is not finished goes back to the head of its job's queue. What a request costs is
 * charged to its job in bytes: moved bytes for data, service time x bandwidth for metadata and small requests
 * (themis_sched_done gets both). Work-conserving: next returns something whenever any queue holds a request and the
 * device limit allows it (the comparators gift and tbf are not, on purpose).
 *
 * Behind this front stands a table of operations (themis_sched_ops_t, sched_ops.h): fifo, token (statistical or stride
 * draw over the shares of the policy), gift, tbf. Pure computation on the clock values that it is given; no allocation
 * in enqueue, next and done; O(log jobs) each.
 *
 * Threads: the caller serialises all calls (one mutex of the engine); no call blocks.
 */
#ifndef THEMIS_SERVER_SCHED_H
#define THEMIS_SERVER_SCHED_H
#include <stddef.h>
#include <stdint.h>
#include "server/jobtab.h"
#include "themis/status.h"

typedef struct themis_sched themis_sched_t;

/* Embedded in each request of the engine. `bytes` is set before enqueue; the rest is the scheduler's. */
typedef struct themis_sched_item {
    uint64_t bytes;    /* still to be moved; 0 for a metadata operation */
    themis_job_t *job; /* set by enqueue */
    uint64_t enqueued; /* ns */
    uint64_t reserved; /* what the current slice was charged in advance */
    struct themis_sched_item *next, *previous;
} themis_sched_item_t;

typedef struct themis_sched_options {
    const char *policy;     /* "fifo", "job-fair", "user-then-size-fair", ..., "gift", "tbf" */
    const char *draw;       /* "stride" or "statistical" */
    uint64_t quantum;       /* bytes of a slice; default 1 MiB */
    uint64_t bandwidth;     /* bytes/s; the device limit, 0: none */
    uint64_t seed;          /* of the statistical draw */
    uint64_t gift_interval; /* ns; default 500 ms */
    double tbf_rate;        /* requests/s of each rule; default 10000 */
} themis_sched_options_t;

void themis_sched_options_init(themis_sched_options_t *options);

/* `error` (`size` bytes) gets a text with the position of the fault when the policy is wrong (THEMIS_PARSE). */
themis_status_t themis_sched_create(const themis_sched_options_t *options, uint64_t now, char *error, size_t size,
                                    themis_sched_t **sched);
/* Queues must be empty. NULL is allowed. */
void themis_sched_destroy(themis_sched_t *sched);

/* Changes the policy without losing a request: queues stay, shares are computed anew. On failure nothing changes. */
themis_status_t themis_sched_set_policy(themis_sched_t *sched, const char *policy, const char *draw, uint64_t now,
                                        char *error, size_t size);
const char *themis_sched_policy(const themis_sched_t *sched);
const char *themis_sched_draw(const themis_sched_t *sched);

/* A job joins (before its first enqueue) and leaves (its queue is empty then; see themis_sched_drain). Changed
 * attributes of a job (nodes, priority, ...) count after themis_sched_refresh. */
themis_status_t themis_sched_add_job(themis_sched_t *sched, themis_job_t *job, uint64_t now);
void themis_sched_remove_job(themis_sched_t *sched, themis_job_t *job, uint64_t now);
void themis_sched_refresh(themis_sched_t *sched, uint64_t now);

void themis_sched_enqueue(themis_sched_t *sched, themis_job_t *job, themis_sched_item_t *item, uint64_t now);

/*
 * Takes the next item out of its queue. *slice: bytes that may be moved now (0 for metadata). NULL if there is nothing
 * to serve now; *wake is then the time at which to ask again (UINT64_MAX: only after an enqueue or done).
 */
themis_sched_item_t *themis_sched_next(themis_sched_t *sched, uint64_t now, uint64_t *slice, uint64_t *wake);

/* A slice is over: `moved` bytes in `service` ns. item->bytes is what remains now: above 0, the item is queued again.
 */
void themis_sched_done(themis_sched_t *sched, themis_sched_item_t *item, uint64_t moved, uint64_t service,
                       uint64_t now);

/* Takes a queued item out, e.g. since its client is gone. */
void themis_sched_cancel(themis_sched_t *sched, themis_sched_item_t *item);

/* Requests that wait, over all jobs. */
uint64_t themis_sched_queued(const themis_sched_t *sched);

/* The job's share of this server among the jobs that are active now, 0 to 1; 0 for policies without shares. */
double themis_sched_share(const themis_sched_t *sched, const themis_job_t *job);

/* Global allocation from the lambda exchange: this job's share here is to be `weight` (relative to the other jobs'); a
 * negative weight returns the job to its local share. */
void themis_sched_set_weight(themis_sched_t *sched, themis_job_t *job, double weight);
#endif
