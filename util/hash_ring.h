/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Consistent hashing of paths over servers: which server is the home of a name. Clients compute it; servers need not.
 *
 * Every server has THEMIS_UTIL_HASH_RING_POINTS points on a ring of 64-bit hashes (XXH3 of its index and the point's
 * number), and a path belongs to the server of the first point at or after the path's hash (after the last point comes
 * the first). The result depends only on the path and the number of servers; when a server is appended to the list,
 * about 1/(n+1) of the names move, all of them to the new one.
 *
 * Thread-safe: a ring does not change after its creation.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "themis/status.h"

enum { THEMIS_UTIL_HASH_RING_POINTS = 128 };

typedef struct themis_util_hash_ring themis_util_hash_ring_t;

/* A ring for `servers` servers, owned by the caller. THEMIS_INVALID: no servers. */
themis_status_t themis_util_hash_ring_create(uint32_t servers, themis_util_hash_ring_t **ring);
void themis_util_hash_ring_destroy(themis_util_hash_ring_t *ring); /* NULL is allowed */

/* Index of the home server of a normalised path of `length` bytes. O(log servers). */
uint32_t themis_util_hash_ring_home(const themis_util_hash_ring_t *ring, const char *path, size_t length);

/* The hash of a path that this is based on; it also chooses the first server of a new file whose layout does not. */
uint64_t themis_util_hash_ring_hash(const char *path, size_t length);
