/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/lease.h"
#include <inttypes.h>
#include <string.h>
#include "server/client_session.h"
#include "server/history.h"
#include "server/pending.h"
#include "util/clock.h"
#include "util/log.h"

static void session_expire(themis_server_t *server, themis_server_session_t *session, const char *why, uint64_t since)
{
    themis_info("session %016" PRIx64 " of job %s ended: %s for %" PRIu64 " s", session->number, session->identity.id,
                why, since / THEMIS_NS_PER_S);
    themis_server_session_end(server, session);
}

/* A silent client with a connection hangs, or computes without I/O. `limit`: ns after which it is inactive. */
static void session_check_silence(themis_server_t *server, themis_server_session_t *session, uint64_t now,
                                  uint64_t limit)
{
    uint64_t silent = now > session->last_heard ? now - session->last_heard : 0;

    if (silent >= limit + server->config.lease) {
        if (session->requests || themis_server_locks_has_session(server->locks, session->incarnation)) {
            themis_server_session_disconnect(server, session);
            session_expire(server, session, "silent", silent);
            return;
        }
        /* It holds nothing: it leaves its job, which has no share without others, and joins again with its next
         * message. */
        themis_server_history_leave(session);
        themis_sched_job_table_leave(server->jobs, session->job, session->last_heard);
        session->job = NULL;
    } else if (silent >= limit && strcmp(server->config.expired, "drop") == 0 && (session->queued || session->held)) {
        themis_info("session %016" PRIx64 " of job %s is silent: its requests are dropped and its connection is closed",
                    session->number, session->identity.id);
        themis_server_session_disconnect(server, session);
    }
}

static void jobs_remove_inactive(themis_server_t *server, uint64_t now)
{
    themis_sched_job_t *next;

    for (themis_sched_job_t *job = themis_sched_job_table_first(server->jobs); job; job = next) {
        next = themis_sched_job_table_next(server->jobs, job);
        if (job->active || job->clients || themis_server_history_holds(job) || themis_sched_is_busy(server->sched, job))
            continue;
        server->totals.left_read += job->bytes_read;
        server->totals.left_written += job->bytes_written;
        themis_server_history_end(server, job);
        themis_sched_remove_job(server->sched, job, now);
        themis_sched_job_table_remove(server->jobs, job);
    }
}

void themis_server_lease_expire(themis_server_t *server, uint64_t now)
{
    uint64_t limit = server->config.heartbeat * (uint64_t)server->config.heartbeat_limit;
    themis_server_session_t *next;

    for (themis_server_session_t *session = themis_server_sessions_first(server->sessions); session; session = next) {
        next = session->hh.next;
        if (session->conn && session->job)
            session_check_silence(server, session, now, limit);
        else if (!session->conn && now - session->lost >= server->config.lease)
            session_expire(server, session, "lost", now - session->lost);
    }
    if (now - server->started >= server->config.lease)
        themis_server_durable_replies_expire(server->durable_replies);
    server->holders_due |= themis_server_lock_holders_tick(server->lock_holders, now);
    themis_server_pending_expire(server, now);
    themis_server_locks_expire_waits(server->locks, server->config.lock_wait);
    themis_sched_job_table_expire(server->jobs, now, limit, NULL, NULL);
    jobs_remove_inactive(server, now);
}
