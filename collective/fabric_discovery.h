/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The InfiniBand fabric that this process is on. It is discovered at most once in the life of a process, by a thread of
 * its own, so that no open waits longer than it wants to: a large subnet can take many seconds.
 */
#pragma once
#include "themis/status.h"
#include "themis/topology.h"

/*
 * Starts the discovery, unless that was done, and waits for its end up to wait_ms. *fabric is borrowed until the
 * process ends. NO_ENTRY: there is none, or this process may not ask; TIMED_OUT: still under way, and a later call may
 * find it; NO_MEMORY: no thread. The result is kept, failure included. Thread-safe.
 */
themis_status_t themis_collective_fabric_discover(unsigned wait_ms, const themis_aggregation_fabric_t **fabric);
