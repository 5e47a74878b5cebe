/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef THEMIS_SERVER_CONTROL_REQUESTS_H
#define THEMIS_SERVER_CONTROL_REQUESTS_H
#include "server/request.h"

/* Serves STATUS, POLICY, SHUTDOWN or TABLE, and replies. Without the lock. */
void themis_server_control_requests_serve(themis_server_request_t *request);
#endif
