/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans by what they were made from. */
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "themis/aggregation.h"

typedef struct entry {
    themis_aggregation_key_t key;
    themis_aggregation_plan_t *plan;
    UT_hash_handle hh;
} entry_t;

/* uthash keeps entries in the order of insertion: the first one is the one not used for the longest time. */
struct themis_aggregation_cache {
    entry_t *entries;
    uint32_t capacity;
};

uint64_t themis_aggregation_pattern_hash(const themis_aggregation_extent_t *extent, size_t extents, uint64_t first,
                                         uint32_t rank)
{
    uint64_t hash = rank;

    for (size_t i = 0; i < extents; i++) {
        uint64_t relative[2] = {extent[i].offset - first, extent[i].length};

        hash = XXH3_64bits_withSeed(relative, sizeof relative, hash);
    }
    return XXH3_64bits_withSeed(&hash, sizeof hash, rank);
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* After how many bytes the domains and servers look the same again. */
static uint64_t period(const themis_aggregation_domains_t *d)
{
    uint64_t row = d->layout.servers;

    if (d->method == THEMIS_AGGREGATION_STATIC_CYCLIC)
        row = row / common_divisor(row, d->count) * d->count;
    return row * d->layout.stripe_size;
}

themis_aggregation_key_t themis_aggregation_key(const themis_aggregation_domains_t *domains,
                                                themis_aggregation_placement_t placement, uint64_t pattern)
{
    return (themis_aggregation_key_t){.pattern = pattern,
                                      .length = domains->last - domains->first,
                                      .phase = domains->first % period(domains),
                                      .count = domains->count,
                                      .method = domains->method,
                                      .placement = placement};
}

themis_status_t themis_aggregation_cache_create(uint32_t capacity, themis_aggregation_cache_t **cache)
{
    themis_aggregation_cache_t *c = calloc(1, sizeof *c);

    if (!c)
        return THEMIS_NO_MEMORY;
    c->capacity = capacity > 0 ? capacity : 1;
    *cache = c;
    return THEMIS_OK;
}

static void entry_drop(themis_aggregation_cache_t *cache, entry_t *entry)
{
    HASH_DEL(cache->entries, entry);
    themis_aggregation_plan_destroy(entry->plan);
    free(entry);
}

void themis_aggregation_cache_destroy(themis_aggregation_cache_t *cache)
{
    if (!cache)
        return;
    while (cache->entries)
        entry_drop(cache, cache->entries);
    free(cache);
}

static entry_t *entry_find(themis_aggregation_cache_t *cache, const themis_aggregation_key_t *key)
{
    entry_t *entry;

    HASH_FIND(hh, cache->entries, key, sizeof *key, entry);
    return entry;
}

const themis_aggregation_plan_t *themis_aggregation_cache_find(themis_aggregation_cache_t *cache,
                                                               const themis_aggregation_key_t *key)
{
    entry_t *entry = entry_find(cache, key);

    if (!entry)
        return NULL;
    HASH_DEL(cache->entries, entry);
    HASH_ADD(hh, cache->entries, key, sizeof entry->key, entry);
    return entry->plan;
}

themis_status_t themis_aggregation_cache_insert(themis_aggregation_cache_t *cache, const themis_aggregation_key_t *key,
                                                themis_aggregation_plan_t *plan)
{
    entry_t *entry = entry_find(cache, key);

    if (entry)
        entry_drop(cache, entry);
    else if (HASH_COUNT(cache->entries) >= cache->capacity)
        entry_drop(cache, cache->entries);
    entry = calloc(1, sizeof *entry);
    if (!entry) {
        themis_aggregation_plan_destroy(plan);
        return THEMIS_NO_MEMORY;
    }
    entry->key = *key;
    entry->plan = plan;
    HASH_ADD(hh, cache->entries, key, sizeof entry->key, entry);
    return THEMIS_OK;
}
