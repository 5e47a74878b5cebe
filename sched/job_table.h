/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The job table: the jobs that are served, and what each of them has got. A job is active from its first contact; it
 * becomes inactive when no client of it was heard for `silence` ns (themis_sched_job_table_expire), and is then removed
 * once its queue is empty.
 *
 * Threads: the caller serialises (the engine's mutex).
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "themis/status.h"

enum { THEMIS_SCHED_JOB_ID_BYTES = 256, THEMIS_SCHED_HISTOGRAM_BUCKETS = 48 };

/* What the server's identity.c has found out about a job. */
typedef struct themis_sched_job_identity {
    uint32_t gid, nodes, priority; /* nodes and priority: 0 counts as 1 */
    /* The key: nobody joins another user's job by claiming its id. */
    uint32_t uid;
    char id[THEMIS_SCHED_JOB_ID_BYTES];
} themis_sched_job_identity_t;

/* Address and length of the key in hash tables. */
static inline const void *themis_sched_job_key(const themis_sched_job_identity_t *identity)
{
    return (const char *)identity + offsetof(themis_sched_job_identity_t, uid);
}

static inline unsigned themis_sched_job_key_bytes(const themis_sched_job_identity_t *identity)
{
    return (unsigned)(sizeof identity->uid + strnlen(identity->id, sizeof identity->id - 1));
}

/* Power-of-two buckets: counts[k] counts values in [2^k, 2^(k+1)), ns or bytes; 0 is counted with 1. */
typedef struct themis_sched_histogram {
    uint64_t counts[THEMIS_SCHED_HISTOGRAM_BUCKETS];
} themis_sched_histogram_t;

typedef struct themis_sched_job {
    struct themis_sched_entry *sched; /* the scheduler's; NULL while the job is not in it */
    /* Counters since the job joined. The engine adds bytes_read and bytes_written, the scheduler all others. */
    uint64_t queued; /* requests that wait, without those being served */
    uint64_t queued_bytes;
    uint64_t requests;            /* ended, metadata included */
    uint64_t metadata;            /* ended requests that move no data */
    uint64_t cost;                /* bytes charged */
    uint64_t wait_ns, service_ns; /* sums of what the histograms count */
    /* Up to here one cache line; a decision changes it and one bucket of each histogram. */
    uint64_t bytes_read, bytes_written;
    int active;
    uint32_t stalled;                          /* the engine's: stalled transfers of the job */
    uint32_t clients;                          /* connections */
    uint64_t number;                           /* counts up as jobs join, from 1 */
    uint64_t metadata_wait_ns;                 /* the part of wait_ns that requests without data have waited */
    struct themis_server_history_job *history; /* the server's; NULL: it keeps none of this job */
    uint64_t last_heard;                       /* ns */
    /* The control queue's: the job's waiting items, and its neighbours in the order of turns. */
    struct themis_sched_control_item *control;
    struct themis_sched_job *control_next, *control_prev;
    _Alignas(64) themis_sched_histogram_t wait; /* ns from arrival to the first slice */
    themis_sched_histogram_t service;           /* ns being served, one value per request */
    themis_sched_histogram_t size;              /* bytes of requests for data that have ended */
    themis_sched_job_identity_t identity;
    char application[THEMIS_SCHED_JOB_ID_BYTES]; /* what its clients call themselves; "": unknown. The engine's */
} themis_sched_job_t;

typedef struct themis_sched_job_table themis_sched_job_table_t;
themis_status_t themis_sched_job_table_create(themis_sched_job_table_t **table);
/* Frees all jobs, too, which must not be in a scheduler any more. NULL is allowed. */
void themis_sched_job_table_destroy(themis_sched_job_table_t *table);

/* The job of that id and uid, and one more client of it; owned by the table. *fresh is 1 if it was added, *changed if
 * it was there and became active or changed as by themis_sched_job_merge_identity. */
themis_status_t themis_sched_job_table_join(themis_sched_job_table_t *table,
                                            const themis_sched_job_identity_t *identity, uint64_t now,
                                            themis_sched_job_t **job, int *fresh, int *changed);
/* Of nodes and priority the largest that any client of the job names counts. 1: that has changed the job. */
int themis_sched_job_merge_identity(themis_sched_job_t *job, const themis_sched_job_identity_t *identity);
/* A client is gone; the job stays until it expires. */
void themis_sched_job_table_leave(themis_sched_job_table_t *table, themis_sched_job_t *job, uint64_t now);
/* The job was heard: a request or a heartbeat. */
void themis_sched_job_table_touch(themis_sched_job_table_t *table, themis_sched_job_t *job, uint64_t now);

/* Makes active jobs inactive that were silent for `silence` ns, or that have no client and no queued request; calls
 * `expired` (may be NULL) for each of them, which may remove it. */
void themis_sched_job_table_expire(themis_sched_job_table_t *table, uint64_t now, uint64_t silence,
                                   void (*expired)(void *arg, themis_sched_job_t *job), void *arg);
/* Removes a job, which is not in a scheduler any more, and frees it. */
void themis_sched_job_table_remove(themis_sched_job_table_t *table, themis_sched_job_t *job);
/* First and next in order of joining; NULL at the end. */
themis_sched_job_t *themis_sched_job_table_first(themis_sched_job_table_t *table);
themis_sched_job_t *themis_sched_job_table_next(themis_sched_job_table_t *table, themis_sched_job_t *job);
/* The job of that id and uid, or NULL. */
themis_sched_job_t *themis_sched_job_table_find(themis_sched_job_table_t *table, const char *id, uint32_t uid);
uint32_t themis_sched_job_table_count(const themis_sched_job_table_t *table);

/* Adds a value to a histogram. */
void themis_sched_histogram_add(themis_sched_histogram_t *histogram, uint64_t value);
/* Number of values in it. */
uint64_t themis_sched_histogram_count(const themis_sched_histogram_t *histogram);
/* Upper edge, in ns, of the bucket below which the fraction `q` (0 to 1) of all values lies; 0 when it is empty. */
uint64_t themis_sched_histogram_quantile(const themis_sched_histogram_t *histogram, double q);
