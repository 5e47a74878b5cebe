/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What clients ask the allocation service (JOB_SERVERS), as one JSON object of at most 64 KiB:
 *
 *   {"action": "allocate", "application": TEXT, "nodes": "0-255,600", "job": TEXT, "user": UID, "lease_s": SECONDS,
 *    "token": NUMBER, "once": true}
 *                        decides and keeps it. All but application and nodes may be missing; only administrators name
 *                        another user. The same token again gives the allocation that is there, and so does the same
 *                        job with "once".
 *   {"action": "release", "id": ID}                      it ends; THEMIS_NO_ENTRY: there is none. These only for its
 *   {"action": "renew", "id": ID, "lease_s": SECONDS}    user and administrators
 *   {"action": "release", "job": TEXT, "user": UID}      all of the job end; the reply has how many as "released". So
 *   {"action": "release", "token": NUMBER, "user": UID}  does the one that was asked for with the token. Without user:
 *                        of who asks
 *   {"action": "list", "after": ID}                      those with larger ids: a user's own, and all for
 * administrators
 *
 * The reply is an object, too: of allocate the decision (dfra/decision_json.h) with "id", "expires" and "lease_s", the
 * seconds that are left, of release and renew the allocation, of renew with "lease_s", too; of list "allocations",
 * "anomalous" (servers that are much slower than others) and "more". A server without the key `allocate` answers
 * THEMIS_UNSUPPORTED.
 */
#pragma once
#include "server/request.h"

void themis_server_allocation_requests_serve(themis_server_request_t *request);
