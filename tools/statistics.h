/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters of all jobs at all servers at one moment, and what two such samples say about the time between them. */
#ifndef THEMIS_TOOLS_STATISTICS_H
#define THEMIS_TOOLS_STATISTICS_H
#include <jansson.h>
#include <stdint.h>
#include "tools/command.h"

/* A job over all servers. Rates and waiting are of the time between two samples; 0 in the first one. */
typedef struct themis_tools_job {
    const char *id; /* borrowed from the sample */
    uint32_t uid, gid, nodes, priority;
    int active;
    double bytes_read, bytes_written, cost, requests, queued, queued_bytes, waits, wait; /* counters; wait in s */
    double due;               /* 0 to 1, of all servers, each counted by what it moved */
    double got;               /* 0 to 1, of all bytes charged */
    double read_s, written_s; /* bytes/s */
    double wait_ms;           /* mean of the requests that began to be served */
} themis_tools_job_t;

typedef struct themis_tools_server {
    int reachable;
    const char *name, *policy, *draw, *error; /* borrowed from the sample */
    double jobs, queued, capacity, used, bytes_read, bytes_written, read_s, written_s;
} themis_tools_server_t;

typedef struct themis_tools_sample {
    uint64_t time; /* ns */
    uint32_t servers, count;
    themis_tools_server_t *server; /* owned */
    themis_tools_job_t *job;       /* owned; by bytes/s, the most first; only jobs that asked for something */
    json_t **texts;                /* owned: what the servers said, two for each */
} themis_tools_sample_t;

/* All jobs of a server that have asked for data or metadata, page by page; an array owned by the caller, or NULL: the
 * first question that failed says why. */
json_t *themis_tools_jobs_ask(themis_t *session, uint32_t server);

/* Asks all servers; one that does not answer is not reachable. `before` may be NULL; it is only read. Release with
 * themis_tools_sample_release. Returns 0, or -1 when memory is short. */
int themis_tools_sample_take(themis_t *session, const themis_tools_sample_t *before, themis_tools_sample_t *sample);
void themis_tools_sample_release(themis_tools_sample_t *sample);

/* {"time_s", "servers": [...], "jobs": [...]}, with the fields above. Owned by the caller. */
json_t *themis_tools_sample_json(const themis_tools_sample_t *sample);

/* "1.5G", at most 5 characters; `text` has 8 bytes. Returns text. */
const char *themis_tools_bytes(double bytes, char *text);
/* The same for a number of things: "99999", "100k", "2.5M". */
const char *themis_tools_count(double count, char *text);
#endif
