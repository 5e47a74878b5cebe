/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who is there: sessions with their connections and jobs, from HELLO until GOODBYE, a lost lease, or too long a
 * silence.
 */
#include <stdlib.h>
#include <string.h>
#include <utlist.h>
#include "server/access.h"
#include "server/identity.h"
#include "sched/policy.h"
#include "server/server.h"
#include "util/clock.h"
#include "util/log.h"

void themis_server_release_session(themis_server_t *server, themis_server_session_t *session)
{
    if (!themis_server_session_unref(session))
        return;
    if (session->job)
        themis_sched_job_table_leave(server->jobs, session->job, themis_util_clock_now());
    themis_server_session_free(session);
}

static void cancel(themis_request_t *request)
{
    if (request->remembered)
        themis_server_session_keep(request->session, request->header.id, NULL, 0);
    themis_server_request_free(request);
}

/* Requests of the session that nobody has begun are taken back; the client sends them again if it comes back. */
static void cancel_queued(themis_server_t *server, themis_server_session_t *session)
{
    while (session->queued) {
        themis_request_t *request = session->queued;
        themis_sched_cancel(server->sched, &request->item, themis_util_clock_now());
        DL_DELETE(session->queued, request);
        cancel(request);
    }
    while (session->held) {
        themis_request_t *request = session->held;
        DL_DELETE(session->held, request);
        cancel(request);
    }
    while (session->asked) {
        themis_request_t *request = session->asked;
        themis_sched_control_queue_remove(&server->control, &request->control);
        DL_DELETE(session->asked, request);
        cancel(request);
    }
}

/* The connection is gone. What came by it and is in service goes on to touch the file and the client's memory for a
 * moment: what comes by the next connection, replays among it, waits for that. */
void themis_server_lose_connection(themis_server_t *server, themis_server_session_t *session)
{
    cancel_queued(server, session);
    session->beating = 0;
    session->epoch++;
    session->behind = session->in_service;
    themis_net_conn_set_user(session->conn, NULL);
    themis_net_conn_unref(session->conn);
    session->conn = NULL;
}

void themis_server_disconnect(themis_server_t *server, themis_server_session_t *session)
{
    themis_net_conn_close(session->conn);
    themis_server_lose_connection(server, session);
    session->lost = themis_util_clock_now();
}

void themis_server_hold_session(themis_server_t *server, themis_server_session_t *session, uint64_t now)
{
    while (session->queued) {
        themis_request_t *request = session->queued;
        themis_sched_cancel(server->sched, &request->item, now);
        DL_DELETE(session->queued, request);
        request->state = THEMIS_SERVER_REQUEST_HELD;
        DL_APPEND(session->held, request);
    }
}

void themis_server_end_session(themis_server_t *server, themis_server_session_t *session)
{
    session->references++; /* requests that end below may hold the last one */
    cancel_queued(server, session);
    themis_server_locks_end_session(server->locks, session->number);
    if (session->conn)
        themis_server_lose_connection(server, session);
    if (session->listed) {
        themis_server_sessions_unlist(server->sessions, session);
        themis_server_release_session(server, session);
    }
    themis_server_release_session(server, session);
}

static void remove_left_jobs(themis_server_t *server, uint64_t now)
{
    themis_sched_job_t *next;

    for (themis_sched_job_t *job = themis_sched_job_table_first(server->jobs); job; job = next) {
        next = themis_sched_job_table_next(server->jobs, job);
        if (job->active || job->clients || themis_sched_is_busy(server->sched, job))
            continue;
        server->left_read += job->bytes_read;
        server->left_written += job->bytes_written;
        themis_sched_remove_job(server->sched, job, now);
        themis_sched_job_table_remove(server->jobs, job);
    }
}

static themis_status_t join_job(themis_server_t *server, themis_server_session_t *session, uint64_t now)
{
    int fresh = 0, changed = 0;
    themis_status_t status =
        themis_sched_job_table_join(server->jobs, &session->identity, now, &session->job, &fresh, &changed);

    if (status != THEMIS_OK)
        return status;
    if (fresh)
        themis_server_peers_kick(server);
    if (fresh)
        status = themis_sched_add_job(server->sched, session->job, now);
    else if (changed)
        themis_sched_refresh(server->sched, now);
    if (status == THEMIS_OK)
        return status;
    themis_sched_job_table_leave(server->jobs, session->job, now);
    if (fresh)
        themis_sched_job_table_remove(server->jobs, session->job);
    session->job = NULL;
    return status;
}

/* A session that holds nothing and says nothing leaves its job, so that the job can end; its connection and what it is
 * to remember stay, and it joins the job again with its next message. */
static void fall_asleep(themis_server_t *server, themis_server_session_t *session)
{
    themis_sched_job_table_leave(server->jobs, session->job, session->heard);
    session->job = NULL;
}

static int is_asleep(const themis_server_session_t *session)
{
    return !session->job && session->role != THEMIS_SERVER_ROLE_SERVER;
}

