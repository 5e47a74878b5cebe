/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From messages to requests: called by whoever polls the network, so nothing here waits for a disk. The first HELLO of
 * a connection is answered at once, replays from the session's memory; everything else is queued.
 */
#include <stdlib.h>
#include <string.h>
#include <utlist.h>
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
    return opcode >= THEMIS_OP_LOCK || opcode <= THEMIS_OP_GOODBYE;
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
        themis_server_cursor_init(&request->cursor, &request->body.io);
        request->item.bytes = themis_server_cursor_total(&request->body.io);
    }
    *result = request;
    return THEMIS_OK;
}

void themis_server_request_free(themis_request_t *request)
{
    if (request->session) {
        if (request->header.opcode == THEMIS_OP_HEARTBEAT)
            request->session->beating = 0;
        themis_server_session_dismiss(request->session, request->length);
        themis_server_release_session(request->server, request->session);
    }
    themis_net_conn_unref(request->conn);
    free(request);
}

/* --- messages ---------------------------------------------------------------------------------------------------- */

/* Sends what is remembered of a request; 0 if this is its first time. */
static int replay(themis_net_conn_t *conn, themis_request_t *request)
{
    const themis_server_remembered_t *known = themis_server_session_recall(request->session, request->header.id);

    if (known && known->done)
        themis_net_send(conn, known->bytes, known->length);
    if (!known)
        request->remembered = themis_server_session_begin(request->session, request->header.id) != NULL;
    return known != NULL;
}

/* To the scheduler, or to wait: for what an earlier connection left in service, or for the client to take part in what
 * is under way. */
static void queue(themis_server_t *server, themis_request_t *request, uint64_t now)
{
    themis_server_session_t *session = request->session;

    if (session->behind || session->stalled) {
        request->state = THEMIS_SERVER_REQUEST_HELD;
        DL_APPEND(session->held, request);
        return;
    }
    request->state = THEMIS_SERVER_REQUEST_QUEUED;
    DL_APPEND(session->queued, request);
    themis_sched_enqueue(server->sched, session->job, &request->item, now);
    themis_server_rouse(server);
}

void themis_server_caught_up(themis_server_t *server, themis_server_session_t *session)
{
    uint64_t now = themis_util_clock_now();

    while (session->held && !session->behind && !session->stalled) {
        themis_request_t *request = session->held;
        DL_DELETE(session->held, request);
        queue(server, request, now);
    }
}

/* Served at once, whatever the queues: what other servers send; an UNLOCK for each lock that was granted, since others
 * may wait for it; a session's only GOODBYE, since its client does not wait for long; and as many HEARTBEATs as a
 * client needs to see that the server lives. */
static int is_urgent(themis_server_session_t *session, unsigned opcode)
{
    if (!session->job || opcode == THEMIS_OP_GOODBYE)
        return 1;
    if (opcode == THEMIS_OP_HEARTBEAT && session->heard - session->beaten >= THEMIS_SERVER_SESSION_BEAT) {
        session->beaten = session->heard;
        return 1;
    }
    if (opcode != THEMIS_OP_UNLOCK || !session->unlocks)
        return 0;
    session->unlocks--;
    return 1;
}

static int is_control(unsigned opcode)
{
    return opcode <= THEMIS_OP_GOODBYE || opcode >= THEMIS_OP_STATUS;
}

static void ask(themis_server_t *server, themis_request_t *request)
{
    themis_server_session_t *session = request->session;

    request->state = THEMIS_SERVER_REQUEST_ASKED;
    session->beating |= request->header.opcode == THEMIS_OP_HEARTBEAT;
    DL_APPEND(session->asked, request);
    themis_sched_control_queue_add(&server->control, session->job, &request->control);
    themis_server_rouse(server);
}

void themis_server_count_waste(themis_server_t *server, themis_net_conn_t *conn)
{
    themis_server_session_t *session = themis_net_conn_user(conn);
    themis_server_waste_t *waste = session ? &session->waste : &server->waste;

    if (!themis_server_waste_add(waste, themis_util_clock_now()))
        return;
    if (waste->count == THEMIS_SERVER_SESSION_WASTE + 1) /* strangers share an account, and so a line in the log */
        themis_warn("%s sends useless messages in masses: its connection is closed", themis_net_conn_peer(conn));
    if (session)
        themis_server_disconnect(server, session);
    else
        themis_net_conn_close(conn);
}

