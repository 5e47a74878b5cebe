/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The transport between two processes of one host: a local socket, which tells who the peer is, that it lives, and
 * wakes it; memory that both map, with rings for messages and staging buffers for small bulk data, one for each
 * direction; and, between processes of one user, the right to copy other bulk data. Without that right bulk data goes
 * through the rings.
 */
#pragma once
#include "net/conn.h"
#include "net/local/listener.h"

extern const themis_net_transport_t themis_net_local_transport;

/* What it keeps for a net. */
typedef struct themis_net_local {
    themis_net_listener_t listener;
    atomic_int refusal_reported; /* that some process may not be copied from */

    /* of the progressing thread */
    themis_net_conn_t **polled; /* local connections, each with a reference */
    size_t polled_count;
    unsigned polled_version;
    unsigned char *scratch; /* THEMIS_NET_LOCAL_SCRATCH bytes, for messages that are read at once */
} themis_net_local_t;

enum { THEMIS_NET_LOCAL_SCRATCH = 64 << 10 };
