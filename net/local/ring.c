/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/local/ring.h"
#include <string.h>

enum { SIZE = THEMIS_NET_RING_BYTES };

long themis_net_ring_room(themis_net_ring_t *ring)
{
    ring->other = atomic_load(&ring->shared->read);
    uint64_t used = ring->own - ring->other;
    return used > SIZE ? -1 : (long)(SIZE - used);
}

void themis_net_ring_write(themis_net_ring_t *ring, const void *bytes, size_t length)
{
    size_t at = ring->own % SIZE, first = length < SIZE - at ? length : SIZE - at;

    memcpy(ring->shared->bytes + at, bytes, first);
    memcpy(ring->shared->bytes, (const char *)bytes + first, length - first);
    ring->own += length;
}

void themis_net_ring_publish(themis_net_ring_t *ring)
{
    atomic_store(&ring->shared->written, ring->own);
}

long themis_net_ring_filled(themis_net_ring_t *ring)
{
    ring->other = atomic_load_explicit(&ring->shared->written, memory_order_acquire);
    uint64_t filled = ring->other - ring->own;
    return filled > SIZE ? -1 : (long)filled;
}

void themis_net_ring_read(themis_net_ring_t *ring, void *bytes, size_t length)
{
    size_t at = ring->own % SIZE, first = length < SIZE - at ? length : SIZE - at;

    memcpy(bytes, ring->shared->bytes + at, first);
    memcpy((char *)bytes + first, ring->shared->bytes, length - first);
    ring->own += length;
}

void themis_net_ring_release(themis_net_ring_t *ring)
{
    atomic_store(&ring->shared->read, ring->own);
}
