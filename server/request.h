/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A request of a client, from its message to its end. Exactly one owner has it at a time, as `state` says:
 *
 *   NEW -> QUEUED -> SERVED                        by way of the scheduler; a request that must wait is HELD before
 *   NEW -> CONTROL -> SERVED                       administration, by way of the control queue
 *   NEW -> READY -> SERVED                         urgent ones
 *   SERVED -> QUEUED                               a slice is over and bytes are left
 *   SERVED -> MOVING -> PARKED -> READY -> SERVED  the network goes on with the transfer
 *   SERVED -> MOVING -> MOVED -> READY -> SERVED   the same, and the transfer ended before the worker had parked it
 *   SERVED -> LOCK_WAIT -> READY -> SERVED         a LOCK that another owner's lock delays
 */
#pragma once
#include "proto/proto.h"
#include "server/cursor.h"
#include "server/server.h"

typedef enum themis_server_request_state {
    THEMIS_SERVER_REQUEST_NEW,
    THEMIS_SERVER_REQUEST_HELD,      /* in session->held */
    THEMIS_SERVER_REQUEST_QUEUED,    /* in the scheduler and in session->queued */
    THEMIS_SERVER_REQUEST_CONTROL,   /* in the control queue and in session->control */
    THEMIS_SERVER_REQUEST_READY,     /* in server->ready */
    THEMIS_SERVER_REQUEST_SERVED,    /* a worker has it */
    THEMIS_SERVER_REQUEST_MOVING,    /* the network has it, and its worker is about to park it */
    THEMIS_SERVER_REQUEST_MOVED,     /* its transfer has ended, and its worker is about to park it */
    THEMIS_SERVER_REQUEST_PARKED,    /* the network has it; in slices.moving or slices.stalled */
    THEMIS_SERVER_REQUEST_LOCK_WAIT, /* the lock table has it */
} themis_server_request_state_t;

/* Which queue has to learn that it was served. */
typedef enum themis_server_route {
    THEMIS_SERVER_ROUTE_DIRECT, /* none */
    THEMIS_SERVER_ROUTE_SCHEDULED,
    THEMIS_SERVER_ROUTE_CONTROL,
} themis_server_route_t;

/* How a slice of data counts (slices.c). */
typedef enum themis_server_slice_kind {
    THEMIS_SERVER_SLICE_NONE,    /* not data, or not being served */
    THEMIS_SERVER_SLICE_COUNTED, /* towards the limit */
    THEMIS_SERVER_SLICE_EXTRA,   /* the one beyond the limit that a job with stalled slices may have */
    THEMIS_SERVER_SLICE_STALLED, /* its client takes no part in the transfer */
} themis_server_slice_kind_t;

typedef struct themis_server_slice {
    themis_server_slice_kind_t kind;
    uint64_t started, parked;      /* ns */
    uint64_t moved, left;          /* bytes */
    themis_store_window_t *window; /* of a slice of data */
} themis_server_slice_t;

typedef struct themis_server_request {
    themis_sched_item_t item; /* first: the scheduler's handle */
    themis_sched_control_item_t control;
    themis_server_t *server;
    themis_server_request_state_t state;
    themis_server_route_t route;
    themis_server_session_t *session;          /* a reference; NULL before admission */
    themis_net_conn_t *conn;                   /* that it came by; a reference */
    uint32_t epoch;                            /* of the session, when it came */
    uint64_t arrived;                          /* ns since 1970; of SETTLE, else 0 */
    struct themis_server_request *next, *prev; /* of one list at a time */
    int saves_reply;                           /* where the session keeps the reply for a replay; 0: nowhere */
    themis_server_slice_t slice;               /* while it is being served */
    themis_status_t status;                    /* of the transfer that has ended, or of the lock */
    /* READ and WRITE, in all slices */
    themis_server_cursor_t cursor;
    int opened;                    /* 1: the object was looked up */
    int found;                     /* 1: it exists; of requests about the bytes of one */
    themis_store_object_t *object; /* NULL: not opened, or nothing was written to it */
    uint64_t end, total;           /* the object's end that bounds a read; bytes moved */
    /* the message */
    themis_proto_header_t header;
    themis_proto_body_t body; /* borrows from bytes */
    size_t length;
    uint8_t bytes[];
} themis_server_request_t;

/* Decodes a message into a request without a session. THEMIS_NO_MEMORY, or the error of themis_proto_decode. */
themis_status_t themis_server_request_create(themis_server_t *server, themis_net_conn_t *conn, const void *bytes,
                                             size_t length, themis_server_request_t **request);
/* Frees a request that no list has, and drops its session. One that has an object open is left in server->closing. With
 * the lock. */
void themis_server_request_free(themis_server_request_t *request);
/* Closes the objects of the requests in server->closing, and frees them. With the lock, which is released meanwhile. */
void themis_server_requests_close(themis_server_t *server);

/* 1 for READ and WRITE. */
int themis_server_request_is_data(const themis_server_request_t *request);
/* 1 if the client has gone, or has come back by another connection and will send the request again. */
int themis_server_request_is_orphan(const themis_server_request_t *request);
