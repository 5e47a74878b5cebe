/* SPDX-License-Identifier: BSD-3-Clause */
/* The entries of the log about an object of a durable arena. All with the object's lock; THEMIS_NO_MEMORY. */
#pragma once
#include "store/arena_object.h"
#include "store/entry.h"

/* `position`: of the log, in a checkpoint. */
themis_status_t themis_store_arena_entries_object(themis_store_entries_t *entries, const themis_store_object_t *object,
                                                  uint64_t position);
themis_status_t themis_store_arena_entries_size(themis_store_entries_t *entries, const themis_store_object_t *object);
themis_status_t themis_store_arena_entries_cell(themis_store_entries_t *entries, const themis_store_object_t *object);
/* CUT or DROP. */
themis_status_t themis_store_arena_entries_offset(themis_store_entries_t *entries, themis_store_entry_type_t type,
                                                  uint64_t id, uint64_t offset);
/* What the log does not have of an extent that has changed. */
themis_status_t themis_store_arena_entries_extent(themis_store_entries_t *entries, uint64_t id,
                                                  const themis_store_arena_extent_t *extent);
/* All of extents [first, end). */
themis_status_t themis_store_arena_entries_extents(themis_store_entries_t *entries, const themis_store_object_t *object,
                                                   uint32_t first, uint32_t end);
