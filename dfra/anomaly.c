/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Slow servers, by robust statistics: up to half of all servers may be slow. What else happens on a shared machine
 * makes samples smaller, never larger; a server's level is therefore the upper decile, the ninth of ten samples in
 * order.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "dfra/dfra.h"

static const double OUTLIER = 3.5;      /* modified z-score (Iglewicz and Hoaglin, 1993) */
static const double TO_SIGMA = 1.4826;  /* MAD to standard deviation of a normal distribution */
static const double LEAST_SIGMA = 0.02; /* of the median: servers that agree better do not make small steps outliers */
static const double SLOW = 0.75, HEALED = 0.85;

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Sorts the values. */
static double median(double *value, uint32_t count)
{
    qsort(value, count, sizeof *value, compare);
    return count % 2 ? value[count / 2] : value[count / 2 - 1] / 2 + value[count / 2] / 2;
}

/* Sorts the values. */
static double upper_decile(double *value, uint32_t count)
{
    qsort(value, count, sizeof *value, compare);
    return value[(9 * (uint64_t)count + 9) / 10 - 1];
}

/* level[i] is -1 for a server with too few samples. */
static themis_status_t levels_find(const themis_dfra_rates_t *rates, uint32_t servers, double *level)
{
    uint32_t longest = 1;

    for (uint32_t i = 0; i < servers; i++) {
        longest = rates[i].samples > longest ? rates[i].samples : longest;
        for (uint32_t k = 0; k < rates[i].samples; k++)
            if (!isfinite(rates[i].rate[k]) || rates[i].rate[k] < 0)
                return THEMIS_INVALID;
    }
    double *room = calloc(longest, sizeof *room);
    if (!room)
        return THEMIS_NO_MEMORY;
    for (uint32_t i = 0; i < servers; i++) {
        level[i] = -1;
        if (rates[i].samples < THEMIS_DFRA_MIN_SAMPLES)
            continue;
        memcpy(room, rates[i].rate, rates[i].samples * sizeof *room);
        level[i] = upper_decile(room, rates[i].samples);
    }
    free(room);
    return THEMIS_OK;
}

static void levels_judge(const double *level, uint32_t servers, double *peer, uint8_t *slow)
{
    uint32_t peers = 0;

    for (uint32_t i = 0; i < servers; i++)
        if (level[i] >= 0)
            peer[peers++] = level[i];
    if (peers < THEMIS_DFRA_MIN_PEERS)
        return;
    double middle = median(peer, peers);
    for (uint32_t i = 0; i < peers; i++)
        peer[i] = fabs(peer[i] - middle);
    double sigma = fmax(TO_SIGMA * median(peer, peers), LEAST_SIGMA * middle);

    for (uint32_t i = 0; i < servers; i++)
        if (level[i] >= 0)
            slow[i] =
                slow[i] ? level[i] < HEALED * middle : level[i] < SLOW * middle && level[i] < middle - OUTLIER * sigma;
}

themis_status_t themis_dfra_find_slow(const themis_dfra_rates_t *rates, uint32_t servers, uint8_t *slow)
{
    double *level = calloc(2 * (size_t)servers + 1, sizeof *level);
    themis_status_t status = level ? levels_find(rates, servers, level) : THEMIS_NO_MEMORY;

    if (status == THEMIS_OK)
        levels_judge(level, servers, level + servers, slow);
    free(level);
    return status;
}
