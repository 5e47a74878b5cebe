/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data: a list is cut at stripes into one call for each server (more only where a message would be too long), all under
 * way at once. A read that comes back short asks the other servers how far the file goes, since what one server does
 * not hold may be a hole.
 */
#ifndef THEMIS_CLIENT_IO_H
#define THEMIS_CLIENT_IO_H
#include "client/session.h"

/* At the end of the session. */
void themis_client_io_free_requests(themis_t *session);
#endif
