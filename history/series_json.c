/* SPDX-License-Identifier: BSD-3-Clause */
#include "history/series_json.h"
#include <math.h>
#include <stdlib.h>
#include "history/record.h"

enum { FIELDS = 4 };

/* Zeros at the end are left out. */
static json_t *values_json(const themis_history_series_t *series, int written)
{
    json_t *array = json_array();
    uint32_t count = series->count;
    int failed = !array;

    for (; count > 0; count--)
        if (written ? series->sample[count - 1].written_bytes : series->sample[count - 1].read_bytes)
            break;
    for (uint32_t i = 0; i < count && !failed; i++) {
        uint64_t value = written ? series->sample[i].written_bytes : series->sample[i].read_bytes;

        failed = json_array_append_new(array, json_integer(value > INT64_MAX ? INT64_MAX : (json_int_t)value)) != 0;
    }
    if (!failed)
        return array;
    json_decref(array);
    return NULL;
}

json_t *themis_history_series_json(const themis_history_series_t *series)
{
    themis_history_series_t less;

    if (themis_history_series_copy(series, THEMIS_HISTORY_RECORD_SAMPLES, &less) != THEMIS_OK)
        return NULL;
    json_t *json = json_pack("{s:f, s:f, s:o, s:o}", "start", less.start, "interval", less.interval, "read_bytes",
                             values_json(&less, 0), "written_bytes", values_json(&less, 1));
    themis_history_series_release(&less);
    return json;
}

/* NULL, or what is wrong. */
static const char *values_read(const json_t *array, int written, themis_history_sample_t *sample)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *value = json_array_get(array, i);

        if (!json_is_integer(value) || json_integer_value(value) < 0)
            return "wanted: whole numbers from 0 on";
        if (written)
            sample[i].written_bytes = (uint64_t)json_integer_value(value);
        else
            sample[i].read_bytes = (uint64_t)json_integer_value(value);
    }
    return NULL;
}

static int is_time(double value)
{
    return isfinite(value) && value >= 0 && value <= THEMIS_HISTORY_MAX_SECONDS;
}

const char *themis_history_series_from_json(const json_t *json, themis_history_series_t *series)
{
    const json_t *read = json_object_get(json, "read_bytes"), *written = json_object_get(json, "written_bytes");
    const json_t *start = json_object_get(json, "start"), *interval = json_object_get(json, "interval");
    size_t count = json_array_size(read) > json_array_size(written) ? json_array_size(read) : json_array_size(written);
    themis_history_series_t made;
    const char *fault;

    if (json_object_size(json) != FIELDS || !json_is_array(read) || !json_is_array(written) || !json_is_number(start) ||
        !json_is_number(interval))
        return "wanted: an object with start, interval, read_bytes and written_bytes";
    if (count > THEMIS_HISTORY_RECORD_SAMPLES)
        return "too many samples";
    if (!is_time(json_number_value(start)) || !is_time(json_number_value(interval)) ||
        themis_history_series_make(&made, json_number_value(start), json_number_value(interval),
                                   THEMIS_HISTORY_RECORD_SAMPLES) != THEMIS_OK)
        return "start or interval out of range";
    made.sample = calloc(count + 1, sizeof *made.sample);
    if (!made.sample)
        return "out of memory";
    made.count = made.allocated = (uint32_t)count;
    fault = values_read(read, 0, made.sample);
    if (!fault)
        fault = values_read(written, 1, made.sample);
    if (fault)
        themis_history_series_release(&made);
    else
        *series = made;
    return fault;
}
