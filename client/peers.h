/* SPDX-License-Identifier: BSD-3-Clause */
/* All servers of a session: opens the connections that are needed, side by side, and keeps them alive. */
#pragma once
#include "client/peer.h"

typedef struct themis_client_peers {
    themis_client_peer_common_t common;
    themis_client_peer_t *array; /* owned; as many as the settings have servers */
    uint32_t count;
    uint32_t probed; /* number of the first ones that are connected although no call waits for them */
    uint64_t next_tick, last_tick;
} themis_client_peers_t;

/* `poller`, `settings`, `events` and `arg` of `common` must be set before. After a failure, only free is allowed. */
themis_status_t themis_client_peers_init(themis_client_peers_t *peers);
void themis_client_peers_free(themis_client_peers_t *peers);

/* The service of the poller, with `peers` as its argument: heartbeats, and a step for each peer to be connected. */
uint64_t themis_client_peers_serve(void *peers, uint64_t now);

/*
 * With the lock held: waits until any server has welcomed the session. Attempts with others continue, since they may
 * just be slow. THEMIS_UNREACHABLE: none replied within the timeout; otherwise the status of the server that refused.
 */
themis_status_t themis_client_peers_connect_any(themis_client_peers_t *peers);

/* The servers that are of interest: 1 for each that is. */
typedef int (*themis_client_peers_select_fn)(void *arg, const themis_client_peer_t *peer);

/* Waits, for a second at most, until the selected servers have welcomed the session, if they were not known to be out
 * of reach just before. What was lost of connections until now is noticed. Without the lock; `select` is called with
 * it. */
void themis_client_peers_meet(themis_client_peers_t *peers, themis_client_peers_select_fn select, void *arg);
