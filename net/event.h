/* SPDX-License-Identifier: BSD-3-Clause */
/* Events, which wait in net->events until the progressing thread calls the owner's handlers for them. */
#pragma once
#include "net/conn.h"

typedef enum themis_net_event_type {
    THEMIS_NET_EVENT_OPENED,
    THEMIS_NET_EVENT_MESSAGE,
    THEMIS_NET_EVENT_CLOSED,
    THEMIS_NET_EVENT_MOVED
} themis_net_event_type_t;

/* What an event costs beside its bytes, about: many empty messages are limited, too. */
enum { THEMIS_NET_EVENT_COST = 256 };

/* Holds a reference to its connection. */
typedef struct themis_net_event {
    struct themis_net_event *prev, *next;
    themis_net_event_type_t type;
    themis_net_conn_t *conn;
    themis_status_t status;
    themis_net_moved_fn moved;
    void *arg;
    uint64_t sequence;
    int complete;                                    /* 0: the transport still writes to `bytes` */
    void (*release)(themis_net_t *net, void *bytes); /* NULL: free */
    void *bytes;
    size_t length;
    size_t cost; /* part of the connection's queued_in */
} themis_net_event_t;

/* Lock held for all but themis_net_event_deliver. */

/* A new event, not yet queued; NULL without memory. */
themis_net_event_t *themis_net_event_new(themis_net_conn_t *conn, themis_net_event_type_t type);
void themis_net_event_queue(themis_net_event_t *event);
void themis_net_event_free(themis_net_event_t *event);
/* Calls the handler. */
void themis_net_event_deliver(const themis_net_event_t *event);

/* The handshake is complete: the connection is open, which its owner learns by a handler if the peer made it. */
void themis_net_event_opened(themis_net_conn_t *conn);
/* Reports a lost connection once its transport is closed and its transfers have ended; else no effect. */
void themis_net_event_closed(themis_net_conn_t *conn);
