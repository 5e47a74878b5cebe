/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Is there memory at an address of this process? Where the kernel copies a caller's bytes it says so itself; where this
 * process does, a wrong address would end it.
 */
#ifndef THEMIS_UTIL_MEMORY_H
#define THEMIS_UTIL_MEMORY_H
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include "themis/status.h"

enum { THEMIS_UTIL_MEMORY_BLOCKS = 16 };

/* Blocks of 64 KiB in which a byte was found lately; all zeros at first. For one thread at a time. */
typedef struct themis_util_memory_seen {
    uintptr_t block[THEMIS_UTIL_MEMORY_BLOCKS];
} themis_util_memory_seen_t;

/*
 * THEMIS_BAD_ADDRESS if the first or the last byte of a piece cannot be read. Looks at one byte of a block, at about 64
 * of them in a call (a system call of about 100 ns each), and at none in a block of *seen, which it keeps up to
 * date. NULL: a block counts as seen in this call only. So it finds pointers that point nowhere, not every byte that is
 * missing, and nothing that was unmapped since it was seen; nor does it tell whether memory may be written.
 */
themis_status_t themis_util_memory_check(const struct iovec *pieces, size_t count, themis_util_memory_seen_t *seen);
#endif
