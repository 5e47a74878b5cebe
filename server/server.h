/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of a running themisd, and how a request goes through them.
 *
 *   net -> dispatch.c (decode, session, job) -> scheduler -> engine.c (a worker) -> data.c | names.c | control.c ->
 * reply
 *
 * One mutex (`lock`) guards job table, scheduler, sessions, locks and the lists of requests. It is held for bookkeeping
 * only: never while bytes move, a store or the namespace is called, or a message is sent.
 *
 * Leader and followers: one worker at a time polls the network; what it receives is queued, and when polling returns
 * the same worker serves it. Another is woken only if more waits or the work may take long.
 */
#ifndef THEMIS_SERVER_SERVER_H
#define THEMIS_SERVER_SERVER_H
#include <pthread.h>
#include <stdint.h>
#include "net/net.h"
#include "proto/proto.h"
#include "server/config.h"
#include "sched/control_queue.h"
#include "server/cursor.h"
#include "sched/job_table.h"
#include "server/locks.h"
#include "server/namespace.h"
#include "server/peers.h"
#include "server/removed.h"
#include "sched/sched.h"
#include "server/session.h"
#include "store/store.h"

/* What a hello says of its sender. */
enum { THEMIS_SERVER_ROLE_CLIENT = 0, THEMIS_SERVER_ROLE_SERVER = 1, THEMIS_SERVER_ROLE_TOOL = 2 };

typedef enum themis_server_request_state {
    THEMIS_SERVER_REQUEST_HELD,    /* in its session's list of those that are kept back */
    THEMIS_SERVER_REQUEST_QUEUED,  /* in the scheduler, and in its session's list */
    THEMIS_SERVER_REQUEST_ASKED,   /* in the control queue, and in its session's list */
    THEMIS_SERVER_REQUEST_READY,   /* in the server's list of what goes on without the scheduler */
    THEMIS_SERVER_REQUEST_SERVED,  /* a worker has it */
    THEMIS_SERVER_REQUEST_MOVING,  /* the network has it: a transfer is under way */
    THEMIS_SERVER_REQUEST_WAITING, /* the lock table has it */
    THEMIS_SERVER_REQUEST_ENDED
} themis_server_request_state_t;

typedef struct themis_server_request {
    themis_sched_item_t item;            /* first: the scheduler's handle on it */
    themis_sched_control_item_t control; /* the control queue's; its job is set if it came that way */
    struct themis_server *server;
    themis_server_request_state_t state;
    themis_server_session_t *session;          /* a reference */
    themis_net_conn_t *conn;                   /* that it came by; a reference */
    uint32_t epoch;                            /* of the session, when it came */
    struct themis_server_request *next, *prev; /* of one list at a time */
    int scheduled;                             /* 1: by way of the scheduler, which is to be told of the end */
    int remembered;                            /* 1: the session keeps the reply */
    int canceled;                              /* 1: nobody waits for it any more */
    int counted;                               /* 1: a slice of data among server->slices */
    int parked, arrived;                       /* 1: the network has it; it has come back before it was parked */
    int stalled;                               /* 1: its client did not take part for too long (stall.c) */
    uint64_t parked_at;                        /* ns */
    uint64_t started;                          /* ns, of the slice */
    uint64_t moved;                            /* bytes in this slice */
    uint64_t slice;                            /* bytes left in this slice */
    themis_status_t status;                    /* of the transfer that has ended, or of the lock */
    /* READ and WRITE */
    themis_server_cursor_t cursor;
    themis_store_object_t *object;
    themis_store_window_t *window;
    uint64_t end, total; /* the object's end that bounds a read; bytes moved in all */
    int opened;
    /* the message */
    themis_proto_header_t header;
    themis_proto_body_t body; /* borrows from bytes */
    size_t length;
    uint8_t bytes[];
} themis_request_t;

