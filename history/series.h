/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a job moved over time: samples of equal length in bounded memory. When they are full, neighbouring samples are
 * added up and the interval doubles, so that a job of any length has a series. Threads: the caller serialises.
 */
#pragma once
#include <stdint.h>
#include "themis/status.h"

enum { THEMIS_HISTORY_SERIES_MOST = 1 << 20 };

/* Of one interval. */
typedef struct themis_history_sample {
    uint64_t read_bytes, written_bytes;
    uint32_t requests, metadata; /* ended; those of metadata are counted in both; UINT32_MAX: that many or more */
} themis_history_sample_t;

typedef struct themis_history_series {
    double start;    /* s; the time at which sample 0 begins */
    double interval; /* s of each sample */
    uint32_t count, capacity, allocated;
    themis_history_sample_t *sample; /* [allocated]; owned */
} themis_history_series_t;

/* From nothing: no memory is taken yet. INVALID: the interval is not above 0, `start` is not finite, or the capacity
 * (samples at most) is odd, 0, or above THEMIS_HISTORY_SERIES_MOST. */
themis_status_t themis_history_series_make(themis_history_series_t *series, double start, double interval,
                                           uint32_t capacity);
void themis_history_series_release(themis_history_series_t *series);

/* Adds what was moved at `time` (s) to its sample. Times may come in any order; those before `start` count as `start`,
 * so that a clock that steps back does no harm. INVALID: `time` is not finite. NO_MEMORY: nothing is added. */
themis_status_t themis_history_series_add(themis_history_series_t *series, double time,
                                          const themis_history_sample_t *moved);

/* A copy with at most `most` samples (even, above 0): neighbours are added up as often as it takes. *copy is owned by
 * the caller, and written on success only. */
themis_status_t themis_history_series_copy(const themis_history_series_t *series, uint32_t most,
                                           themis_history_series_t *copy);

/* Adds all samples of another series; one that lies in several samples of this one is dealt out by time. NO_MEMORY:
 * some may have been added. */
themis_status_t themis_history_series_add_all(themis_history_series_t *series, const themis_history_series_t *other);
