/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The objects of net/ and what its files offer to each other.
 *
 *   net.c       create, destroy, listen
 *   worker.c    UCX: context, worker, listener, endpoints, active messages
 *   conn.c      a connection's life, the message queue of each, events
 *   connect.c   how two sides find out that they may talk
 *   meet.c, local.c, ring.c, stage.c, copy.c   what processes of one host have instead of UCX
 *   progress.c  polling, sleeping, who does it, and the calls of handlers
 *   expose.c    client side of bulk data     transfer.c  server side of bulk data
 *
 * Locking: `lock` guards UCX and every field below it unless something else is said. UCX's callbacks run with it held
 * and never call handlers: they queue events, which the thread with the progress role hands out without the lock.
 */
#ifndef THEMIS_NET_CORE_H
#define THEMIS_NET_CORE_H
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <ucp/api/ucp.h>
#include <uthash.h>
#include <utlist.h>
#include "net/frame.h"
#include "net/net.h"

typedef struct themis_net_transfer themis_net_transfer_t;
typedef struct themis_net_chunk themis_net_chunk_t;

typedef enum themis_net_event_type {
    THEMIS_NET_EVENT_OPENED,
    THEMIS_NET_EVENT_MESSAGE,
    THEMIS_NET_EVENT_CLOSED,
    THEMIS_NET_EVENT_MOVED
} themis_net_event_type_t;

/* Something to tell the owner of the net; holds a reference to its connection. */
typedef struct themis_net_event {
    struct themis_net_event *prev, *next;
    themis_net_event_type_t type;
    themis_net_conn_t *conn;
    themis_status_t status;
    themis_net_moved_fn moved;
    void *arg;
    uint64_t sequence;
    int complete; /* 0: UCX still writes to `bytes` */
    int from_ucx; /* `bytes` go back with ucp_am_data_release */
    void *bytes;
    size_t length;
} themis_net_event_t;

typedef enum themis_net_state {
    THEMIS_NET_CONNECTING, /* client: HELLO is on its way */
    THEMIS_NET_GREETED,    /* client: WELCOME came; server: HELLO came */
    THEMIS_NET_ACCEPTED,   /* server: nothing came yet */
    THEMIS_NET_OPEN,
    THEMIS_NET_LOST,  /* by the peer or an error */
    THEMIS_NET_CLOSED /* by this side */
} themis_net_state_t;

struct themis_net_conn {
    themis_net_t *net;
    atomic_uint refs;
    _Atomic themis_net_state_t state; /* written with the lock held */
    _Atomic(void *) user;
    char peer[64];

    ucp_ep_h ep;                /* NULL: closed, or about to be, or the connection is a local one */
    int server;                 /* 1: the peer connected to us */
    int unidentified;           /* server: the peer is on this host but did not come by the local socket */
    struct sockaddr_in address; /* client: of the server */
    uint64_t key, peer_key;
    uint64_t cookie;                /* client: in the name of the server's local socket; 0: it has none */
    struct themis_net_local *local; /* not NULL: nothing goes by UCX; set before `state` is OPEN */
    atomic_int announced;           /* the owner knows it */
    uint64_t deadline;              /* server: when a peer that has not introduced itself is dropped */
    themis_status_t why;
    int flush;         /* closing: what was sent is to arrive */
    int doomed;        /* in net->doomed: to be closed by the progressing thread */
    int told;          /* the closed event is queued */
    unsigned running;  /* transfers that have not ended */
    unsigned borrowed; /* sends and fetches that use memory of others */
    uint64_t next_out, next_in;
    size_t queued_out, queued_in; /* bytes */
    themis_net_event_t *arrivals; /* messages that came too early or are not complete, by sequence */
    UT_hash_handle hh;            /* net->conns, by key */
    struct themis_net_conn *doomed_next;
};

/* Somebody at the local socket who has not said yet who he is. */
typedef struct themis_net_stranger {
    int fd; /* -1: free */
    uid_t uid;
    uint64_t since; /* ns */
} themis_net_stranger_t;

enum { THEMIS_NET_STRANGERS = 64 };

/* What epoll_event.data.u64 says; anything else is the key of a connection: for its socket as it is, for the peer's
 * process with a bit more. */
#define THEMIS_NET_EPOLL_PROCESS (UINT64_C(1) << 62)
enum {
    THEMIS_NET_EPOLL_BELL,
    THEMIS_NET_EPOLL_UCX,
    THEMIS_NET_EPOLL_LISTENER,
    THEMIS_NET_EPOLL_STRANGER = 16,
    THEMIS_NET_EPOLL_KEYS = THEMIS_NET_EPOLL_STRANGER + THEMIS_NET_STRANGERS
};

