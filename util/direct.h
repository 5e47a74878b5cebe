/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that a server shares with clients of its host for direct access: the layout of its words, which are lock-free
 * atomics. A client may write anything into what it can write; a server trusts nothing that it has not checked.
 *
 * A copy begins with copies += 1 (sequentially consistent) and a look at `grant` and the beacon; a long one looks again
 * on its way. It ends with additions to `read` or `written` (sequentially consistent), another look, and copies -= 1
 * (release). Where a look says that the grant is gone, or that the server has ended or cannot be reached, the whole
 * access is done again by messages; until copies is 0 the server does not use the memory again.
 */
#pragma once
#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>

enum {
    THEMIS_UTIL_DIRECT_SLOTS = 256, /* in one block of shared memory */
    THEMIS_UTIL_DIRECT_BLOCK_BYTES = 16 << 10,
    THEMIS_UTIL_DIRECT_DEAD = 0x40000000, /* bit of the beacon's word, FUTEX_OWNER_DIED: the server has ended */
    THEMIS_UTIL_DIRECT_PAGE_BYTES = 4096
};

/*
 * The state of a page of an extent that was mapped before all its pages were valid: one byte each. A page that is not
 * valid reads as zeros, and its memory has whatever was there before, so that what is written as a whole need not be
 * cleared first.
 *
 * A client reads only valid pages. It writes an invalid page only in full, and makes it valid afterwards by
 * compare-and-swap from INVALID. Where that fails, another client or the server has made the page valid meanwhile,
 * maybe by clearing it: the client waits until it is valid, and copies again. Only the server clears: INVALID,
 * CLEARING, zeros, VALID.
 */
typedef enum themis_util_direct_page {
    THEMIS_UTIL_DIRECT_PAGE_INVALID,
    THEMIS_UTIL_DIRECT_PAGE_CLEARING,
    THEMIS_UTIL_DIRECT_PAGE_VALID
} themis_util_direct_page_t;

/* One for each object; clients raise its words, by compare-and-swap, after they have written bytes. */
typedef struct themis_util_direct_cell {
    _Atomic uint64_t end;      /* exclusive: one past the last byte written */
    _Atomic uint64_t modified; /* ns since 1970 */
} themis_util_direct_cell_t;

/* One for each grant of a client. */
typedef struct themis_util_direct_slot {
    _Atomic uint32_t grant;         /* by the server: number of the grant; 0: revoked */
    _Atomic uint32_t copies;        /* by the client: threads that copy at the moment */
    _Atomic uint64_t read, written; /* by the client: bytes moved; these only grow */
    uint8_t unused[40];
} themis_util_direct_slot_t;

/* One for each server; clients can only read it. */
typedef struct themis_util_direct_beacon {
    _Atomic uint32_t word; /* id of a thread of the server, and THEMIS_UTIL_DIRECT_DEAD, which the kernel sets */
} themis_util_direct_beacon_t;

static_assert(sizeof(themis_util_direct_cell_t) == 16, "the layout is shared between processes");
static_assert(sizeof(themis_util_direct_slot_t) * THEMIS_UTIL_DIRECT_SLOTS == THEMIS_UTIL_DIRECT_BLOCK_BYTES,
              "the layout is shared between processes");
static_assert(ATOMIC_CHAR_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2 && ATOMIC_LONG_LOCK_FREE == 2,
              "other processes know nothing of our locks");
