/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parts of a running themisd. A request goes through them like this:
 *
 *   net -> dispatch (decode, session, admission) -> queue (scheduler, control queue or ready list)
 *       -> engine (a worker) -> io_requests | name_requests | object_requests | lock_requests | control_requests |
 *          direct_requests | session_requests | allocation_requests
 *       -> reply
 *
 * The first HELLO of a session is answered by dispatch itself.
 *
 * One mutex (`lock`) guards the job table, the scheduler, the sessions, locks and the lists of requests. It
 * is held for bookkeeping only: never while bytes move, or the store or the namespace is called. The only message that
 * is sent under it is a saved reply (dispatch.c). Members without another note are guarded by it, or do not change
 * while the server runs.
 */
#pragma once
#include <pthread.h>
#include <stdint.h>
#include "net/net.h"
#include "sched/control_queue.h"
#include "sched/job_table.h"
#include "sched/policy.h"
#include "sched/sched.h"
#include "server/capabilities.h"
#include "server/counters.h"
#include "server/durable_replies.h"
#include "server/fences.h"
#include "server/lock_holders.h"
#include "server/locks.h"
#include "server/namespace.h"
#include "server/object_lists.h"
#include "server/server_config.h"
#include "server/session_table.h"
#include "server/tombstones.h"
#include "store/store.h"

struct themis_server_request;

/* The worker threads (engine.c): one at a time polls the network, others serve requests or sleep. */
typedef struct themis_server_workers {
    pthread_t *threads;
    uint32_t count; /* started */
    pthread_cond_t idle;
    uint32_t idle_count; /* workers that sleep on `idle` */
    int polling;         /* 1: `poller` is in themis_net_progress */
    pthread_t poller;
    uint64_t turns; /* how often a worker began to poll or to serve */
    int guarded;    /* 1: a sleeping worker checks periodically that `turns` grows */
    int stopped;
    uint64_t next_tick; /* ns; next check of leases and jobs */
} themis_server_workers_t;

/* Slices under way, and their windows (slices.c). */
typedef struct themis_server_slices {
    uint32_t in_service; /* slices held by a worker or the network, those of metadata included */
    uint32_t counted;    /* slices of data that count towards `limit` */
    uint32_t limit;
    uint32_t stalled_count;                /* stalled slices, including those that move again */
    uint32_t extra_count;                  /* slices of their jobs beyond `limit` */
    struct themis_server_request *moving;  /* list: the network has them; oldest first */
    struct themis_server_request *stalled; /* list: the same of stalled ones */
    themis_store_window_t **windows;       /* free ones, a stack */
    uint32_t window_count, windows_made;
} themis_server_slices_t;

/* Shutdown (drain.c): new requests are refused, queued ones served until `end`. */
typedef struct themis_server_drain {
    _Atomic int active;
    uint64_t end; /* ns */
} themis_server_drain_t;

/* Connections without a session (pending.c). */
typedef struct themis_server_pending {
    struct themis_server_pending_conn *list; /* oldest first */
    uint32_t per_user;                       /* limit for one user */
    uint64_t closed;                         /* by this server, since the start */
    uint64_t warn_again;                     /* ns */
} themis_server_pending_t;

/* The policy in force, beyond what the scheduler knows of it (server_policy.c). */
typedef struct themis_server_sharing {
    char configured[THEMIS_SCHED_POLICY_TEXT_BYTES]; /* what the configuration says */
    uint64_t set_at; /* ns since 1970 when a policy was set last; 0: never, it is that of the configuration */
    int unkept;      /* 1: the database has something else */
    int keeping;     /* 1: a thread writes to it */
} themis_server_sharing_t;

/* Counters since the start. */
typedef struct themis_server_totals {
    uint64_t heartbeats;
    uint64_t left_read, left_written; /* bytes of jobs that have left the table */
} themis_server_totals_t;

typedef struct themis_server {
    themis_server_config_t config;
    uint64_t incarnation;             /* new for each process of the server */
    themis_store_identity_t identity; /* of the store */
    themis_store_identity_t boot;     /* of the machine, since it was started */
    uint64_t started;                 /* ns */
    uint16_t port;                    /* that it listens on */
    pthread_mutex_t lock;
    /* parts with their own locking */
    themis_net_options_t net_options; /* its keys are cleared once `net` is made */
    themis_net_t *net;
    themis_store_t *store;
    themis_server_namespace_t *names;
    themis_server_tombstones_t *tombstones;
    themis_server_counters_t *counters;
    themis_server_object_lists_t *object_lists;
    themis_server_capabilities_t *capabilities;
    struct themis_server_peers *peers; /* NULL: a single server */
    struct themis_server_settler *settler;
    _Atomic uint32_t settling; /* SETTLEs that are being served */
    struct themis_server_monitoring *monitoring;
    struct themis_server_history *history;     /* NULL: none is kept */
    struct themis_server_allocator *allocator; /* NULL: this server allocates none */
    /* guarded by lock */
    themis_sched_job_table_t *jobs;
    themis_sched_t *sched;
    themis_sched_control_queue_t control;
    struct themis_server_request *ready;   /* list: requests that bypass both queues */
    struct themis_server_request *closing; /* list: ended requests whose objects are still open */
    themis_server_sessions_t *sessions;
    themis_server_locks_t *locks;
    themis_server_lock_holders_t *lock_holders;
    int holders_due; /* 1: records of lock_holders are to be removed */
    themis_server_fences_t *fences;
    struct themis_server_direct *direct;
    themis_server_durable_replies_t *durable_replies;
    themis_server_discarded_t unauthenticated; /* messages by connections without a session */
    themis_server_pending_t pending;
    themis_server_workers_t workers;
    themis_server_slices_t slices;
    themis_server_drain_t drain;
    themis_server_totals_t totals;
    themis_server_sharing_t sharing;
} themis_server_t;
