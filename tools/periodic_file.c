/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/periodic_file.h"
#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/command.h"
#include "util/config.h"

typedef themis_tools_periodic_file_t file_t;

/* As themis_persched_problem_check allows. */
enum { MOST_RUNNING = 1 << 20 };

static themis_status_t entry_refuse(file_t *f, themis_status_t status, const char *reason)
{
    snprintf(f->reason, sizeof f->reason, "%s", reason);
    return status;
}

static themis_status_t bytes_read(file_t *f, const char *text, double *value)
{
    uint64_t bytes;
    themis_status_t status = themis_util_config_bytes(text, &bytes);

    if (status != THEMIS_OK || bytes == 0)
        return entry_refuse(f, THEMIS_RANGE, "wanted: bytes above 0, such as 235.8GB");
    *value = (double)bytes;
    return THEMIS_OK;
}

static themis_status_t seconds_read(file_t *f, const char *text, double *value)
{
    uint64_t ns;
    themis_status_t status = themis_util_config_duration(text, &ns);

    if (status != THEMIS_OK || ns == 0)
        return entry_refuse(f, THEMIS_RANGE, "wanted: a time above 0, such as 76.8s or 2h");
    *value = (double)ns / 1e9;
    return THEMIS_OK;
}

static themis_status_t count_read(file_t *f, const char *text, int64_t high, double *value)
{
    int64_t number;

    if (themis_util_config_integer(text, 1, high, &number) != THEMIS_OK)
        return entry_refuse(f, THEMIS_RANGE, "wanted: a whole number from 1 on");
    *value = (double)number;
    return THEMIS_OK;
}

static themis_status_t part_read(file_t *f, const char *text, double *value)
{
    char *end;
    double number = strtod(text, &end);

    if (end == text || *end || !(number > 0) || !(number <= 1))
        return entry_refuse(f, THEMIS_RANGE, "wanted: above 0 and at most 1");
    *value = number;
    return THEMIS_OK;
}

static themis_status_t platform_entry(file_t *f, const char *key, const char *value)
{
    themis_persched_platform_t *p = &f->problem.platform;

    if (strcmp(key, "nodes") == 0)
        return count_read(f, value, INT32_MAX, &p->nodes);
    if (strcmp(key, "bandwidth") == 0)
        return bytes_read(f, value, &p->bandwidth);
    if (strcmp(key, "node_bandwidth") == 0)
        return bytes_read(f, value, &p->node_bandwidth);
    return entry_refuse(f, THEMIS_CONFIG, "[platform] has nodes, bandwidth and node_bandwidth");
}

/* The application of this name; new ones are appended. NULL: no memory. */
static themis_persched_application_t *application_find(file_t *f, const char *name, int line)
{
    for (uint32_t i = 0; i < f->problem.applications; i++)
        if (strcmp(f->application[i].name, name) == 0)
            return &f->application[i];
    if (f->problem.applications == f->capacity) {
        uint32_t capacity = f->capacity ? 2 * f->capacity : 16;
        void *application = realloc(f->application, capacity * sizeof *f->application);

        f->application = application ? application : f->application;
        void *lines = application ? realloc(f->line, capacity * sizeof *f->line) : NULL;
        if (!lines)
            return NULL;
        f->line = lines;
        f->capacity = capacity;
    }
    char *copy = strdup(name);
    if (!copy)
        return NULL;
    f->line[f->problem.applications] = line;
    f->application[f->problem.applications] =
        (themis_persched_application_t){.name = copy, .number = 1, .confidence = 1};
    return &f->application[f->problem.applications++];
}

static themis_status_t application_entry(file_t *f, themis_persched_application_t *a, const char *key,
                                         const char *value)
{
    double number;

    if (strcmp(key, "compute") == 0)
        return seconds_read(f, value, &a->compute);
    if (strcmp(key, "volume") == 0)
        return bytes_read(f, value, &a->volume);
    if (strcmp(key, "nodes") == 0)
        return count_read(f, value, INT32_MAX, &a->nodes);
    if (strcmp(key, "confidence") == 0)
        return part_read(f, value, &a->confidence);
    if (strcmp(key, "number") != 0)
        return entry_refuse(f, THEMIS_CONFIG, "[application] has compute, volume, nodes, number and confidence");
    themis_status_t status = count_read(f, value, MOST_RUNNING, &number);
    a->number = status == THEMIS_OK ? (uint32_t)number : a->number;
    return status;
}

