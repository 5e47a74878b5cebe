/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside of a session: its servers, and the lock and the poller's role that all of the client library shares.
 *
 * `lock` guards everything here that is not fixed at creation. It is never held while a thread connects, polls or
 * sleeps. One thread at a time polls the network (`polling`), for all: it holds no lock while it does, the handlers it
 * runs take the lock, and the other threads wait on `changed`.
 */
#ifndef THEMIS_CLIENT_SESSION_H
#define THEMIS_CLIENT_SESSION_H
#include <pthread.h>
#include <stdint.h>
#include "client/settings.h"
#include "net/net.h"
#include "proto/proto.h"
#include "themis/themis.h"
#include "util/hash_ring.h"

struct themis_client_call;
struct themis_request;

typedef enum themis_client_peer_state {
    THEMIS_CLIENT_PEER_IDLE,       /* no connection */
    THEMIS_CLIENT_PEER_CONNECTING, /* an attempt is under way, or has just failed */
    THEMIS_CLIENT_PEER_READY       /* welcomed */
} themis_client_peer_state_t;

/* One server of the list. */
typedef struct themis_client_peer {
    themis_t *session;
    uint32_t index;
    char *name; /* "host:port" */
    themis_client_peer_state_t state;
    int wanted;                              /* 1: an attempt is to go on although no call waits for it */
    themis_net_conn_t *attempt;              /* what is being connected; NULL: nothing; the reference is ours */
    uint64_t attempt_until;                  /* ns; when that, or the HELLO after it, has failed */
    themis_net_conn_t *conn;                 /* NULL: none; one reference is ours */
    uint64_t incarnation;                    /* of our session at the server */
    uint64_t hello_id;                       /* of the HELLO that waits for its WELCOME; 0: none */
    uint64_t lost;                           /* ns; since when calls fail to get through; 0: they do */
    uint64_t retry_at;                       /* ns; the next attempt to connect */
    themis_status_t why;                     /* of the last failure */
    struct themis_client_call *first, *last; /* calls that have not ended, oldest first */
    uint32_t unsent;                         /* those of them that were not sent on this connection */
    uint32_t under_way;                      /* those of them that were sent and may wait in the server's queues */
    uint64_t under_way_bytes;                /* of their messages */
    int refused;            /* 1: the server answered the last HELLO with no; to try again is of no use */
    char cause[512];        /* what it said */
    int sent, heard;        /* 1: something was, since the last tick */
    uint64_t silent_since;  /* ns; when the first probe went out that nothing has answered; 0: none */
    uint64_t sent_at;       /* ns; the last tick at which `sent` was 1 */
    uint64_t heartbeat;     /* ns between heartbeats */
    int local;              /* 1: on this host */
    themis_layout_t layout; /* its default for new files */
    char policy[THEMIS_PROTO_MAX_POLICY + 1];
    int policy_granted;
    char policy_fault[THEMIS_PROTO_MAX_TEXT + 1];
} themis_client_peer_t;

/* At most so many calls, and messages of so many bytes (and one more call), are under way to a server; further ones
 * wait here. A server refuses what comes beyond a few times that. */
enum { THEMIS_CLIENT_BUCKETS = 256, THEMIS_CLIENT_MAX_CALLS = 1024, THEMIS_CLIENT_MAX_BYTES = 4 << 20 };

struct themis {
    themis_client_settings_t settings;
    uint64_t id; /* random; the same over reconnects */
    char host[THEMIS_PROTO_MAX_TEXT + 1];
    themis_net_t *net;
    themis_util_hash_ring_t *ring;
    themis_client_peer_t *peers; /* settings.server_count */

    pthread_mutex_t lock;
    pthread_cond_t changed; /* a call has ended, or nobody polls any more */
    int polling;            /* 1: some thread is the poller */
    unsigned waiting;       /* threads that wait on `changed` */
    _Atomic int attention;  /* 1: some peer wants to be connected; may be read without the lock */
    uint64_t started;       /* ns */
    uint64_t delay;         /* ns that the first answer of a server took; counts for the others while they are young */
    uint64_t next_tick;     /* ns; when peers are looked at the next time */
    uint64_t last_tick;
    uint64_t next_id, next_owner;
    uint64_t ended;                                            /* calls that have ended, ever */
    struct themis_client_call *buckets[THEMIS_CLIENT_BUCKETS]; /* calls that wait for a reply, by id */
    struct themis_client_call *free_calls;
    struct themis_request *free_requests;
};

/* The peer of a server; made ready elsewhere. */
static inline themis_client_peer_t *themis_client_peer(themis_t *session, uint32_t server)
{
    return &session->peers[server];
}
#endif