/* Takes the request over, with the lock; what is done with it is up to a worker. */
static void take_over(themis_server_t *server, themis_net_conn_t *conn, themis_request_t *request,
                      themis_server_session_t *session)
{
    unsigned opcode = request->header.opcode;

    request->session = session;
    request->epoch = session->epoch;
    if (is_remembered(opcode) && replay(conn, request)) {
        themis_server_count_waste(server, conn);
        themis_server_request_free(request);
    } else if (is_urgent(session, opcode)) {
        themis_server_ready(server, request);
    } else if (is_control(opcode)) {
        ask(server, request);
    } else {
        request->scheduled = 1;
        queue(server, request, themis_util_clock_now());
    }
}

/* May the request be taken over? If not, *text says why (NULL: the status does). */
static themis_status_t admit(themis_server_t *server, themis_server_session_t *session, const themis_request_t *request,
                             const char **text)
{
    unsigned opcode = request->header.opcode;

    if (!session->job && opcode != THEMIS_OP_TABLE && opcode > THEMIS_OP_GOODBYE) {
        *text = "a server has no files here";
        return THEMIS_REFUSED;
    }
    if (server->draining && (!ends_something(opcode) || themis_util_clock_now() >= server->drain_end))
        return THEMIS_SHUTTING_DOWN;
    themis_status_t status = themis_server_session_admit(session, request->length);
    if (status != THEMIS_OK)
        *text = "too many requests of this client wait";
    return status;
}

/* What becomes of a message. */
typedef enum fate { TAKEN_OVER, NEWCOMER, REFUSED, USELESS } fate_t;

/* With the lock. *status and *text: why it is refused. */
static fate_t take_message(themis_server_t *server, themis_net_conn_t *conn, themis_request_t *request,
                           themis_status_t *status, const char **text)
{
    themis_server_session_t *session = themis_net_conn_user(conn);
    unsigned opcode = request->header.opcode;

    if (request->header.kind != THEMIS_PROTO_REQUEST)
        return USELESS;
    if (!session && opcode == THEMIS_OP_HELLO)
        return NEWCOMER;
    if (!session) {
        *status = THEMIS_REFUSED;
        *text = "the first message is to be HELLO";
        return REFUSED;
    }
    *status = themis_server_hear(server, session);
    server->heartbeats += opcode == THEMIS_OP_HEARTBEAT;
    if (opcode == THEMIS_OP_HEARTBEAT && session->beating)
        return USELESS; /* the answer to the one before is one to this, too */
    if (*status == THEMIS_OK)
        *status = admit(server, session, request, text);
    if (*status != THEMIS_OK)
        return REFUSED;
    take_over(server, conn, request, session);
    return TAKEN_OVER;
}

static void on_request(themis_server_t *server, themis_net_conn_t *conn, themis_request_t *request)
{
    themis_status_t status = THEMIS_OK;
    const char *text = NULL;

    pthread_mutex_lock(&server->lock);
    fate_t fate = take_message(server, conn, request, &status, &text);
    pthread_mutex_unlock(&server->lock);
    if (fate == TAKEN_OVER)
        return;
    if (fate == NEWCOMER)
        status = themis_server_greet(request);
    else if (fate == REFUSED)
        themis_server_refuse(conn, &request->header, status, text);
    if (fate == USELESS || (status != THEMIS_OK && status != THEMIS_SHUTTING_DOWN)) {
        pthread_mutex_lock(&server->lock);
        themis_server_count_waste(server, conn);
        pthread_mutex_unlock(&server->lock);
    }
    themis_net_conn_unref(request->conn);
    free(request);
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
    if (readable == THEMIS_OK || readable == THEMIS_VERSION || readable == THEMIS_OPCODE)
        themis_server_refuse(conn, &header, status, NULL);
    else
        themis_warn("%s sent a malformed message of %zu bytes", themis_net_conn_peer(conn), length);
    pthread_mutex_lock(&server->lock);
    themis_server_count_waste(server, conn);
    pthread_mutex_unlock(&server->lock);
}

static void on_closed(void *arg, themis_net_conn_t *conn, themis_status_t why)
{
    themis_server_t *server = arg;

    (void)why;
    pthread_mutex_lock(&server->lock);
    themis_server_session_t *session = themis_net_conn_user(conn);
    if (session && session->conn == conn) {
        themis_server_lose_connection(server, session);
        session->lost = themis_util_clock_now();
    }
    pthread_mutex_unlock(&server->lock);
}

const themis_net_handlers_t themis_server_handlers = {.message = on_message, .closed = on_closed};
