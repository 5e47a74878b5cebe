/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From messages to requests: called by whoever polls the network, so nothing here waits for a disk. HELLO, HEARTBEAT
 * and GOODBYE are answered at once, replays from the session's memory; everything else is queued.
 */
#include <stdlib.h>
#include <string.h>
#include <utlist.h>
#include "server/access.h"
#include "server/identity.h"
#include "server/policy.h"
#include "server/server.h"
#include "util/clock.h"
#include "util/log.h"

/* --- requests ---------------------------------------------------------------------------------------------------- */

static int is_data(unsigned opcode)
{
    return opcode == THEMIS_OP_READ || opcode == THEMIS_OP_WRITE;
}

/* Done twice, these would not have the same result. */
static int is_remembered(unsigned opcode)
{
    switch (opcode) {
    case THEMIS_OP_CREATE:
    case THEMIS_OP_REMOVE:
    case THEMIS_OP_ENTRY_ADD:
    case THEMIS_OP_ENTRY_REMOVE:
    case THEMIS_OP_LOCK:
    case THEMIS_OP_UNLOCK:
    case THEMIS_OP_COUNTER:
        return 1;
    default:
        return 0;
    }
}

/* A server that drains still does these. */
static int ends_something(unsigned opcode)
{
    return opcode >= THEMIS_OP_LOCK;
}

static themis_status_t request_create(themis_server_t *server, themis_net_conn_t *conn, const void *bytes,
                                      size_t length, themis_request_t **result)
{
    themis_request_t *request = malloc(sizeof *request + length);

    if (!request)
        return THEMIS_NO_MEMORY;
    memset(request, 0, offsetof(themis_request_t, body));
    memcpy(request->bytes, bytes, length);
    request->length = length;
    themis_status_t status = themis_proto_decode(request->bytes, length, &request->header, &request->body);
    if (status != THEMIS_OK) {
        free(request);
        return status;
    }
    request->server = server;
    request->conn = conn;
    themis_net_conn_ref(conn);
    if (is_data(request->header.opcode)) {
        themis_cursor_init(&request->cursor, &request->body.io);
        request->item.bytes = themis_cursor_total(&request->body.io);
    }
    *result = request;
    return THEMIS_OK;
}

static void session_release(themis_server_t *server, themis_session_t *session)
{
    if (!themis_session_unref(session))
        return;
    if (session->job)
        themis_jobtab_leave(server->jobs, session->job, themis_clock_now());
    themis_session_free(session);
}

void themis_request_free(themis_request_t *request)
{
    if (request->session) {
        themis_session_dismiss(request->session, request->length);
        session_release(request->server, request->session);
    }
    themis_net_conn_unref(request->conn);
    free(request);
}

/* --- sessions ---------------------------------------------------------------------------------------------------- */

static void cancel(themis_request_t *request)
{
    if (request->remembered)
        themis_session_keep(request->session, request->header.id, NULL, 0);
    themis_request_free(request);
}

/* Requests of the session that nobody has begun are taken back; the client sends them again if it comes back. */
static void cancel_queued(themis_server_t *server, themis_session_t *session)
{
    while (session->queued) {
        themis_request_t *request = session->queued;
        themis_sched_cancel(server->sched, &request->item, themis_clock_now());
        DL_DELETE(session->queued, request);
        cancel(request);
    }
    while (session->held) {
        themis_request_t *request = session->held;
        DL_DELETE(session->held, request);
        cancel(request);
    }
}

/* The connection is gone. What came by it and is in service goes on to touch the file and the client's memory for a
 * moment: what comes by the next connection, replays among it, waits for that. */
static void lose_connection(themis_server_t *server, themis_session_t *session)
{
    cancel_queued(server, session);
    session->epoch++;
    session->behind = session->in_service;
    themis_net_conn_set_user(session->conn, NULL);
    themis_net_conn_unref(session->conn);
    session->conn = NULL;
}

void themis_server_disconnect(themis_server_t *server, themis_session_t *session)
{
    themis_net_conn_close(session->conn);
    lose_connection(server, session);
    session->lost = themis_clock_now();
}

void themis_server_hold_session(themis_server_t *server, themis_session_t *session, uint64_t now)
{
    while (session->queued) {
        themis_request_t *request = session->queued;
        themis_sched_cancel(server->sched, &request->item, now);
        DL_DELETE(session->queued, request);
        request->state = THEMIS_REQUEST_HELD;
        DL_APPEND(session->held, request);
    }
}

void themis_server_end_session(themis_server_t *server, themis_session_t *session)
{
    session->references++; /* requests that end below may hold the last one */
    cancel_queued(server, session);
    themis_locks_end_session(server->locks, session->number);
    if (session->conn)
        lose_connection(server, session);
    if (session->listed) {
        themis_sessions_unlist(server->sessions, session);
        session_release(server, session);
    }
    session_release(server, session);
}

