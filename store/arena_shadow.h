/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shadow pages. A window that covers a page as a whole claims it, and the page becomes valid when that window ends. A
 * window that writes to a part of such a page meanwhile cannot write to its memory: nobody would see its bytes before
 * the first window ends, and they would be lost if that one fails. So it writes to the page's shadow, which reads use
 * as long as the page is not valid. When the last claim has ended and the page is still not valid, the shadow's bytes
 * become the page's.
 *
 * All functions are called with the object's lock held.
 */
#pragma once
#include <stdint.h>
#include "store/arena_object.h"

struct themis_store_arena_shadow {
    uint64_t offset; /* of the page in the object */
    UT_hash_handle hh;
    struct themis_store_arena_shadow *next; /* in `replaced` */
    uint8_t bytes[THEMIS_STORE_ARENA_PAGE];
};

/* The shadow's bytes, valid until the windows that are in use have ended; NULL: the page has none. */
uint8_t *themis_store_arena_shadow_find(const themis_store_object_t *object, uint64_t offset);

/* Where to write to a part of a page: its memory, cleared if nobody has written to it, or its shadow, which is made if
 * there is none. NULL: no memory. */
uint8_t *themis_store_arena_shadow_target(const themis_store_arena_t *arena, themis_store_object_t *object,
                                          themis_store_arena_extent_t *extent, uint32_t page);

/* A claim of the page at `offset` has ended, or its extent was replaced. */
void themis_store_arena_shadow_settle(const themis_store_arena_t *arena, themis_store_object_t *object,
                                      uint64_t offset);

/* A page that nobody claims becomes valid, unless it is: of its memory the first `kept` bytes were written, and what
 * follows is the shadow's, or zeros. */
void themis_store_arena_shadow_keep(const themis_store_arena_t *arena, themis_store_object_t *object,
                                    themis_store_arena_extent_t *extent, uint32_t page, uint32_t kept);

/* Discards what shadows have from byte `size` of the object on, after its extents were cut. */
void themis_store_arena_shadow_cut(const themis_store_arena_t *arena, themis_store_object_t *object, uint64_t size);

/* Frees the shadows that are no longer pages'; no window may be in use. */
void themis_store_arena_shadow_collect(themis_store_object_t *object);
