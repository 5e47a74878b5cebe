/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transport between hosts: UCX, with one context and one worker for each net, an endpoint for each connection, and
 * active messages whose header is a frame. All of it under net->lock. The settings are those of our own context: the
 * MPI library of the same process has another one, and the environment is not touched.
 */
#pragma once
#include <ucp/api/ucp.h>
#include "net/conn.h"

extern const themis_net_transport_t themis_net_ucx_transport;

/* What it keeps for a net. */
typedef struct themis_net_ucx {
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_listener_h listener;
    unsigned operations; /* sends and fetches under way */
    int armed;           /* the worker's descriptor tells when there is something for it */
} themis_net_ucx_t;
