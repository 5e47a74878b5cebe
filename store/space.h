/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Space of an arena: a mapped region cut into blocks of 4 KiB times a power of two (buddy system).
 *
 * The first touch of a page costs several times a copy into a warm one, so space is opened for use in steps from the
 * bottom, freed blocks are used again before more is opened, and a thread of the lowest priority touches a bounded
 * window ahead of what is open: at the start, and later only when less than that window is left.
 *
 * Contents of a new block are not defined: the arena tracks which pages of an object hold bytes.
 *
 * Threads: all functions may be called from any thread.
 */
#ifndef THEMIS_STORE_SPACE_H
#define THEMIS_STORE_SPACE_H
#include <stdint.h>
#include "themis/status.h"

enum {
    THEMIS_STORE_SPACE_UNIT = 4096,   /* bytes of a block of order 0 */
    THEMIS_STORE_SPACE_MAX_ORDER = 12 /* 16 MiB */
};

/* Bytes of the largest space, 4 KiB less than 16 TiB: units are numbered with 32 bits. */
#define THEMIS_STORE_SPACE_MAX_BYTES ((UINT64_C(1) << 44) - THEMIS_STORE_SPACE_UNIT - 1)

typedef struct themis_store_space themis_store_space_t;

/* `size` bytes in memory, or in the file `path`, which is made, or was made by an arena before; anything else there is
 * left as it is (THEMIS_CONFIG), and so is a file that a server uses (THEMIS_BUSY). `warm`: bytes to keep touched ahead
 * of use. `step`: bytes by which space is opened, 0: 4 MiB. */
themis_status_t themis_store_space_create(uint64_t size, const char *path, uint64_t warm, uint32_t step,
                                          themis_store_space_t **space);
void themis_store_space_destroy(themis_store_space_t *space); /* NULL is allowed */

/*
 * Takes a block of `order`, or of a lower one down to `least` if that is all there is; *got is its order and *unit its
 * place. THEMIS_NO_SPACE: none.
 */
themis_status_t themis_store_space_take(themis_store_space_t *space, unsigned order, unsigned least, unsigned *got,
                                        uint32_t *unit);
void themis_store_space_give(themis_store_space_t *space, uint32_t unit, unsigned order);

/* Address of a block; stays as long as the space. */
uint8_t *themis_store_space_address(const themis_store_space_t *space, uint32_t unit);

typedef struct themis_store_space_usage {
    uint64_t size, used; /* bytes */
    uint64_t warm;       /* free bytes that were touched */
} themis_store_space_usage_t;
void themis_store_space_usage(themis_store_space_t *space, themis_store_space_usage_t *usage);
#endif
