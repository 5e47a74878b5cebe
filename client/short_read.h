/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads that come back short. What one server does not hold may be a hole or lie past the end of the file, and which of
 * the two depends on all servers of the file: those that are not known yet are asked where their objects end.
 */
#pragma once
#include "client/request.h"

/* Puts the READ calls and starts SIZE calls instead. After a failure no call is under way. */
themis_status_t themis_client_short_read_start(themis_request_t *request);

/* Starts the same SIZE calls again, which have ended. After a failure no call is under way. */
themis_status_t themis_client_short_read_ask(themis_request_t *request);

/* All SIZE calls have ended: fills holes with zeros and sets `moved`. */
themis_status_t themis_client_short_read_finish(themis_request_t *request);
