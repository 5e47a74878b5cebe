/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads and writes: a list is split into one call for each server, all under way at once. A read that comes back short
 * has a second phase (short_read.h).
 */
#pragma once
#include "themis/themis.h"
#include "util/memory.h"

/* The bytes of a list. THEMIS_RANGE: some beyond 2^63; THEMIS_INVALID: another number of bytes in memory. */
themis_status_t themis_client_io_check(const char *path, const themis_list_t *list, uint64_t *bytes);

/* THEMIS_BAD_ADDRESS: a piece of memory that is not there. Needed since shared memory and the network are used by this
 * process itself, which a wrong address would end. `seen` may be NULL (util/memory.h). */
themis_status_t themis_client_io_check_memory(const char *path, const themis_list_t *list,
                                              themis_util_memory_seen_t *seen);
