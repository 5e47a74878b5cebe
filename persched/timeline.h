/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bandwidth that is still free over one period, piecewise constant, on a circle. Pieces are only split and used,
 * never merged or given back, so a piece without free bandwidth is skipped for good: finding a time and passing used
 * pieces cost little however many pieces there are.
 */
#pragma once
#include "persched/persched.h"

enum { THEMIS_PERSCHED_LEVELS = 6 };

typedef struct themis_persched_piece {
    double begin, end; /* 0 <= begin < end <= period */
    double free;       /* bytes/s */
    uint32_t next;     /* the piece that begins at `end`; the last one's is piece 0 */
    uint32_t skip;     /* of a piece without free bandwidth: a later piece, all between are used, too */
    uint32_t express[THEMIS_PERSCHED_LEVELS]; /* a skip list: the next piece that has this level, or 0 */
} themis_persched_piece_t;

typedef struct themis_persched_timeline {
    double period, bandwidth;
    themis_persched_piece_t *piece; /* owned; piece 0 begins at 0 */
    uint32_t count, capacity;
    uint64_t steps; /* pieces visited, since the timeline was made of zeros */
} themis_persched_timeline_t;

/* Bandwidth to take: part of a piece. */
typedef struct themis_persched_take {
    uint32_t piece;
    double lap;        /* what is added to the piece's times: a multiple of the period */
    double begin, end; /* within the piece, with lap added */
    double bandwidth;
} themis_persched_take_t;

typedef struct themis_persched_takes {
    themis_persched_take_t *take; /* owned */
    uint32_t count, capacity;
} themis_persched_takes_t;

/* All bandwidth free. A timeline of zeros is made ready. */
themis_status_t themis_persched_timeline_reset(themis_persched_timeline_t *timeline, double period, double bandwidth);
void themis_persched_timeline_release(themis_persched_timeline_t *timeline);

/*
 * Finds `volume` bytes at no more than `rate`, as early as possible from `begin` on and before `end` (begin >= 0, end
 * <= begin + period). RANGE: there are not as many.
 */
themis_status_t themis_persched_timeline_earliest(themis_persched_timeline_t *timeline, double begin, double end,
                                                  double rate, double volume, themis_persched_takes_t *takes);

/* The same anywhere in the period, where most bandwidth is free; the takes are in the order of time. */
themis_status_t themis_persched_timeline_widest(themis_persched_timeline_t *timeline, double rate, double volume,
                                                themis_persched_takes_t *takes);

/* Uses what was found, if the timeline has not changed since. */
themis_status_t themis_persched_timeline_use(themis_persched_timeline_t *timeline,
                                             const themis_persched_takes_t *takes);
void themis_persched_takes_release(themis_persched_takes_t *takes);
