/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of direct access, on which direct.c, direct_grants.c, direct_clients.c and direct_requests.c work; internal
 * to them. All functions with the server's lock unless they say something else. */
#pragma once
#include "server/beacon.h"
#include "server/direct.h"
#include "server/request.h"

/* Users that a user namespace does not know all have this id, so it does not tell one from another. */
enum { THEMIS_SERVER_DIRECT_UNKNOWN_USER = 65534 };

struct themis_server_direct_client;

typedef struct themis_server_direct_grant {
    struct themis_server_direct_client *client;
    uint64_t id;                   /* of the object */
    themis_store_object_t *object; /* open and pinned */
    themis_store_location_t cell;
    uint32_t number; /* never 0 */
    uint32_t slot;   /* of the client */
    int revoked;
    uint32_t users;                                 /* requests that are being served with its pin */
    uint64_t started;                               /* ns */
    uint64_t read, written;                         /* what the slot said last */
    uint64_t counted;                               /* bytes, of both */
    struct themis_server_direct_grant *next, *prev; /* in its bucket; of a dropped one, in `dropped` */
} themis_server_direct_grant_t;

/* A process with a session, and its block of slots. It outlives the session until nothing writes to the block. */
typedef struct themis_server_direct_client {
    themis_server_session_t *session; /* NULL: it has ended */
    pid_t pid;
    int process;  /* a pidfd */
    int finished; /* 1: the client writes to its block no more */
    int ended;    /* 1: its process has ended */
    themis_util_direct_slot_t *slots;
    themis_store_location_t location;                               /* of the slots */
    uint32_t active, revoked;                                       /* grants */
    uint32_t users;                                                 /* requests that are being served with it */
    uint32_t place;                                                 /* in `looks` */
    int moved;                                                      /* 1: bytes, at the last look */
    uint64_t pause;                                                 /* ns between looks at what ends */
    themis_server_direct_grant_t *grants[THEMIS_UTIL_DIRECT_SLOTS]; /* by slot; NULL: free */
    struct themis_server_direct_client *next, *prev;                /* in `left`, once it is out of `looks` */
} themis_server_direct_client_t;

typedef struct themis_server_direct_look {
    uint64_t due; /* ns */
    themis_server_direct_client_t *client;
} themis_server_direct_look_t;

enum { THEMIS_SERVER_DIRECT_BUCKETS = 1024 };

/* Of the objects whose ids have one hash. */
typedef struct themis_server_direct_bucket {
    themis_server_direct_grant_t *grants; /* list: those in force */
    uint32_t changing;                    /* changes under way */
    uint64_t changes;                     /* begun so far */
} themis_server_direct_bucket_t;

typedef enum themis_server_direct_mode {
    THEMIS_SERVER_DIRECT_OFF,
    THEMIS_SERVER_DIRECT_AUTO,
    THEMIS_SERVER_DIRECT_ON,
} themis_server_direct_mode_t;

typedef struct themis_server_direct {
    themis_server_direct_mode_t mode;
    themis_server_beacon_t *beacon; /* NULL: direct access is impossible */
    themis_server_direct_bucket_t buckets[THEMIS_SERVER_DIRECT_BUCKETS];
    themis_server_direct_look_t *looks; /* `clients` of them, in no order; owned, with the clients */
    uint32_t clients, capacity;
    uint64_t next_look;                        /* ns; no look is due before */
    themis_server_direct_grant_t *dropped;     /* list: ended grants, whose objects are still pinned */
    themis_server_direct_client_t *left;       /* list: ended clients, whose blocks are still allocated */
    uint32_t active, revoked;                  /* grants */
    uint32_t last_number;                      /* of a grant */
    uint64_t holder;                           /* number of the job that was given a grant last */
    uint64_t recent_job, recent, recent_other; /* number of the job that was active last; ns of that; ns when any
                                                  other was */
    uint64_t read, written;                    /* bytes */
} themis_server_direct_t;

/* --- direct.c ----------------------------------------------------------------------------------------------------- */

themis_server_direct_bucket_t *themis_server_direct_bucket(themis_server_direct_t *direct, uint64_t object);
/* ns until the job may get grants; 0: it may; UINT64_MAX: not with this configuration. */
uint64_t themis_server_direct_refusal(const themis_server_t *server, const themis_sched_job_t *job, uint64_t now);
/* The job has asked for something, or moved bytes. */
void themis_server_direct_note_active(themis_server_direct_t *direct, uint64_t job, uint64_t now);

/* --- direct_grants.c ---------------------------------------------------------------------------------------------- */

/* The client's grant for the object that is in force, or NULL. */
themis_server_direct_grant_t *themis_server_direct_grant_find(themis_server_direct_t *direct,
                                                              const themis_server_direct_client_t *client, uint64_t id);
/* Puts a grant with client, id, object and cell in force, in a free slot. THEMIS_BUSY: there is none. */
themis_status_t themis_server_direct_grant_add(themis_server_t *server, themis_server_direct_grant_t *grant,
                                               uint64_t now);
void themis_server_direct_grant_revoke(themis_server_t *server, themis_server_direct_grant_t *grant, uint64_t now);
void themis_server_direct_grants_revoke_all(themis_server_t *server, uint64_t now);
/* Charges the grant's job for what the slot says was moved since the last time. */
void themis_server_direct_grant_count(themis_server_t *server, themis_server_direct_grant_t *grant, uint64_t now);
/* Drops a revoked grant if nothing uses its memory any more. */
void themis_server_direct_grant_settle(themis_server_t *server, themis_server_direct_grant_t *grant, uint64_t now);
/* Unpins and closes the grant's object, and frees it. Without the lock. */
void themis_server_direct_grant_free(themis_server_t *server, themis_server_direct_grant_t *grant);

/* --- direct_clients.c --------------------------------------------------------------------------------------------- */

/* 1: the request comes from a process of this host whose user is known. Without the lock. */
int themis_server_direct_client_is_near(const themis_server_request_t *request);
/* The client that the request's session has, with one more user, or NULL. Without the lock. */
themis_server_direct_client_t *themis_server_direct_client_find(themis_server_request_t *request);
/*
 * The same, made if there is none. THEMIS_UNSUPPORTED: it is not on this host, or nothing tells when its process ends.
 * THEMIS_BUSY: its process has too many. THEMIS_DISCONNECTED, and errors of themis_store_block_allocate. Without the
 * lock.
 */
themis_status_t themis_server_direct_client_get(themis_server_request_t *request,
                                                themis_server_direct_client_t **client);
/* One user less. */
void themis_server_direct_client_put(themis_server_t *server, themis_server_direct_client_t *client, uint64_t now);
void themis_server_direct_client_revoke_all(themis_server_t *server, themis_server_direct_client_t *client,
                                            uint64_t now);
/* Has themis_server_direct_tick look at a client with something that is to end. */
void themis_server_direct_client_look_soon(themis_server_t *server, themis_server_direct_client_t *client,
                                           uint64_t now);
/* The same for a client with a new grant. */
void themis_server_direct_client_look_later(themis_server_t *server, themis_server_direct_client_t *client,
                                            uint64_t now);
/* Looks at the client; its next look is then due as its state demands, or it has left. */
void themis_server_direct_client_look(themis_server_t *server, themis_server_direct_client_t *client, uint64_t now);
/* Frees a client that has left. Without the lock. */
void themis_server_direct_client_free(themis_server_t *server, themis_server_direct_client_t *client);
