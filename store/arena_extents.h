/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The extents of an object of the arena: where its bytes are in the space, and which pages are valid.
 *
 * They are sorted by offset, do not overlap, and each is one block of the space, at an offset of the object that is a
 * multiple of the page size. A page of an extent is valid once bytes were written to it, or if it is known to be zeros;
 * the others read as zeros, whatever the block contains. Clients that write directly make pages valid, too: in
 * `shared`, from where it is taken over.
 *
 * Threads: one at a time for an object; the arena holds the object's lock.
 */
#pragma once
#include <stdatomic.h>
#include <stdint.h>
#include "store/space.h"
#include "util/direct.h"

enum { THEMIS_STORE_ARENA_PAGE = THEMIS_STORE_SPACE_UNIT /* bytes */ };

/* In a page's state. The bits below count claims: more than a million windows cannot make as many as would reach it. */
#define THEMIS_STORE_ARENA_VALID (UINT32_C(1) << 31)

typedef struct themis_store_arena_extent themis_store_arena_extent_t;

/* Of an object of a durable arena: what its log does not say yet. Those who change its extents find it there; it is
 * written by store/arena_durable.h. Empty when all zeros. */
typedef struct themis_store_arena_changes {
    themis_store_arena_extent_t *extents; /* new, or with pages that have become valid; by `changed` */
    int has_dropped, has_cut;
    int cell;               /* 1: it has got one, or has none any more */
    int touch;              /* 1: the time was set */
    uint64_t dropped;       /* offset of an extent that others have replaced */
    uint64_t cut;           /* bytes from there on are about to be lost */
    uint64_t end, modified; /* as the log has them */
} themis_store_arena_changes_t;

struct themis_store_arena_extent {
    uint64_t offset;             /* in the object */
    uint32_t unit, pages, valid; /* place in the space; pages, and how many of them are valid */
    uint8_t order;
    uint8_t reserved;        /* 1: added to be reserved, by an allocation that is under way */
    _Atomic uint8_t *shared; /* [pages] themis_util_direct_page_t, which clients can write; or NULL */
    uint32_t shared_unit;    /* the block that they are in, of order 0 */
    themis_store_location_t shared_at;
    themis_store_arena_changes_t *changes;     /* of its object; NULL: it has no log, or is none of its extents */
    themis_store_arena_extent_t *changed;      /* the next one there */
    uint32_t changed_first, changed_end;       /* pages that have become valid, and maybe others between them */
    uint8_t is_changed, is_new, is_new_shared; /* it is there; the log has no extent, no states of its pages */
    themis_store_arena_extent_t *next;         /* in `retired` */
    uint32_t state[];                          /* [pages] */
};

/* Empty when all others are zeros. */
typedef struct themis_store_arena_extents {
    uint32_t owner;     /* whose memory they are in */
    uint64_t allocated; /* bytes */
    uint32_t count, capacity;
    themis_store_arena_extent_t **extent;  /* [count], by offset; owned */
    themis_store_arena_extent_t *retired;  /* no longer the object's, but still in use */
    themis_store_arena_changes_t *changes; /* of a durable arena's object, or NULL */
} themis_store_arena_extents_t;

/* Frees all extents and their blocks, which must not be in use. */
void themis_store_arena_extents_release(themis_store_arena_extents_t *extents, themis_store_space_t *space);

/* The end of the last extent, or 0. */
uint64_t themis_store_arena_extents_end(const themis_store_arena_extents_t *extents);

/* Index of the first extent that ends after `offset`, or the count. `hint`: where the last search ended, or 0. */
uint32_t themis_store_arena_extents_find(const themis_store_arena_extents_t *extents, uint64_t offset, uint32_t hint);

/*
 * Adds an extent at `index` of the list. It begins at the page of `offset`, in a hole, and has about `length` bytes:
 * fewer if the space has no such block, more where the object grows. `populate`: 1: it is about to be used; 0: it is
 * only reserved, and extents_reserved tells then whether it stays. THEMIS_NO_SPACE, THEMIS_NO_MEMORY.
 */
themis_status_t themis_store_arena_extents_add(themis_store_arena_extents_t *extents, themis_store_space_t *space,
                                               uint32_t index, uint64_t offset, uint64_t length, int populate);
