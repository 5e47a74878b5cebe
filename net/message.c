/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages: sending, and bringing what arrives into its order. UCX may deliver a large message (rendezvous, or several
 * lanes) later than a small one that was sent after it, so messages carry numbers, and one that is early or not
 * complete waits in conn->arrivals.
 */
#include <stdlib.h>
#include <string.h>
#include "net/local/channel.h"
#include "util/log.h"

/* What a peer that does not read, or one that only talks, can make us hold. */
enum { MAX_QUEUED = 64 << 20, MAX_AHEAD = 4096 };

themis_status_t themis_net_send(themis_net_conn_t *conn, const void *bytes, size_t length)
{
    themis_net_frame_t frame = {.type = THEMIS_NET_MESSAGE};
    themis_status_t status;

    if (length > THEMIS_NET_MAX_MESSAGE)
        return THEMIS_RANGE;
    if (conn->state == THEMIS_NET_OPEN && conn->local != NULL)
        return themis_net_local_send(conn, bytes, length);
    themis_net_lock(conn->net);
    if (conn->state != THEMIS_NET_OPEN) {
        status = THEMIS_DISCONNECTED;
    } else if (conn->queued_out + length > MAX_QUEUED) {
        status = THEMIS_BUSY;
    } else {
        frame.id = conn->next_out;
        status = themis_net_post(conn, &frame, bytes, length, NULL, NULL);
        if (status == THEMIS_OK)
            conn->next_out++;
    }
    themis_net_unlock(conn->net);
    return status;
}

static void deliver(themis_net_conn_t *conn)
{
    themis_net_event_t *event;

    while ((event = conn->arrivals) != NULL && event->complete && event->sequence == conn->next_in) {
        DL_DELETE(conn->arrivals, event);
        conn->next_in++;
        themis_net_event_queue(event);
    }
}

static void on_whole(void *arg, themis_status_t status)
{
    themis_net_event_t *event = arg;
    themis_net_conn_t *conn = event->conn;

    event->complete = 1;
    if (status == THEMIS_OK && !themis_net_conn_is_dead(conn)) {
        deliver(conn);
        return;
    }
    DL_DELETE(conn->arrivals, event);
    themis_net_conn_ref(conn);
    themis_net_event_free(event);
    themis_net_conn_lose(conn, status);
    themis_net_conn_unref(conn);
}

/* Inserts by number; returns 0 for a number that was used before or is too far ahead. */
static int insert(themis_net_conn_t *conn, themis_net_event_t *event)
{
    themis_net_event_t *other, *place = NULL;

    if (event->sequence - conn->next_in >= MAX_AHEAD)
        return 0;
    DL_FOREACH(conn->arrivals, other)
    {
        if (other->sequence == event->sequence)
            return 0;
        if (other->sequence > event->sequence) {
            place = other;
            break;
        }
    }
    if (place != NULL)
        DL_PREPEND_ELEM(conn->arrivals, place, event);
    else
        DL_APPEND(conn->arrivals, event);
    return 1;
}

static themis_net_event_t *event_for(themis_net_conn_t *conn, const themis_net_frame_t *frame,
                                     themis_net_payload_t *payload)
{
    themis_net_event_t *event = themis_net_event_new(conn, THEMIS_NET_EVENT_MESSAGE);

    if (event == NULL)
        return NULL;
    event->sequence = frame->id;
    event->from_ucx = payload->keepable;
    event->bytes = payload->keepable ? payload->data : malloc(payload->length + 1);
    if (event->bytes == NULL || !insert(conn, event)) {
        if (payload->keepable)
            event->bytes = NULL; /* stays UCX's */
        themis_net_event_free(event);
        return NULL;
    }
    event->length = payload->length;
    conn->queued_in += payload->length;
    return event;
}

void themis_net_on_message(themis_net_conn_t *conn, const themis_net_frame_t *frame, themis_net_payload_t *payload)
{
    themis_net_event_t *event = NULL;

    if (conn->server && conn->state == THEMIS_NET_GREETED)
        themis_net_on_ready(conn);
    if (conn->state != THEMIS_NET_OPEN && conn->server)
        return;
    if (payload->length <= THEMIS_NET_MAX_MESSAGE && conn->queued_in + payload->length <= MAX_QUEUED)
        event = event_for(conn, frame, payload);
    if (event == NULL) {
        themis_warn("dropping %s: a message of %zu bytes is too much or out of order", conn->peer, payload->length);
        themis_net_conn_lose(conn, THEMIS_PROTOCOL);
        return;
    }
    if (payload->keepable) {
        payload->kept = 1;
        deliver(conn);
    } else {
        event->complete = 0;
        themis_net_fetch(conn, payload, event->bytes, on_whole, event);
    }
}

void themis_net_on_bulk(themis_net_conn_t *conn, const themis_net_frame_t *frame, const themis_net_payload_t *payload)
{
    switch (frame->type) {
    case THEMIS_NET_PULL:
        themis_net_on_pull(conn, frame);
        break;
    case THEMIS_NET_DATA:
        themis_net_on_data(conn, frame, payload);
        break;
    case THEMIS_NET_PUSH:
        themis_net_on_push(conn, frame, payload);
        break;
    case THEMIS_NET_ACK:
        themis_net_on_ack(conn, frame);
        break;
    default:
        themis_net_conn_lose(conn, THEMIS_PROTOCOL);
    }
}
