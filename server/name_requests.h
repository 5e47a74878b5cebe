/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once
#include "server/request.h"

/* Serves a request about names (LOOKUP to READDIR), and replies. Without the lock. */
void themis_server_name_requests_serve(themis_server_request_t *request);
/* Is it a step of a rename? Those wait for the disk. */
int themis_server_name_requests_is_rename(const themis_server_request_t *request);
