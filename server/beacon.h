/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The beacon: a page of memory by which clients of this host see that the server's process has ended, however it did,
 * with no more than a look. Its word (util/direct.h) is a robust futex of a thread that lives as long as the beacon: at
 * the end of the thread the kernel itself marks it as dead. Clients get a descriptor through which they can only read.
 */
#pragma once
#include <stdint.h>
#include "themis/status.h"
#include "util/direct.h"

typedef struct themis_server_beacon themis_server_beacon_t;

/* Starts the thread. THEMIS_UNSUPPORTED: the kernel cannot do that; the cause has been logged. THEMIS_NO_MEMORY. */
themis_status_t themis_server_beacon_create(themis_server_beacon_t **beacon);
/* Marks it as dead, and ends the thread. NULL is allowed. */
void themis_server_beacon_destroy(themis_server_beacon_t *beacon);

/* The descriptor to pass on, which stays the beacon's; *bytes is its size. */
int themis_server_beacon_descriptor(const themis_server_beacon_t *beacon, uint64_t *bytes);
