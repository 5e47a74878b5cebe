/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Phases of I/O in a series: when a job did I/O, how much, and what it computed between. A sample belongs to a phase
 * if its rate is above the threshold that best separates high from low rates (Otsu, "A threshold selection method from
 * gray-level histograms", IEEE Trans. SMC 9(1), 1979); a phase ends where its rate is back at the background (a second,
 * lower threshold: the hysteresis of Canny, "A computational approach to edge detection", IEEE PAMI 8(6), 1986). Pauses
 * within a phase are told from computing by their length. Period and volume are trimmed means over the phases.
 */
#pragma once
#include "history/series.h"

typedef struct themis_history_phase {
    uint32_t first, end; /* samples [first, end) */
    double bytes;        /* read and written, without the background */
    double centre;       /* s since the start of the series, weighted by bytes */
} themis_history_phase_t;

typedef struct themis_history_phases {
    uint32_t count; /* phases found; what follows is 0 where there are fewer than three */
    double period;  /* s from one phase to the next */
    double volume;  /* bytes of a phase, without the background */
    double compute; /* s between two phases, to about half an interval of the series */
    /* How far the job is periodic, 0 to 1: the part of the periods that are within 20 % of their median, times the same
     * part of the volumes, times min(1, (count - 1) / 4). Below 0.5 period and volume describe no pattern. */
    double confidence;
    double background; /* bytes/s moved between the phases */
} themis_history_phases_t;

/* *phase, which may be NULL: the phases in order of time, owned by the caller (free). A series without a sample has
 * none. A job whose rates do not fall to a quarter between its phases has one phase. */
themis_status_t themis_history_phases_find(const themis_history_series_t *series, themis_history_phases_t *phases,
                                           themis_history_phase_t **phase);

/*
 * The same of what a job did lately: of the samples from `since` on (s on the clock of the series), and of these of the
 * last `periods` periods (>= 1) before `until`, the time to which the series is known; samples that it does not have
 * up to there are without I/O. A job that has done none for more than two of its periods has no phases.
 */
themis_status_t themis_history_phases_recent(const themis_history_series_t *series, double since, double until,
                                             uint32_t periods, themis_history_phases_t *phases);
