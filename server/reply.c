/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include "server/server.h"
#include "util/log.h"

enum { SMALL = 1024 };

static themis_proto_header_t reply_header(const themis_proto_header_t *request, themis_status_t status)
{
    return (themis_proto_header_t){.version = THEMIS_PROTO_VERSION,
                                   .kind = THEMIS_PROTO_REPLY,
                                   .opcode = request->opcode,
                                   .id = request->id,
                                   .status = status};
}

/* Encodes into `small`, or into memory of its own when that is too little; *bytes is then to be freed. */
static themis_status_t encode(const themis_proto_header_t *header, const void *body, uint8_t small[SMALL],
                              uint8_t **bytes, size_t *length)
{
    *bytes = small;
    if (themis_proto_encode(header, body, small, SMALL, length) == THEMIS_OK)
        return THEMIS_OK;
    *bytes = malloc(THEMIS_PROTO_MAX_MESSAGE);
    if (!*bytes)
        return THEMIS_NO_MEMORY;
    themis_status_t status = themis_proto_encode(header, body, *bytes, THEMIS_PROTO_MAX_MESSAGE, length);
    if (status != THEMIS_OK) {
        free(*bytes);
        themis_error("a reply to %s cannot be encoded: %s", themis_proto_opcode_name(header->opcode),
                     themis_status_string(status));
    }
    return status;
}

/* The connection to answer by: what is remembered goes to where the client is now. A reference, or NULL. */
static themis_net_conn_t *keep_and_find(themis_request_t *request, const uint8_t *bytes, size_t length)
{
    themis_net_conn_t *conn = request->conn;
    themis_server_t *server = request->server;

    if (!request->remembered) {
        themis_net_conn_ref(conn);
        return conn;
    }
    pthread_mutex_lock(&server->lock);
    themis_server_session_keep(request->session, request->header.id, bytes, length);
    conn = request->session->conn;
    if (conn)
        themis_net_conn_ref(conn);
    pthread_mutex_unlock(&server->lock);
    return conn;
}

static themis_status_t send_reply(themis_request_t *request, const themis_proto_header_t *header, const void *body)
{
    uint8_t small[SMALL], *bytes;
    size_t length;
    themis_status_t status = encode(header, body, small, &bytes, &length);

    if (status != THEMIS_OK)
        return status;
    themis_net_conn_t *conn = keep_and_find(request, bytes, length);
    if (conn) {
        themis_net_send(conn, bytes, length); /* a lost connection is closed by its own handler */
        themis_net_conn_unref(conn);
    }
    if (bytes != small)
        free(bytes);
    return THEMIS_OK;
}

static themis_proto_text_body_t text_body(themis_status_t status, const char *text)
{
    if (!text)
        text = themis_status_string(status);
    return (themis_proto_text_body_t){.text = {.bytes = text, .length = (uint32_t)strlen(text)}};
}

void themis_server_request_reply(themis_request_t *request, themis_status_t status, const void *body, const char *text)
{
    themis_proto_header_t header = reply_header(&request->header, status);
    themis_proto_text_body_t failure = text_body(status, text);

    status = send_reply(request, &header, status < 0 ? &failure : body);
    if (status == THEMIS_OK)
        return;
    header.status = status;
    failure = text_body(status, "the answer does not fit into a message");
    send_reply(request, &header, &failure);
}

static void send_plain(themis_net_conn_t *conn, const themis_proto_header_t *header, const void *body)
{
    uint8_t small[SMALL], *bytes;
    size_t length;

    if (encode(header, body, small, &bytes, &length) != THEMIS_OK)
        return;
    themis_net_send(conn, bytes, length);
    if (bytes != small)
        free(bytes);
}

void themis_server_refuse(themis_net_conn_t *conn, const themis_proto_header_t *header, themis_status_t status,
                          const char *text)
{
    themis_proto_header_t reply = reply_header(header, status);
    themis_proto_text_body_t body = text_body(status, text);

    send_plain(conn, &reply, &body);
}

void themis_server_answer(themis_net_conn_t *conn, const themis_proto_header_t *header, const void *body)
{
    themis_proto_header_t reply = reply_header(header, THEMIS_OK);

    send_plain(conn, &reply, body);
}
