/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The history of jobs: what each job does on this server, sampled once in `history_interval` by a thread of its own,
 * which sleeps while there is no job. What the job's counters have grown by goes into its series; at its end, and once
 * in `history_update` before, a record is made of that and written (history_store.h). Nothing is written under the
 * server's lock, and requests do no more than to count.
 *
 * What the functions below do while the key `history` is not set: nothing. All with the lock unless they say something
 * else.
 */
#pragma once
#include "server/history_store.h"
#include "server/server.h"

/* Without the lock. A directory that cannot be written is logged, and no failure. */
themis_status_t themis_server_history_create(themis_server_t *server);
/* Starts the thread. Without the lock. */
themis_status_t themis_server_history_start(themis_server_t *server);
/* Ends the thread, and writes the records of all jobs, as interim ones of those that have clients. While their sessions
 * are there still. Without the lock. */
void themis_server_history_destroy(themis_server_t *server);

/* The session has joined its job. */
void themis_server_history_join(themis_server_t *server, themis_server_session_t *session);
/* The silent session is about to leave its job, which may compute: the job is held, and its record remains open. */
void themis_server_history_leave(themis_server_session_t *session);
/* The session has joined its job again, or ends: if it held a job, it does not any more. */
void themis_server_history_return(themis_server_session_t *session);
/* 1: sessions hold the job, which must not be removed. */
int themis_server_history_holds(const themis_sched_job_t *job);
/* The job is about to be removed. */
void themis_server_history_end(themis_server_t *server, themis_sched_job_t *job);

/* For themis_server_history_access. */
void themis_server_history_note(themis_server_t *server, themis_server_session_t *session, uint64_t object);

/* The session has read or written the object. */
static inline void themis_server_history_access(themis_server_t *server, themis_server_session_t *session,
                                                uint64_t object)
{
    if (session->noted.object != object)
        themis_server_history_note(server, session, object);
}

/* 0 without a history. Any thread. */
void themis_server_history_counts(const themis_server_t *server, themis_server_history_counts_t *counts);
