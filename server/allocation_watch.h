/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What jobs do now and how fast servers are, as far as one server knows it: the tables that servers send each other
 * (sched/lambda_exchange.h) tell what each job was charged on each server, and whether it had requests there most of
 * the time; requests and metadata operations are those of this server alone. Names are spread over all servers, so as
 * many metadata operations are taken to be on each other one, and as many requests for data on each other server that
 * the job uses.
 *
 * Threads: any; nothing here takes another lock, and callbacks are called without one.
 */
#pragma once
#include "dfra/dfra.h"
#include "proto/proto.h"
#include "sched/job_table.h"

/* Jobs that are watched at a time, all together and of one user; only such as have moved bytes or ended requests. Of
 * more the one that has done nothing for longest is forgotten if that is some seconds, and else the new one is not
 * watched.
 */
enum { THEMIS_SERVER_ALLOCATION_WATCH_JOBS = 1024, THEMIS_SERVER_ALLOCATION_WATCH_OF_USER = 64 };

typedef struct themis_server_allocation_watch themis_server_allocation_watch_t;

/* `self`: number of this server among `servers`. */
themis_status_t themis_server_allocation_watch_create(uint32_t servers, uint32_t self,
                                                      themis_server_allocation_watch_t **watch);
void themis_server_allocation_watch_destroy(themis_server_allocation_watch_t *watch); /* NULL is allowed */

/* A table, or a part of one, of a server: its rows are in `rows`, or encoded in the table where that is NULL. One of an
 * earlier round than another of that server is ignored. `now`: ns. */
void themis_server_allocation_watch_table(themis_server_allocation_watch_t *watch, const themis_proto_table_t *table,
                                          const themis_proto_table_row_t *rows, uint64_t now);
/* The counters of a job of this server, as in themis_sched_job_t. */
typedef struct themis_server_allocation_counters {
    themis_sched_job_identity_t identity;
    char application[THEMIS_SCHED_JOB_ID_BYTES];
    uint64_t cost, requests, metadata, metadata_wait_ns;
    int shared_file; /* its processes share one */
} themis_server_allocation_counters_t;
/* About once a second. */
void themis_server_allocation_watch_job(themis_server_allocation_watch_t *watch,
                                        const themis_server_allocation_counters_t *job, uint64_t now);
/* After all jobs of this server were looked at, at `now`: forgets those that it had and has no more, and others that no
 * table told of for some minutes. */
void themis_server_allocation_watch_expire(themis_server_allocation_watch_t *watch, uint64_t now);

/* What a job has done so far; zeros if it was not seen. */
void themis_server_allocation_watch_observe(themis_server_allocation_watch_t *watch, uint32_t uid, const char *job,
                                            uint64_t now, themis_dfra_observation_t *observation);

/* A job that uses servers (doc/dfra.md), and was seen in the last 15 s; texts and lists are borrowed for the call. */
typedef struct themis_server_allocation_watched {
    const char *job, *application; /* application "": unknown */
    uint32_t uid, nodes;
    const uint32_t *server; /* [servers] */
    uint32_t servers;
    themis_dfra_observation_t now;
} themis_server_allocation_watched_t;
typedef void (*themis_server_allocation_watch_fn)(void *arg, const themis_server_allocation_watched_t *watched);
void themis_server_allocation_watch_each(themis_server_allocation_watch_t *watch, uint64_t now,
                                         themis_server_allocation_watch_fn each, void *arg);

/*
 * Judges servers (themis_dfra_find_slow) by what they moved in the last minutes while jobs had requests for them most
 * of the time, in samples of two seconds. `slow` [servers] has the state before and after; a server without such a
 * sample for ten minutes is taken to be as the others again.
 */
void themis_server_allocation_watch_judge(themis_server_allocation_watch_t *watch, uint64_t now, uint8_t *slow);
