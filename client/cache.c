/* SPDX-License-Identifier: BSD-3-Clause */
/* Which accesses the cache serves, and in what order it does so. */
#include "themis/cache.h"
#include <stdlib.h>
#include "client/error.h"
#include "client/io.h"
#include "client/read_ahead.h"
#include "client/write_behind.h"

struct themis_cache {
    themis_file_t *file;
    size_t small;
    themis_util_memory_seen_t seen; /* of the callers' memory */
    themis_client_write_behind_t wb;
    themis_client_read_ahead_t ra;
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
    themis_client_write_behind_init(&cache->wb, file, options->write_bytes / 2);
    themis_client_read_ahead_init(&cache->ra, file, &cache->wb, options->read_bytes / 2);
    *result = cache;
    return THEMIS_OK;
}

themis_status_t themis_cache_destroy(themis_cache_t *cache)
{
    if (!cache)
        return THEMIS_OK;
    themis_status_t status = themis_client_write_behind_flush(&cache->wb);
    themis_client_write_behind_free(&cache->wb);
    themis_client_read_ahead_free(&cache->ra);
    free(cache);
    return status;
}

themis_status_t themis_cache_flush(themis_cache_t *cache)
{
    return themis_client_write_behind_flush(&cache->wb);
}

void themis_cache_invalidate(themis_cache_t *cache)
{
    themis_client_read_ahead_invalidate(&cache->ra, NULL);
}

int themis_cache_is_dirty(const themis_cache_t *cache)
{
    return themis_client_write_behind_is_dirty(&cache->wb);
}

/* What precedes an access: the deferred error, the checks of the list, its bytes, and the extent around it. */
static themis_status_t access_begin(themis_cache_t *cache, const themis_list_t *list, themis_client_extent_t *extent,
                                    uint64_t *bytes)
{
    const char *path = themis_file_path(cache->file);
    themis_status_t status = themis_client_write_behind_report(&cache->wb);

    if (status != THEMIS_OK || (status = themis_client_io_check(path, list, bytes)) != THEMIS_OK ||
        (status = themis_client_io_check_memory(path, list, &cache->seen)) != THEMIS_OK)
        return status;
    *extent = themis_client_extent_of_list(list);
    return THEMIS_OK;
}

static themis_status_t flush_overlapping(themis_cache_t *cache, const themis_client_extent_t *extent)
{
    if (!themis_client_write_behind_overlaps(&cache->wb, extent))
        return THEMIS_OK;
    return themis_client_write_behind_flush(&cache->wb);
}

themis_status_t themis_cache_write(themis_cache_t *cache, const themis_list_t *list, size_t *done)
{
    themis_client_extent_t extent;
    uint64_t bytes;
    themis_status_t status = access_begin(cache, list, &extent, &bytes);

    if (status != THEMIS_OK)
        return status;
    themis_client_read_ahead_invalidate(&cache->ra, &extent);
    if (bytes <= cache->small && themis_client_write_behind_accepts(&cache->wb, bytes)) {
        if ((status = themis_client_write_behind_add(&cache->wb, list, &extent)) == THEMIS_OK)
            *done = (size_t)bytes;
        cache->counts.writes_behind++;
        return status;
    }
    if ((status = flush_overlapping(cache, &extent)) != THEMIS_OK)
        return status;
    cache->counts.writes_direct++;
    return themis_write_list(cache->file, list, done);
}

themis_status_t themis_cache_read(themis_cache_t *cache, const themis_list_t *list, size_t *done)
{
    themis_client_extent_t extent;
    uint64_t bytes;
    size_t count;
    themis_status_t status = access_begin(cache, list, &extent, &bytes);

    if (status != THEMIS_OK || (status = flush_overlapping(cache, &extent)) != THEMIS_OK)
        return status;
    if (bytes <= cache->small && themis_client_read_ahead_read(&cache->ra, list, bytes, done)) {
        cache->counts.reads_ahead++;
        return THEMIS_OK;
    }
    cache->counts.reads_direct++;
    status = themis_read_list(cache->file, list, &count);
    if (status == THEMIS_OK && count < bytes && themis_client_write_behind_is_dirty(&cache->wb)) {
        /* what is buffered may move the end of the file past these bytes */
        if ((status = themis_client_write_behind_flush(&cache->wb)) == THEMIS_OK)
            status = themis_read_list(cache->file, list, &count);
    }
    if (status == THEMIS_OK)
        *done = count;
    return status;
}

void themis_cache_counts(const themis_cache_t *cache, themis_cache_counts_t *counts)
{
    *counts = cache->counts;
}
