/* SPDX-License-Identifier: BSD-3-Clause */
/* Endpoints: how UCX reaches the peer of a connection. */
#pragma once
#include "net/ucx/ucx.h"

/* Makes the endpoint and sends HELLO by it, to conn->address. Lock not held. The deadline is not used. */
themis_status_t themis_net_endpoint_connect(themis_net_conn_t *conn, uint64_t deadline);
/* UCX's listener calls it for a client; `arg` is the net. */
void themis_net_endpoint_accept(ucp_conn_request_h request, void *arg);
/* Starts the close, with everything flushed or not; net->closing counts it until it has completed. */
void themis_net_endpoint_close(themis_net_conn_t *conn, int flush);
