/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection. It is in net->conns from its creation until it is closed or lost, then in net->to_close until the
 * progressing thread has closed its transport and ended its transfers. Memory goes with the last reference: one each is
 * held by the user, by net, by the endpoint, by each event, operation, exposure and transfer.
 */
#pragma once
#define HASH_NONFATAL_OOM 1 /* an element without memory has no table then */
#include <uthash.h>
#include <utlist.h>
#include "net/core.h"

typedef enum themis_net_state {
    THEMIS_NET_CONNECTING, /* client: HELLO is on its way */
    THEMIS_NET_HANDSHAKE,  /* client: WELCOME came; server: HELLO came */
    THEMIS_NET_PROVING,    /* client: has shown the server who it is */
    THEMIS_NET_PROVED,     /* client: so has the server, which is to be checked */
    THEMIS_NET_ACCEPTED,   /* server: nothing came yet */
    THEMIS_NET_OPEN,
    THEMIS_NET_LOST,  /* by the peer or an error */
    THEMIS_NET_CLOSED /* by this side */
} themis_net_state_t;

struct themis_net_conn {
    themis_net_t *net;
    const themis_net_transport_t *transport; /* fixed before `state` is OPEN */
    atomic_uint refs;
    _Atomic themis_net_state_t state; /* written with the lock held */
    _Atomic(void *) user;
    char peer[64];

    struct ucp_ep *endpoint;            /* of UCX; NULL: closed, or about to be, or the connection is a local one */
    struct themis_net_stream *stream;   /* of TCP, likewise */
    struct themis_net_channel *channel; /* of the local transport */
    int server;                         /* 1: the peer connected to us */
    struct sockaddr_in address;         /* of the peer, as far as it is known */
    int needs_local; /* server: credentials have to come from the kernel, or to be proved, if the peer is on this host
                      */
    const themis_net_peer_credentials_t *credentials; /* from the kernel, or `proved`; NULL: there are none */
    themis_net_peer_credentials_t proved;
    uint64_t key, peer_key;
    uint64_t cookie;      /* client: in the name of the server's local socket; 0: it has none */
    atomic_int announced; /* the owner knows it */
    uint64_t deadline;    /* server: for the handshake */
    themis_status_t why;
    int flush;                     /* closing: what was sent is to arrive */
    int closing;                   /* in net->to_close */
    int closed_reported;           /* the closed event is queued, or the owner never had the connection */
    struct themis_net_event *last; /* the closed event, made with the connection; NULL once it is queued */
    unsigned running;              /* transfers that have not ended */
    unsigned borrowed;             /* sends and fetches that use memory of others */
    uint64_t next_out, next_in;
    size_t queued_out, queued_in;      /* bytes */
    struct themis_net_event *arrivals; /* messages that came too early or are not complete, by sequence */
    UT_hash_handle hh;                 /* net->conns, by key */
    struct themis_net_conn *next_to_close;
};

/* Lock held for all of these. NULL without memory. */
themis_net_conn_t *themis_net_conn_new(themis_net_t *net, int server);
/* Can another connection be accepted? It takes a few file descriptors, one after the other; some are kept, so that none
 * gets stuck half-way. Warns if not. */
int themis_net_conn_is_possible(themis_net_t *net);
/* Marks a connection as lost; the progressing thread closes it. Any later call is without effect. */
void themis_net_conn_lose(themis_net_conn_t *conn, themis_status_t why);
/* Lost or closed. Without the lock: it was, or may be any time. */
int themis_net_conn_is_dead(const themis_net_conn_t *conn);
/* 1: server, and the handshake is not complete. */
int themis_net_conn_is_unauthenticated(const themis_net_conn_t *conn);
