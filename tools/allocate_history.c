/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* memmem */
#include "tools/allocate_history.h"
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "dfra/run.h"
#include "tools/command.h"
#include "tools/history_read.h"
#include "tools/json.h"

typedef themis_tools_allocate_history_t history_t;

/* What is looked for, and what has been found. */
typedef struct search {
    const history_t *history;
    const char *application, *user;
    json_int_t uid; /* of `user`; -1: unknown here */
    uint32_t nodes;
    themis_dfra_application_t *known;
    double end; /* of the run that *known is */
    size_t line;
} search_t;

int themis_tools_allocate_history_open(history_t *history, const char *path)
{
    struct stat status;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    int result = THEMIS_TOOLS_OK;

    history->path = path;
    if (file < 0)
        return themis_tools_error_errno(path);
    if (fstat(file, &status) != 0)
        result = themis_tools_error_errno(path);
    else if (S_ISDIR(status.st_mode))
        history->is_directory = 1;
    else if (!S_ISREG(status.st_mode))
        result = themis_tools_error("%s: not a regular file", path);
    else if (status.st_size > 0) {
        void *text = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);

        if (text == MAP_FAILED)
            result = themis_tools_error_errno(path);
        else
            history->text = text, history->size = (size_t)status.st_size;
    }
    close(file);
    return result;
}

void themis_tools_allocate_history_close(history_t *history)
{
    if (history->text)
        munmap(history->text, history->size);
    history->text = NULL;
}

static int refuse(const search_t *s, const char *reason)
{
    return themis_tools_misuse("%s:%zu: %s", s->history->path, s->line, reason);
}

/* All numbers of a record, in the order of `names`; the first that is missing or negative, or NULL. */
static const char *numbers_read(const json_t *record, const char *const *names, size_t count, double *value)
{
    for (size_t i = 0; i < count; i++) {
        value[i] = json_number_value(json_object_get(record, names[i]));
        if (!json_is_number(json_object_get(record, names[i])) || !(value[i] >= 0))
            return names[i];
    }
    return NULL;
}

static int record_read(search_t *s, const json_t *record, themis_dfra_application_t *a, double *end)
{
    static const char *const names[] = {"nodes",
                                        "io_nodes",
                                        "start",
                                        "end",
                                        "read_bytes",
                                        "written_bytes",
                                        "requests",
                                        "metadata_operations",
                                        "metadata_waiting",
                                        "peak_bandwidth"};
    double v[sizeof names / sizeof *names];
    char error[256];
    const char *missing = numbers_read(record, names, sizeof names / sizeof *names, v);

    if (missing) {
        snprintf(error, sizeof error, "%s is missing, or not a number from 0 on", missing);
        return refuse(s, error);
    }
    if (v[0] != floor(v[0]) || v[1] != floor(v[1]) || v[0] > UINT32_MAX || v[1] > v[0] || v[3] < v[2])
        return refuse(s, "nodes and io_nodes are whole numbers, io_nodes at most nodes, and start is not after end");
    *a = (themis_dfra_application_t){.nodes = (uint32_t)v[0],
                                     .io_nodes = (uint32_t)v[1],
                                     .duration = v[3] - v[2],
                                     .volume = v[4] + v[5],
                                     .operations = v[6],
                                     .metadata_waiting = v[8],
                                     .peak_bandwidth = v[9]};
    /* Requests are as large at the peak as on average. */
    a->peak_iops = a->volume > 0 ? v[6] * (v[9] / a->volume) : 0;
    *end = v[3];
    if (!themis_dfra_run_sharing(themis_tools_json_text(record, "sharing"), &a->sharing))
        return refuse(s, "sharing is not \"N-N\", \"N-1\", \"1-1\", \"N-M\" or \"unknown\"");
    return themis_dfra_application_check(a, error, sizeof error) == THEMIS_OK ? THEMIS_TOOLS_OK : refuse(s, error);
}

