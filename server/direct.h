/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Direct access: a client on the server's host and of the object's user copies into and out of the arena itself. A
 * GRANT allows one client that for one object. It is given by MAP (direct_requests.c) and stands until it is revoked:
 * by UNMAP, before the object is cut or removed, with the client's connection, and, where the key `direct` says
 * `auto`, by the first request of another job.
 *
 * To revoke is to store a word that clients look at before and after each copy (util/direct.h); the server never waits
 * for them. The memory of a client that copies at that moment is kept until it says that it has ended, or its process
 * has ended. Copies that run beyond a revocation are done again by messages, so nothing but unused memory is delayed.
 *
 * Everything that clients can write is checked: a client that lies keeps memory of its own user, and is charged for
 * more or less than it moved; nothing else follows.
 */
#pragma once
#include "server/server.h"

/* For status and metrics. */
typedef struct themis_server_direct_usage {
    const char *mode;       /* "auto", "on" or "off", which is also said where the store or the system cannot */
    uint32_t grants;        /* in force */
    uint32_t revoked;       /* whose memory is still kept for a client that copies */
    uint64_t read, written; /* bytes that clients have moved since the start */
} themis_server_direct_usage_t;

/* Does nothing more than make `server->direct` where direct access is impossible. */
themis_status_t themis_server_direct_create(themis_server_t *server);
/* Tells clients that the server has ended. After the last session; NULL in server->direct is allowed. */
void themis_server_direct_destroy(themis_server_t *server);

/* Around a change that takes memory from the object: revokes its grants, and gives none until the end. Without the
 * lock; changes of one object may overlap. */
void themis_server_direct_begin_change(themis_server_t *server, uint64_t object);
void themis_server_direct_end_change(themis_server_t *server, uint64_t object);

/* All others with the lock. */

/* A request of the session is about to be queued. */
void themis_server_direct_on_request(themis_server_t *server, const themis_server_session_t *session, uint64_t now);
/* The session's connection is gone. */
void themis_server_direct_lose(themis_server_t *server, themis_server_session_t *session);
/* The client has said that it ends its session, and so touches no shared word any more. */
void themis_server_direct_finish(themis_server_session_t *session);
/* The session ends. */
void themis_server_direct_end_session(themis_server_t *server, themis_server_session_t *session);
/* The configuration has changed. */
void themis_server_direct_reload(themis_server_t *server);
/* The server is to stop: revokes all, and grants no more. */
void themis_server_direct_stop(themis_server_t *server);

/* Looks, where it is due, at what clients have moved and whether copies or processes have ended, for a bounded number
 * of clients. Returns ns until it is due again; UINT64_MAX: not before something else happens. */
uint64_t themis_server_direct_tick(themis_server_t *server, uint64_t now);
/* 1: there is something for themis_server_direct_release. */
int themis_server_direct_has_ended(const themis_server_t *server);
/* Gives the memory of ended grants and clients back to the store; the lock is released meanwhile. */
void themis_server_direct_release(themis_server_t *server);

void themis_server_direct_usage(const themis_server_t *server, themis_server_direct_usage_t *usage);