struct themis_net {
    themis_net_options_t options;
    themis_net_handlers_t handlers;
    void *arg;

    pthread_mutex_t role_lock; /* guards led, leader, waiters, generation */
    pthread_cond_t role_free;
    int led;
    pthread_t leader;
    unsigned waiters;
    uint64_t generation; /* grows when events were handled */
    atomic_int sleeping;
    atomic_int wake_pending;
    int epoll_fd, wake_fd;

    pthread_mutex_t lock;
    int kick; /* something was posted that a sleeping thread has to progress */
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_listener_h listener;
    struct sockaddr_in address; /* that it listens at; 0.0.0.0: all of this host */
    int ucx_fd;
    unsigned closing;      /* endpoints whose close has not completed */
    unsigned strangers;    /* connections in state ACCEPTED or, at a server, GREETED */
    uint64_t next_id;      /* of exposures and chunks */
    unsigned locals;       /* connections with a local side */
    unsigned ops;          /* sends and fetches under way in UCX */
    int armed;             /* UCX tells by ucx_fd when there is something for it */
    uint64_t cookie;       /* in the name of the local socket */
    int local_fd;          /* -1: not listening */
    uint64_t warn_again;   /* when another warning of too many connections is due */
    uint64_t tell_again;   /* the same of clients that want another server */
    uint64_t accept_again; /* when accepting goes on; 0: it does */
    themis_net_stranger_t local_strangers[THEMIS_NET_STRANGERS];
    atomic_int told_refusal;    /* 1: it was told that some process may not be copied from */
    atomic_uint locals_version; /* grows when a connection gets a local side or ends */
    themis_net_conn_t *conns;
    themis_net_conn_t *doomed;
    themis_net_event_t *events;
    themis_net_exposed_t *exposures;
    themis_net_chunk_t *chunks;

    /* of the progressing thread */
    themis_net_conn_t **polled; /* connections with a local side, each with a reference */
    size_t polled_count;
    unsigned polled_version;
    unsigned tick;
    unsigned doubt;  /* waits in a row in which polling did not pay */
    unsigned unspun; /* waits that are to go without polling */
    int soon;        /* somebody's time is running */
    unsigned char *scratch;
};

/* Takes and releases net->lock; releasing wakes the sleeper if there is something for it to do. */
void themis_net_lock(themis_net_t *net);
void themis_net_unlock(themis_net_t *net);

/* --- net.c ------------------------------------------------------------------------------------------------------- */

/* Are there descriptors for another connection? It takes a few, one after the other; some are kept, so that none gets
 * stuck half-way. Lock held. */
int themis_net_has_descriptors(themis_net_t *net);
/* Is it an address of this host (network namespace)? Where that cannot be told, yes. */
int themis_net_is_own_address(const struct sockaddr *address);

/* --- worker.c ---------------------------------------------------------------------------------------------------- */

/* Called once, with the lock held, when UCX no longer needs the buffer of a post or fetch. */
typedef void (*themis_net_done_fn)(void *arg, themis_status_t status);

/* A received payload: bytes that are there, or a rendezvous that has to be fetched. */
typedef struct themis_net_payload {
    void *data;
    size_t length;
    int rendezvous;
    int keepable; /* may be kept by setting `kept`, until ucp_am_data_release */
    int kept;
} themis_net_payload_t;

themis_status_t themis_net_worker_create(themis_net_t *net);
void themis_net_worker_destroy(themis_net_t *net);
themis_status_t themis_net_worker_listen(themis_net_t *net, const char *host, uint16_t port);
themis_status_t themis_net_worker_connect(themis_net_conn_t *conn, const char *host, uint16_t port);
/* Starts the close of the endpoint, with everything flushed or not. */
void themis_net_worker_close(themis_net_conn_t *conn, int flush);

/*
 * Sends a frame; `key` is filled in. The payload is copied if `done` is NULL, else it stays until `done`, which is
 * called in any case, perhaps before this returns.
 */
themis_status_t themis_net_post(themis_net_conn_t *conn, const themis_net_frame_t *frame, const void *payload,
                                size_t length, themis_net_done_fn done, void *arg);

/* Brings a payload to `buffer` and calls `done`, perhaps before this returns. */
void themis_net_fetch(themis_net_conn_t *conn, const themis_net_payload_t *payload, void *buffer,
                      themis_net_done_fn done, void *arg);

/* --- conn.c ------------------------------------------------------------------------------------------------------ */

