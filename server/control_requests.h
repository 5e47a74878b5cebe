/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once
#include "server/request.h"

/* Serves STATUS, POLICY, SHUTDOWN or TABLE, and replies. Without the lock. */
void themis_server_control_requests_serve(themis_server_request_t *request);
