/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples of the counters of all jobs on all servers, and the rates between two samples. */
#pragma once
#include <jansson.h>
#include <stdint.h>
#include "themis/themis.h"

/* A job over all servers. Rates and waiting are of the time between two samples; 0 in the first one. */
typedef struct themis_tools_job {
    const char *id; /* borrowed from the sample */
    uint32_t uid, gid, nodes, priority;
    int active;
    double bytes_read, bytes_written, cost, requests, queued, queued_bytes, waits, wait; /* counters; wait in s */
    double due;               /* 0 to 1, of all servers, each counted by what it moved */
    double got;               /* 0 to 1, of all bytes charged */
    double read_s, written_s; /* bytes/s */
    double wait_ms;           /* mean of the requests whose service began */
} themis_tools_job_t;

typedef struct themis_tools_server {
    int reachable;
    const char *name, *policy, *draw; /* borrowed from the sample; not reachable: `name` is the address */
    char error[200];                  /* why it is not reachable */
    double down_since;                /* s since 1970; 0: unknown, or reachable */
    double jobs, queued, capacity, used, bytes_read, bytes_written, read_s, written_s;
} themis_tools_server_t;

typedef struct themis_tools_statistics {
    uint64_t time; /* ns */
    uint32_t servers, count;
    themis_tools_server_t *server; /* owned */
    themis_tools_job_t *job;       /* owned; in descending order of bytes/s; only jobs that asked for something */
    json_t **texts;                /* owned: the answers of the servers, two of each */
    char *addresses;               /* owned: of the servers, each ends with 0 */
} themis_tools_statistics_t;

/* All jobs of a server that have asked for data or metadata, page by page; an array owned by the caller. NULL: *error
 * says why, borrowed. */
json_t *themis_tools_statistics_jobs(themis_t *session, uint32_t server, const char **error);

/* When server `number` was first missed, s since 1970, as far as `server`, an answer of another one, tells; else
 * `before`. 0: unknown. */
double themis_tools_statistics_missed(const json_t *server, uint32_t number, double before);

/* Queries all servers; one that does not answer is not reachable. `before`: an earlier sample, or NULL; there are rates
 * only if the same servers answered then. `again`: those that were down when the session was made are tried again.
 * Release with themis_tools_statistics_release. Returns 0, or -1 if out of memory. */
int themis_tools_statistics_take(themis_t *session, const themis_tools_statistics_t *before, int again,
                                 themis_tools_statistics_t *sample);
void themis_tools_statistics_release(themis_tools_statistics_t *sample);

/* {"time_s", "servers": [...], "jobs": [...]}, with the fields above. Owned by the caller. */
json_t *themis_tools_statistics_json(const themis_tools_statistics_t *sample);
