/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A simulated server under a driven clock: workers that take slices from a real scheduler, and jobs that keep a
 * number of requests of one size outstanding. Time passes by events; nothing sleeps.
 */
#pragma once
#include "sched/sched.h"

#define KIB UINT64_C(1024)
#define MIB UINT64_C(1048576)

enum { RIG_DEPTH = 64, RIG_WORKERS = 8 };

typedef struct rig rig_t;

typedef struct rig_item {
    themis_sched_item_t item;
    uint64_t ready; /* ns; when its client sends it, UINT64_MAX while it is with the server */
    uint64_t asked; /* ns; when it was sent */
    int slices;     /* served so far */
} rig_item_t;

typedef struct rig_job {
    themis_sched_job_t *job;
    uint64_t bytes;      /* of a request; 0: metadata */
    uint64_t file;       /* bytes; the request at its end is shorter, and the next begins at 0 again; 0: no file */
    uint64_t offset;     /* in it */
    uint64_t think;      /* ns between a reply and the next request */
    uint64_t start, end; /* ns; sends requests in [start, end) */
    int depth;
    rig_item_t items[RIG_DEPTH];
    uint64_t moved;   /* bytes */
    uint64_t longest; /* ns; longest time from being head of the queue to a slice */
    uint64_t headed;  /* ns; when the present head got there */
} rig_job_t;

struct rig {
    themis_sched_t *sched;
    themis_sched_job_table_t *table;
    uint64_t now;
    double speed;           /* bytes per ns of one worker */
    uint64_t overhead;      /* ns of service that every slice costs beside its bytes */
    uint64_t metadata_time; /* ns of service of a metadata operation */
    int workers;
    struct {
        themis_sched_item_t *item; /* NULL: free */
        uint64_t slice, started, until;
    } worker[RIG_WORKERS];
    rig_job_t *jobs;
    int count;
    uint64_t idle_while_queued; /* ns that a worker was free though a request waited and no bandwidth limit applied */
};

/* The defaults with that policy and draw. */
themis_sched_options_t rig_options(const char *policy, const char *draw);
/* Policy, draw and the rest of the options as in themis_sched_options_t; `count` jobs may be added. */
void rig_create(rig_t *rig, const themis_sched_options_t *options, int workers, int count);
/* Leaves zeros, of which there is nothing to destroy. */
void rig_destroy(rig_t *rig);
/* Adds a job; requests of `bytes` with `depth` outstanding. */
rig_job_t *rig_add(rig_t *rig, const char *id, uint32_t uid, uint32_t gid, uint32_t nodes, uint64_t bytes, int depth);
/* Lets time pass until `end`. */
void rig_run(rig_t *rig, uint64_t end);
void rig_run_seconds(rig_t *rig, double seconds);
/* Resets the counters of bytes and waiting times. */
void rig_reset(rig_t *rig);
/* The part that a job has of all bytes moved since the reset. */
double rig_part(const rig_t *rig, const rig_job_t *job);
/* Fails the test unless that is `expected`, within the relative `tolerance`. */
void rig_expect_part(const rig_t *rig, const rig_job_t *job, double expected, double tolerance);
