/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Write-behind and read-ahead for small accesses of one process to one open file, so that they do not cost a round trip
 * each. Small writes are packed into a buffer, with the runs they go to, and written as one list; small reads that
 * repeat with one shape at a constant distance are fetched ahead as one list. Large accesses bypass the cache.
 *
 * Reads through the cache see what was written through it. Others see it after themis_cache_flush, and what others
 * wrote is certain to be seen only after themis_cache_invalidate: the caller decides when that is allowed (in MPI-IO:
 * outside of atomic mode, between calls of sync and close).
 *
 * The failure of a write in the background is a deferred error: the next read, write, flush or destroy returns it,
 * once, with its text in themis_last_error; a read or write that returns it has done nothing else.
 *
 * Threads: one at a time for each cache. Memory is allocated at the first use.
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

/* Flushes and frees, whatever the result, which is the first error not yet reported. NULL is allowed. */
THEMIS_API themis_status_t themis_cache_destroy(themis_cache_t *cache);

/* As themis_write_list and themis_read_list. When a write returns, its memory may be used again. */
THEMIS_API themis_status_t themis_cache_write(themis_cache_t *cache, const themis_list_t *list, size_t *done);
THEMIS_API themis_status_t themis_cache_read(themis_cache_t *cache, const themis_list_t *list, size_t *done);

/* When it returns, all that was written is at the servers, though not necessarily durable. To be called before any
 * operation that bypasses the cache: sync, stat, truncate, direct reads and writes of the same bytes. */
THEMIS_API themis_status_t themis_cache_flush(themis_cache_t *cache);

/* Drops what was read ahead. */
THEMIS_API void themis_cache_invalidate(themis_cache_t *cache);

/* How accesses were served since the cache was created: by it, or by a request of their own. */
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
