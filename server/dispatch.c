/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/dispatch.h"
#include "server/client_session.h"
#include "server/direct.h"
#include "server/drain.h"
#include "server/pending.h"
#include "server/queue.h"
#include "server/reply.h"
#include "server/session_requests.h"
#include "server/settler.h"
#include "util/clock.h"
#include "util/log.h"

/* HEARTBEATs of a session that are served at once are at least that far apart; others go to the control queue. */
static const uint64_t heartbeat_interval = 100 * THEMIS_NS_PER_MS;

/* What becomes of a message. */
typedef enum disposition { QUEUED, FIRST_HELLO, REFUSED, DISCARDED } disposition_t;

/* Sends the saved reply if there is one; returns 0 if the request is new. */
static int request_replay(themis_server_request_t *request)
{
    themis_server_saved_replies_t *replies = &request->session->replies;
    const themis_server_saved_reply_t *known = themis_server_saved_replies_find(replies, request->header.id);

    if (!known)
        request->saves_reply = themis_server_saved_replies_begin(replies, request->header.id);
    else if (known->done)
        themis_net_send(request->conn, known->bytes, known->length);
    return known != NULL;
}

/* These bypass the queues: requests of other servers; an UNLOCK for each lock that was granted, since others may wait
 * for it; GOODBYE, since its client does not wait for long; and as many HEARTBEATs as show a client that the server
 * lives. */
static int is_urgent(themis_server_session_t *session, unsigned opcode)
{
    if (!session->job || opcode == THEMIS_OP_GOODBYE)
        return 1;
    if (opcode == THEMIS_OP_HEARTBEAT && session->last_heard - session->heartbeat_served >= heartbeat_interval) {
        session->heartbeat_served = session->last_heard;
        return 1;
    }
    if (opcode != THEMIS_OP_UNLOCK || !session->unlocks)
        return 0;
    session->unlocks--;
    return 1;
}

/* To the scheduler. To give a grant back is no activity. */
static void request_queue_scheduled(themis_server_request_t *request, const themis_server_session_t *session)
{
    uint64_t now = themis_util_clock_now();

    if (request->header.opcode != THEMIS_OP_UNMAP)
        themis_server_direct_on_request(request->server, session, now);
    themis_server_queue_add(request, now);
}

/* Queues an admitted request, or replays its reply. */
static disposition_t request_queue(themis_server_request_t *request, themis_server_session_t *session)
{
    unsigned opcode = request->header.opcode;

    request->session = session;
    request->epoch = session->epoch;
    if (themis_proto_is_done_once(opcode) && request_replay(request))
        return DISCARDED;
    if (is_urgent(session, opcode))
        themis_server_queue_add_ready(request);
    else if (opcode <= THEMIS_OP_GOODBYE || opcode >= THEMIS_OP_STATUS)
        themis_server_queue_add_control(request);
    else
        request_queue_scheduled(request, session);
    return QUEUED;
}

/* *text says why the request is not admitted (NULL: the status does). */
static themis_status_t request_admit(themis_server_request_t *request, themis_server_session_t *session,
                                     const char **text)
{
    unsigned opcode = request->header.opcode;

    if (!session->job && opcode != THEMIS_OP_TABLE && opcode != THEMIS_OP_SETTLE && opcode > THEMIS_OP_GOODBYE) {
        *text = "a server may only send tables and settle changes of names";
        return THEMIS_REFUSED;
    }
    if (themis_server_drain_refuses(request->server, opcode))
        return THEMIS_SHUTTING_DOWN;
    themis_status_t status = themis_server_session_admit(session, request->length);
    if (status != THEMIS_OK)
        *text = "too many requests of this client are waiting";
    return status;
}

