/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A flattened datatype and its tiling: from (offset, length) arrays, as ROMIO keeps them, to lists of strided runs.
 * Used for file views (instances follow each other from the displacement on) and for memory (from the buffer on). The
 * bytes of all instances, in the order of the type's map, are the type's stream.
 */
#pragma once
#include "util/runs.h"

typedef struct themis_util_flat_type {
    themis_util_runs_t tile; /* one instance, offsets from its origin, which may be negative (modulo 2^64) */
    int64_t extent;          /* bytes from one instance to the next */
    uint64_t size;           /* data bytes of one instance */
    int contiguous;          /* any number of instances is one piece, starting at the origin; `tile` is not used */
} themis_util_flat_type_t;

/* The type of contiguous bytes. */
extern const themis_util_flat_type_t themis_util_flat_type_bytes;

/*
 * From `count` blocks; blocks of length 0 (ROMIO marks bounds with them) count for nothing. Destroy takes an empty one
 * too, and leaves one.
 */
themis_status_t themis_util_flat_type_create(const int64_t *offsets, const int64_t *lengths, size_t count,
                                             int64_t extent, themis_util_flat_type_t *type);
void themis_util_flat_type_destroy(themis_util_flat_type_t *type);

/*
 * Appends bytes [position, position + bytes) of the stream of instances that are laid out from `origin` on, or the
 * beginning of that with which `runs` reaches `max_runs` entries or a few more. THEMIS_INVALID: bytes are asked of a
 * type that has none.
 */
themis_status_t themis_util_flat_type_expand(const themis_util_flat_type_t *type, uint64_t origin, uint64_t position,
                                             uint64_t bytes, size_t max_runs, themis_util_runs_t *runs);

/* Stream position of the first data byte at or above `offset`, counted from the origin of the first instance. */
uint64_t themis_util_flat_type_position(const themis_util_flat_type_t *type, uint64_t offset);
/* The reverse: offset from the origin of the byte at a stream position. 0 for a type without data. */
uint64_t themis_util_flat_type_offset(const themis_util_flat_type_t *type, uint64_t position);
/*
 * A range [*first, *end) of offsets from the origin that has the stream's bytes [position, position + bytes), of which
 * there is one at least. The smallest, unless blocks or instances lie out of order or into each other.
 */
void themis_util_flat_type_range(const themis_util_flat_type_t *type, uint64_t position, uint64_t bytes,
                                 uint64_t *first, uint64_t *end);
