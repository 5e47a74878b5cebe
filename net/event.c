/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/event.h"
#include <stdlib.h>

static void event_init(themis_net_event_t *event, themis_net_conn_t *conn, themis_net_event_type_t type)
{
    event->type = type;
    event->conn = conn;
    event->complete = 1;
    themis_net_conn_ref(conn);
}

themis_net_event_t *themis_net_event_new(themis_net_conn_t *conn, themis_net_event_type_t type)
{
    themis_net_event_t *event = calloc(1, sizeof *event);

    if (event != NULL)
        event_init(event, conn, type);
    return event;
}

void themis_net_event_queue(themis_net_event_t *event)
{
    themis_net_t *net = event->conn->net;

    DL_APPEND(net->events, event);
    net->kick = 1;
}

void themis_net_event_free(themis_net_event_t *event)
{
    if (event->bytes != NULL && event->release != NULL)
        event->release(event->conn->net, event->bytes);
    else
        free(event->bytes);
    event->conn->queued_in -= event->cost;
    themis_net_conn_unref(event->conn);
    free(event);
}

void themis_net_event_deliver(const themis_net_event_t *event)
{
    themis_net_conn_t *conn = event->conn;
    const themis_net_handlers_t *handlers = &conn->net->handlers;
    int wanted = conn->state != THEMIS_NET_CLOSED;

    switch (event->type) {
    case THEMIS_NET_EVENT_OPENED:
        conn->announced = 1;
        if (handlers->opened != NULL && wanted)
            handlers->opened(conn->net->arg, conn);
        break;
    case THEMIS_NET_EVENT_MESSAGE:
        if (handlers->message != NULL && wanted)
            handlers->message(conn->net->arg, conn, event->bytes, event->length);
        break;
    case THEMIS_NET_EVENT_CLOSED:
        if (handlers->closed != NULL && wanted)
            handlers->closed(conn->net->arg, conn, event->status);
        break;
    case THEMIS_NET_EVENT_MOVED:
        event->moved(event->arg, event->status);
        break;
    }
}

void themis_net_event_opened(themis_net_conn_t *conn)
{
    if (conn->server) {
        themis_net_event_t *event = themis_net_event_new(conn, THEMIS_NET_EVENT_OPENED);
        if (event == NULL) {
            themis_net_conn_lose(conn, THEMIS_NO_MEMORY);
            return;
        }
        themis_net_event_queue(event);
        conn->net->unauthenticated--;
    } else {
        conn->announced = 1;
    }
    conn->state = THEMIS_NET_OPEN;
}

void themis_net_event_closed(themis_net_conn_t *conn)
{
    if (conn->running > 0 || conn->closing || conn->closed_reported || conn->state != THEMIS_NET_LOST)
        return;
    conn->closed_reported = 1;
    themis_net_event_t *event = conn->last;
    conn->last = NULL;
    event_init(event, conn, THEMIS_NET_EVENT_CLOSED);
    event->status = conn->why;
    themis_net_event_queue(event);
}
