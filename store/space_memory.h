/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of an arena: a reserved range of addresses, into which pieces of memory are mapped that are this process's
 * alone, or can be passed on by a descriptor.
 *
 * New memory reads as zeros. Huge pages need no special rights: where the kernel has MADV_COLLAPSE (Linux 6.1), pages
 * of a file in memory are made huge whatever the system's setting for such files; elsewhere they are as the kernel has
 * them.
 */
#pragma once
#include <stdint.h>
#include "themis/status.h"

enum { THEMIS_STORE_SPACE_MEMORY_HUGE = 2 << 20 /* bytes of a huge page */ };

/* Reserves addresses, aligned to huge pages, without memory; munmap frees them, and what was mapped there. */
themis_status_t themis_store_space_memory_reserve(uint64_t size, uint8_t **base);

/* Maps new memory at `at`, part of a reserved range, in place of what was there. Failures are not logged. */
themis_status_t themis_store_space_memory_map_private(uint8_t *at, uint64_t bytes);
/* *fd: of memory that cannot shrink or grow, to be released. */
themis_status_t themis_store_space_memory_map_shared(uint8_t *at, uint64_t bytes, int *fd);
/* Frees shared memory and its descriptor. Whoever still has it mapped sees zeros. */
void themis_store_space_memory_withdraw(int fd, uint64_t bytes);

/* Gives pages to a range that is mapped and may be in use. 1: it has one huge page, which only a range can have that is
 * aligned to and as large as one. */
int themis_store_space_memory_populate(uint8_t *at, uint64_t bytes);
