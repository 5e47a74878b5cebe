/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that addresses of this process are mapped. Where the kernel copies a caller's bytes it reports a bad address
 * itself; where this process copies them, a bad address would crash it.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include "themis/status.h"

enum { THEMIS_UTIL_MEMORY_BLOCKS = 16 };

/* Blocks of 64 KiB that were found mapped lately; all zeros at first. For one thread at a time. */
typedef struct themis_util_memory_seen {
    uintptr_t block[THEMIS_UTIL_MEMORY_BLOCKS];
} themis_util_memory_seen_t;

/*
 * THEMIS_BAD_ADDRESS if the first or the last byte of a piece cannot be read. Probes one byte of a block, at most about
 * 64 blocks in a call (each a system call of about 100 ns), and none of *seen, which it keeps up to date; NULL: a block
 * counts as seen in this call only. It finds pointers to unmapped memory, but not every unmapped byte, nor what was
 * unmapped since it was seen, nor memory that must not be written.
 */
themis_status_t themis_util_memory_check(const struct iovec *pieces, size_t count, themis_util_memory_seen_t *seen);