/* With the lock. REFUSED: *status and *text say why. */
static disposition_t request_dispatch(themis_server_request_t *request, themis_status_t *status, const char **text)
{
    themis_server_t *server = request->server;
    themis_server_session_t *session = themis_net_conn_user(request->conn);
    unsigned opcode = request->header.opcode;

    if (request->header.kind != THEMIS_PROTO_REQUEST)
        return DISCARDED;
    if (!session && opcode == THEMIS_OP_HELLO)
        return FIRST_HELLO;
    if (!session) {
        *status = THEMIS_REFUSED;
        *text = "the first message must be HELLO";
        return REFUSED;
    }
    *status = themis_server_session_touch(server, session);
    server->totals.heartbeats += opcode == THEMIS_OP_HEARTBEAT;
    if (opcode == THEMIS_OP_HEARTBEAT && session->heartbeat_queued)
        return DISCARDED; /* the reply to the earlier one answers this one, too */
    if (*status == THEMIS_OK)
        *status = request_admit(request, session, text);
    return *status == THEMIS_OK ? request_queue(request, session) : REFUSED;
}

static void on_request(themis_server_t *server, themis_net_conn_t *conn, themis_server_request_t *request)
{
    themis_status_t status = THEMIS_OK;
    const char *text = NULL;

    int is_answer = request->header.kind == THEMIS_PROTO_REPLY &&
                    themis_server_settler_answer(server, conn, &request->header, &request->body);
    pthread_mutex_lock(&server->lock);
    if (is_answer) {
        themis_server_request_free(request);
        pthread_mutex_unlock(&server->lock);
        return;
    }
    disposition_t disposition = request_dispatch(request, &status, &text);
    pthread_mutex_unlock(&server->lock);
    if (disposition == QUEUED)
        return;
    if (disposition == FIRST_HELLO)
        status = themis_server_session_requests_hello(request);
    else if (disposition == REFUSED)
        themis_server_reply_send_unsaved(conn, &request->header, status, NULL, text);
    pthread_mutex_lock(&server->lock);
    if (disposition == DISCARDED || (status != THEMIS_OK && status != THEMIS_SHUTTING_DOWN))
        themis_server_session_count_discarded(server, conn);
    themis_server_request_free(request);
    pthread_mutex_unlock(&server->lock);
}

static void on_message(void *arg, themis_net_conn_t *conn, const void *bytes, size_t length)
{
    themis_server_t *server = arg;
    themis_server_request_t *request;
    themis_proto_header_t header;
    themis_status_t status = themis_server_request_create(server, conn, bytes, length, &request);

    if (status == THEMIS_OK) {
        on_request(server, conn, request);
        return;
    }
    themis_status_t readable = themis_proto_decode_header(bytes, length, &header);
    if (readable == THEMIS_OK || readable == THEMIS_VERSION || readable == THEMIS_OPCODE)
        themis_server_reply_send_unsaved(conn, &header, status, NULL, NULL);
    else
        themis_warn("%s sent a malformed message of %zu bytes, which is ignored", themis_net_conn_peer(conn), length);
    pthread_mutex_lock(&server->lock);
    themis_server_session_count_discarded(server, conn);
    pthread_mutex_unlock(&server->lock);
}

static void on_opened(void *arg, themis_net_conn_t *conn)
{
    themis_server_t *server = arg;
    int64_t user = themis_server_pending_user(conn);

    pthread_mutex_lock(&server->lock);
    themis_server_pending_add(server, conn, user);
    pthread_mutex_unlock(&server->lock);
}

static void on_closed(void *arg, themis_net_conn_t *conn, themis_status_t why)
{
    themis_server_t *server = arg;

    pthread_mutex_lock(&server->lock);
    themis_server_session_t *session = themis_net_conn_user(conn);
    if (session && session->conn == conn)
        themis_server_session_lose_connection(server, session);
    themis_server_pending_forget(server, conn);
    pthread_mutex_unlock(&server->lock);
    themis_server_settler_closed(server, conn);
}

const themis_net_handlers_t themis_server_dispatch_handlers = {
    .opened = on_opened, .message = on_message, .closed = on_closed};