themis_net_conn_t *themis_net_conn_new(themis_net_t *net, int server);
/* Marks a connection as lost; the progressing thread closes it. Any later call is without effect. */
void themis_net_conn_lose(themis_net_conn_t *conn, themis_status_t why);
/* What the progressing thread does with doomed connections and with strangers whose time is over. */
void themis_net_conns_tend(themis_net_t *net);
/* Nothing can come for this connection any more: ends its transfers and tells the owner. */
void themis_net_conn_finish(themis_net_conn_t *conn);
/* Both sides may talk now. */
void themis_net_conn_opened(themis_net_conn_t *conn);
int themis_net_conn_is_dead(const themis_net_conn_t *conn);

/* A new event, not yet queued, with a reference to `conn`; NULL without memory. */
themis_net_event_t *themis_net_event_new(themis_net_conn_t *conn, themis_net_event_type_t type);
void themis_net_event_queue(themis_net_event_t *event);
void themis_net_event_free(themis_net_event_t *event); /* lock held */

/* --- connect.c and message.c: frames that arrive; each returns without effect for a frame that is not expected --- */

void themis_net_on_hello(themis_net_conn_t *conn, const themis_net_frame_t *frame);
void themis_net_on_welcome(themis_net_conn_t *conn, const themis_net_frame_t *frame);
void themis_net_on_ready(themis_net_conn_t *conn);
void themis_net_on_message(themis_net_conn_t *conn, const themis_net_frame_t *frame, themis_net_payload_t *payload);
/* PULL, DATA, PUSH and ACK: one of the next four. Any other frame loses the connection. */
void themis_net_on_bulk(themis_net_conn_t *conn, const themis_net_frame_t *frame, const themis_net_payload_t *payload);
void themis_net_on_pull(themis_net_conn_t *conn, const themis_net_frame_t *frame);
void themis_net_on_push(themis_net_conn_t *conn, const themis_net_frame_t *frame, const themis_net_payload_t *payload);
void themis_net_on_data(themis_net_conn_t *conn, const themis_net_frame_t *frame, const themis_net_payload_t *payload);
void themis_net_on_ack(themis_net_conn_t *conn, const themis_net_frame_t *frame);

/* --- expose.c ---------------------------------------------------------------------------------------------------- */

/* One piece of exposed memory; `end` counts from the first piece on, so that a place is found by bisection. */
typedef struct themis_net_piece {
    uint64_t address;
    uint64_t end;
} themis_net_piece_t;

enum { THEMIS_NET_WRITABLE = 1, THEMIS_NET_PLAIN = 2, THEMIS_NET_STAGED = 4, THEMIS_NET_MAX_PIECES = 1 << 22 };

/* What a descriptor says. As it travels it has the same shape, THEMIS_NET_DESCRIPTOR_BYTES in little-endian order. */
typedef struct themis_net_descriptor {
    uint64_t token;
    uint64_t total;   /* bytes */
    uint64_t address; /* in the client: of the table of pieces, with PLAIN of the one piece itself; STAGED: the slot */
    uint32_t count;   /* of pieces */
    uint32_t flags;
    uint64_t check; /* a hash of the rest: finds mistakes, not malice */
} themis_net_descriptor_t;

/* `check` is set here. */
void themis_net_descriptor_write(const themis_net_descriptor_t *said, unsigned char bytes[THEMIS_NET_DESCRIPTOR_BYTES]);

/* THEMIS_PROTOCOL: not a descriptor. */
themis_status_t themis_net_descriptor_read(const unsigned char bytes[THEMIS_NET_DESCRIPTOR_BYTES],
                                           themis_net_descriptor_t *descriptor);

/* Copies `length` bytes between `buffer` and the pieces' range at `offset`, which is in range. */
void themis_net_pieces_copy(const themis_net_piece_t *pieces, size_t count, uint64_t offset, void *buffer,
                            size_t length, int to_pieces);
/* The memory at `offset` if `length` bytes lie there in one piece, else NULL. */
void *themis_net_pieces_at(const themis_net_piece_t *pieces, size_t count, uint64_t offset, size_t length);
/* Pieces for `count` iovecs; returns 0 and the sum of lengths, or -1 if that leaves 63 bits. */
int themis_net_pieces_set(themis_net_piece_t *pieces, const struct iovec *vector, size_t count, uint64_t *total);

/* --- transfer.c -------------------------------------------------------------------------------------------------- */

/* Ends the chunks of a dead connection that wait for the peer. */
void themis_net_transfers_abandon(themis_net_conn_t *conn);

/* --- progress.c -------------------------------------------------------------------------------------------------- */

/* 1 if the calling thread is inside a handler of this net. */
int themis_net_in_handler(themis_net_t *net);
#endif
