/* SPDX-License-Identifier: BSD-3-Clause */
#define HASH_NONFATAL_OOM 1
#include "server/session_table.h"
#include <stdlib.h>
#include "server/history.h"
#include "util/clock.h"

struct themis_server_sessions {
    themis_sched_job_table_t *jobs;
    uint64_t incarnation; /* of the last session made */
    themis_server_session_t *table;
};

themis_status_t themis_server_sessions_create(themis_sched_job_table_t *jobs, uint64_t incarnation,
                                              themis_server_sessions_t **sessions)
{
    themis_server_sessions_t *made = calloc(1, sizeof *made);

    if (!made)
        return THEMIS_NO_MEMORY;
    made->jobs = jobs;
    made->incarnation = incarnation;
    *sessions = made;
    return THEMIS_OK;
}

void themis_server_sessions_destroy(themis_server_sessions_t *sessions)
{
    free(sessions);
}

themis_server_session_t *themis_server_sessions_find(themis_server_sessions_t *sessions, uint64_t number)
{
    themis_server_session_t *session;

    HASH_FIND(hh, sessions->table, &number, sizeof number, session);
    return session;
}

themis_status_t themis_server_sessions_add(themis_server_sessions_t *sessions, uint64_t number,
                                           themis_server_session_t **session)
{
    themis_server_session_t *made = calloc(1, sizeof *made);

    if (!made)
        return THEMIS_NO_MEMORY;
    made->number = number;
    HASH_ADD(hh, sessions->table, number, sizeof number, made);
    if (!made->hh.tbl) {
        free(made);
        return THEMIS_NO_MEMORY;
    }
    made->incarnation = ++sessions->incarnation;
    made->references = 1;
    made->listed = 1;
    *session = made;
    return THEMIS_OK;
}

void themis_server_sessions_remove(themis_server_sessions_t *sessions, themis_server_session_t *session)
{
    HASH_DELETE(hh, sessions->table, session);
    session->listed = 0;
    themis_server_sessions_release(sessions, session);
}

void themis_server_sessions_release(themis_server_sessions_t *sessions, themis_server_session_t *session)
{
    if (--session->references)
        return;
    if (session->job)
        themis_sched_job_table_leave(sessions->jobs, session->job, themis_util_clock_now());
    themis_server_history_return(session);
    if (session->conn)
        themis_net_conn_unref(session->conn);
    themis_server_saved_replies_clear(&session->replies);
    free(session->application);
    free(session->project);
    free(session);
}

themis_server_session_t *themis_server_sessions_first(themis_server_sessions_t *sessions)
{
    return sessions->table;
}

uint32_t themis_server_sessions_count(const themis_server_sessions_t *sessions)
{
    return HASH_COUNT(sessions->table);
}

themis_status_t themis_server_session_admit(themis_server_session_t *session, size_t bytes)
{
    if (session->requests >= THEMIS_SERVER_SESSION_REQUESTS ||
        session->request_bytes + bytes > THEMIS_SERVER_SESSION_BYTES)
        return THEMIS_BUSY;
    session->requests++;
    session->request_bytes += bytes;
    session->references++;
    return THEMIS_OK;
}

void themis_server_session_dismiss(themis_server_session_t *session, size_t bytes)
{
    session->requests--;
    session->request_bytes -= bytes;
}
