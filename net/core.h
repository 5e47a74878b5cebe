/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The net object: its lock, its connections and transports, and the descriptors that its sleeping thread waits for.
 *
 * Locking: `lock` guards every field below it, the connections, and UCX. Transports call back with the lock held and
 * never call the owner's handlers: they queue events, which the thread that makes progress delivers without the lock.
 */
#pragma once
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include "net/event_loop.h"
#include "net/net.h"
#include "net/transport.h"

/* What epoll_event.data.u64 says. From LOCAL up to KEYS it is for the local transport to interpret; anything above is
 * the key of a connection: for its socket as it is, for the peer's process with the bit PROCESS. */
#define THEMIS_NET_EPOLL_PROCESS (UINT64_C(1) << 62)
enum { THEMIS_NET_EPOLL_WAKE, THEMIS_NET_EPOLL_NETWORK, THEMIS_NET_EPOLL_LOCAL, THEMIS_NET_EPOLL_KEYS = 1024 };

struct themis_net {
    themis_net_options_t options;
    themis_net_handlers_t handlers;
    void *arg;
    const themis_net_transport_t *transports[THEMIS_NET_TRANSPORTS];
    themis_net_on_frame_fn on_frame; /* what transports call for a frame that has arrived */
    themis_net_loop_t loop;
    atomic_int sleeping;
    atomic_int wake_pending;
    int epoll_fd, wake_fd;

    pthread_mutex_t lock;
    int kick;                   /* something was posted that a sleeping thread has to progress */
    struct themis_net_ucx *ucx; /* the transports' own state */
    struct themis_net_tcp *tcp;
    struct themis_net_local *local;
    int listening;
    struct sockaddr_in address;  /* that it listens at; 0.0.0.0: all of this host */
    uint64_t cookie;             /* in the name of the local socket; 0: there is none */
    uint64_t warn_again;         /* when another warning of too many open files is due */
    uint64_t next_id;            /* of exposures and chunks */
    unsigned unauthenticated;    /* server: connections whose handshake is not complete */
    unsigned networked;          /* of conns, those that go by the network */
    unsigned closing;            /* closes that a transport has not completed */
    atomic_uint conns_version;   /* grows when a connection changes its transport, is lost or closed */
    themis_net_conn_t *conns;    /* by key */
    themis_net_conn_t *to_close; /* lost or closed: the progressing thread frees what they hold */
    struct themis_net_event *events;
    themis_net_exposed_t *exposures;
    struct themis_net_chunk *chunks;
};

/* Takes and releases net->lock; releasing wakes the sleeper if there is something for it to do. */
void themis_net_lock(themis_net_t *net);
void themis_net_unlock(themis_net_t *net);

/* Makes what the progressing thread waits with; to be closed with themis_net_close_events, also after a failure. */
themis_status_t themis_net_open_events(themis_net_t *net);
void themis_net_close_events(themis_net_t *net);
/* Adds a descriptor to what the progressing thread waits for, or removes it. Returns as epoll_ctl. */
int themis_net_watch(themis_net_t *net, int fd, uint32_t events, uint64_t what);
void themis_net_unwatch(themis_net_t *net, int fd);
/* Takes note of a themis_net_wake. */
void themis_net_drain_wake(themis_net_t *net);
