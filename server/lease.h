/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lease expiry. A session whose connection was lost ends after `lease`, and its locks and saved replies with it. A
 * session that is connected but silent becomes inactive after heartbeat * heartbeat_limit; after another `lease` it
 * leaves its job if it holds nothing, else it ends.
 */
#pragma once
#include "server/server.h"

/* Ends sessions whose lease is over, connections without one and waits for locks that last longer than lock_wait, and
 * removes jobs that no session has and that have no requests. Called from time to time, with the lock. */
void themis_server_lease_expire(themis_server_t *server, uint64_t now);
