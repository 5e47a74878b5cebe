/* SPDX-License-Identifier: BSD-3-Clause */
/* READ and WRITE. Without the lock. */
#pragma once
#include "server/request.h"

/* Serves a slice, from its start or, when `resumed`, from the end of a transfer. THEMIS_IN_PROGRESS: the network has
 * the request now. THEMIS_OK: the slice is over; item.bytes is what is left, and at 0 the reply was sent. */
themis_status_t themis_server_io_requests_serve(themis_server_request_t *request, int resumed);
