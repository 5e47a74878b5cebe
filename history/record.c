/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* memmem */
#include "history/record.h"
#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "history/series_json.h"

typedef themis_history_record_t record_t;

typedef enum kind { TEXT, COUNT32, COUNT64, NUMBER, SECONDS, FLAG, SHARING, MAYBE, SIZES, PHASES } kind_t;

typedef struct field {
    const char *name;
    kind_t kind;
    size_t offset;
    int needed;
} field_t;

#define FIELD(name, kind, needed)                                                                                      \
    {                                                                                                                  \
#name, kind, offsetof(record_t, name), needed                                                                  \
    }
static const field_t fields[] = {
    FIELD(application, TEXT, 1),
    FIELD(job, TEXT, 0),
    FIELD(project, TEXT, 0),
    FIELD(user, COUNT32, 1),
    FIELD(nodes, COUNT32, 1),
    FIELD(io_nodes, COUNT32, 1),
    FIELD(servers, COUNT32, 0),
    FIELD(clients, COUNT32, 0),
    FIELD(files, COUNT32, 0),
    FIELD(start, SECONDS, 1),
    FIELD(end, SECONDS, 1),
    FIELD(interim, FLAG, 0),
    FIELD(read_bytes, COUNT64, 1),
    FIELD(written_bytes, COUNT64, 1),
    FIELD(requests, COUNT64, 1),
    FIELD(request_sizes, SIZES, 0),
    FIELD(metadata_operations, COUNT64, 1),
    FIELD(metadata_waiting, NUMBER, 1),
    FIELD(queue_length, NUMBER, 0),
    FIELD(sharing, SHARING, 1),
    FIELD(collective, MAYBE, 0),
    FIELD(peak_bandwidth, NUMBER, 1),
    FIELD(phases, PHASES, 0),
};
#define PHASE(name, kind)                                                                                              \
    {                                                                                                                  \
#name, kind, offsetof(themis_history_phases_t, name), 1                                                        \
    }
static const field_t phase_fields[] = {
    PHASE(count, COUNT32),   PHASE(period, SECONDS),    PHASE(volume, NUMBER),
    PHASE(compute, SECONDS), PHASE(confidence, NUMBER), PHASE(background, NUMBER),
};
enum { FIELDS = sizeof fields / sizeof *fields, PHASE_FIELDS = sizeof phase_fields / sizeof *phase_fields };

static const char *const sharing_names[THEMIS_HISTORY_SHARINGS] = {"unknown", "1-1", "N-N", "N-1", "N-M"};

const char *themis_history_sharing_name(themis_history_sharing_t sharing)
{
    return (unsigned)sharing < THEMIS_HISTORY_SHARINGS ? sharing_names[sharing] : sharing_names[0];
}

static themis_status_t refuse(themis_status_t status, const char *name, const char *why, char *error, size_t size)
{
    snprintf(error, size, "field \"%s\": %s", name, why);
    return status;
}

/* ---- values ---- */

/* jansson has made sure of UTF-8. */
static int is_plain(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 32 || *text == 127)
            return 0;
    return 1;
}

static int number_in_range(const field_t *field, double value)
{
    double most = field->kind == SECONDS                   ? THEMIS_HISTORY_MAX_SECONDS
                  : strcmp(field->name, "confidence") == 0 ? 1
                                                           : DBL_MAX;

    return isfinite(value) && value >= 0 && value <= most;
}

/* NULL, or what is wrong with the value of a number or a text at `base`. */
static const char *value_fault(const field_t *field, const char *base)
{
    const void *at = base + field->offset;

    if ((field->kind == NUMBER || field->kind == SECONDS) && !number_in_range(field, *(const double *)at))
        return "out of range";
    if (field->kind == COUNT64 && *(const uint64_t *)at > INT64_MAX)
        return "out of range";
    if (field->kind != TEXT)
        return NULL;
    if (!memchr(at, 0, THEMIS_HISTORY_NAME_BYTES))
        return "too long";
    if (!is_plain(at))
        return "has control characters";
    return field->needed && *(const char *)at == 0 ? "empty" : NULL;
}

themis_status_t themis_history_record_check(const record_t *record, char *error, size_t size)
{
    for (size_t i = 0; i < FIELDS + PHASE_FIELDS; i++) {
        const field_t *field = i < FIELDS ? &fields[i] : &phase_fields[i - FIELDS];
        const char *fault = value_fault(field, (const char *)(i < FIELDS ? (const void *)record : &record->phases));
        if (fault)
            return refuse(THEMIS_RANGE, field->name, fault, error, size);
    }
    if (record->end < record->start)
        return refuse(THEMIS_RANGE, "end", "before \"start\"", error, size);
    if (record->io_nodes > record->nodes)
        return refuse(THEMIS_RANGE, "io_nodes", "more than \"nodes\"", error, size);
    if ((unsigned)record->sharing >= THEMIS_HISTORY_SHARINGS)
        return refuse(THEMIS_RANGE, "sharing", "out of range", error, size);
    for (int k = 0; k < THEMIS_HISTORY_SIZES; k++)
        if (record->request_sizes[k] > INT64_MAX)
            return refuse(THEMIS_RANGE, "request_sizes", "out of range", error, size);
    return THEMIS_OK;
}

