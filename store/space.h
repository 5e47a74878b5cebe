/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The space of an arena: a mapped region divided into blocks of 4 KiB times a power of two (buddy allocator).
 *
 * The first access to a page costs several times as much as a copy into a populated one. So the space in use grows in
 * steps from the bottom, freed blocks are reused before it grows, and a thread of the lowest priority populates a
 * bounded number of bytes (`warm`) ahead of it: at the start, and later only when fewer are left.
 *
 * The contents of a new block are undefined: the arena tracks which pages of an object are valid.
 *
 * Threads: all functions may be called from any thread.
 */
#ifndef THEMIS_STORE_SPACE_H
#define THEMIS_STORE_SPACE_H
#include "store/store.h"

enum {
    THEMIS_STORE_SPACE_UNIT = 4096,   /* bytes of a block of order 0 */
    THEMIS_STORE_SPACE_MAX_ORDER = 12 /* 16 MiB */
};

/* Bytes of the largest space, 4 KiB less than 16 TiB: units are numbered with 32 bits. */
#define THEMIS_STORE_SPACE_MAX_BYTES ((UINT64_C(1) << 44) - THEMIS_STORE_SPACE_UNIT - 1)

typedef struct themis_store_space themis_store_space_t;

/* `size` bytes in memory, or in the file `path`, which is created, or has been an arena before; any other file is left
 * unchanged (THEMIS_CONFIG), and so is one that another server uses (THEMIS_BUSY). `warm`: bytes to keep populated
 * ahead of use. `step`: bytes by which the space in use grows, 0: 4 MiB. */
themis_status_t themis_store_space_create(uint64_t size, const char *path, uint64_t warm, uint32_t step,
                                          themis_store_space_t **space);
void themis_store_space_destroy(themis_store_space_t *space); /* NULL is allowed */

/* Allocates a block of `order`, or of the highest lower one that is free; *got is its order and *unit its place.
 * THEMIS_NO_SPACE: the space is full. */
themis_status_t themis_store_space_allocate(themis_store_space_t *space, unsigned order, unsigned *got, uint32_t *unit);
void themis_store_space_free(themis_store_space_t *space, uint32_t unit, unsigned order);

/* Address of a block; valid as long as the space. */
uint8_t *themis_store_space_address(const themis_store_space_t *space, uint32_t unit);

/* Fills in capacity, used and warm. */
void themis_store_space_usage(themis_store_space_t *space, themis_store_usage_t *usage);
#endif
