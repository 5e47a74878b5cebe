/* SPDX-License-Identifier: BSD-3-Clause */
/* LOCK, UNLOCK and COUNTER. */
#pragma once
#include "server/request.h"

/* Serves a request, `resumed` after it waited for a lock. Replies, or leaves the request to the lock table
 * (THEMIS_IN_PROGRESS). Without the lock. */
themis_status_t themis_server_lock_requests_serve(themis_server_request_t *request, int resumed);
/* What the lock table tells the server. With the lock. */
extern const themis_server_lock_events_t themis_server_lock_requests_events;