/* The servers' history has uids, other sources may have names. */
static int is_of_user(const search_t *s, const json_t *record)
{
    const json_t *user = json_object_get(record, "user");

    if (!s->user)
        return 1;
    if (json_is_integer(user))
        return s->uid >= 0 && json_integer_value(user) == s->uid;
    return json_is_string(user) && strcmp(json_string_value(user), s->user) == 0;
}

static json_int_t uid_of(const char *user)
{
    const struct passwd *entry = getpwnam(user);
    char *end;
    unsigned long number = strtoul(user, &end, 10);

    if (entry)
        return entry->pw_uid;
    return end > user && !*end ? (json_int_t)number : -1;
}

static int line_parse(search_t *s, const char *text, size_t length)
{
    themis_dfra_application_t a;
    json_error_t error;
    double end = 0;
    json_t *record = json_loadb(text, length, 0, &error);
    int result = THEMIS_TOOLS_OK;

    if (!json_is_object(record)) {
        result = refuse(s, record ? "not a JSON object" : error.text);
        json_decref(record);
        return result;
    }
    if (strcmp(themis_tools_json_text(record, "application"), s->application) == 0 && is_of_user(s, record) &&
        !json_is_true(json_object_get(record, "interim"))) { /* one that still ran */
        result = record_read(s, record, &a, &end);
        if (result == THEMIS_TOOLS_OK && a.nodes == s->nodes) {
            a.records = s->known->records + 1;
            if (a.records > 1 && end < s->end)
                s->known->records = a.records;
            else
                *s->known = a, s->end = end;
        }
    }
    json_decref(record);
    return result;
}

/* ---- directories of servers ---- */

static int record_take(search_t *s, const themis_history_record_t *record)
{
    themis_dfra_application_t a;
    char error[256];

    if (themis_dfra_run_take(record, &a, error, sizeof error) != THEMIS_OK)
        return themis_tools_error("%s: job %s: %s", s->history->path, record->job, error);
    a.records = s->known->records + 1;
    if (a.records > 1 && record->end < s->end)
        s->known->records = a.records;
    else
        *s->known = a, s->end = record->end;
    return THEMIS_TOOLS_OK;
}

static int directory_find(search_t *s)
{
    const themis_tools_texts_t directory = {{s->history->path}, 1};
    const themis_tools_history_filter_t filter = {.application = s->application, .user = s->uid, .until = INFINITY};
    themis_tools_history_t found = {0};
    int result = s->user && s->uid < 0 ? themis_tools_misuse("--user %s: there is no such user", s->user)
                                       : themis_tools_history_read(&found, &directory, &filter);

    for (size_t i = 0; i < found.count && result == THEMIS_TOOLS_OK; i++)
        if (!found.entry[i].record.interim && found.entry[i].record.nodes == s->nodes)
            result = record_take(s, &found.entry[i].record);
    themis_tools_history_release(&found);
    return result;
}

/* ---- files ---- */

int themis_tools_allocate_history_find(const history_t *history, const char *application, const char *user,
                                       uint32_t nodes, themis_dfra_application_t *known)
{
    search_t s = {.history = history,
                  .application = application,
                  .user = user,
                  .uid = user ? uid_of(user) : -1,
                  .nodes = nodes,
                  .known = known};
    const char *at = history->text, *stop = history->size ? at + history->size : at;
    int result = THEMIS_TOOLS_OK;

    *known = (themis_dfra_application_t){0};
    if (history->is_directory)
        return directory_find(&s);
    while (at < stop && result == THEMIS_TOOLS_OK) {
        const char *end = memchr(at, '\n', (size_t)(stop - at));
        size_t length = (size_t)((end ? end : stop) - at);

        /* A last line without its end is just being written. */
        if (!end && at[length - 1] != '}')
            break;
        s.line++;
        if (length > 0 && (at[0] != '{' || at[length - 1] != '}'))
            result = refuse(&s, "not a JSON object on one line");
        /* A name that JSON writes with escapes is not there as it is: such lines are always parsed. */
        else if (length > 0 && (memmem(at, length, application, strlen(application)) || memchr(at, '\\', length)))
            result = line_parse(&s, at, length);
        at += length + 1;
    }
    return result;
}
