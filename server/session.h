/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sessions: what the server knows of a client beyond one connection. A session is found again by its number when the
 * client reconnects, keeps the replies of operations that must not happen twice, and holds the client's place in its
 * job. A lost session lives on for a lease; then its locks end with it.
 *
 * Threads: the caller serialises (the server's mutex).
 */
#ifndef THEMIS_SERVER_SESSION_H
#define THEMIS_SERVER_SESSION_H
#include <stddef.h>
#include <stdint.h>
#include "net/net.h"
#include "sched/job_table.h"
#include "themis/status.h"

struct themis_server_request;

/* Replies that are remembered; requests of a session that may be at the server at a time, and bytes of their messages.
 */
enum {
    THEMIS_SERVER_SESSION_REPLIES = 64,
    THEMIS_SERVER_SESSION_REQUESTS = 4096,
    THEMIS_SERVER_SESSION_BYTES = 16 << 20
};

/* ns between HEARTBEATs of a session that are served at once; others wait in the control queue. */
#define THEMIS_SERVER_SESSION_BEAT UINT64_C(100000000)

/* Messages that bring nobody anything (refused, repeated, not understood), counted over a second each time; one who
 * sends more than THEMIS_SERVER_SESSION_WASTE of them in that time loses its connection. */
enum { THEMIS_SERVER_SESSION_WASTE = 4096 };
typedef struct themis_server_waste {
    uint64_t since; /* ns */
    uint32_t count;
} themis_server_waste_t;

/* The reply to a request that must not be done twice. */
typedef struct themis_server_remembered {
    uint64_t id;
    int used, done; /* not done: the request is under way */
    void *bytes;    /* of the reply, owned */
    size_t length;
} themis_server_remembered_t;

typedef struct themis_server_session {
    uint64_t number;
    uint64_t incarnation; /* another one for each session made, so that a client sees that its old one has ended */
    uint32_t references;  /* one for the table, one for each request */
    int listed;
    themis_net_conn_t *conn; /* the present one, a reference; NULL while it is lost */
    uint64_t lost;           /* ns, when */
    uint64_t heard;          /* ns; when a message came last */
    themis_sched_job_identity_t identity;
    themis_sched_job_t *job;
    uint8_t role;
    uint32_t requests;                    /* at the server, in whatever state */
    uint64_t request_bytes;               /* of their messages */
    struct themis_server_request *queued; /* that wait in the scheduler */
    struct themis_server_request *held;   /* that wait until `behind` and `stalled` are 0 */
    struct themis_server_request *asked;  /* that wait in the control queue */
    int beating;                          /* 1: a HEARTBEAT is among them, or is being served */
    uint64_t beaten;                      /* ns; `heard` when a HEARTBEAT was last served at once */
    themis_server_waste_t waste;
    uint32_t epoch;      /* connections lost so far */
    uint32_t in_service; /* scheduled requests that a worker or the network has */
    uint32_t behind;     /* those of them that came by an earlier connection */
    uint32_t stalled;    /* slices that wait for the client for too long */
    uint32_t unlocks;    /* locks that were granted, less the UNLOCKs that went before all queues */
    uint32_t next_reply;
    themis_server_remembered_t replies[THEMIS_SERVER_SESSION_REPLIES];
    struct themis_server_session *next, *prev;
} themis_server_session_t;

typedef struct themis_server_sessions themis_server_sessions_t;
themis_status_t themis_server_sessions_create(themis_server_sessions_t **sessions);
/* Frees all that are listed, without their jobs. NULL is allowed. */
void themis_server_sessions_destroy(themis_server_sessions_t *sessions);

themis_server_session_t *themis_server_sessions_find(themis_server_sessions_t *sessions, uint64_t number);
/* Makes a session of that number, listed. */
themis_status_t themis_server_sessions_add(themis_server_sessions_t *sessions, uint64_t number,
                                           themis_server_session_t **session);
/* Takes it out of the table; it lives until its last request has ended. */
void themis_server_sessions_unlist(themis_server_sessions_t *sessions, themis_server_session_t *session);
/* A request of `bytes` has come or ended. One that comes takes a reference, and one that ends leaves it to the caller
 * to drop it. THEMIS_BUSY: the session has as many as it may. */
themis_status_t themis_server_session_admit(themis_server_session_t *session, size_t bytes);
void themis_server_session_dismiss(themis_server_session_t *session, size_t bytes);
/* Drops a reference; returns 1 if it was the last: the caller then frees it with themis_server_session_free. */
int themis_server_session_unref(themis_server_session_t *session);
void themis_server_session_free(themis_server_session_t *session);

themis_server_session_t *themis_server_sessions_first(themis_server_sessions_t *sessions);
uint32_t themis_server_sessions_count(const themis_server_sessions_t *sessions);

/* One more such message; returns 1 if it is one too many. */
int themis_server_waste_add(themis_server_waste_t *waste, uint64_t now);

/* The memory of request `id`, or NULL. */
themis_server_remembered_t *themis_server_session_recall(themis_server_session_t *session, uint64_t id);
/* Begins to remember a request; the oldest finished one is forgotten for it. NULL: all are under way. */
themis_server_remembered_t *themis_server_session_begin(themis_server_session_t *session, uint64_t id);
/* Keeps a copy of the reply; without memory for it, or with bytes NULL, forgets the request. */
void themis_server_session_keep(themis_server_session_t *session, uint64_t id, const void *bytes, size_t length);
#endif
