/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps by which servers end what clients have left (intents.h), at the server that is to do them. */
#pragma once
#include "server/request.h"

/* Does them; statuses[i] tells how number i has ended, THEMIS_BUSY: it is to be asked for again later. `asked`: when,
 * ns since 1970: names that were made since are not known to who asks. Fails if none of these answers is to be used. */
themis_status_t themis_server_settle_steps(themis_server_t *server, const themis_proto_settle_step_t *steps,
                                           uint32_t count, uint64_t asked, themis_status_t *statuses);

/* Serves SETTLE of another server, and replies. */
void themis_server_settle_serve(themis_server_request_t *request);
