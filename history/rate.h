/* SPDX-License-Identifier: BSD-3-Clause */
/* What a job can move by itself, told from what it moved while others were there, too. */
#pragma once
#include "history/series.h"

/*
 * The largest rate of a job (bytes/s, read and written) while servers had bandwidth left, so that nothing but the job
 * itself limited it: in the middle one of three samples in each of which it moved something, and all jobs together less
 * than half of `capacity` (bytes/s). 0: there are no such samples. `all` is the sum of the series of all jobs, with
 * samples that are at least as long, on the same clock.
 */
double themis_history_own_rate(const themis_history_series_t *series, const themis_history_series_t *all,
                               double capacity);
