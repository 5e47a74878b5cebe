/* SPDX-License-Identifier: BSD-3-Clause */
/* The front of the cache: which accesses it serves, and in what order it does so. */
#include "themis/cache.h"
#include <stdio.h>
#include <stdlib.h>
#include "client/write_behind.h"
#include "client/read_ahead.h"
#include "client/error.h"
#include "client/placement.h"
#include "util/memory.h"

struct themis_cache {
    themis_file_t *file;
    size_t small;
    themis_util_memory_seen_t seen; /* of the callers' memory */
    themis_client_write_behind_t behind;
    themis_client_read_ahead_t ahead;
    themis_cache_counts_t counts;
};

void themis_cache_options_init(themis_cache_options_t *options)
{
    *options = (themis_cache_options_t){.write_bytes = 4 << 20, .read_bytes = 4 << 20, .small = 64 << 10};
}

themis_status_t themis_cache_create(themis_file_t *file, const themis_cache_options_t *options, themis_cache_t **result)
{
    themis_cache_options_t defaults;
    themis_cache_t *cache = calloc(1, sizeof *cache);

    if (!cache)
        return themis_client_fail(THEMIS_NO_MEMORY, "out of memory for a cache");
    themis_cache_options_init(&defaults);
    if (!options)
        options = &defaults;
    cache->file = file;
    cache->small = options->small;
    themis_client_write_behind_init(&cache->behind, file, options->write_bytes / 2);
    themis_client_read_ahead_init(&cache->ahead, file, &cache->behind, options->read_bytes / 2);
    *result = cache;
    return THEMIS_OK;
}

themis_status_t themis_cache_destroy(themis_cache_t *cache)
{
    if (!cache)
        return THEMIS_OK;
    themis_status_t status = themis_client_write_behind_flush(&cache->behind);
    themis_client_write_behind_free(&cache->behind);
    themis_client_read_ahead_free(&cache->ahead);
    free(cache);
    return status;
}

themis_status_t themis_cache_flush(themis_cache_t *cache)
{
    return themis_client_write_behind_flush(&cache->behind);
}

void themis_cache_invalidate(themis_cache_t *cache)
{
    themis_client_read_ahead_drop(&cache->ahead);
}

int themis_cache_is_dirty(const themis_cache_t *cache)
{
    return themis_client_write_behind_is_dirty(&cache->behind);
}

/* One list that is looked at: its bytes, and the smallest range of the file around them. */
static themis_status_t measure(themis_cache_t *cache, const themis_list_t *list, themis_client_extent_t *span,
                               uint64_t *bytes)
{
    uint64_t memory = 0;
    const char *path = themis_file_path(cache->file);

    if (themis_client_placement_bytes(list->runs, list->run_count, bytes) != THEMIS_OK)
        return themis_client_fail(THEMIS_RANGE, "%s: an offset or length of 2^63 or more", path);
    for (size_t i = 0; i < list->memory_count; i++)
        memory += list->memory[i].iov_len;
    if (memory != *bytes)
        return themis_client_fail(THEMIS_INVALID, "%s: %llu bytes of memory for %llu bytes of file", path,
                                  (unsigned long long)memory, (unsigned long long)*bytes);
    if (themis_util_memory_check(list->memory, list->memory_count, &cache->seen) != THEMIS_OK)
        return themis_client_fail(THEMIS_BAD_ADDRESS, "%s: the buffer is not in this process's memory", path);
    *span = themis_client_extent_of(list);
    return THEMIS_OK;
}

themis_status_t themis_cache_write(themis_cache_t *cache, const themis_list_t *list, size_t *done)
{
    themis_client_extent_t span;
    uint64_t bytes;
    themis_status_t status = themis_client_write_behind_report(&cache->behind);

    if (status != THEMIS_OK || (status = measure(cache, list, &span, &bytes)) != THEMIS_OK)
        return status;
    themis_client_read_ahead_forget(&cache->ahead, &span);
    if (bytes <= cache->small && themis_client_write_behind_takes(&cache->behind, bytes)) {
        if ((status = themis_client_write_behind_add(&cache->behind, list, &span)) == THEMIS_OK)
            *done = (size_t)bytes;
        cache->counts.writes_behind++;
        return status;
    }
    if (themis_client_write_behind_touches(&cache->behind, &span) &&
        (status = themis_client_write_behind_flush(&cache->behind)) != THEMIS_OK)
        return status;
    cache->counts.writes_direct++;
    return themis_write_list(cache->file, list, done);
}

static themis_status_t read_direct(themis_cache_t *cache, const themis_list_t *list, uint64_t bytes, size_t *done)
{
    size_t got;
    themis_status_t status = themis_read_list(cache->file, list, &got);

    cache->counts.reads_direct++;
    if (status == THEMIS_OK && got < bytes && themis_client_write_behind_is_dirty(&cache->behind)) {
        /* what waits here may move the end of the file behind these bytes */
        if ((status = themis_client_write_behind_flush(&cache->behind)) == THEMIS_OK)
            status = themis_read_list(cache->file, list, &got);
    }
    if (status == THEMIS_OK)
        *done = got;
    return status;
}

themis_status_t themis_cache_read(themis_cache_t *cache, const themis_list_t *list, size_t *done)
{
    themis_client_extent_t span;
    uint64_t bytes;
    themis_status_t status = themis_client_write_behind_report(&cache->behind);

    if (status != THEMIS_OK || (status = measure(cache, list, &span, &bytes)) != THEMIS_OK)
        return status;
    if (themis_client_write_behind_touches(&cache->behind, &span) &&
        (status = themis_client_write_behind_flush(&cache->behind)) != THEMIS_OK)
        return status;
    if (bytes <= cache->small && themis_client_read_ahead_read(&cache->ahead, list, bytes, done)) {
        cache->counts.reads_ahead++;
        return THEMIS_OK;
    }
    return read_direct(cache, list, bytes, done);
}

void themis_cache_counts(const themis_cache_t *cache, themis_cache_counts_t *counts)
{
    *counts = cache->counts;
}
