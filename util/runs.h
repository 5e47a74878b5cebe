/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of strided runs: what is accessed, in a file or in memory, without an entry for every piece.
 *
 * The bytes of a list, in order, are its stream: run after run, piece after piece. A file access and its memory are two
 * lists with the same stream, so that a byte's position in the stream ties its place in the file to its place in
 * memory.
 *
 * A list compresses what is added to it: an extent that starts where the last piece ends makes that piece longer, and
 * pieces of one length at equal distances are one run, so that a vector is one entry however long it is. The result
 * depends only on the stream, not on the parts in which it was added. A run of one piece has its length as stride, and
 * the pieces of a run do not overlap.
 *
 * Not thread-safe: a list belongs to one thread at a time. Offsets and lengths are bytes; offsets count modulo 2^64.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "themis/status.h"
#include "themis/themis.h"
#include "util/direction.h"

/* All zero is an empty list. */
typedef struct themis_util_runs {
    themis_run_t *run; /* [count]; owned */
    uint64_t *start;   /* [count]; stream position of each run's first byte; owned */
    size_t count, capacity;
    uint64_t bytes; /* length of the stream */
    uint64_t end;   /* end of the last piece; 0 when empty */
    int unordered;  /* 1: some piece starts below the end of the one before */
} themis_util_runs_t;

/* Frees what the list owns and leaves it empty. */
void themis_util_runs_free(themis_util_runs_t *runs);
/* Empties the list and keeps its memory. */
void themis_util_runs_clear(themis_util_runs_t *runs);

/*
 * Appends an extent, or the pieces of a run; a length or count of 0 adds nothing. Adds at most two runs, unless the
 * pieces overlap: each is a run then. THEMIS_NO_MEMORY: some of the pieces may be missing.
 */
themis_status_t themis_util_runs_add(themis_util_runs_t *runs, uint64_t offset, uint64_t length);
themis_status_t themis_util_runs_add_run(themis_util_runs_t *runs, const themis_run_t *run);

/* First byte accessed; 0 when empty. Of an ordered list it is also the lowest. */
uint64_t themis_util_runs_first(const themis_util_runs_t *runs);
/* Number of pieces, all runs together. */
uint64_t themis_util_runs_pieces(const themis_util_runs_t *runs);
/* A number for the shape: equal for equal lists whatever offset they start at. */
uint64_t themis_util_runs_hash(const themis_util_runs_t *runs);

/* Index of the run that has the byte at a stream position below `bytes`. O(log count), as all that follows. */
size_t themis_util_runs_find(const themis_util_runs_t *runs, uint64_t position);
/* Offset of the byte at a stream position below `bytes`. */
uint64_t themis_util_runs_offset(const themis_util_runs_t *runs, uint64_t position);

/*
 * Copies `bytes` of the stream from `position` on between memory and a packed buffer: for a write out of the memory
 * that the list describes (offsets count from `base`), for a read into it.
 */
void themis_util_runs_copy(const themis_util_runs_t *memory, void *base, uint64_t position, void *packed,
                           uint64_t bytes, themis_direction_t direction);

/*
 * Walks over those pieces of an ordered list that lie in [low, high), cut at its ends:
 *
 *     themis_util_runs_clip_begin(&clip, runs, low, high);
 *     while (themis_util_runs_clip_next(&clip, &row)) ...
 *
 * A row is pieces at one stride whose bytes are consecutive in the stream, from `position` on.
 */
typedef struct themis_util_runs_row {
    uint64_t offset, length, stride, count;
    uint64_t position;
} themis_util_runs_row_t;

typedef struct themis_util_runs_clip {
    const themis_util_runs_t *runs;
    uint64_t low, high;
    size_t run;     /* where the walk is */
    uint64_t piece; /* within the run */
} themis_util_runs_clip_t;

void themis_util_runs_clip_begin(themis_util_runs_clip_t *clip, const themis_util_runs_t *runs, uint64_t low,
                                 uint64_t high);
int themis_util_runs_clip_next(themis_util_runs_clip_t *clip, themis_util_runs_row_t *row);

/* Bytes of an ordered list in [low, high). O(runs in the range). */
uint64_t themis_util_runs_bytes_in(const themis_util_runs_t *runs, uint64_t low, uint64_t high);
/* End of the last byte below `high` of an ordered list; 0 if there is none. */
uint64_t themis_util_runs_last_before(const themis_util_runs_t *runs, uint64_t high);
