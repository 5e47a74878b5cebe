/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "util/memory.h"
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BLOCK_BYTES = 65536, MAX_PROBES = 64, MASK_BYTES = 8 };

/* The kernel reads the new signal mask before it rejects `how` = -1: the cheapest system call that reads memory as a
 * load does, device memory included, and has no effect. */
static int is_mapped(uintptr_t address)
{
    uintptr_t start = address & ~(uintptr_t)(MASK_BYTES - 1);
    const void *word = (const void *)(start ? start : MASK_BYTES); /* NULL would mean that there is no mask */

    return syscall(SYS_rt_sigprocmask, -1, word, NULL, MASK_BYTES) == 0 || errno != EFAULT;
}

static int block_probe(themis_util_memory_seen_t *seen, uintptr_t address, unsigned *probes)
{
    uintptr_t block = address / BLOCK_BYTES + 1; /* 0 stands for none */
    uintptr_t *place = &seen->block[block % THEMIS_UTIL_MEMORY_BLOCKS];

    if (*place == block)
        return 1;
    ++*probes;
    if (!is_mapped(address))
        return 0;
    *place = block;
    return 1;
}

themis_status_t themis_util_memory_check(const struct iovec *pieces, size_t count, themis_util_memory_seen_t *seen)
{
    themis_util_memory_seen_t own = {{0}};
    unsigned probes = 0;

    if (!seen)
        seen = &own;
    for (size_t i = 0; i < count && probes < MAX_PROBES; i++) {
        uintptr_t first = (uintptr_t)pieces[i].iov_base, last;
        if (pieces[i].iov_len == 0)
            continue;
        if (__builtin_add_overflow(first, pieces[i].iov_len - 1, &last) || !block_probe(seen, first, &probes) ||
            !block_probe(seen, last, &probes))
            return THEMIS_BAD_ADDRESS;
    }
    return THEMIS_OK;
}
