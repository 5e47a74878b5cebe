/* SPDX-License-Identifier: BSD-3-Clause */
/* HELLO, HEARTBEAT and GOODBYE: how a session begins, continues and ends. Without the lock. */
#pragma once
#include "server/request.h"

/* The first HELLO of a connection: binds it to its session, new or found by its number, and replies; returns the
 * reply's status. */
themis_status_t themis_server_session_requests_hello(themis_server_request_t *request);
/* A queued request. Replies. */
void themis_server_session_requests_serve(themis_server_request_t *request);
