/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What two processes on one host share instead of UCX: a local socket, which tells who the other is, that it lives, and
 * wakes it; memory with rings for messages and stages for small bulk data, one for each direction; and, between
 * processes of one user, the right to copy other bulk data. Without that right bulk data goes through the rings.
 */
#ifndef THEMIS_NET_LOCAL_CHANNEL_H
#define THEMIS_NET_LOCAL_CHANNEL_H
#include "net/core.h"
#include "net/local/ring.h"
#include "net/local/staging.h"

/* The shared memory. Who sends by rings[i] exposes by stages[i]. */
enum { THEMIS_NET_TO_SERVER = 0, THEMIS_NET_TO_CLIENT = 1 };
typedef struct themis_net_local_shared {
    themis_net_ring_shared_t rings[2];
    themis_net_stage_shared_t stages[2];
} themis_net_local_shared_t;

typedef struct themis_net_local {
    int fd;     /* the socket; -1 none */
    int pid_fd; /* readable when the process has ended; -1 none */
    themis_net_peer_credentials_t peer;
    atomic_int may_copy;
    atomic_int hung_up; /* the peer is gone, what it has written is still to be read */
    themis_net_local_shared_t *memory;
    atomic_uint bells; /* how often the peer was allowed to ring since the socket was emptied */

    uint32_t staged; /* slots of our stage in use; net->lock */
    themis_net_stage_shared_t *mine, *theirs;

    pthread_mutex_t out_lock; /* guards the next five */
    themis_net_ring_t out;
    unsigned char *waiting; /* bytes for which the ring had no room: [waiting_start, waiting_end) */
    size_t waiting_start, waiting_end, waiting_room;
    atomic_int has_waiting;

    themis_net_ring_t in; /* the rest belongs to the progressing thread */
    unsigned char *message;
    size_t message_length, message_have;
    int message_is_frame;
} themis_net_local_t;

/* The listening socket of a net. */
themis_status_t themis_net_local_listen(themis_net_t *net);
void themis_net_local_unlisten(themis_net_t *net);
/* Accepts, identifies, drops those who do not speak in time. Lock held, progressing thread. */
void themis_net_local_accept(themis_net_t *net);
void themis_net_local_identify(themis_net_t *net, unsigned stranger);
/* Returns 1 if it has to be called again soon. */
int themis_net_local_tend(themis_net_t *net);

/* Client: asks the server for a local connection until `deadline`. THEMIS_UNSUPPORTED: it is on another host.
 * THEMIS_REFUSED: it has closed the socket, as it is not the server at conn->address, or ends. Lock not held. */
themis_status_t themis_net_local_connect(themis_net_conn_t *conn, uint64_t deadline);

/* Sends a message by the ring. Any thread, lock not held. */
themis_status_t themis_net_local_send(themis_net_conn_t *conn, const void *bytes, size_t length);
/* Sends a frame of bulk data by the ring, with a copy of its payload. Lock held. */
themis_status_t themis_net_local_post(themis_net_conn_t *conn, const themis_net_frame_t *frame, const void *payload,
                                      size_t length);

/* Sends what is waiting and hands out what has come, as the progressing thread. Returns the number of messages. */
unsigned themis_net_local_poll(themis_net_conn_t *conn);

/* Before and after a sleep: asks the peer to ring. Returns 0 if there is something to read already. */
int themis_net_local_doze(themis_net_conn_t *conn);
void themis_net_local_awake(themis_net_conn_t *conn);
/* The peer is gone: what it has written is read, then the connection is lost. Lock held. */
void themis_net_local_hang_up(themis_net_conn_t *conn);

/* Stops watching (lock held); frees (last reference). */
void themis_net_local_close(themis_net_conn_t *conn);
void themis_net_local_free(themis_net_local_t *local);
#endif
