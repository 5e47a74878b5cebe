/* SPDX-License-Identifier: BSD-3-Clause */
/* The client's side of a connection by TCP until it is open. connect and prove: net/transport.h. */
#pragma once
#include "net/net.h"

themis_status_t themis_net_tcp_connector_connect(themis_net_conn_t *conn, uint64_t deadline);
themis_status_t themis_net_tcp_connector_prove(themis_net_conn_t *conn);
/* The socket of a connection that is not open is ready. Lock held. */
void themis_net_tcp_connector_on_event(themis_net_conn_t *conn);
