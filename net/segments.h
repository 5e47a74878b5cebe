/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory in several segments, in their order one range of bytes. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* `end` counts from the first segment on, so that a place is found by bisection. Peers read these from the owner's
 * memory (doc/wire.md). */
typedef struct themis_net_segment {
    uint64_t address;
    uint64_t end;
} themis_net_segment_t;

/* Segments for `count` iovecs; returns 0 and the sum of lengths, or -1 if that leaves 63 bits. */
int themis_net_segments_set(themis_net_segment_t *segments, const struct iovec *vector, size_t count, uint64_t *total);
/* The memory at `offset` if `length` bytes lie there in one segment, else NULL. */
void *themis_net_segments_at(const themis_net_segment_t *segments, size_t count, uint64_t offset, size_t length);
/* Copies `length` bytes between `buffer` and the range at `offset`, which is in range. */
void themis_net_segments_copy(const themis_net_segment_t *segments, size_t count, uint64_t offset, void *buffer,
                              size_t length, int to_segments);