static void remove_left_jobs(themis_server_t *server, uint64_t now)
{
    themis_job_t *next;

    for (themis_job_t *job = themis_jobtab_first(server->jobs); job; job = next) {
        next = themis_jobtab_next(server->jobs, job);
        if (job->active || job->clients || themis_sched_is_busy(server->sched, job))
            continue;
        themis_sched_remove_job(server->sched, job, now);
        themis_jobtab_remove(server->jobs, job);
    }
}

static themis_status_t join_job(themis_server_t *server, themis_session_t *session, uint64_t now)
{
    int fresh = 0, changed = 0;
    themis_status_t status = themis_jobtab_join(server->jobs, &session->identity, now, &session->job, &fresh, &changed);

    if (status != THEMIS_OK)
        return status;
    if (fresh)
        themis_peers_kick(server);
    if (fresh)
        status = themis_sched_add_job(server->sched, session->job, now);
    else if (changed)
        themis_sched_refresh(server->sched, now);
    if (status == THEMIS_OK)
        return status;
    themis_jobtab_leave(server->jobs, session->job, now);
    if (fresh)
        themis_jobtab_remove(server->jobs, session->job);
    session->job = NULL;
    return status;
}

/* A session that holds nothing and says nothing leaves its job, so that the job can end; its connection and what it is
 * to remember stay, and it joins the job again with its next message. */
static void fall_asleep(themis_server_t *server, themis_session_t *session)
{
    themis_jobtab_leave(server->jobs, session->job, session->heard);
    session->job = NULL;
}

static int is_asleep(const themis_session_t *session)
{
    return !session->job && session->role != THEMIS_ROLE_SERVER;
}

/* A client that says nothing, by a connection that stands: it hangs, or it computes and does not come by. `silence`: ns
 * after which it is inactive. */
