/* SPDX-License-Identifier: BSD-3-Clause */
/* The client's side of what net/local/hello.h describes. */
#pragma once
#include "net/net.h"

/* Moves the connection to the server's local socket until `deadline`, but not for long. THEMIS_UNSUPPORTED: the server
 * is on another host, or local connections are turned off. THEMIS_REFUSED: it has closed the socket, as it is not the
 * server at conn->address, or ends. Lock not held; makes progress meanwhile. */
themis_status_t themis_net_connector_connect(themis_net_conn_t *conn, uint64_t deadline);
