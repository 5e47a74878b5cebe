/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The scheduler: which job's request is served next, and how many bytes of it.
 *
 * Requests wait in one queue per job. A worker calls themis_sched_next, moves at most the bytes it is told, and calls
 * themis_sched_done; a request that is not finished goes back to the head of its job's queue. A job is charged in
 * bytes: those that were moved; for metadata operations, and for data requests that move less than 4 KiB, service time
 * x bandwidth. The charge is made in advance (an estimate for metadata) and corrected by themis_sched_done, so that any
 * number of workers shares one account per job.
 *
 * Work-conserving: next returns something whenever any queue holds a request and the bandwidth limit allows it (the
 * comparators gift and tbf are not, on purpose). A job without requests leaves its share to the others in proportion;
 * after a second without any it is left out of the policy's tree, so that its user's other jobs get its part.
 *
 * Starvation: under the draw `stride` a job of share s whose queue is not empty is served within
 *     ((q / s) + (n - 1) * q + w * quantum) / bandwidth + 2 * THEMIS_SCHED_GRACE,
 * n jobs, w workers, q the quantum, or 1 + THEMIS_SCHED_PHASE quanta where jobs have only one request at a time. (Start
 * tags lie at most q/s behind the virtual time; each other job exceeds its own part by at most q; and jobs that were
 * idle for less than the grace may catch up on what they missed.) Under `statistical` it waits more than k slices with
 * probability (1 - s)^k, slices being equal.
 *
 * How the next job is chosen is up to a table of operations (draw.h): the draws stride and statistical over the shares
 * of the policy; fifo; min-dilation; and the comparators. Pure computation on the times that it is given; no allocation
 * in enqueue, next, done and cancel; O(log jobs) each, except that gift looks at all jobs, and that shares are
 * recomputed, in O(jobs), when jobs become active or idle.
 *
 * Threads: the caller serialises all calls (one mutex of the engine); no call blocks.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "sched/job_table.h"
#include "sched/periodic.h"
#include "themis/status.h"

typedef struct themis_sched themis_sched_t;

/* ns: a job that was without requests for less than this keeps its full share, so that clients with one request at a
 * time get theirs. */
#define THEMIS_SCHED_GRACE UINT64_C(20000000)

/* Under `stride`: the most quanta by which a job with one request at a time is shifted to a later time. */
enum { THEMIS_SCHED_PHASE = 16 };

/* Embedded in each request of the engine. `bytes` is set before enqueue; the rest belongs to the scheduler. */
typedef struct themis_sched_item {
    uint64_t bytes;          /* still to be moved; 0 for a metadata operation */
    themis_sched_job_t *job; /* set by enqueue */
    uint64_t enqueued;       /* ns */
    uint64_t sequence;       /* order of arrival over all jobs */
    uint64_t total;          /* bytes at enqueue; 0: metadata */
    uint64_t service;        /* ns so far */
    uint64_t reserved;       /* bytes that the current slice was charged in advance */
    struct themis_sched_item *next, *prev;
} themis_sched_item_t;

typedef struct themis_sched_options {
    const char *policy;      /* "fifo", "job-fair", "user-then-size-fair", ... (policy.h) */
    const char *draw;        /* "stride" or "statistical" */
    uint64_t quantum;        /* bytes of a slice; default 1 MiB */
    uint64_t bandwidth;      /* bytes/s; the bandwidth limit of the store, 0: none */
    uint64_t seed;           /* of the random numbers */
    uint64_t gift_interval;  /* ns; default 500 ms */
    double tbf_rate;         /* requests/s of each rule; default 10000 */
    uint64_t node_bandwidth; /* bytes/s that one node can move at this server, for min-dilation; default 0: unknown */
} themis_sched_options_t;

void themis_sched_options_init(themis_sched_options_t *options);

/* THEMIS_PARSE: the policy is wrong; `error` (`size` bytes) says where. */
themis_status_t themis_sched_create(const themis_sched_options_t *options, uint64_t now, char *error, size_t size,
                                    themis_sched_t **sched);
/* Queues must be empty. NULL is allowed. */
void themis_sched_destroy(themis_sched_t *sched);

/* Changes the policy without losing a request: queues stay, shares are recomputed. On failure nothing changes. */
themis_status_t themis_sched_set_policy(themis_sched_t *sched, const char *policy, const char *draw, uint64_t now,
                                        char *error, size_t size);
const char *themis_sched_policy(const themis_sched_t *sched);
const char *themis_sched_draw(const themis_sched_t *sched);

/* A plan of periodic I/O, sealed, handed over; NULL: none. It is in force while the policy is a periodic one; until
 * there is a plan such a policy shares as its chain says. */