/* A client that says nothing, by a connection that stands: it hangs, or it computes and does not come by. `silence`: ns
 * after which it is inactive. */
static void expire_silent(themis_server_t *server, themis_server_session_t *session, uint64_t now, uint64_t silence)
{
    uint64_t silent = now > session->heard ? now - session->heard : 0;

    if (silent >= silence + server->config.lease) {
        if (session->requests == 0 && !themis_server_locks_has_session(server->locks, session->number)) {
            fall_asleep(server, session);
            return;
        }
        themis_info("session %016llx of job %s ended: silent for %llu s", (unsigned long long)session->number,
                    session->identity.id, (unsigned long long)(silent / THEMIS_NS_PER_S));
        themis_server_disconnect(server, session);
        themis_server_end_session(server, session);
    } else if (silent >= silence && server->config.drop && (session->queued || session->held)) {
        themis_info("session %016llx of job %s is silent: its requests are dropped, and its connection closed",
                    (unsigned long long)session->number, session->identity.id);
        themis_server_disconnect(server, session);
    }
}

void themis_server_expire(themis_server_t *server, uint64_t now)
{
    uint64_t silence = server->config.heartbeat * (uint64_t)server->config.heartbeat_limit;
    themis_server_session_t *next;

    for (themis_server_session_t *session = themis_server_sessions_first(server->sessions); session; session = next) {
        next = session->next;
        if (session->conn) {
            if (session->job)
                expire_silent(server, session, now, silence);
            continue;
        }
        if (now - session->lost < server->config.lease)
            continue;
        themis_info("session %016llx of job %s ended: lost for %llu s", (unsigned long long)session->number,
                    session->identity.id, (unsigned long long)((now - session->lost) / THEMIS_NS_PER_S));
        themis_server_end_session(server, session);
    }
    themis_sched_job_table_expire(server->jobs, now, silence, NULL, NULL);
    remove_left_jobs(server, now);
}

/* The client has learnt that its job is larger. */
static void raise_job(themis_server_t *server, themis_server_session_t *session,
                      const themis_sched_job_identity_t *identity)
{
    if (identity->nodes > session->identity.nodes)
        session->identity.nodes = identity->nodes;
    if (session->job && themis_sched_job_merge_identity(session->job, identity))
        themis_sched_refresh(server->sched, themis_util_clock_now());
}

static themis_status_t new_session(themis_server_t *server, const themis_proto_hello_t *hello,
                                   const themis_sched_job_identity_t *identity, themis_server_session_t **result)
{
    themis_server_session_t *session;
    themis_status_t status = themis_server_sessions_add(server->sessions, hello->session, &session);

    if (status != THEMIS_OK)
        return status;
    session->identity = *identity;
    session->incarnation = server->incarnation + ++server->sessions_made;
    session->role = hello->role;
    session->heard = themis_util_clock_now();
    /* servers have no job: they only bring tables */
    if (hello->role == THEMIS_SERVER_ROLE_SERVER)
        status = themis_server_access_admin(identity);
    else
        status = join_job(server, session, themis_util_clock_now());
    if (status == THEMIS_OK) {
        *result = session;
        return THEMIS_OK;
    }
    themis_server_sessions_unlist(server->sessions, session);
    themis_server_session_free(session);
    return status;
}

/* A message of the session has come: its client lives, and its job with it. */
themis_status_t themis_server_hear(themis_server_t *server, themis_server_session_t *session)
{
    uint64_t now = themis_util_clock_now();

    session->heard = now;
    if (is_asleep(session))
        return join_job(server, session, now);
    if (session->job)
        themis_sched_job_table_touch(server->jobs, session->job, now);
    return THEMIS_OK;
}

/* Binds the connection to its session, old or new. If it is refused, *text may say why. With the lock. */
static themis_status_t attach(themis_server_t *server, themis_net_conn_t *conn, const themis_proto_hello_t *hello,
                              const char **text)
{
    const themis_server_identity_limits_t limits = {(uint32_t)server->config.max_nodes,
                                                    (uint32_t)server->config.max_priority};
    themis_sched_job_identity_t identity;
    themis_server_session_t *session = themis_server_sessions_find(server->sessions, hello->session);
    const themis_server_session_t *bound = themis_net_conn_user(conn);

    if (themis_server_identity_decide(conn, hello, &limits, &identity) != THEMIS_OK) {
        *text = "a process on the server's host has to use its local socket";
        return THEMIS_REFUSED;
    }
    if (bound && bound != session)
        return THEMIS_REFUSED; /* one session for each connection */
    if (session && (session->identity.uid != identity.uid || strcmp(session->identity.id, identity.id) != 0 ||
                    session->role != hello->role))
        return THEMIS_REFUSED;
    if (session) {
        raise_job(server, session, &identity);
    } else {
        themis_status_t status = new_session(server, hello, &identity, &session);
        if (status != THEMIS_OK)
            return status;
    }
    /* The client has come back before its old connection was seen to be lost: what it asked there it will ask again,
     * and the memory it named may be in other use by then. */
    if (session->conn && session->conn != conn)
        themis_server_disconnect(server, session);
    if (session->conn == conn)
        return THEMIS_OK; /* a second HELLO may make the job larger, and changes nothing else */
    session->conn = conn;
    themis_net_conn_ref(conn);
    themis_net_conn_set_user(conn, session);
    return themis_server_hear(server, session);
}

