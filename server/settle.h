/* SPDX-License-Identifier: BSD-3-Clause */
/* The steps by which servers end what clients have left (intents.h), at the server that is to do them. */
#pragma once
#include "server/request.h"

/* Does one. THEMIS_BUSY: it is to be asked for again later. */
themis_status_t themis_server_settle_step(themis_server_t *server, const themis_proto_settle_step_t *step);

/* Serves SETTLE of another server, and replies. */
void themis_server_settle_serve(themis_server_request_t *request);
