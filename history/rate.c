/* SPDX-License-Identifier: BSD-3-Clause */
#include "history/rate.h"
#include <math.h>

/* Of a capacity: above it, servers may have been what limits. */
static const double busy = 0.5;

static double rate(const themis_history_series_t *series, uint32_t sample)
{
    const themis_history_sample_t *s = &series->sample[sample];

    return ((double)s->read_bytes + (double)s->written_bytes) / series->interval;
}

/* In the sample, the job moved something, and servers had bandwidth left. */
static int is_free(const themis_history_series_t *series, uint32_t sample, const themis_history_series_t *all,
                   double capacity)
{
    double at = (series->start + (sample + 0.5) * series->interval - all->start) / all->interval;

    return rate(series, sample) > 0 && at >= 0 && at < all->count && rate(all, (uint32_t)at) < busy * capacity;
}

double themis_history_own_rate(const themis_history_series_t *series, const themis_history_series_t *all,
                               double capacity)
{
    double most = 0;
    uint32_t run = 0;

    for (uint32_t i = 0; i < series->count; i++) {
        run = is_free(series, i, all, capacity) ? run + 1 : 0;
        if (run >= 3)
            most = fmax(most, rate(series, i - 1));
    }
    return most;
}