typedef struct themis_server {
    themis_server_config_t config; /* what can be reloaded is guarded by lock */
    themis_net_t *net;
    themis_store_t *store;
    themis_server_namespace_t *names;
    themis_server_removed_t *removed;
    struct themis_server_peers *peers;          /* the other servers; peers.c */
    struct themis_server_metrics_http *metrics; /* NULL: off */
    char *metrics_text;                         /* what was told last, or NULL */
    uint64_t metrics_due;                       /* ns; until then it is told again */
    uint64_t incarnation;
    uint64_t sessions_made;
    uint64_t heartbeats;              /* messages, ever */
    uint64_t left_read, left_written; /* bytes of jobs that have left the table */
    uint64_t began;                   /* ns */
    uint16_t port;

    pthread_mutex_t lock;
    pthread_cond_t idle; /* workers that neither serve nor poll */
    pthread_t *threads;
    uint32_t thread_count; /* started */
    uint32_t idle_count;
    int polling;      /* a worker is in themis_net_progress */
    pthread_t poller; /* which */
    uint64_t turns;   /* how often one began to poll or to serve */
    int guarded;      /* an idle worker looks at times whether this grows */
    _Atomic int draining;
    int stopped;
    uint64_t drain_end; /* ns */
    themis_sched_job_table_t *jobs;
    themis_sched_t *sched;
    themis_server_sessions_t *sessions;
    themis_server_locks_t *locks;
    themis_request_t *ready; /* list */
    themis_sched_control_queue_t control;
    themis_server_waste_t waste; /* of connections without a session */
    uint32_t in_service;         /* requests that a worker or the network has */
    uint32_t slices;             /* of data under way, without those that stall */
    uint32_t slice_limit;
    themis_request_t *moving,
        *stalled;                    /* lists: that the network has, and that it has had for too long; oldest first */
    uint32_t stalled_count;          /* slices that stall, also while they move again */
    uint32_t beside_count;           /* slices of such slices' jobs that are not counted among `slices` */
    themis_store_window_t **windows; /* free ones, a stack */
    uint32_t window_count, windows_made;
    uint64_t next_tick; /* ns: expiry of jobs and leases */
} themis_server_t;

/* --- engine.c: threads, from start to stop ----------------------------------------------------------------------- */

/* Makes all parts and listens; threads come with themis_server_run. `config` has been checked. */
themis_status_t themis_server_create(const themis_server_config_t *config, themis_server_t **server);
void themis_server_destroy(themis_server_t *server); /* NULL is allowed; not while it runs */
/* Starts the workers and returns; themis_server_join waits for them to end. */
themis_status_t themis_server_start(themis_server_t *server);
void themis_server_join(themis_server_t *server);
/* Refuses new requests, serves the queued ones for at most config.drain, then stops. From any thread. */
void themis_server_stop(themis_server_t *server);
/* Takes over what a running server can change; logs which other keys differ. */
void themis_server_reload(themis_server_t *server, const themis_server_config_t *fresh);

/* Puts a request to those that any worker goes on with. With the lock. */
void themis_server_ready(themis_server_t *server, themis_request_t *request);
/* The request is left to the lock table: the scheduler is told of its end, and it goes on by themis_server_ready. With
 * the lock. */
void themis_server_unschedule(themis_server_t *server, themis_request_t *request);
/* Something was queued: makes sure that a worker looks. With the lock. */
void themis_server_rouse(themis_server_t *server);

/* --- stall.c: transfers that the network has, and clients that take no part in theirs; with the lock ---------------
 */

themis_status_t themis_server_stall_create(themis_server_t *server);
void themis_server_stall_destroy(themis_server_t *server);
/* A slice of data begins and gets its window; it is over and gives it back. */
void themis_server_stall_begin(themis_request_t *request, uint64_t now);
void themis_server_stall_end(themis_request_t *request, uint64_t now);
/* The network has the request (THEMIS_IN_PROGRESS); the network is done with it, at any time, also before. After either
 * of them any worker may go on with it. */
void themis_server_stall_park(themis_request_t *request);
void themis_server_stall_moved(themis_request_t *request);
/* Looks for slices that have not moved for too long; returns 1 if that lets others begin. *wake is brought forward to
 * when to look again. */
int themis_server_stall_check(themis_server_t *server, uint64_t now, uint64_t *wake);
/* Closes the connections of all transfers under way. */
void themis_server_stall_abandon(themis_server_t *server);

/* --- dispatch.c: what arrives ------------------------------------------------------------------------------------- */

