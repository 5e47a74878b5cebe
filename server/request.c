/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/request.h"
#include <stdlib.h>
#include <string.h>
#include <utlist.h>
#include "util/clock.h"

themis_status_t themis_server_request_create(themis_server_t *server, themis_net_conn_t *conn, const void *bytes,
                                             size_t length, themis_server_request_t **request)
{
    themis_server_request_t *made = malloc(sizeof *made + length);

    if (!made)
        return THEMIS_NO_MEMORY;
    memset(made, 0, offsetof(themis_server_request_t, body)); /* the body is large, and decoding fills it */
    memcpy(made->bytes, bytes, length);
    made->length = length;
    themis_status_t status = themis_proto_decode(made->bytes, length, &made->header, &made->body);
    if (status != THEMIS_OK) {
        free(made);
        return status;
    }
    made->server = server;
    made->conn = conn;
    themis_net_conn_ref(conn);
    if (made->header.opcode == THEMIS_OP_SETTLE)
        made->arrived = themis_util_clock_wall();
    if (themis_server_request_is_data(made)) {
        themis_server_cursor_init(&made->cursor, &made->body.io);
        made->item.bytes = themis_server_cursor_total(&made->body.io);
    }
    *request = made;
    return THEMIS_OK;
}

void themis_server_request_free(themis_server_request_t *request)
{
    themis_server_session_t *session = request->session;

    if (session) {
        if (request->header.opcode == THEMIS_OP_HEARTBEAT)
            session->heartbeat_queued = 0;
        themis_server_session_dismiss(session, request->length);
        themis_server_sessions_release(request->server->sessions, session);
    }
    themis_net_conn_unref(request->conn);
    if (request->object)
        DL_APPEND(request->server->closing, request);
    else
        free(request);
}

void themis_server_requests_close(themis_server_t *server)
{
    while (server->closing) {
        themis_server_request_t *request = server->closing;
        DL_DELETE(server->closing, request);
        pthread_mutex_unlock(&server->lock);
        themis_store_close(server->store, request->object);
        free(request);
        pthread_mutex_lock(&server->lock);
    }
}

int themis_server_request_is_data(const themis_server_request_t *request)
{
    return request->header.opcode == THEMIS_OP_READ || request->header.opcode == THEMIS_OP_WRITE;
}

int themis_server_request_is_orphan(const themis_server_request_t *request)
{
    return request->session->conn != request->conn;
}
