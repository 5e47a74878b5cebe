/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/periodic_plan.h"
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "util/clock.h"

/* What a plan is read with; the error's text is the first one that is told. */
typedef struct reader {
    const themis_server_periodic_plan_clock_t *clock;
    double period, bandwidth;
    themis_sched_periodic_t *plan;
    char *error;
    size_t size;
} reader_t;

__attribute__((format(printf, 2, 3))) static themis_status_t plan_refuse(const reader_t *reader, const char *format,
                                                                         ...)
{
    va_list list;

    va_start(list, format);
    vsnprintf(reader->error, reader->size, format, list);
    va_end(list);
    return THEMIS_PARSE;
}

static themis_status_t window_read(const reader_t *reader, json_t *json, const char *application, size_t instance)
{
    double begin, end, bandwidth, period = (double)reader->plan->period;

    if (json_unpack(json, "{s:F, s:F, s:F}", "begin_s", &begin, "end_s", &end, "bytes_per_s", &bandwidth) != 0 ||
        !isfinite(begin) || !isfinite(end) || !isfinite(bandwidth) || begin < 0)
        return plan_refuse(reader, "plan: %s, instance %zu: a window needs begin_s, end_s and bytes_per_s, numbers",
                           application, instance + 1);
    double share = bandwidth / reader->bandwidth, from = fmod(begin * 1e9, period), length = (end - begin) * 1e9;
    /* what a planner rounds */
    share = share > 1 && share < 1 + 1e-6 ? 1 : share;
    length = length > period && length < period * (1 + 1e-6) ? period : length;
    if (!(length >= 1 && length <= period && share > 0 && share <= 1))
        return plan_refuse(reader,
                           "plan: %s, instance %zu: a window of %g s with %g bytes/s does not fit into %g s with %g",
                           application, instance + 1, end - begin, bandwidth, reader->period, reader->bandwidth);
    const themis_sched_periodic_window_t window = {(uint64_t)from, (uint64_t)from + (uint64_t)length, share};
    themis_status_t status = themis_sched_periodic_add_window(reader->plan, &window);
    return status == THEMIS_RANGE ? plan_refuse(reader, "plan: more than %d windows", THEMIS_SCHED_PERIODIC_WINDOWS)
                                  : status;
}

static themis_status_t lane_read(const reader_t *reader, json_t *json)
{
    themis_status_t status = THEMIS_OK;
    json_t *instances, *instance, *windows, *window;
    const char *application;
    size_t i, w;

    if (json_unpack(json, "{s:s, s:o}", "application", &application, "instances", &instances) != 0 ||
        !json_is_array(instances))
        return plan_refuse(reader, "plan: each of \"applications\" needs \"application\" and \"instances\"");
    status = themis_sched_periodic_add_lane(reader->plan, application);
    if (status == THEMIS_RANGE)
        return plan_refuse(reader, "plan: more than %d applications, or a name of no or more than %d bytes",
                           THEMIS_SCHED_PERIODIC_LANES, THEMIS_SCHED_JOB_ID_BYTES - 1);
    json_array_foreach(instances, i, instance)
    {
        windows = json_object_get(instance, "io");
        if (status == THEMIS_OK && !json_is_array(windows))
            return plan_refuse(reader, "plan: %s, instance %zu: no \"io\"", application, i + 1);
        json_array_foreach(windows, w, window) status =
            status == THEMIS_OK ? window_read(reader, window, application, i) : status;
    }
    return status;
}

/* When a period begins, on the scheduler's clock; at most a period from now. */
static uint64_t origin_of(const themis_server_periodic_plan_clock_t *clock, double origin, uint64_t period)
{
    uint64_t wall = origin > 0 ? (uint64_t)(origin * 1e9) : 0;
    uint64_t since =
        clock->wall >= wall ? (clock->wall - wall) % period : (period - (wall - clock->wall) % period) % period;

    return clock->now + period - since;
}