/* --- HELLO ------------------------------------------------------------------------------------------------------- */

static int wish_allowed(const char *allowed, const themis_proto_text_t *wish)
{
    while (*allowed) {
        size_t length = strcspn(allowed, ", ");
        if ((length == 3 && memcmp(allowed, "any", 3) == 0) ||
            (length == wish->length && memcmp(allowed, wish->bytes, length) == 0))
            return 1;
        allowed += length;
        allowed += strspn(allowed, ", ");
    }
    return 0;
}

/* Is the wish in force, or can it be made so? `fault` (`size` bytes) says what is wrong with it if it is no policy.
 * With the lock. */
static int grant_policy(themis_server_t *server, const themis_sched_job_identity_t *who,
                        const themis_proto_text_t *wish, char *fault, size_t size)
{
    const char *now = themis_sched_policy(server->sched);
    char policy[THEMIS_PROTO_MAX_POLICY + 1];
    themis_sched_policy_t parsed;

    if (wish->length == 0 || (strlen(now) == wish->length && memcmp(now, wish->bytes, wish->length) == 0))
        return 1;
    memcpy(policy, wish->bytes, wish->length);
    policy[wish->length] = 0;
    if (themis_sched_policy_parse(policy, &parsed, fault, size) != THEMIS_OK)
        return 0;
    return wish_allowed(server->config.policies, wish) &&
           themis_server_set_policy(server, policy, who, fault, size) == THEMIS_OK;
}

themis_status_t themis_server_greet(themis_request_t *request)
{
    themis_server_t *server = request->server;
    const themis_proto_hello_t *hello = &request->body.hello;
    char policy[THEMIS_PROTO_MAX_POLICY + 1], fault[THEMIS_PROTO_MAX_TEXT + 1] = "";
    themis_proto_welcome_t welcome = {0};
    const char *text = NULL;

    pthread_mutex_lock(&server->lock);
    themis_status_t status = server->draining ? THEMIS_SHUTTING_DOWN : THEMIS_OK;
    if (request->session && request->session->conn != request->conn)
        status = THEMIS_DISCONNECTED; /* while it waited */
    if (status == THEMIS_OK)
        status = attach(server, request->conn, hello, &text);
    if (status == THEMIS_OK) {
        const themis_server_session_t *session = themis_server_sessions_find(server->sessions, hello->session);
        welcome.incarnation = session->incarnation;
        welcome.index = (uint32_t)server->config.index;
        welcome.servers = (uint32_t)server->config.count;
        welcome.heartbeat = server->config.heartbeat;
        welcome.layout = (themis_proto_layout_t){
            .stripe_size = server->config.stripe_size,
            .count = (uint32_t)(server->config.stripe_count ? server->config.stripe_count : server->config.count),
            .first = UINT32_MAX};
        welcome.name = (themis_proto_text_t){server->config.name, (uint32_t)strlen(server->config.name)};
        welcome.policy_granted = (uint8_t)grant_policy(server, &session->identity, &hello->policy, fault, sizeof fault);
        snprintf(policy, sizeof policy, "%s", themis_sched_policy(server->sched));
    }
    pthread_mutex_unlock(&server->lock);
    if (status != THEMIS_OK) {
        themis_server_refuse(request->conn, &request->header, status, text);
        return status;
    }
    welcome.policy = (themis_proto_text_t){policy, (uint32_t)strlen(policy)};
    welcome.fault = (themis_proto_text_t){fault, (uint32_t)strlen(fault)};
    themis_server_answer(request->conn, &request->header, &welcome);
    return THEMIS_OK;
}

/* The client leaves in order. */
static void part(themis_request_t *request)
{
    pthread_mutex_lock(&request->server->lock);
    if (request->session->listed)
        themis_server_end_session(request->server, request->session);
    pthread_mutex_unlock(&request->server->lock);
}

void themis_server_presence_serve(themis_request_t *request)
{
    static const themis_proto_none_t none;
    themis_server_t *server = request->server;

    if (request->header.opcode == THEMIS_OP_HELLO) {
        if (themis_server_greet(request) == THEMIS_OK)
            return;
        pthread_mutex_lock(&server->lock);
        themis_server_count_waste(server, request->conn);
        pthread_mutex_unlock(&server->lock);
        return;
    }
    if (request->header.opcode == THEMIS_OP_GOODBYE)
        part(request);
    themis_server_request_reply(request, THEMIS_OK, &none, NULL);
}
