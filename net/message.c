/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/message.h"
#include <stdlib.h>
#include "net/connect.h"
#include "net/event.h"
#include "util/log.h"

enum { MAX_EARLY = 4096 }; /* messages that may come before an earlier one */

themis_status_t themis_net_send(themis_net_conn_t *conn, const void *bytes, size_t length)
{
    themis_status_t status;

    if (length > THEMIS_NET_MAX_MESSAGE)
        return THEMIS_RANGE;
    if (conn->state == THEMIS_NET_OPEN && conn->transport->send != NULL)
        return conn->transport->send(conn, bytes, length);
    themis_net_lock(conn->net);
    themis_net_frame_t frame = {.type = THEMIS_NET_MESSAGE, .id = conn->next_out};
    if (conn->state != THEMIS_NET_OPEN) {
        status = THEMIS_DISCONNECTED;
    } else if (conn->queued_out + length > THEMIS_NET_MAX_QUEUED) {
        status = THEMIS_BUSY;
    } else {
        status = conn->transport->post(conn, &frame, bytes, length, NULL, NULL);
        conn->next_out += status == THEMIS_OK;
    }
    themis_net_unlock(conn->net);
    return status;
}

themis_status_t themis_net_send_descriptor(themis_net_conn_t *conn, const void *bytes, size_t length, int fd)
{
    if (length > THEMIS_NET_MAX_MESSAGE)
        return THEMIS_RANGE;
    if (conn->state != THEMIS_NET_OPEN)
        return THEMIS_DISCONNECTED;
    if (conn->transport->send_descriptor == NULL || !conn->server)
        return THEMIS_UNSUPPORTED;
    return conn->transport->send_descriptor(conn, bytes, length, fd);
}

int themis_net_take_descriptor(themis_net_conn_t *conn)
{
    return conn->transport->take_descriptor != NULL ? conn->transport->take_descriptor(conn) : -1;
}

static void deliver_arrivals(themis_net_conn_t *conn)
{
    themis_net_event_t *event;

    while ((event = conn->arrivals) != NULL && event->complete && event->sequence == conn->next_in) {
        DL_DELETE(conn->arrivals, event);
        conn->next_in++;
        themis_net_event_queue(event);
    }
}

static void on_fetched(void *arg, themis_status_t status)
{
    themis_net_event_t *event = arg;
    themis_net_conn_t *conn = event->conn;

    event->complete = 1;
    if (status == THEMIS_OK && !themis_net_conn_is_dead(conn)) {
        deliver_arrivals(conn);
        return;
    }
    DL_DELETE(conn->arrivals, event);
    themis_net_conn_ref(conn);
    themis_net_event_free(event);
    themis_net_conn_lose(conn, status);
    themis_net_conn_unref(conn);
}

/* Inserts by number; returns 0 for a number that was used before or is too far ahead. */
static int arrivals_insert(themis_net_conn_t *conn, themis_net_event_t *event)
{
    themis_net_event_t *other;

    if (event->sequence - conn->next_in >= MAX_EARLY)
        return 0;
    DL_FOREACH(conn->arrivals, other)
    {
        if (other->sequence == event->sequence)
            return 0;
        if (other->sequence > event->sequence)
            break;
    }
    DL_PREPEND_ELEM(conn->arrivals, other, event); /* appends if there is no other */
    return 1;
}

static themis_net_event_t *arrival_new(themis_net_conn_t *conn, const themis_net_frame_t *frame,
                                       themis_net_payload_t *payload)
{
    themis_net_event_t *event = themis_net_event_new(conn, THEMIS_NET_EVENT_MESSAGE);

    if (event == NULL)
        return NULL;
    event->sequence = frame->id;
    event->release = payload->release;
    event->bytes = payload->release != NULL ? payload->data : malloc(payload->length + 1);
    if (event->bytes == NULL || !arrivals_insert(conn, event)) {
        if (payload->release != NULL)
            event->bytes = NULL; /* stays the transport's */
        themis_net_event_free(event);
        return NULL;
    }
    event->length = payload->length;
    event->cost = payload->length + THEMIS_NET_EVENT_COST;
    conn->queued_in += event->cost;
    return event;
}

void themis_net_message_on_frame(themis_net_conn_t *conn, const themis_net_frame_t *frame,
                                 themis_net_payload_t *payload)
{
    themis_net_event_t *event = NULL;

    if (conn->server && conn->state == THEMIS_NET_HANDSHAKE)
        themis_net_connect_on_ready(conn, frame, payload);
    if (conn->state != THEMIS_NET_OPEN && conn->server)
        return;
    if (payload->length <= THEMIS_NET_MAX_MESSAGE && conn->queued_in + payload->length <= THEMIS_NET_MAX_QUEUED)
        event = arrival_new(conn, frame, payload);
    if (event == NULL) {
        themis_warn("dropping %s: a message of %zu bytes is too much or out of order", conn->peer, payload->length);
        themis_net_conn_lose(conn, THEMIS_PROTOCOL);
        return;
    }
    if (payload->release != NULL) {
        payload->kept = 1;
        deliver_arrivals(conn);
    } else {
        event->complete = 0;
        conn->transport->fetch(conn, payload, event->bytes, on_fetched, event);
    }
}