/* As JSON and pictures hold it: UTF-8 without control characters. */
static int name_is_valid(const char *name)
{
    json_t *json = json_string(name);
    int valid = json != NULL;

    json_decref(json);
    for (; *name; name++)
        valid = valid && !iscntrl((unsigned char)*name);
    return valid;
}

static themis_status_t on_entry(void *arg, const char *section, const char *key, const char *value, int line)
{
    static const char prefix[] = "application ";
    file_t *f = arg;
    const char *name = section + sizeof prefix - 1;

    f->last_line = line;
    if (strcmp(section, "platform") == 0)
        return platform_entry(f, key, value);
    if (strncmp(section, prefix, sizeof prefix - 1) != 0 || !*name)
        return entry_refuse(f, THEMIS_CONFIG, "sections are [platform] and [application NAME]");
    if (!name_is_valid(name))
        return entry_refuse(f, THEMIS_CONFIG, "the application's name is not UTF-8, or has control characters");
    themis_persched_application_t *a = application_find(f, name, line);
    return a ? application_entry(f, a, key, value) : entry_refuse(f, THEMIS_NO_MEMORY, "too many applications");
}

/* "NODES,BANDWIDTH,NODE_BANDWIDTH" */
static int platform_parse(file_t *f, const char *text)
{
    static const char *const keys[] = {"nodes", "bandwidth", "node_bandwidth"};
    char copy[128], *rest = copy;

    snprintf(copy, sizeof copy, "%s", text);
    for (int i = 0; i < 3; i++) {
        char *value = strsep(&rest, ",");

        if (!value || platform_entry(f, keys[i], value) != THEMIS_OK)
            return themis_tools_misuse("--platform %s: %s of NODES,BANDWIDTH,NODE_BANDWIDTH is missing or wrong", text,
                                       keys[i]);
    }
    return rest ? themis_tools_misuse("--platform %s: too many values", text) : THEMIS_TOOLS_OK;
}

static int platform_complete(const file_t *f, const char *path)
{
    const themis_persched_platform_t *p = &f->problem.platform;
    const char *missing = !(p->nodes > 0)            ? "nodes"
                          : !(p->bandwidth > 0)      ? "bandwidth"
                          : !(p->node_bandwidth > 0) ? "node_bandwidth"
                                                     : NULL;

    return missing ? themis_tools_misuse("%s:%d: [platform] has no %s", path, f->last_line, missing) : THEMIS_TOOLS_OK;
}

static int applications_complete(const file_t *f, const char *path)
{
    double nodes = 0, have = f->problem.platform.nodes;
    uint64_t running = 0;

    if (f->problem.applications == 0)
        return themis_tools_misuse("%s:%d: no [application NAME]", path, f->last_line + !f->last_line);
    for (uint32_t i = 0; i < f->problem.applications; i++) {
        const themis_persched_application_t *a = &f->application[i];
        const char *missing = !(a->compute > 0)  ? "compute"
                              : !(a->volume > 0) ? "volume"
                              : !(a->nodes > 0)  ? "nodes"
                                                 : NULL;

        if (missing)
            return themis_tools_misuse("%s:%d: [application %s] has no %s", path, f->line[i], a->name, missing);
        nodes += a->nodes * a->number;
        running += a->number;
        if (running > MOST_RUNNING)
            return themis_tools_misuse("%s:%d: with [application %s] more than %d applications run", path, f->line[i],
                                       a->name, MOST_RUNNING);
        if (nodes > have)
            return themis_tools_misuse("%s:%d: with %u times [application %s] %.0f nodes are needed, the platform has "
                                       "%.0f",
                                       path, f->line[i], a->number, a->name, nodes, have);
    }
    return THEMIS_TOOLS_OK;
}

int themis_tools_periodic_read(file_t *f, const char *path, const char *platform)
{
    char error[256];
    themis_status_t status = themis_util_config_read(path, on_entry, f, error, sizeof error);
    int result = THEMIS_TOOLS_OK;

    if (status != THEMIS_OK)
        return themis_tools_misuse("%s%s%s", error, f->reason[0] ? ": " : "", f->reason);
    if (platform)
        result = platform_parse(f, platform);
    if (result == THEMIS_TOOLS_OK)
        result = f->problem.applications == 0 ? applications_complete(f, path) : platform_complete(f, path);
    if (result == THEMIS_TOOLS_OK)
        result = applications_complete(f, path);
    f->problem.application = f->application;
    return result;
}

void themis_tools_periodic_release(file_t *f)
{
    for (uint32_t i = 0; i < f->problem.applications; i++)
        free((char *)f->application[i].name);
    free(f->application);
    free(f->line);
}
