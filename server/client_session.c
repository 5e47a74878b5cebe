/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/client_session.h"
#include <stdio.h>
#include "server/direct.h"
#include "server/history.h"
#include "server/peers.h"
#include "server/pending.h"
#include "server/queue.h"
#include "util/clock.h"
#include "util/log.h"

static themis_status_t session_join_job(themis_server_t *server, themis_server_session_t *session, uint64_t now)
{
    int fresh = 0, changed = 0;
    themis_status_t status =
        themis_sched_job_table_join(server->jobs, &session->identity, now, &session->job, &fresh, &changed);

    if (status != THEMIS_OK)
        return status;
    if (session->application && !*session->job->application) {
        snprintf(session->job->application, sizeof session->job->application, "%s", session->application);
        changed = 1;
    }
    if (fresh) {
        themis_server_peers_kick(server);
        status = themis_sched_add_job(server->sched, session->job, now);
    } else if (changed) {
        themis_sched_refresh(server->sched, now);
    }
    if (status == THEMIS_OK) {
        themis_server_history_join(server, session);
        return status;
    }
    themis_sched_job_table_leave(server->jobs, session->job, now);
    themis_sched_job_table_remove(server->jobs, session->job); /* only adding a new job can fail */
    session->job = NULL;
    return status;
}

themis_status_t themis_server_session_touch(themis_server_t *server, themis_server_session_t *session)
{
    uint64_t now = themis_util_clock_now();

    session->last_heard = now;
    if (session->role == THEMIS_SERVER_ROLE_SERVER)
        return THEMIS_OK; /* servers have no job */
    if (!session->job)
        return session_join_job(server, session, now);
    themis_sched_job_table_touch(server->jobs, session->job, now);
    return THEMIS_OK;
}

void themis_server_session_lose_connection(themis_server_t *server, themis_server_session_t *session)
{
    themis_server_queue_cancel(server, session);
    themis_server_direct_lose(server, session);
    session->lost = themis_util_clock_now();
    session->heartbeat_queued = 0;
    session->epoch++;
    session->in_service_earlier = session->in_service;
    themis_net_conn_set_user(session->conn, NULL);
    themis_net_conn_unref(session->conn);
    session->conn = NULL;
}

void themis_server_session_disconnect(themis_server_t *server, themis_server_session_t *session)
{
    themis_net_conn_close(session->conn);
    themis_server_session_lose_connection(server, session);
}

void themis_server_session_end(themis_server_t *server, themis_server_session_t *session)
{
    session->references++; /* requests that end below may hold the last one */
    themis_server_queue_cancel(server, session);
    themis_server_locks_cancel_waits(server->locks, session->incarnation);
    if (!session->in_service) /* else with its last slice, which may be a write under a lock */
        themis_server_locks_end_session(server->locks, session->incarnation);
    if (session->conn)
        themis_server_session_lose_connection(server, session);
    themis_server_direct_end_session(server, session);
    if (session->durable)
        themis_server_durable_replies_forget(server->durable_replies, session->number);
    if (session->listed) {
        themis_server_lock_holders_return(server->lock_holders, session->number, 0);
        themis_server_sessions_remove(server->sessions, session);
    }
    themis_server_sessions_release(server->sessions, session);
}

void themis_server_session_count_discarded(themis_server_t *server, themis_net_conn_t *conn)
{
    themis_server_session_t *session = themis_net_conn_user(conn);
    themis_server_discarded_t *discarded = session ? &session->discarded : &server->unauthenticated;
    uint64_t now = themis_util_clock_now();

    if (now - discarded->since >= THEMIS_NS_PER_S)
        *discarded = (themis_server_discarded_t){.since = now};
    if (++discarded->count <= THEMIS_SERVER_MAX_DISCARDED)
        return;
    /* unauthenticated connections share a counter, and so a line in the log */
    if (discarded->count == THEMIS_SERVER_MAX_DISCARDED + 1)
        themis_warn("%s sent more than %d invalid or repeated messages within a second: connection closed",
                    themis_net_conn_peer(conn), THEMIS_SERVER_MAX_DISCARDED);
    if (session)
        themis_server_session_disconnect(server, session);
    else
        themis_net_conn_close(conn);
    themis_server_pending_forget(server, conn);
}
