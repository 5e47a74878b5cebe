/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * QUOTA: what users have on this server and may have on all, and changes of that. Question and answer are text, words
 * between single blanks and numbers in decimal; the answer is JSON.
 *
 *   show [UID]             the user's own, or of another, for administrators
 *   all UID                of all users from UID on that have something here, or limits; for administrators. "next" in
 * the answer is where to go on, null after the last one set WHO BYTES NAMES    sets the limits of a user id, or of
 * `default`: numbers, `none`, or `-` for what it is now unset WHO              it has no limits of its own any more
 *
 * USAGE: what other servers tell of theirs (server/quota.h).
 */
#pragma once
#include "server/request.h"

/* Serves QUOTA, and replies. */
void themis_server_quota_requests_serve(themis_server_request_t *request);
/* Serves USAGE of another server, and replies. */
void themis_server_quota_requests_take(themis_server_request_t *request);
