/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef THEMIS_SERVER_NAME_REQUESTS_H
#define THEMIS_SERVER_NAME_REQUESTS_H
#include "server/request.h"

/* Serves a request about names (LOOKUP to READDIR), and replies. Without the lock. */
void themis_server_name_requests_serve(themis_server_request_t *request);
#endif
