/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Direct access to an arena: the operations of themis_store_ops_t for it.
 *
 * A mapped extent has valid pages only, unless clients were given the states of its pages. A window that has claimed a
 * page that is not valid yet decides alone about it, so such an extent is not completed until the window is finished.
 */
#pragma once
#include "store/store.h"

int themis_store_arena_direct(const themis_store_t *store);
themis_status_t themis_store_arena_direct_pin(themis_store_t *store, themis_store_object_t *object, uint32_t uid,
                                              themis_store_location_t *cell);
void themis_store_arena_direct_unpin(themis_store_t *store, themis_store_object_t *object,
                                     const themis_store_location_t *location);
themis_status_t themis_store_arena_direct_map(themis_store_t *store, themis_store_object_t *object,
                                              const themis_store_extent_t *range, int flags,
                                              themis_store_mapped_t *mapped, size_t capacity, size_t *count);
themis_status_t themis_store_arena_direct_block_allocate(themis_store_t *store, uint32_t uid,
                                                         themis_store_location_t *location, void **address);
void themis_store_arena_direct_block_free(themis_store_t *store, void *address);
themis_status_t themis_store_arena_direct_segment(themis_store_t *store, uint64_t serial, uint32_t uid, int *fd,
                                                  uint64_t *bytes);
