/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The capability of an open file: what shows its servers that the handle may access the bytes. It comes with the
 * attributes when the file is opened. When a server says that it has expired, the name is looked up again, and the
 * request is made again with what is given then.
 */
#pragma once
#include "client/file.h"

enum { THEMIS_CLIENT_MAX_RENEWALS = 16 }; /* of one request */

/* The rights that are needed to open a file with these flags (THEMIS_OPEN_*). */
uint32_t themis_client_capability_rights(int flags);

/* What the handle has now. */
void themis_client_capability_get(themis_file_t *file, themis_proto_capability_t *capability);

/* The end of what the handle has now: what a request is sent with, or something older. */
uint64_t themis_client_capability_expires(themis_file_t *file);

/* Looks the name up again, unless the handle has another capability by now than the one that expires at `expires`, and
 * was refused. Pauses before all but the first of a request's renewals; `earlier`: how many there were. THEMIS_STALE:
 * it is gone, or is another file's; THEMIS_ACCESS: what the file was opened for is not allowed any more. */
themis_status_t themis_client_capability_renew(themis_file_t *file, uint64_t expires, unsigned earlier);

/* 1: a request that has failed with `status` is to be made again, since a new capability came. *renewals: how often it
 * was; `expires`: as above. If renewing fails *status becomes the reason. */
int themis_client_capability_retry(themis_file_t *file, uint64_t expires, unsigned *renewals, themis_status_t *status);

/* A call about the file to one of its servers: number `server`, with its binding (NULL: none). Fills in the
 * capability of `body`, the request's. *incarnation (may be NULL): of the session at the server, when it replied. Texts
 * in *reply are not valid. */
themis_status_t themis_client_capability_call(themis_file_t *file, uint32_t server, themis_client_binding_t *binding,
                                              themis_proto_opcode_t opcode, themis_proto_body_t *body,
                                              themis_proto_body_t *reply, uint64_t *incarnation);
