/* SPDX-License-Identifier: BSD-3-Clause */
#include "history/merge.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef themis_history_entry_t entry_t;
typedef themis_history_record_t record_t;

/* Samples of a sum: as many as a day has minutes, and some. */
enum { SUM_SAMPLES = 2048 };

static int job_compare(const record_t *x, const record_t *y)
{
    if (x->user != y->user)
        return x->user < y->user ? -1 : 1;
    int order = strcmp(x->job, y->job);
    return order ? order : strcmp(x->application, y->application);
}

static int start_compare(const void *a, const void *b)
{
    const entry_t *x = a, *y = b;
    int order = job_compare(&x->record, &y->record);

    if (order == 0)
        order = (x->record.start > y->record.start) - (x->record.start < y->record.start);
    return order ? order : (x->source > y->source) - (x->source < y->source);
}

/* Copies of one record stand together, and the last one written comes last. */
static int copy_compare(const void *a, const void *b)
{
    const entry_t *x = a, *y = b;
    int order = start_compare(a, b);

    if (order == 0)
        order = y->record.interim - x->record.interim;
    return order ? order : (x->record.end > y->record.end) - (x->record.end < y->record.end);
}

static size_t copies_drop(entry_t *entry, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (i + 1 < count && start_compare(&entry[i], &entry[i + 1]) == 0)
            themis_history_series_release(&entry[i].series);
        else
            entry[kept++] = entry[i];
    }
    return kept;
}

static uint64_t sum(uint64_t a, uint64_t b)
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static themis_history_sharing_t sharing_add(themis_history_sharing_t a, themis_history_sharing_t b)
{
    if (a == b || b == THEMIS_HISTORY_SHARING_UNKNOWN)
        return a;
    return a == THEMIS_HISTORY_SHARING_UNKNOWN ? b : THEMIS_HISTORY_SHARING_N_M;
}

/* All but servers, phases and the sum of the series. */
static void record_add(record_t *record, const record_t *more)
{
    if (more->end > record->end || (more->end == record->end && !more->interim))
        record->interim = more->interim;
    record->end = fmax(record->end, more->end);
    record->read_bytes = sum(record->read_bytes, more->read_bytes);
    record->written_bytes = sum(record->written_bytes, more->written_bytes);
    record->requests = sum(record->requests, more->requests);
    for (int k = 0; k < THEMIS_HISTORY_SIZES; k++)
        record->request_sizes[k] = sum(record->request_sizes[k], more->request_sizes[k]);
    record->metadata_operations = sum(record->metadata_operations, more->metadata_operations);
    record->nodes = larger(record->nodes, more->nodes);
    record->io_nodes = larger(record->io_nodes, more->io_nodes);
    record->clients = larger(record->clients, more->clients);
    record->files = larger(record->files, more->files);
    record->metadata_waiting = fmax(record->metadata_waiting, more->metadata_waiting);
    record->queue_length = fmax(record->queue_length, more->queue_length);
    record->sharing = sharing_add(record->sharing, more->sharing);
    if (record->collective < 0)
        record->collective = more->collective;
    record->peak_bandwidth = fmax(record->peak_bandwidth, more->peak_bandwidth);
    if (more->phases.count > record->phases.count)
        record->phases = more->phases;
}

/* Of the entries, which are sorted by start; empty where the series of one is missing. */
static themis_status_t series_sum(const entry_t *entry, size_t count, themis_history_series_t *total)
{
    double start = INFINITY, interval = 0;

    *total = (themis_history_series_t){0};
    for (size_t i = 0; i < count; i++) {
        const record_t *record = &entry[i].record;

        if (entry[i].series.count == 0 && record->read_bytes + record->written_bytes > 0)
            return THEMIS_OK;
        if (entry[i].series.count == 0)
            continue;
        start = fmin(start, entry[i].series.start);
        interval = fmax(interval, entry[i].series.interval);
    }
    if (interval == 0)
        return THEMIS_OK;
    themis_status_t status = themis_history_series_make(total, start, interval, SUM_SAMPLES);
    for (size_t i = 0; i < count && status == THEMIS_OK; i++)
        status = themis_history_series_add_all(total, &entry[i].series);
    if (status != THEMIS_OK)
        themis_history_series_release(total);
    return status;
}

static double series_peak(const themis_history_series_t *series)
{
    double most = 0;

    for (uint32_t i = 0; i < series->count; i++)
        most = fmax(most, (double)series->sample[i].read_bytes + (double)series->sample[i].written_bytes);
    return series->count ? most / series->interval : 0;
}

static uint32_t sources_count(const entry_t *entry, size_t count)
{
    uint32_t sources = 0;

    for (size_t i = 0; i < count; i++) {
        size_t k = 0;

        while (k < i && entry[k].source != entry[i].source)
            k++;
        sources += k == i;
    }
    return sources;
}

/* Makes `count` entries, at least 2, one: the first. The others are to be forgotten. */
static themis_status_t group_join(entry_t *entry, size_t count)
{
    themis_history_series_t total;
    themis_history_phases_t phases;
    record_t *record = &entry->record;
    themis_status_t status = series_sum(entry, count, &total);

    if (status == THEMIS_OK && (status = themis_history_phases_find(&total, &phases, NULL)) != THEMIS_OK)
        themis_history_series_release(&total);
    if (status != THEMIS_OK)
        return status;
    record->servers = sources_count(entry, count);
    for (size_t i = 1; i < count; i++) {
        record_add(record, &entry[i].record);
        themis_history_series_release(&entry[i].series);
    }
    if (total.count) {
        record->phases = phases;
        record->peak_bandwidth = fmax(record->peak_bandwidth, series_peak(&total));
    }
    themis_history_series_release(&entry->series);
    entry->series = total;
    return THEMIS_OK;
}

/* How many entries from the first on are of one job. */
static size_t group_length(const entry_t *entry, size_t count)
{
    double end = entry->record.end;
    size_t length = 1;

    while (length < count && job_compare(&entry->record, &entry[length].record) == 0 &&
           entry[length].record.start <= end + THEMIS_HISTORY_MERGE_SECONDS)
        end = fmax(end, entry[length++].record.end);
    return length;
}

themis_status_t themis_history_merge(entry_t *entry, size_t *count)
{
    themis_status_t status = THEMIS_OK;
    size_t kept = 0, length;

    qsort(entry, *count, sizeof *entry, copy_compare);
    *count = copies_drop(entry, *count);
    for (size_t i = 0; i < *count; i += length) {
        length = status == THEMIS_OK ? group_length(&entry[i], *count - i) : 1;
        if (length > 1 && (status = group_join(&entry[i], length)) != THEMIS_OK)
            length = 1;
        if (length == 1)
            entry[i].record.servers = entry[i].record.servers ? entry[i].record.servers : 1;
        if (kept != i)
            entry[kept] = entry[i];
        kept++;
    }
    *count = kept;
    return status;
}