static void expire_silent(themis_server_t *server, themis_session_t *session, uint64_t now, uint64_t silence)
{
    uint64_t silent = now > session->heard ? now - session->heard : 0;

    if (silent >= silence + server->config.lease) {
        if (session->requests == 0 && !themis_locks_has_session(server->locks, session->number)) {
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
    themis_session_t *next;

    for (themis_session_t *session = themis_sessions_first(server->sessions); session; session = next) {
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
    themis_jobtab_expire(server->jobs, now, silence, NULL, NULL);
    remove_left_jobs(server, now);
}

/* The client has learnt that its job is larger. */
static void raise_job(themis_server_t *server, themis_session_t *session, const themis_job_identity_t *identity)
{
    if (identity->nodes > session->identity.nodes)
        session->identity.nodes = identity->nodes;
    if (session->job && themis_jobtab_raise(session->job, identity))
        themis_sched_refresh(server->sched, themis_clock_now());
}

static themis_status_t new_session(themis_server_t *server, const themis_proto_hello_t *hello,
                                   const themis_job_identity_t *identity, themis_session_t **result)
{
    themis_session_t *session;
    themis_status_t status = themis_sessions_add(server->sessions, hello->session, &session);

    if (status != THEMIS_OK)
        return status;
    session->identity = *identity;
    session->incarnation = server->incarnation + ++server->sessions_made;
    session->role = hello->role;
    session->heard = themis_clock_now();
    /* servers have no job: they only bring tables */
    if (hello->role == THEMIS_ROLE_SERVER)
        status = themis_access_admin(identity);
    else
        status = join_job(server, session, themis_clock_now());
    if (status == THEMIS_OK) {
        *result = session;
        return THEMIS_OK;
    }
    themis_sessions_unlist(server->sessions, session);
    themis_session_free(session);
    return status;
}

/* A message of the session has come: its client lives, and its job with it. */
static themis_status_t hear(themis_server_t *server, themis_session_t *session)
{
    uint64_t now = themis_clock_now();

    session->heard = now;
    if (is_asleep(session))
        return join_job(server, session, now);
    if (session->job)
        themis_jobtab_heard(server->jobs, session->job, now);
    return THEMIS_OK;
}

/* Binds the connection to its session, old or new. With the lock. */
static themis_status_t attach(themis_server_t *server, themis_net_conn_t *conn, const themis_proto_hello_t *hello)
{
    const themis_identity_limits_t limits = {(uint32_t)server->config.max_nodes, (uint32_t)server->config.max_priority};
    themis_job_identity_t identity;
    themis_session_t *session = themis_sessions_find(server->sessions, hello->session);
    const themis_session_t *bound = themis_net_conn_user(conn);

    themis_identity_decide(conn, hello, &limits, &identity);
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
    return hear(server, session);
}

/* --- messages ---------------------------------------------------------------------------------------------------- */

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
static int grant_policy(themis_server_t *server, const themis_proto_text_t *wish, char *fault, size_t size)
{
    const char *now = themis_sched_policy(server->sched);
    char policy[THEMIS_PROTO_MAX_POLICY + 1];
    themis_policy_t parsed;

    if (wish->length == 0 || (strlen(now) == wish->length && memcmp(now, wish->bytes, wish->length) == 0))
        return 1;
    memcpy(policy, wish->bytes, wish->length);
    policy[wish->length] = 0;
    if (themis_policy_parse(policy, &parsed, fault, size) != THEMIS_OK)
        return 0;
    return wish_allowed(server->config.policies, wish) &&
           themis_sched_set_policy(server->sched, policy, server->config.draw, themis_clock_now(), fault, size) ==
               THEMIS_OK;
}

static void on_hello(themis_server_t *server, themis_net_conn_t *conn, const themis_request_t *request)
{
    const themis_proto_hello_t *hello = &request->body.hello;
    char policy[THEMIS_PROTO_MAX_POLICY + 1], fault[THEMIS_PROTO_MAX_TEXT + 1] = "";
    themis_proto_welcome_t welcome = {0};

    pthread_mutex_lock(&server->lock);
    themis_status_t status = server->draining ? THEMIS_SHUTTING_DOWN : attach(server, conn, hello);
    if (status == THEMIS_OK) {
        welcome.incarnation = themis_sessions_find(server->sessions, hello->session)->incarnation;
        welcome.index = (uint32_t)server->config.index;
        welcome.servers = (uint32_t)server->config.count;
        welcome.heartbeat = server->config.heartbeat;
        welcome.layout = (themis_proto_layout_t){
            .stripe_size = server->config.stripe_size,
            .count = (uint32_t)(server->config.stripe_count ? server->config.stripe_count : server->config.count),
            .first = UINT32_MAX};
        welcome.name = (themis_proto_text_t){server->config.name, (uint32_t)strlen(server->config.name)};
        welcome.policy_granted = (uint8_t)grant_policy(server, &hello->policy, fault, sizeof fault);
        snprintf(policy, sizeof policy, "%s", themis_sched_policy(server->sched));
    }
    pthread_mutex_unlock(&server->lock);
    if (status != THEMIS_OK) {
        themis_server_refuse(conn, &request->header, status, NULL);
        return;
    }
    welcome.policy = (themis_proto_text_t){policy, (uint32_t)strlen(policy)};
    welcome.fault = (themis_proto_text_t){fault, (uint32_t)strlen(fault)};
    themis_server_answer(conn, &request->header, &welcome);
}

/* Sends what is remembered of a request; 0 if this is its first time. */
static int replay(themis_net_conn_t *conn, themis_request_t *request)
{
    const themis_remembered_t *known = themis_session_recall(request->session, request->header.id);

    if (known && known->done)
        themis_net_send(conn, known->bytes, known->length);
    if (!known)
        request->remembered = themis_session_begin(request->session, request->header.id) != NULL;
    return known != NULL;
}

/* To the scheduler, or to wait: for what an earlier connection left in service, or for the client to take part in what
 * is under way. */
static void queue(themis_server_t *server, themis_request_t *request, uint64_t now)
{
    themis_session_t *session = request->session;

    if (session->behind || session->stalled) {
        request->state = THEMIS_REQUEST_HELD;
        DL_APPEND(session->held, request);
        return;
    }
    request->state = THEMIS_REQUEST_QUEUED;
    DL_APPEND(session->queued, request);
    themis_sched_enqueue(server->sched, session->job, &request->item, now);
    themis_server_rouse(server);
}

void themis_server_caught_up(themis_server_t *server, themis_session_t *session)
{
    uint64_t now = themis_clock_now();

    while (session->held && !session->behind && !session->stalled) {
        themis_request_t *request = session->held;
        DL_DELETE(session->held, request);
        queue(server, request, now);
    }
}

/*
 * Served at once, whatever the queues: the tables of other servers; an UNLOCK for each lock that was granted, since
 * others may wait for it; and administration, as long as it takes little: a 50th of a worker's time for each job, a
 * 20th for all, over a second. What comes beyond is scheduled, as everything else is, and charged to the job.
 */
static int is_urgent(themis_server_t *server, themis_session_t *session, unsigned opcode, uint64_t now)
{
    themis_job_t *job = session->job;

    if (!job)
        return 1;
    if (opcode == THEMIS_OP_UNLOCK && session->unlocks) {
        session->unlocks--;
        return 1;
    }
    if (opcode < THEMIS_OP_STATUS || job->urgent || job->urgent_paid > now + THEMIS_NS_PER_S ||
        server->urgent_paid > now + THEMIS_NS_PER_S)
        return 0;
    job->urgent = 1;
    return 1;
}

void themis_server_charge_urgent(themis_server_t *server, themis_job_t *job, uint64_t service, uint64_t now)
{
    job->urgent = 0;
    job->urgent_paid = (job->urgent_paid > now ? job->urgent_paid : now) + 50 * service;
    server->urgent_paid = (server->urgent_paid > now ? server->urgent_paid : now) + 20 * service;
}

/* Takes the request over, with the lock; what is done with it is up to a worker. */
static void take_over(themis_server_t *server, themis_net_conn_t *conn, themis_request_t *request,
                      themis_session_t *session)
{
    unsigned opcode = request->header.opcode;
    uint64_t now = themis_clock_now();

    request->session = session;
    request->epoch = session->epoch;
    if (is_remembered(opcode) && replay(conn, request)) {
        themis_request_free(request);
    } else if (is_urgent(server, session, opcode, now)) {
        themis_server_ready(server, request);
    } else {
        request->scheduled = 1;
        queue(server, request, now);
    }
}

/* May the request be taken over? If not, *text says why (NULL: the status does). */
static themis_status_t admit(themis_server_t *server, themis_session_t *session, const themis_request_t *request,
                             const char **text)
{
    unsigned opcode = request->header.opcode;

    if (!session->job && opcode != THEMIS_OP_TABLE) {
        *text = "a server has no files here";
        return THEMIS_REFUSED;
    }
    if (server->draining && (!ends_something(opcode) || themis_clock_now() >= server->drain_end))
        return THEMIS_SHUTTING_DOWN;
    themis_status_t status = themis_session_admit(session, request->length);
    if (status != THEMIS_OK)
        *text = "too many requests of this client wait";
    return status;
}

/* With the lock. THEMIS_IN_PROGRESS: the request was taken over. THEMIS_OK: it is to be answered with nothing. */
static themis_status_t take_message(themis_server_t *server, themis_net_conn_t *conn, themis_request_t *request,
                                    const char **text)
{
    themis_session_t *session = themis_net_conn_user(conn);
    themis_status_t status;

    if (!session) {
        *text = "the first message is to be HELLO";
        return THEMIS_REFUSED;
    }
    status = hear(server, session);
    server->heartbeats += request->header.opcode == THEMIS_OP_HEARTBEAT;
    if (status != THEMIS_OK || request->header.opcode == THEMIS_OP_HEARTBEAT)
        return status;
    if (request->header.opcode == THEMIS_OP_GOODBYE) {
        themis_server_end_session(server, session);
        return THEMIS_OK;
    }
    status = admit(server, session, request, text);
    if (status != THEMIS_OK)
        return status;
    take_over(server, conn, request, session);
    return THEMIS_IN_PROGRESS;
}

static void drop_message(themis_request_t *request)
{
    themis_net_conn_unref(request->conn);
    free(request);
}

static void on_request(themis_server_t *server, themis_net_conn_t *conn, themis_request_t *request)
{
    static const themis_proto_none_t none;
    const char *text = NULL;

    if (request->header.kind != THEMIS_PROTO_REQUEST) {
        themis_debug("%s sent a reply to nothing", themis_net_conn_peer(conn));
        drop_message(request);
        return;
    }
    if (request->header.opcode == THEMIS_OP_HELLO) {
        on_hello(server, conn, request);
        drop_message(request);
        return;
    }
    pthread_mutex_lock(&server->lock);
    themis_status_t status = take_message(server, conn, request, &text);
    pthread_mutex_unlock(&server->lock);
    if (status == THEMIS_IN_PROGRESS)
        return;
    if (status == THEMIS_OK)
        themis_server_answer(conn, &request->header, &none);
    else
        themis_server_refuse(conn, &request->header, status, text);
    drop_message(request);
}

static void on_message(void *arg, themis_net_conn_t *conn, const void *bytes, size_t length)
{
    themis_server_t *server = arg;
    themis_request_t *request;
    themis_proto_header_t header;
    themis_status_t status = request_create(server, conn, bytes, length, &request);

    if (status == THEMIS_OK) {
        on_request(server, conn, request);
        return;
    }
    themis_status_t readable = themis_proto_decode_header(bytes, length, &header);
    if (readable == THEMIS_OK || readable == THEMIS_VERSION || readable == THEMIS_OPCODE) {
        themis_server_refuse(conn, &header, status, NULL);
        return;
    }
    themis_warn("%s sent a malformed message of %zu bytes", themis_net_conn_peer(conn), length);
}

static void on_closed(void *arg, themis_net_conn_t *conn, themis_status_t why)
{
    themis_server_t *server = arg;

    (void)why;
    pthread_mutex_lock(&server->lock);
    themis_session_t *session = themis_net_conn_user(conn);
    if (session && session->conn == conn) {
        lose_connection(server, session);
        session->lost = themis_clock_now();
    }
    pthread_mutex_unlock(&server->lock);
}

const themis_net_handlers_t themis_server_handlers = {.message = on_message, .closed = on_closed};