static themis_status_t header_read(reader_t *reader, json_t *json, char *policy)
{
    double origin = 0, tolerance = -1;
    const char *named = "periodic";
    themis_sched_policy_t parsed;

    if (json_unpack(json, "{s:F, s:{s:F}, s?F, s?F, s?s}", "period_s", &reader->period, "platform", "bytes_per_s",
                    &reader->bandwidth, "origin_s", &origin, "tolerance_s", &tolerance, "policy", &named) != 0)
        return plan_refuse(reader, "plan: period_s and platform.bytes_per_s, numbers, are needed");
    if (!(reader->bandwidth > 0) || !isfinite(reader->bandwidth))
        return plan_refuse(reader, "plan: platform.bytes_per_s has to be above 0");
    themis_status_t status = themis_sched_policy_parse(named, &parsed, reader->error, reader->size);
    if (status != THEMIS_OK)
        return status;
    if (!parsed.periodic)
        return plan_refuse(reader, "plan: policy \"%s\" follows no plan: expected periodic or periodic-then-...",
                           named);
    snprintf(policy, THEMIS_SCHED_POLICY_TEXT_BYTES, "%s", named);
    if (!(reader->period >= 1e-3 && reader->period <= 1e8))
        return plan_refuse(reader, "plan: a period of %g s is not between 1 ms and 1e8 s", reader->period);
    uint64_t period = (uint64_t)(reader->period * 1e9),
             wait = tolerance < 0 ? period / 50 : (uint64_t)(tolerance * 1e9);
    if (!(tolerance <= reader->period / 2) || !(origin >= 0 && origin < 1e10) || wait > period / 2)
        return plan_refuse(reader, "plan: origin_s %g or tolerance_s %g is out of range", origin, tolerance);
    return themis_sched_periodic_create(period, wait, origin_of(reader->clock, origin, period), &reader->plan);
}

/* What tells this plan from others. */
static themis_status_t identity_read(const reader_t *reader, const json_t *json)
{
    const json_t *identity = json_object_get(json, "identity");
    char *kept = reader->plan->identity;

    if (!identity)
        return THEMIS_OK;
    if (!json_is_string(identity) || json_string_length(identity) >= sizeof reader->plan->identity)
        return plan_refuse(reader, "plan: \"identity\" is no text of at most %zu bytes",
                           sizeof reader->plan->identity - 1);
    snprintf(kept, sizeof reader->plan->identity, "%s", json_string_value(identity));
    return THEMIS_OK;
}

static themis_status_t plan_read_json(reader_t *reader, json_t *json, char *policy)
{
    json_t *lanes = json_object_get(json, "applications"), *lane;
    themis_status_t status = header_read(reader, json, policy);
    size_t i;

    if (status == THEMIS_OK)
        status = identity_read(reader, json);
    if (status == THEMIS_OK && !json_is_array(lanes))
        status = plan_refuse(reader, "plan: no \"applications\"");
    if (status != THEMIS_OK)
        return status;
    json_array_foreach(lanes, i, lane) status = status == THEMIS_OK ? lane_read(reader, lane) : status;
    return status == THEMIS_OK ? themis_sched_periodic_seal(reader->plan) : status;
}

static themis_status_t plan_finish(reader_t *reader, json_t *json, const json_error_t *fault, char *policy,
                                   themis_sched_periodic_t **plan)
{
    themis_status_t status = json == NULL ? plan_refuse(reader, "plan: line %d: %s", fault->line, fault->text)
                                          : plan_read_json(reader, json, policy);

    json_decref(json);
    if (status == THEMIS_OK) {
        *plan = reader->plan;
        return status;
    }
    if (status != THEMIS_PARSE)
        snprintf(reader->error, reader->size, "plan: %s", themis_status_string(status));
    themis_sched_periodic_destroy(reader->plan);
    return status;
}

themis_status_t themis_server_periodic_plan_read(const char *text, size_t length,
                                                 const themis_server_periodic_plan_clock_t *clock,
                                                 themis_sched_periodic_t **plan, char *policy, char *error, size_t size)
{
    reader_t reader = {.clock = clock, .error = error, .size = size};
    json_error_t fault;

    return plan_finish(&reader, json_loadb(length > 0 ? text : "", length, JSON_REJECT_DUPLICATES, &fault), &fault,
                       policy, plan);
}

themis_status_t themis_server_periodic_plan_read_file(const char *path,
                                                      const themis_server_periodic_plan_clock_t *clock,
                                                      themis_sched_periodic_t **plan, char *error, size_t size)
{
    char policy[THEMIS_SCHED_POLICY_TEXT_BYTES], why[256] = "";
    reader_t reader = {.clock = clock, .error = why, .size = sizeof why};
    json_error_t fault;
    themis_status_t status =
        plan_finish(&reader, json_load_file(path, JSON_REJECT_DUPLICATES, &fault), &fault, policy, plan);

    if (status != THEMIS_OK)
        snprintf(error, size, "%.200s: %s", path, why);
    return status;
}
