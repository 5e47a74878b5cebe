/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sessions: what the server knows of a client across its connections. A session is found by its number when the client
 * reconnects, keeps the replies of requests that must not be done twice, and is the client's membership in its job.
 * client_session.h connects and ends sessions; a lost one lives on for a lease (lease.h).
 *
 * Threads: the caller serialises (the server's mutex).
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <uthash.h>
#include "net/net.h"
#include "sched/job_table.h"
#include "server/saved_replies.h"
#include "themis/status.h"

struct themis_server_request;
struct themis_server_direct_client;

/* What a HELLO says of its sender; servers exchange tables only. */
enum { THEMIS_SERVER_ROLE_CLIENT = 0, THEMIS_SERVER_ROLE_SERVER = 1, THEMIS_SERVER_ROLE_TOOL = 2 };

/* Requests of one session that may be at the server at a time, and bytes of their messages. */
enum { THEMIS_SERVER_SESSION_REQUESTS = 4096, THEMIS_SERVER_SESSION_BYTES = 16 << 20 };

/* Discarded messages (invalid, refused or repeated) of the second that began at `since`. A client that sends more than
 * THEMIS_SERVER_MAX_DISCARDED of them in one second loses its connection. */
enum { THEMIS_SERVER_MAX_DISCARDED = 4096 };
typedef struct themis_server_discarded {
    uint64_t since; /* ns */
    uint32_t count;
} themis_server_discarded_t;

typedef struct themis_server_session {
    uint64_t number;
    uint64_t incarnation;    /* another one for each session made, so that a client sees that its old one has ended */
    uint32_t references;     /* one for the table, one for each request */
    int listed;              /* 1: in the table */
    themis_net_conn_t *conn; /* the present one, a reference; NULL while it is lost */
    uint64_t lost;           /* ns; when the connection was lost */
    uint64_t last_heard;     /* ns; when the last message came */
    themis_sched_job_identity_t identity;
    themis_sched_job_t *job;  /* NULL: of a server, or the session has left its job since it was silent */
    themis_sched_job_t *left; /* the job that it has left and keeps in the history; NULL: none */
    uint8_t role;
    char *application, *project; /* owned; NULL: unknown */
    uint64_t host;               /* hash of the client's */
    struct {
        uint64_t object, tick; /* the last one that the history has noted; in which interval */
        uint32_t count;        /* in that interval */
    } noted;
    uint32_t requests;                     /* at the server, in whatever state */
    uint64_t request_bytes;                /* of their messages */
    struct themis_server_request *queued;  /* list: they wait in the scheduler */
    struct themis_server_request *held;    /* list: they wait until in_service_earlier and stalled are 0 */
    struct themis_server_request *control; /* list: they wait in the control queue */
    int heartbeat_queued;                  /* 1: a HEARTBEAT is among them, or is being served */
    uint64_t heartbeat_served;             /* ns; last_heard of the last HEARTBEAT that was served at once */
    themis_server_discarded_t discarded;
    uint32_t epoch;                             /* connections lost so far */
    uint32_t in_service;                        /* scheduled requests that a worker or the network has */
    uint32_t in_service_earlier;                /* those of them that came by an earlier connection */
    uint32_t stalled;                           /* stalled slices */
    uint32_t unlocks;                           /* locks granted, less the UNLOCKs that bypassed the queues */
    struct themis_server_direct_client *direct; /* NULL: it has had no direct access */
    themis_server_saved_replies_t replies;
    _Atomic int durable; /* 1: some of them outlive the server (durable_replies.h) */
    UT_hash_handle hh;   /* by number; hh.next is the next one in the table */
} themis_server_session_t;

typedef struct themis_server_sessions themis_server_sessions_t;

/* Sessions that end leave their job in `jobs` (borrowed). Incarnations count up from `incarnation`. */
themis_status_t themis_server_sessions_create(themis_sched_job_table_t *jobs, uint64_t incarnation,
                                              themis_server_sessions_t **sessions);
void themis_server_sessions_destroy(themis_server_sessions_t *sessions); /* empty; NULL is allowed */

/* NULL: no session of that number is in the table. */
themis_server_session_t *themis_server_sessions_find(themis_server_sessions_t *sessions, uint64_t number);
/* Makes a session of that number, listed. */
themis_status_t themis_server_sessions_add(themis_server_sessions_t *sessions, uint64_t number,
                                           themis_server_session_t **session);
/* Takes a session out of the table and drops the table's reference. */
void themis_server_sessions_remove(themis_server_sessions_t *sessions, themis_server_session_t *session);
/* Drops a reference; with the last one the session leaves its job and is freed. */
void themis_server_sessions_release(themis_server_sessions_t *sessions, themis_server_session_t *session);
themis_server_session_t *themis_server_sessions_first(themis_server_sessions_t *sessions);
uint32_t themis_server_sessions_count(const themis_server_sessions_t *sessions);

/* A request of `bytes` has come, and holds a reference from now on. THEMIS_BUSY: the session has as many as it may. */
themis_status_t themis_server_session_admit(themis_server_session_t *session, size_t bytes);
/* A request of `bytes` has ended; its reference is left to the caller to drop. */
void themis_server_session_dismiss(themis_server_session_t *session, size_t bytes);