/* ---- to JSON ---- */

/* Up to the last size that occurs. */
static json_t *sizes_encode(const uint64_t *sizes)
{
    json_t *array = json_array();
    int count = THEMIS_HISTORY_SIZES, failed = array == NULL;

    while (count > 0 && sizes[count - 1] == 0)
        count--;
    for (int k = 0; k < count && !failed; k++)
        failed = json_array_append_new(array, json_integer((json_int_t)sizes[k])) != 0;
    if (!failed)
        return array;
    json_decref(array);
    return NULL;
}

static json_t *value_encode(const field_t *field, const void *base);

static json_t *object_encode(const field_t *field, size_t count, const void *base)
{
    json_t *object = json_object();
    int failed = object == NULL;

    for (size_t i = 0; i < count && !failed; i++)
        failed = json_object_set_new(object, field[i].name, value_encode(&field[i], base)) != 0;
    if (!failed)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *value_encode(const field_t *field, const void *base)
{
    const void *at = (const char *)base + field->offset;

    switch (field->kind) {
    case TEXT:
        return json_string(at);
    case COUNT32:
        return json_integer(*(const uint32_t *)at);
    case COUNT64:
        return json_integer((json_int_t) * (const uint64_t *)at);
    case NUMBER:
    case SECONDS:
        return json_real(*(const double *)at);
    case FLAG:
        return json_boolean(*(const int *)at);
    case SHARING:
        return json_string(themis_history_sharing_name(*(const themis_history_sharing_t *)at));
    case MAYBE:
        return *(const int *)at < 0 ? json_null() : json_boolean(*(const int *)at);
    case SIZES:
        return sizes_encode(at);
    case PHASES:
        return object_encode(phase_fields, PHASE_FIELDS, at);
    }
    return NULL;
}

/* The object of a record, version first; NULL: no memory, or a name that is not UTF-8. */
static json_t *record_json(const record_t *record, const themis_history_series_t *series)
{
    json_t *object = json_pack("{s:i}", "version", THEMIS_HISTORY_VERSION);
    json_t *own = object ? object_encode(fields, FIELDS, record) : NULL;
    json_t *samples = series && series->count > 0 ? themis_history_series_json(series) : NULL;
    int failed = !own || json_object_update(object, own) != 0;

    json_decref(own);
    if (samples && json_object_set_new(object, "series", samples) != 0)
        failed = 1;
    if (!failed)
        return object;
    json_decref(object);
    return NULL;
}

themis_status_t themis_history_record_encode(const record_t *record, const themis_history_series_t *series, char **text,
                                             char *error, size_t size)
{
    themis_status_t status = themis_history_record_check(record, error, size);

    if (status != THEMIS_OK)
        return status;
    json_t *object = record_json(record, series);
    char *made = object ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(object);
    if (!made) /* of what was checked, only the encoding of names can be wrong beside a lack of memory */
        return refuse(THEMIS_INVALID, "application, job or project", "not UTF-8, or out of memory", error, size);
    *text = made;
    return THEMIS_OK;
}

/* ---- from JSON ---- */

static const char *text_decode(const json_t *json, char *text)
{
    if (!json_is_string(json))
        return "wanted: a string";
    if (json_string_length(json) >= THEMIS_HISTORY_NAME_BYTES)
        return "too long";
    memcpy(text, json_string_value(json), json_string_length(json) + 1);
    return NULL;
}

static const char *count_decode(const json_t *json, uint64_t most, uint64_t *value)
{
    if (!json_is_integer(json))
        return "wanted: a whole number";
    if (json_integer_value(json) < 0 || (uint64_t)json_integer_value(json) > most)
        return "out of range";
    *value = (uint64_t)json_integer_value(json);
    return NULL;
}

static const char *sharing_decode(const json_t *json, themis_history_sharing_t *sharing)
{
    for (int k = 0; json_is_string(json) && k < THEMIS_HISTORY_SHARINGS; k++)
        if (strcmp(json_string_value(json), sharing_names[k]) == 0) {
            *sharing = (themis_history_sharing_t)k;
            return NULL;
        }
    return "wanted: \"1-1\", \"N-N\", \"N-1\", \"N-M\" or \"unknown\"";
}

static const char *flag_decode(const json_t *json, int unknown, int *flag)
{
    if (!json_is_boolean(json) && !(unknown && json_is_null(json)))
        return "wanted: true or false";
    *flag = json_is_null(json) ? -1 : json_is_true(json);
    return NULL;
}

static const char *sizes_decode(const json_t *json, uint64_t *sizes)
{
    const char *fault = NULL;

    if (!json_is_array(json) || json_array_size(json) > THEMIS_HISTORY_SIZES)
        return "wanted: an array of at most 48 numbers";
    for (size_t k = 0; k < json_array_size(json) && !fault; k++)
        fault = count_decode(json_array_get(json, k), INT64_MAX, &sizes[k]);
    return fault;
}

/* NULL, or what is wrong. */
static const char *value_decode(const field_t *field, const json_t *json, void *base)
{
    void *at = (char *)base + field->offset;
    uint64_t count;
    const char *fault;

    switch (field->kind) {
    case TEXT:
        return text_decode(json, at);
    case COUNT32:
        fault = count_decode(json, UINT32_MAX, &count);
        *(uint32_t *)at = fault ? 0 : (uint32_t)count;
        return fault;
    case COUNT64:
        return count_decode(json, INT64_MAX, at);
    case NUMBER:
    case SECONDS:
        *(double *)at = json_number_value(json);
        return json_is_number(json) ? NULL : "wanted: a number";
    case FLAG:
        return flag_decode(json, 0, at);
    case SHARING:
        return sharing_decode(json, at);
    case MAYBE:
        return flag_decode(json, 1, at);
    case SIZES:
        return sizes_decode(json, at);
    case PHASES:
        return json_is_object(json) ? NULL : "wanted: an object";
    }
    return NULL;
}

static themis_status_t object_decode(const field_t *field, size_t count, const json_t *object, void *base, char *error,
                                     size_t size)
{
    size_t known = 0;

    for (size_t i = 0; i < count; i++) {
        const json_t *json = json_object_get(object, field[i].name);
        const char *fault = json ? value_decode(&field[i], json, base) : field[i].needed ? "missing" : NULL;
        if (fault)
            return refuse(THEMIS_PARSE, field[i].name, fault, error, size);
        known += json != NULL;
    }
    if (known == json_object_size(object))
        return THEMIS_OK;
    for (void *at = json_object_iter((json_t *)object); at; at = json_object_iter_next((json_t *)object, at)) {
        size_t i = 0;
        while (i < count && strcmp(field[i].name, json_object_iter_key(at)) != 0)
            i++;
        if (i == count)
            return refuse(THEMIS_PARSE, json_object_iter_key(at), "no such field", error, size);
    }
    return THEMIS_OK;
}

/* Takes the version out of the object. */
static themis_status_t version_check(json_t *object, char *error, size_t size)
{
    const json_t *version = json_object_get(object, "version");

    if (version && !json_is_integer(version))
        return refuse(THEMIS_PARSE, "version", "wanted: a whole number", error, size);
    if (version && json_integer_value(version) != THEMIS_HISTORY_VERSION) {
        snprintf(error, size,
                 "a record of version %" JSON_INTEGER_FORMAT ", which this program does not know; it reads %d",
                 json_integer_value(version), THEMIS_HISTORY_VERSION);
        return THEMIS_VERSION;
    }
    json_object_del(object, "version");
    return THEMIS_OK;
}

/* Takes the series out of the object. */
static themis_status_t series_take(json_t *object, themis_history_series_t *series, char *error, size_t size)
{
    const json_t *json = json_object_get(object, "series");
    const char *fault = json ? themis_history_series_from_json(json, series) : NULL;

    if (fault)
        return refuse(THEMIS_PARSE, "series", fault, error, size);
    json_object_del(object, "series");
    return THEMIS_OK;
}

static themis_status_t record_from_json(json_t *object, record_t *made, themis_history_series_t *series, char *error,
                                        size_t size)
{
    themis_status_t status = version_check(object, error, size);

    if (status == THEMIS_OK)
        status = series_take(object, series, error, size);
    if (status == THEMIS_OK)
        status = object_decode(fields, FIELDS, object, made, error, size);
    const json_t *phases = json_object_get(object, "phases");
    if (status == THEMIS_OK && phases)
        status = object_decode(phase_fields, PHASE_FIELDS, phases, &made->phases, error, size);
    return status == THEMIS_OK ? themis_history_record_check(made, error, size) : status;
}

themis_status_t themis_history_record_decode(const char *text, size_t length, record_t *record,
                                             themis_history_series_t *series, char *error, size_t size)
{
    record_t made = {.collective = -1};
    themis_history_series_t samples = {0};
    json_error_t fault;

    if (length > THEMIS_HISTORY_RECORD_MOST) {
        snprintf(error, size, "a record of more than %d bytes", THEMIS_HISTORY_RECORD_MOST);
        return THEMIS_PARSE;
    }
    json_t *object = json_loadb(text, length, JSON_REJECT_DUPLICATES, &fault);
    if (!json_is_object(object)) {
        snprintf(error, size, "not a JSON object: %s", object ? "another value" : fault.text);
        json_decref(object);
        return THEMIS_PARSE;
    }
    themis_status_t status = record_from_json(object, &made, &samples, error, size);
    json_decref(object);
    if (status == THEMIS_OK)
        *record = made;
    if (status == THEMIS_OK && series)
        *series = samples;
    else
        themis_history_series_release(&samples);
    return status;
}

size_t themis_history_record_cut(char *line, size_t length)
{
    static const char key[] = ",\"series\":{"; /* not in a name, where quotes are escaped */
    char *series = memmem(line, length, key, sizeof key - 1);
    const char *end = series ? memchr(series, '}', length - (size_t)(series - line)) : NULL;

    if (!end || end + 2 != line + length || end[1] != '}')
        return length;
    *series = '}';
    return (size_t)(series - line) + 1;
}
