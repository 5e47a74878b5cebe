/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The job table: who is served, and what each job has got. A job is active from its first contact; it is inactive when
 * no client of it was heard for `limit` heartbeats, and leaves the table when its queue is empty then.
 *
 * Threads: the caller serialises (the engine's mutex).
 */
#ifndef THEMIS_SERVER_JOBTAB_H
#define THEMIS_SERVER_JOBTAB_H
#include <stdint.h>
#include "themis/status.h"

enum { THEMIS_JOB_ID_BYTES = 256 };

/* What a job is, as identity.c decided. */
typedef struct themis_job_identity {
    char id[THEMIS_JOB_ID_BYTES]; /* unique together with uid: nobody joins another user's job by claiming its id */
    uint32_t uid, gid, nodes, priority;
} themis_job_identity_t;

/* Power-of-two buckets: counts[k] counts values in [2^k, 2^(k+1)) ns. */
typedef struct themis_histogram {
    uint64_t counts[48];
    uint64_t sum, count;
} themis_histogram_t;

typedef struct themis_job {
    themis_job_identity_t identity;
    int active;
    uint32_t clients;    /* connections */
    uint64_t last_heard; /* ns */
    /* counters since the job joined */
    uint64_t bytes_read, bytes_written, requests, metadata;
    uint64_t cost;   /* bytes charged */
    uint64_t queued; /* requests that wait */
    uint64_t queued_bytes;
    themis_histogram_t wait, service; /* ns in the queue; ns being served */
    void *sched;                      /* the scheduler's part, NULL outside of it */
    void *hash[8];                    /* the table's part */
} themis_job_t;

typedef struct themis_jobtab themis_jobtab_t;
themis_status_t themis_jobtab_create(themis_jobtab_t **table);
void themis_jobtab_destroy(themis_jobtab_t *table);

/* The job of that id and uid; made, and *fresh set to 1, if it is new. Changed nodes or priority of an existing job are
 * taken over (the largest that any of its clients named) and reported in *changed. Owned by the table. */
themis_status_t themis_jobtab_join(themis_jobtab_t *table, const themis_job_identity_t *identity, uint64_t now,
                                   themis_job_t **job, int *fresh, int *changed);
/* A client is gone; the job stays until it is expired. */
void themis_jobtab_leave(themis_jobtab_t *table, themis_job_t *job, uint64_t now);
/* Something was heard of the job. */
void themis_jobtab_heard(themis_jobtab_t *table, themis_job_t *job, uint64_t now);

/* Marks jobs inactive that were silent for `silence` ns; calls `expired` for each that became so. */
void themis_jobtab_expire(themis_jobtab_t *table, uint64_t now, uint64_t silence,
                          void (*expired)(void *arg, themis_job_t *job), void *arg);
/* Takes a job out and frees it. */
void themis_jobtab_remove(themis_jobtab_t *table, themis_job_t *job);
/* First and next in order of joining; NULL at the end. */
themis_job_t *themis_jobtab_first(themis_jobtab_t *table);
themis_job_t *themis_jobtab_next(themis_jobtab_t *table, themis_job_t *job);
uint32_t themis_jobtab_count(const themis_jobtab_t *table);

/* Adds a value to a histogram. */
void themis_histogram_add(themis_histogram_t *histogram, uint64_t value);
#endif