void themis_sched_set_plan(themis_sched_t *sched, themis_sched_periodic_t *plan, uint64_t now);
/* Borrowed until the next one is set; NULL: there is none. */
const themis_sched_periodic_t *themis_sched_plan(const themis_sched_t *sched);
/* What tells the plan that is in force from others; "": none is, or nothing does. Borrowed as the plan. */
const char *themis_sched_plan_identity(const themis_sched_t *sched);
/* The part of the job's bytes, 0 to 1, that was moved in its windows in the last period in which it did I/O (1 until
 * the first one ends); negative: it has no lane in a plan that is in force. */
double themis_sched_plan_fit(const themis_sched_t *sched, const themis_sched_job_t *job);

/* A job joins before its first enqueue, and leaves when themis_sched_is_busy is 0. Changed attributes of jobs (nodes,
 * priority, application) take effect with themis_sched_refresh. A job whose `active` is 0 and that has no request has
 * no share. */
themis_status_t themis_sched_add_job(themis_sched_t *sched, themis_sched_job_t *job, uint64_t now);
void themis_sched_remove_job(themis_sched_t *sched, themis_sched_job_t *job, uint64_t now);
void themis_sched_refresh(themis_sched_t *sched, uint64_t now);
/* 1 for a job that has sent requests for data or metadata; monitoring clients (themis status) have not, and take no
 * share. */
int themis_sched_has_requested(const themis_sched_t *sched, const themis_sched_job_t *job);
/* 1 while the job has requests that wait or are being served. */
int themis_sched_is_busy(const themis_sched_t *sched, const themis_sched_job_t *job);

void themis_sched_enqueue(themis_sched_t *sched, themis_sched_job_t *job, themis_sched_item_t *item, uint64_t now);

/*
 * Removes the next item from its queue and returns it. *slice: bytes that may be moved now (0 for metadata). NULL if
 * there is nothing to serve now; *wake is then the time at which to ask again (UINT64_MAX: only after an enqueue or
 * done).
 */
themis_sched_item_t *themis_sched_next(themis_sched_t *sched, uint64_t now, uint64_t *slice, uint64_t *wake);

/* The same while no bytes can be moved: only a metadata operation at the head of its job's queue, jobs in turn. It is
 * charged like any other, so that the other jobs get their shares later. */
themis_sched_item_t *themis_sched_next_metadata(themis_sched_t *sched, uint64_t now, uint64_t *wake);

/* A slice is finished: `moved` bytes in `service` ns. item->bytes, set by the caller, is what remains (0 may end a
 * request early): above 0, the item is queued again. */
void themis_sched_done(themis_sched_t *sched, themis_sched_item_t *item, uint64_t moved, uint64_t service,
                       uint64_t now);

/* Removes a queued item, for example because its client is gone; not one that is being served. */
void themis_sched_cancel(themis_sched_t *sched, themis_sched_item_t *item, uint64_t now);

/* While held (`hold` 1) the job is passed over, though its queue still takes requests. */
void themis_sched_hold(themis_sched_t *sched, themis_sched_job_t *job, int hold, uint64_t now);

/*
 * The job has moved `bytes` without requests. They count as its usage, and keep it in the policy's tree. Where other
 * jobs have requests it is charged for them, too, but is never set back by more than THEMIS_SCHED_PHASE quanta; what it
 * moved while it was alone is not held against it, as with requests. Only the draw `stride` takes account of that, and
 * no bandwidth limit does.
 */
void themis_sched_charge(themis_sched_t *sched, themis_sched_job_t *job, uint64_t bytes, uint64_t now);
/* 1 if no other job has requests that wait or are being served. */
int themis_sched_is_alone(const themis_sched_t *sched, const themis_sched_job_t *job);

/* Requests that wait, over all jobs. */
uint64_t themis_sched_queued(const themis_sched_t *sched);

/* The job's present share of this server, 0 to 1, among the jobs that had requests within the last second; 0 for
 * policies without shares. */
double themis_sched_share(const themis_sched_t *sched, const themis_sched_job_t *job);

/* Global allocation from the lambda exchange: the job's share here, relative to that of other jobs with a weight; a
 * negative weight returns the job to its local share. */
void themis_sched_set_weight(themis_sched_t *sched, themis_sched_job_t *job, double weight);

/* Bytes that the job was charged since the last call, and in *busy the part of that time in which it had requests, 0 to
 * 1; the lambda exchange asks once a round. */
uint64_t themis_sched_collect_usage(themis_sched_t *sched, themis_sched_job_t *job, uint64_t now, double *busy);

/* The policy's tree over the active jobs as text; owned by the caller (free), NULL when memory is short. */
char *themis_sched_explain(themis_sched_t *sched, uint64_t now);
