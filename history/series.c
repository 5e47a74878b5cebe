/* SPDX-License-Identifier: BSD-3-Clause */
#include "history/series.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Samples allocated at first. */
enum { FIRST = 64 };

themis_status_t themis_history_series_make(themis_history_series_t *series, double start, double interval,
                                           uint32_t capacity)
{
    if (!isfinite(start) || !isfinite(interval) || interval <= 0 || capacity == 0 || capacity % 2 != 0 ||
        capacity > THEMIS_HISTORY_SERIES_MOST)
        return THEMIS_INVALID;
    *series = (themis_history_series_t){.start = start, .interval = interval, .capacity = capacity};
    return THEMIS_OK;
}

void themis_history_series_release(themis_history_series_t *series)
{
    free(series->sample);
    *series = (themis_history_series_t){0};
}

static uint64_t sum64(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint32_t sum32(uint32_t a, uint32_t b)
{
    return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

static void sample_add(themis_history_sample_t *sample, const themis_history_sample_t *more)
{
    sample->read_bytes = sum64(sample->read_bytes, more->read_bytes);
    sample->written_bytes = sum64(sample->written_bytes, more->written_bytes);
    sample->requests = sum32(sample->requests, more->requests);
    sample->metadata = sum32(sample->metadata, more->metadata);
}

static void series_halve(themis_history_series_t *series)
{
    uint32_t count = (series->count + 1) / 2;

    for (uint32_t i = 0; i < count; i++) {
        themis_history_sample_t sum = series->sample[2 * i];

        if (2 * i + 1 < series->count)
            sample_add(&sum, &series->sample[2 * i + 1]);
        series->sample[i] = sum;
    }
    series->count = count;
    series->interval *= 2;
}

static themis_status_t series_reserve(themis_history_series_t *series, uint32_t count)
{
    uint32_t allocated = series->allocated ? series->allocated : FIRST;

    if (count <= series->allocated)
        return THEMIS_OK;
    while (allocated < count)
        allocated *= 2;
    allocated = allocated < series->capacity ? allocated : series->capacity;
    void *sample = realloc(series->sample, allocated * sizeof *series->sample);
    if (!sample)
        return THEMIS_NO_MEMORY;
    series->sample = sample;
    series->allocated = allocated;
    return THEMIS_OK;
}

themis_status_t themis_history_series_add(themis_history_series_t *series, double time,
                                          const themis_history_sample_t *moved)
{
    double since = time > series->start ? time - series->start : 0;

    if (!isfinite(time) || !isfinite(since))
        return THEMIS_INVALID;
    while (since / series->interval >= series->capacity)
        series_halve(series);
    uint32_t index = (uint32_t)(since / series->interval);
    themis_status_t status = series_reserve(series, index + 1);
    if (status != THEMIS_OK)
        return status;
    if (index >= series->count) {
        memset(&series->sample[series->count], 0, (index + 1 - series->count) * sizeof *series->sample);
        series->count = index + 1;
    }
    sample_add(&series->sample[index], moved);
    return THEMIS_OK;
}

themis_status_t themis_history_series_copy(const themis_history_series_t *series, uint32_t most,
                                           themis_history_series_t *copy)
{
    themis_history_series_t made = *series;

    made.sample = malloc((series->count + 1) * sizeof *made.sample);
    if (!made.sample)
        return THEMIS_NO_MEMORY;
    memcpy(made.sample, series->sample ? series->sample : made.sample, series->count * sizeof *made.sample);
    made.allocated = series->count + 1;
    while (made.count > most)
        series_halve(&made);
    made.capacity = most;
    *copy = made;
    return THEMIS_OK;
}

/* `part` of the whole; what is cut off by rounding is in the last part. */
static themis_history_sample_t sample_part(const themis_history_sample_t *whole, themis_history_sample_t *left,
                                           double part)
{
    themis_history_sample_t taken = *left;

    if (part < 1)
        taken = (themis_history_sample_t){
            .read_bytes = (uint64_t)fmin((double)whole->read_bytes * part, (double)left->read_bytes),
            .written_bytes = (uint64_t)fmin((double)whole->written_bytes * part, (double)left->written_bytes),
            .requests = (uint32_t)fmin(whole->requests * part, left->requests),
            .metadata = (uint32_t)fmin(whole->metadata * part, left->metadata)};
    left->read_bytes -= taken.read_bytes;
    left->written_bytes -= taken.written_bytes;
    left->requests -= taken.requests;
    left->metadata -= taken.metadata;
    return taken;
}

/* From `begin` to `end`: as many bytes in each interval of the series as it has of that time. */
static themis_status_t sample_spread(themis_history_series_t *series, double begin, double end,
                                     const themis_history_sample_t *moved)
{
    themis_history_sample_t left = *moved;
    themis_status_t status = THEMIS_OK;
    double at = begin;

    while (status == THEMIS_OK && at < end) {
        double index = floor((at - series->start) / series->interval);
        double next = series->start + (index + 1) * series->interval;

        if (!(next > at) || end - next < 1e-6 * series->interval)
            next = end;
        themis_history_sample_t part = sample_part(moved, &left, next < end ? (next - at) / (end - begin) : 1);
        status = themis_history_series_add(series, at + (next - at) / 2, &part);
        at = next;
    }
    return status;
}

themis_status_t themis_history_series_add_all(themis_history_series_t *series, const themis_history_series_t *other)
{
    themis_status_t status = THEMIS_OK;

    for (uint32_t i = 0; i < other->count && status == THEMIS_OK; i++) {
        double begin = other->start + i * other->interval;

        status = sample_spread(series, begin, begin + other->interval, &other->sample[i]);
    }
    return status;
}
