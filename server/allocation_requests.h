/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What clients ask the allocation service (JOB_SERVERS), as one JSON object of at most 64 KiB:
 *
 *   {"action": "allocate", "application": TEXT, "nodes": "0-255,600", "job": TEXT, "user": UID, "lease_s": SECONDS,
 *    "token": NUMBER, "once": true}
 *                        decides and keeps it. All but application and nodes may be missing; only administrators name
 *                        another user. The same token again gives the allocation that is there, and so does the same
 *                        job with "once".
 *   {"action": "release", "id": ID}                      it ends; THEMIS_NO_ENTRY: there is none. These two only for
 *   {"action": "renew", "id": ID, "lease_s": SECONDS}    its user and administrators
 *   {"action": "list", "after": ID}                      those with larger ids: a user's own, and all for
 * administrators
 *
 * The reply is an object, too: of allocate the decision (dfra/decision_json.h) with "id" and "expires", of release and
 * renew the allocation, of list "allocations", "anomalous" (servers that are much slower than others) and "more". A
 * server without the key `allocate` answers THEMIS_UNSUPPORTED.
 */
#pragma once
#include "server/request.h"

void themis_server_allocation_requests_serve(themis_server_request_t *request);