/* Ends a reservation: keeps the extents that were added for it, or frees them. */
void themis_store_arena_extents_reserved(themis_store_arena_extents_t *extents, themis_store_space_t *space, int keep);

/* Discards the bytes from `size` on. Complete extents are retired. */
void themis_store_arena_extents_cut(themis_store_arena_extents_t *extents, themis_store_space_t *space, uint64_t size);
/* Moves the bytes below `size` of the extent that it is inside of to new extents. The old one is retired: those who can
 * still write to it change nothing. On failure (THEMIS_NO_SPACE, THEMIS_NO_MEMORY) nothing has changed. */
themis_status_t themis_store_arena_extents_replace(themis_store_arena_extents_t *extents, themis_store_space_t *space,
                                                   uint64_t size);
/* Frees the retired extents, which must not be in use. */
void themis_store_arena_extents_collect(themis_store_arena_extents_t *extents, themis_store_space_t *space);

uint8_t *themis_store_arena_extent_page(const themis_store_space_t *space, const themis_store_arena_extent_t *extent,
                                        uint32_t page);

/* In the object, exclusive. */
static inline uint64_t themis_store_arena_extent_end(const themis_store_arena_extent_t *extent)
{
    return extent->offset + (uint64_t)extent->pages * THEMIS_STORE_ARENA_PAGE;
}

/* Makes all pages valid; those that were not are cleared. 0 if one is claimed: then nothing was changed. */
int themis_store_arena_extent_complete(themis_store_space_t *space, themis_store_arena_extent_t *extent);

/* Makes a page valid of which the first `kept` bytes were written; the rest is cleared. A page that is valid stays as
 * it is. */
void themis_store_arena_extent_keep(themis_store_space_t *space, themis_store_arena_extent_t *extent, uint32_t page,
                                    uint32_t kept);

/* Clears a page that is not valid; then it is. */
void themis_store_arena_extent_clear(themis_store_space_t *space, themis_store_arena_extent_t *extent, uint32_t page);

/* Gives the extent states of its pages that clients can write, in a block that `locate` has found; it takes the block
 * over. */
void themis_store_arena_extent_share(themis_store_arena_extent_t *extent, const themis_store_space_t *space,
                                     uint32_t unit, const themis_store_location_t *location);

/* A page of an extent that has changes has become valid. */
void themis_store_arena_extent_note(themis_store_arena_extent_t *extent, uint32_t page);

/* Its states are not shared any more; the block is not freed. */
void themis_store_arena_extent_unshare(themis_store_arena_extent_t *extent);

/* For recovery: adds an extent that has a block; and discards the bytes from `size` on without freeing any. Where
 * states of its pages are shared is in shared_unit then, or UINT32_MAX. THEMIS_CORRUPT: it is impossible, or overlaps
 * another one; THEMIS_NO_MEMORY. */
themis_status_t themis_store_arena_extents_restore(themis_store_arena_extents_t *extents, uint64_t offset,
                                                   uint32_t unit, unsigned order, int valid);
void themis_store_arena_extents_forget(themis_store_arena_extents_t *extents, uint64_t size);

static inline void themis_store_arena_extent_make_valid(themis_store_arena_extent_t *extent, uint32_t page)
{
    if (extent->changes && !(extent->state[page] & THEMIS_STORE_ARENA_VALID))
        themis_store_arena_extent_note(extent, page);
    extent->valid += !(extent->state[page] & THEMIS_STORE_ARENA_VALID);
    extent->state[page] |= THEMIS_STORE_ARENA_VALID;
    if (extent->shared)
        atomic_store(&extent->shared[page], THEMIS_UTIL_DIRECT_PAGE_VALID);
}

/* What a client says of its own user's page is believed: it can only harm that user. */
static inline int themis_store_arena_extent_is_valid(themis_store_arena_extent_t *extent, uint32_t page)
{
    if (extent->state[page] & THEMIS_STORE_ARENA_VALID)
        return 1;
    if (!extent->shared || atomic_load(&extent->shared[page]) == THEMIS_UTIL_DIRECT_PAGE_INVALID)
        return 0;
    themis_store_arena_extent_make_valid(extent, page);
    return 1;
}
