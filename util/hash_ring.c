/* SPDX-License-Identifier: BSD-3-Clause */
#include "util/hash_ring.h"
#include <stdlib.h>
#include <xxhash.h>

typedef struct point {
    uint64_t hash;
    uint32_t server;
} point_t;

struct themis_util_hash_ring {
    size_t count;
    point_t points[];
};

static int point_compare(const void *a, const void *b)
{
    const point_t *p = a, *q = b;

    if (p->hash != q->hash)
        return p->hash < q->hash ? -1 : 1;
    return p->server < q->server ? -1 : p->server > q->server;
}

/* Bytes in a fixed order, so that hosts of either endianness agree. */
static uint64_t point_hash(uint32_t server, uint32_t number)
{
    uint8_t bytes[8];

    for (int i = 0; i < 4; i++) {
        bytes[i] = (uint8_t)(server >> (8 * i));
        bytes[4 + i] = (uint8_t)(number >> (8 * i));
    }
    return XXH3_64bits(bytes, sizeof bytes);
}

themis_status_t themis_util_hash_ring_create(uint32_t servers, themis_util_hash_ring_t **ring)
{
    if (servers == 0)
        return THEMIS_INVALID;
    size_t count = (size_t)servers * THEMIS_UTIL_HASH_RING_POINTS;
    themis_util_hash_ring_t *made = malloc(sizeof *made + count * sizeof *made->points);
    if (!made)
        return THEMIS_NO_MEMORY;
    made->count = count;
    for (size_t i = 0; i < count; i++) {
        made->points[i].server = (uint32_t)(i / THEMIS_UTIL_HASH_RING_POINTS);
        made->points[i].hash = point_hash(made->points[i].server, (uint32_t)(i % THEMIS_UTIL_HASH_RING_POINTS));
    }
    qsort(made->points, count, sizeof *made->points, point_compare);
    *ring = made;
    return THEMIS_OK;
}

void themis_util_hash_ring_destroy(themis_util_hash_ring_t *ring)
{
    free(ring);
}

uint64_t themis_util_hash_ring_hash(const char *path, size_t length)
{
    return XXH3_64bits(path, length);
}

uint32_t themis_util_hash_ring_home(const themis_util_hash_ring_t *ring, const char *path, size_t length)
{
    uint64_t hash = themis_util_hash_ring_hash(path, length);
    size_t low = 0, high = ring->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ring->points[middle].hash < hash)
            low = middle + 1;
        else
            high = middle;
    }
    return ring->points[low == ring->count ? 0 : low].server;
}
