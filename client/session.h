/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of a session. The lock of `poller` guards all that is not fixed at creation, but for what has
 * locks of its own. */
#pragma once
#include "client/call.h"
#include "client/direct.h"
#include "client/peers.h"
#include "client/poller.h"
#include "client/request.h"
#include "client/settings.h"
#include "util/hash_ring.h"

struct themis {
    themis_client_settings_t settings;
    themis_util_hash_ring_t *ring; /* of home servers */
    themis_client_poller_t poller;
    themis_client_peers_t peers;
    themis_client_calls_t calls;
    themis_client_requests_t requests;
    themis_client_direct_t direct;
    uint64_t next_owner; /* of locks */
    int keeps_links;     /* 1: client/links.h follows none */
};
