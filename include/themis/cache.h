/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Write-behind and read-ahead for small accesses of one process to one open file, so that they do not cost a round trip
 * each. Small writes are packed into a buffer together with the runs they go to and leave as one list; small reads that
 * repeat with one shape at a constant distance are fetched ahead as one list. Large accesses pass by.
 *
 * What this process wrote through the cache its own reads through it see at once. Others see it after
 * themis_cache_flush, and what others wrote is sure to be seen after themis_cache_invalidate only: the caller decides
 * when that is allowed (in MPI-IO: outside of atomic mode, between calls of sync and close).
 *
 * A background write that fails is reported by the next call on the cache, or by flush or destroy, whichever comes
 * first, once, with its text in themis_last_error; the call that reports it has done nothing else. Nothing is lost
 * silently.
 *
 * Threads: one at a time for each cache. Memory is taken at the first use.
 */
#ifndef THEMIS_CACHE_H
#define THEMIS_CACHE_H
#include <stddef.h>
#include "themis/themis.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct themis_cache themis_cache_t;

typedef struct themis_cache_options {
    size_t write_bytes; /* of both write buffers together; 0: no write-behind; default 4 MiB */
    size_t read_bytes;  /* of both read buffers together; 0: no read-ahead; default 4 MiB */
    size_t small;       /* bytes of the largest access that is cached; default 64 KiB; at most a quarter of the above */
} themis_cache_options_t;

THEMIS_API void themis_cache_options_init(themis_cache_options_t *options);

/* The file is borrowed and must outlive the cache. Options NULL: defaults. */
THEMIS_API themis_status_t themis_cache_create(themis_file_t *file, const themis_cache_options_t *options,
                                               themis_cache_t **cache);

/* Flushes and frees, whatever the result: the first failure that was not reported yet. NULL is allowed. */
THEMIS_API themis_status_t themis_cache_destroy(themis_cache_t *cache);

/* As themis_write_list and themis_read_list. A write returns when its bytes are copied; the memory is free then. */
THEMIS_API themis_status_t themis_cache_write(themis_cache_t *cache, const themis_list_t *list, size_t *done);
THEMIS_API themis_status_t themis_cache_read(themis_cache_t *cache, const themis_list_t *list, size_t *done);

/* All that was written is at the servers (not: durable) when it returns. To be called before anything that asks or
 * changes the file past the cache: sync, size, truncate, direct reads and writes of the same bytes. */
THEMIS_API themis_status_t themis_cache_flush(themis_cache_t *cache);

/* Forgets what was read ahead. */
THEMIS_API void themis_cache_invalidate(themis_cache_t *cache);

/* How accesses were served since the cache was made: by it, or by a request of their own. */
typedef struct themis_cache_counts {
    uint64_t writes_behind, writes_direct, reads_ahead, reads_direct;
} themis_cache_counts_t;
THEMIS_API void themis_cache_counts(const themis_cache_t *cache, themis_cache_counts_t *counts);

/* 1 if written bytes may not be at the servers yet. */
THEMIS_API int themis_cache_is_dirty(const themis_cache_t *cache);

#ifdef __cplusplus
}
#endif
#endif