extern const themis_net_handlers_t themis_server_handlers; /* arg: the server */

/* The lock table's callback: a request that waited goes on. With the lock. */
void themis_server_lock_granted(void *server, void *request, themis_status_t status);
/* Queues what was kept back, if it need not wait any more. With the lock. */
void themis_server_caught_up(themis_server_t *server, themis_server_session_t *session);
/* A message has come that brings nobody anything; who sends too many of them loses the connection. With the lock. */
void themis_server_count_waste(themis_server_t *server, themis_net_conn_t *conn);
/* Frees a request that has ended. With the lock. */
void themis_server_request_free(themis_request_t *request);

/* --- presence.c: sessions, their connections and their jobs ------------------------------------------------------- */

/* With the lock, but for themis_server_greet and themis_server_presence_serve, which take it themselves. */

/* HELLO: binds the connection to its session, old or new, and answers; returns what it answered. And the same again,
 * HEARTBEAT, GOODBYE. */
themis_status_t themis_server_greet(themis_request_t *request);
/* Makes the policy the scheduler's, and logs it with who wanted it; NULL: the configuration. `error` as of
 * themis_sched_set_policy. */
themis_status_t themis_server_set_policy(themis_server_t *server, const char *policy,
                                         const themis_sched_job_identity_t *who, char *error, size_t size);
void themis_server_presence_serve(themis_request_t *request);
/* A message of the session has come: its client lives, and its job with it. */
themis_status_t themis_server_hear(themis_server_t *server, themis_server_session_t *session);
/* Its connection is gone; or does not answer, and is closed: the session is lost from now on. */
void themis_server_lose_connection(themis_server_t *server, themis_server_session_t *session);
void themis_server_disconnect(themis_server_t *server, themis_server_session_t *session);
/* Requests of the session are kept back, and go to the scheduler by themis_server_caught_up, when nothing of an earlier
 * connection is in service and no slice of it stalls any more. */
void themis_server_hold_session(themis_server_t *server, themis_server_session_t *session, uint64_t now);
/* Drops the session from the table with its locks. */
void themis_server_end_session(themis_server_t *server, themis_server_session_t *session);
/* Drops a reference; with the last one the session leaves its job. */
void themis_server_release_session(themis_server_t *server, themis_server_session_t *session);
/* Ends sessions whose lease is over and jobs that are silent. */
void themis_server_expire(themis_server_t *server, uint64_t now);

/* --- reply.c ------------------------------------------------------------------------------------------------------ */

/* Answers; `body` is of the opcode's reply, or unused when status is below 0 and `text` says why (NULL: the status's
 * own text). Without the lock. */
void themis_server_request_reply(themis_request_t *request, themis_status_t status, const void *body, const char *text);
/* Refuses a message that did not become a request. */
void themis_server_refuse(themis_net_conn_t *conn, const themis_proto_header_t *header, themis_status_t status,
                          const char *text);
/* Sends an answer that belongs to no session: to HELLO. */
void themis_server_answer(themis_net_conn_t *conn, const themis_proto_header_t *header, const void *body);

/* --- what is done with a request; without the lock ---------------------------------------------------------------- */

/* A slice of a READ or WRITE, from its start or, when `resumed`, from the end of a transfer. THEMIS_IN_PROGRESS: the
 * network goes on with it. Otherwise the slice is over; item.bytes is what is left, and at 0 it has been answered. */
themis_status_t themis_server_data_serve(themis_request_t *request, int resumed);
/* Everything about names and whole objects. Answers. */
void themis_server_names_serve(themis_request_t *request);
void themis_server_objects_serve(themis_request_t *request);
/* Opens an object to change it; it is made if it is not there. THEMIS_STALE: it was destroyed. */
themis_status_t themis_server_objects_open(themis_server_t *server, uint64_t id, themis_store_object_t **object);
/* LOCK, UNLOCK and COUNTER. Answers, or leaves the request with the lock table (THEMIS_IN_PROGRESS). */
themis_status_t themis_server_locking_serve(themis_request_t *request);
/* STATUS, POLICY, SHUTDOWN and TABLE. Answers. */
void themis_server_control_serve(themis_request_t *request);
#endif
