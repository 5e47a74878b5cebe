/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stream of bytes in memory that two processes share: one writes, one reads, without system calls. Neither trusts the
 * other: each keeps its own position where the other cannot reach it, and the reader copies out before it looks.
 */
#pragma once
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* What stands in it: see net/local/writer.h. */
enum { THEMIS_NET_RING_BYTES = 128 << 10, THEMIS_NET_RING_HEADER = 8 };
#define THEMIS_NET_RING_FRAME (UINT64_C(1) << 63)
#define THEMIS_NET_RING_DESCRIPTOR (UINT64_C(1) << 62)

static inline size_t themis_net_ring_padding(size_t length)
{
    return (THEMIS_NET_RING_HEADER - length % THEMIS_NET_RING_HEADER) % THEMIS_NET_RING_HEADER;
}

/* The shared part, all zero at first. Positions count all bytes ever written or read. */
typedef struct themis_net_ring_shared {
    _Alignas(64) _Atomic uint64_t written;
    _Atomic uint32_t writer_waits; /* for room: the reader is to wake it */
    _Alignas(64) _Atomic uint64_t read;
    _Atomic uint32_t reader_sleeps; /* the writer is to wake it */
    _Alignas(64) unsigned char bytes[THEMIS_NET_RING_BYTES];
} themis_net_ring_shared_t;

/* One side's view. */
typedef struct themis_net_ring {
    themis_net_ring_shared_t *shared;
    uint64_t own;   /* this side's position */
    uint64_t other; /* the other side's, as last seen */
} themis_net_ring_t;

/* Bytes that can be written now; -1 if the reader claims what cannot be. */
long themis_net_ring_room(themis_net_ring_t *ring);
/* Writes `length` bytes, for which there is room; the reader sees them after themis_net_ring_publish. */
void themis_net_ring_write(themis_net_ring_t *ring, const void *bytes, size_t length);
void themis_net_ring_publish(themis_net_ring_t *ring);

/* Bytes that can be read now; -1 if the writer claims what cannot be. */
long themis_net_ring_filled(themis_net_ring_t *ring);
/* Reads `length` bytes, which are there; the writer sees the room after themis_net_ring_release. */
void themis_net_ring_read(themis_net_ring_t *ring, void *bytes, size_t length);
void themis_net_ring_release(themis_net_ring_t *ring);
