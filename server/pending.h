/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections without a session: from their start until a HELLO is accepted, and after a GOODBYE. Each is closed after
 * a few seconds, and each user has a limited number, of which the oldest gives way; so those of one user never keep
 * another's from connecting. Those from other hosts, whose users are not known, count as one user.
 *
 * All functions with the lock, but for pending_user.
 */
#pragma once
#include "server/server.h"

#define THEMIS_SERVER_PENDING_LIMIT (5 * THEMIS_NS_PER_S)

/* A user of a connection of another host. */
enum { THEMIS_SERVER_PENDING_UNKNOWN = -1 };

/* Sets how many a user may have, by the number of files that this process may open. */
void themis_server_pending_init(themis_server_t *server);
/* Forgets all. */
void themis_server_pending_clear(themis_server_t *server);

/* Whose connection it is, for pending_add. Without the lock. */
int64_t themis_server_pending_user(themis_net_conn_t *conn);
/* The connection, of which a reference is taken, has no session from now on. */
void themis_server_pending_add(themis_server_t *server, themis_net_conn_t *conn, int64_t user);
/* It has one, or is closed. It need not be known. */
void themis_server_pending_forget(themis_server_t *server, const themis_net_conn_t *conn);
/* Closes those whose time is over. Called from time to time. */
void themis_server_pending_expire(themis_server_t *server, uint64_t now);
