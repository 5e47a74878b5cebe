/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Read-ahead of a cache. A small read of one run that has the shape of the two before it, at the same distance each
 * time, is taken for a pattern: the reads that would follow are fetched as one list (a batch) into one of two buffers,
 * and the next batch while the first is being used. Batches grow while the pattern lasts.
 */
#pragma once
#include "client/extent.h"
#include "util/runs.h"
#include "client/write_behind.h"
#include "themis/themis.h"

/* `count` reads of one shape, `distance` bytes from start to start. */
typedef struct themis_client_read_batch {
    char *bytes;               /* owned; NULL until the first use; read k at k * bytes of one read */
    uint64_t first, count;     /* offset of the first read; count 0: empty */
    uint64_t valid;            /* bytes that were there; known when the request has ended */
    themis_request_t *request; /* under way; NULL: none */
    themis_client_extent_t extent;
} themis_client_read_batch_t;

typedef struct themis_client_read_ahead {
    themis_file_t *file;
    const themis_client_write_behind_t *wb; /* nothing is fetched that waits there to be written */
    size_t capacity;                        /* bytes of one batch */
    themis_run_t shape;
    uint64_t offset, distance; /* of the last read, and from the one before */
    uint64_t bytes;            /* of one read */
    int repeated;              /* how often the distance was the same */
    uint64_t reads;            /* of the next batch */
    themis_client_read_batch_t batches[2];
    int current; /* index of the batch that is read from; the other one follows it */
    themis_util_runs_t runs;
} themis_client_read_ahead_t;

/* `wb` is borrowed as long as the file. */
void themis_client_read_ahead_init(themis_client_read_ahead_t *ra, themis_file_t *file,
                                   const themis_client_write_behind_t *wb, size_t capacity);
void themis_client_read_ahead_free(themis_client_read_ahead_t *ra);

/* 1: the read was served, and *done is set as by themis_read_list. 0: it is not in a batch. */
int themis_client_read_ahead_read(themis_client_read_ahead_t *ra, const themis_list_t *list, uint64_t bytes,
                                  size_t *done);

/* Drops the batches that may have a byte of the extent; NULL: all. */
void themis_client_read_ahead_invalidate(themis_client_read_ahead_t *ra, const themis_client_extent_t *extent);
