/* SPDX-License-Identifier: BSD-3-Clause */
/* A client's session while it lives: its job, its connection, and the end of both. All functions with the lock. */
#pragma once
#include "server/server.h"

/* Notes that a message of the session has come. A session that had left its job joins it again. */
themis_status_t themis_server_session_touch(themis_server_t *server, themis_server_session_t *session);

/* The session's connection is gone: queued requests are dropped. What is in service goes on to touch the file and the
 * client's memory for a moment, so requests of the next connection, replays among them, are held until it has ended. */
void themis_server_session_lose_connection(themis_server_t *server, themis_server_session_t *session);
/* Closes the session's connection, with the same effect. */
void themis_server_session_disconnect(themis_server_t *server, themis_server_session_t *session);
/* Ends the session: its requests, its locks and its connection. */
void themis_server_session_end(themis_server_t *server, themis_server_session_t *session);

/* Counts a message of the connection that was discarded; too many of them close it. */
void themis_server_session_count_discarded(themis_server_t *server, themis_net_conn_t *conn);
