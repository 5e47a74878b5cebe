/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "store/space_memory.h"
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "util/log.h"
#include "util/status.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

enum { HUGE = THEMIS_STORE_SPACE_MEMORY_HUGE, PAGE = 4096 };

themis_status_t themis_store_space_memory_reserve(uint64_t size, uint8_t **base)
{
    uint64_t whole = (size + PAGE - 1) / PAGE * PAGE;
    uint8_t *at = mmap(NULL, whole + HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (at == MAP_FAILED) {
        themis_error("cannot map %llu bytes: %s", (unsigned long long)size, strerror(errno));
        return THEMIS_NO_MEMORY;
    }
    uint64_t skip = (HUGE - (uintptr_t)at % HUGE) % HUGE;
    if (skip)
        munmap(at, skip);
    munmap(at + skip + whole, HUGE - skip);
    *base = at + skip;
    return THEMIS_OK;
}

static themis_status_t map_at(uint8_t *at, uint64_t bytes, int flags, int fd)
{
    if (mmap(at, bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED | MAP_NORESERVE, fd, 0) == MAP_FAILED)
        return themis_util_status_from_errno(errno);
    madvise(at, bytes, MADV_HUGEPAGE);
    return THEMIS_OK;
}

themis_status_t themis_store_space_memory_map_private(uint8_t *at, uint64_t bytes)
{
    return map_at(at, bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

/* The last seal keeps those who get the descriptor from adding others. */
themis_status_t themis_store_space_memory_map_shared(uint8_t *at, uint64_t bytes, int *fd)
{
    int made = memfd_create("themis-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (made < 0)
        return themis_util_status_from_errno(errno);
    themis_status_t status =
        ftruncate(made, (off_t)bytes) == 0 && fcntl(made, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0
            ? map_at(at, bytes, MAP_SHARED, made)
            : themis_util_status_from_errno(errno);
    if (status != THEMIS_OK) {
        close(made);
        return status;
    }
    *fd = made;
    return THEMIS_OK;
}

void themis_store_space_memory_withdraw(int fd, uint64_t bytes)
{
    if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)bytes) != 0)
        themis_warn("memory that others may have mapped is not freed before they end");
    close(fd);
}

static void populate_pages(uint8_t *at, uint64_t bytes)
{
    if (madvise(at, bytes, MADV_POPULATE_WRITE) == 0 || errno != EINVAL)
        return;
    /* Kernels without: a write that changes nothing, even if the page is in use. */
    for (uint64_t i = 0; i < bytes; i += PAGE)
        atomic_fetch_or_explicit((_Atomic uint8_t *)(at + i), 0, memory_order_relaxed);
}

int themis_store_space_memory_populate(uint8_t *at, uint64_t bytes)
{
    if (bytes == HUGE && (uintptr_t)at % HUGE == 0) {
        populate_pages(at, PAGE); /* what has no page at all is not collapsed */
        populate_pages(at + HUGE / 2, PAGE);
        if (madvise(at, HUGE, MADV_COLLAPSE) == 0)
            return 1;
    }
    populate_pages(at, bytes);
    return 0;
}
