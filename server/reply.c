/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/reply.h"
#include <stdlib.h>
#include <string.h>
#include "util/log.h"

typedef struct reply {
    uint8_t small[1024];
    uint8_t *bytes; /* `small`, or larger memory */
    size_t length;
} reply_t;

static themis_proto_header_t header_make(const themis_proto_header_t *request, themis_status_t status, int found)
{
    return (themis_proto_header_t){.version = THEMIS_PROTO_VERSION,
                                   .kind = THEMIS_PROTO_REPLY,
                                   .opcode = request->opcode,
                                   .flags = found ? THEMIS_PROTO_FLAG_EXISTS : 0,
                                   .id = request->id,
                                   .status = status};
}

themis_status_t themis_server_reply_encode(const themis_proto_header_t *request, const void *body, void *out,
                                           size_t capacity, size_t *length)
{
    static const themis_proto_none_t none;
    const themis_proto_header_t header = header_make(request, THEMIS_OK, 0);

    return themis_proto_encode(&header, body ? body : &none, out, capacity, length);
}

/* `found`: the object of the request exists. */
static themis_status_t reply_encode(reply_t *reply, const themis_proto_header_t *request, themis_status_t status,
                                    int found, const void *body, const char *text)
{
    static const themis_proto_none_t none;
    const themis_proto_header_t header = header_make(request, status, found);
    themis_proto_text_body_t failure;

    if (status < 0) {
        text = text ? text : themis_status_string(status);
        failure.text = (themis_proto_text_t){.bytes = text, .length = (uint32_t)strlen(text)};
        body = &failure;
    } else if (!body) {
        body = &none;
    }
    reply->bytes = reply->small;
    if (themis_proto_encode(&header, body, reply->small, sizeof reply->small, &reply->length) == THEMIS_OK)
        return THEMIS_OK;
    reply->bytes = malloc(THEMIS_PROTO_MAX_MESSAGE);
    if (!reply->bytes)
        return THEMIS_NO_MEMORY;
    status = themis_proto_encode(&header, body, reply->bytes, THEMIS_PROTO_MAX_MESSAGE, &reply->length);
    if (status != THEMIS_OK) {
        free(reply->bytes);
        themis_error("the reply to a %s request cannot be encoded: %s", themis_proto_opcode_name(request->opcode),
                     themis_status_string(status));
    }
    return status;
}

/* A lost connection is closed by its own handler. */
static void reply_transmit(reply_t *reply, themis_net_conn_t *conn)
{
    themis_net_send(conn, reply->bytes, reply->length);
    if (reply->bytes != reply->small)
        free(reply->bytes);
}

/* Saves the reply; returns the client's present connection, a reference, or NULL. */
static themis_net_conn_t *reply_save(const reply_t *reply, themis_server_request_t *request)
{
    themis_server_session_t *session = request->session;

    pthread_mutex_lock(&request->server->lock);
    themis_server_saved_replies_end(&session->replies, request->header.id, reply->bytes, reply->length);
    themis_net_conn_t *conn = session->conn;
    if (conn)
        themis_net_conn_ref(conn);
    pthread_mutex_unlock(&request->server->lock);
    return conn;
}

void themis_server_reply_send(themis_server_request_t *request, themis_status_t status, const void *body,
                              const char *text)
{
    reply_t reply;
    themis_net_conn_t *conn = request->conn;

    status = reply_encode(&reply, &request->header, status, request->found, body, text);
    if (status != THEMIS_OK)
        status = reply_encode(&reply, &request->header, status, 0, NULL,
                              status == THEMIS_RANGE ? "the reply does not fit into a message" : NULL);
    if (status != THEMIS_OK)
        return;
    if (request->saves_reply)
        conn = reply_save(&reply, request);
    else
        themis_net_conn_ref(conn);
    if (conn) {
        reply_transmit(&reply, conn);
        themis_net_conn_unref(conn);
    } else if (reply.bytes != reply.small) {
        free(reply.bytes);
    }
}

void themis_server_reply_send_descriptor(themis_server_request_t *request, const void *body, int fd)
{
    reply_t reply;
    themis_status_t status = reply_encode(&reply, &request->header, THEMIS_OK, 0, body, NULL);

    if (status == THEMIS_OK) {
        status = themis_net_send_descriptor(request->conn, reply.bytes, reply.length, fd);
        if (reply.bytes != reply.small)
            free(reply.bytes);
    }
    if (status != THEMIS_OK)
        themis_server_reply_send(request, status, NULL, NULL);
}

void themis_server_reply_send_unsaved(themis_net_conn_t *conn, const themis_proto_header_t *request,
                                      themis_status_t status, const void *body, const char *text)
{
    reply_t reply;

    if (reply_encode(&reply, request, status, 0, body, text) == THEMIS_OK)
        reply_transmit(&reply, conn);
}
