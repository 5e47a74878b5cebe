/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One server of the list: its connection is opened when a call needs it, starts with HELLO and WELCOME, is monitored
 * with heartbeats, and is opened again when it was lost. All of it happens in the thread that polls. Calls are handled
 * by `events`.
 *
 * All functions are called with the session's lock held.
 */
#pragma once
#include <stdint.h>
#include "client/poller.h"
#include "client/settings.h"
#include "proto/proto.h"
#include "themis/themis.h"

struct themis_client_call;
typedef struct themis_client_peer themis_client_peer_t;

/* What happens to a peer, with the session's lock held. */
typedef struct themis_client_peer_events {
    void (*ready)(themis_client_peer_t *peer);                      /* it takes calls */
    void (*lost)(themis_client_peer_t *peer, themis_status_t why);  /* its connection was lost */
    void (*ended)(themis_client_peer_t *peer, themis_status_t why); /* its calls are to end with `why` */
    /* A reply has come; `bytes` are borrowed. Returns 0 if no call waits for it. */
    int (*replied)(themis_client_peer_t *peer, const themis_proto_header_t *header, const void *bytes, size_t length);
} themis_client_peer_events_t;

/* What the peers of a session have in common. */
typedef struct themis_client_peer_common {
    themis_client_poller_t *poller;
    const themis_client_settings_t *settings;
    const themis_client_peer_events_t *events;
    void *arg;   /* for the functions of `events` */
    uint64_t id; /* of the session: random, the same over reconnects */
    char host[THEMIS_PROTO_MAX_TEXT + 1];
    uint64_t next_id; /* of messages */
    uint64_t started; /* ns; when the session was */
    uint64_t delay;   /* ns until the first server answered; counts as waiting time of the others in the beginning */
} themis_client_peer_common_t;

typedef enum themis_client_peer_state {
    THEMIS_CLIENT_PEER_IDLE,       /* no connection */
    THEMIS_CLIENT_PEER_REFUSED,    /* none; the server answered the last HELLO with an error */
    THEMIS_CLIENT_PEER_CONNECTING, /* `conn` is being opened; until it is, it may only be closed */
    THEMIS_CLIENT_PEER_HELLO,      /* connected; waits for WELCOME */
    THEMIS_CLIENT_PEER_READY       /* welcomed */
} themis_client_peer_state_t;

/* Calls that have not ended, oldest first. Kept by client/call.c. */
typedef struct themis_client_peer_queue {
    struct themis_client_call *first, *last;
    uint32_t unsent;          /* those of them that were not sent on this connection */
    uint32_t under_way;       /* those of them that were sent and may wait in the server's queues */
    uint64_t under_way_bytes; /* of their messages */
    uint32_t under_way_kept;  /* those of them whose replies the server keeps */
} themis_client_peer_queue_t;

struct themis_client_peer {
    themis_client_peer_common_t *common;
    uint32_t index;
    char *name; /* "host:port"; owned */
    themis_client_peer_state_t state;
    themis_net_conn_t *conn;     /* owned reference; NULL: none */
    _Atomic uint64_t connection; /* number of the connection, or of the next one; may be read without the lock */
    themis_status_t why;         /* of the last failure */
    char cause[512];             /* text of the last refusal; "" if the last HELLO was welcomed */
    uint64_t attempt_until;      /* ns; when an attempt, from connecting to WELCOME, has failed */
    uint64_t unreachable_since;  /* ns; since when calls fail to get through; 0: they do */
    uint64_t retry_at;           /* ns; the earliest next attempt */
    uint64_t avoid_until;        /* ns; not wanted before, as it could not be reached */
    themis_client_peer_queue_t queue;

    struct {
        int sent, received;    /* 1: something was, since the last tick */
        uint64_t silent_since; /* ns; when the first probe was sent that nothing has answered; 0: none */
        uint64_t sent_at;      /* ns; the last tick at which `sent` was 1 */
        uint64_t interval;     /* ns */
    } heartbeat;

    /* from the server */
    uint64_t incarnation; /* of the session at it */
    uint32_t locks;       /* that it has granted, and that are held */
    uint64_t store,
        boot;          /* hashes of the identities of its store, and of its machine since it was started; 0: unknown */
    int wanted;        /* 1: a connection is, though no call waits for it */
    uint64_t hello_id; /* of the HELLO that waits for its WELCOME; 0: none */
    int local;         /* 1: on this host */
    themis_layout_t layout; /* its default for new files */
    char policy[THEMIS_PROTO_MAX_POLICY + 1];
    int policy_granted;
    char policy_fault[THEMIS_PROTO_MAX_TEXT + 1];
};

/* The handlers of the session's net; their argument is the poller. */
extern const themis_net_handlers_t themis_client_peer_handlers;

static inline int themis_client_peer_is_connecting(const themis_client_peer_t *peer)
{
    return peer->state == THEMIS_CLIENT_PEER_CONNECTING || peer->state == THEMIS_CLIENT_PEER_HELLO;
}

/*
 * A step towards a connection: starts an attempt if there is none and retry_at has come, or continues it. Releases
 * the lock meanwhile. Does not wait for the server, but for the resolver of names, and up to 2 s for a server on this
 * host that hangs just after it has answered (net.h). Returns the ns after which the next step is due.
 */
uint64_t themis_client_peer_connect(themis_client_peer_t *peer, uint64_t now);

/* Sends HELLO again, with the present settings; does nothing if the peer is not ready. */
void themis_client_peer_update(themis_client_peer_t *peer);

/* Sends a message; after a failure the connection is lost. */
void themis_client_peer_send(themis_client_peer_t *peer, const void *bytes, size_t length);

/* Drops the connection, or ends the attempt. */
void themis_client_peer_lose(themis_client_peer_t *peer, themis_status_t why);

/*
 * To be called at regular intervals for a ready peer. A server that owes replies and was silent since the last tick is
 * probed; one that is silent for the timeout after a probe counts as dead, even if its connection is open. `away`:
 * no thread has polled since the last tick, so its silence means nothing.
 */
void themis_client_peer_tick(themis_client_peer_t *peer, uint64_t now, int away);

/* Closes the connection at the end of the session. */
void themis_client_peer_free(themis_client_peer_t *peer);
