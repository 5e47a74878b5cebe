/* SPDX-License-Identifier: BSD-3-Clause */
/* MAP, UNMAP and SEGMENT. Without the lock. */
#pragma once
#include "server/request.h"

/* Serves a request, and replies. */
void themis_server_direct_requests_serve(themis_server_request_t *request);
