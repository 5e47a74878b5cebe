/* SPDX-License-Identifier: BSD-3-Clause */
/* themis status: what each server says of itself and of its jobs. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/statistics.h"
#include "tools/command.h"

static double mib(const json_t *object, const char *key)
{
    return (double)json_integer_value(json_object_get(object, key)) / 0x1p20;
}

static long long number(const json_t *object, const char *key)
{
    return (long long)json_integer_value(json_object_get(object, key));
}

static const char *text(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));

    return value ? value : "";
}

/* One question to one server; NULL, with the cause in *error, if it does not answer. */
static json_t *ask(themis_t *session, uint32_t index, const char *what, const char **error)
{
    json_error_t fault;
    char *answer;

    *error = "its answer is not JSON";
    if (themis_query(session, index, what, &answer) != THEMIS_OK) {
        *error = themis_last_error();
        return NULL;
    }
    json_t *json = json_loads(answer, 0, &fault);
    free(answer);
    return json;
}

/* {"number":, "reachable":, "server":, "jobs":} of one server; one that is silent has "error" instead. */
static json_t *survey(themis_t *session, uint32_t index)
{
    const char *error;
    json_t *server = ask(session, index, "server", &error), *jobs = NULL;

    if (server && !(jobs = themis_tools_jobs_ask(session, index)))
        error = themis_last_error();
    if (!jobs) {
        json_decref(server);
        return json_pack("{s:i, s:b, s:s}", "number", (int)index, "reachable", 0, "error", error);
    }
    return json_pack("{s:i, s:b, s:o, s:o}", "number", (int)index, "reachable", 1, "server", server, "jobs", jobs);
}

static void print_server(const json_t *row)
{
    const json_t *server = json_object_get(row, "server"), *sharing = json_object_get(server, "sharing");

    if (!json_is_true(json_object_get(row, "reachable"))) {
        printf("%3lld  %s\n", number(row, "number"), text(row, "error"));
        return;
    }
    printf("%3lld  %-22s %-8s %-16s %10.0f %10.0f %10.0f %10.0f %5lld %7lld%s\n", number(row, "number"),
           text(server, "name"), text(server, "store"), text(sharing, "policy"), mib(server, "used_bytes"),
           mib(server, "capacity_bytes"), mib(server, "bytes_read"), mib(server, "bytes_written"),
           number(server, "jobs"), number(server, "queued"),
           json_is_true(json_object_get(server, "draining")) ? "  draining" : "");
}

static void print_jobs(const json_t *row)
{
    size_t i;
    json_t *job;

    json_array_foreach(json_object_get(row, "jobs"), i, job)
    {
        printf("%3lld  %-32.32s %6lld %5lld %8lld %10.0f %10.0f %7lld %10.0f %6.3f%s\n", number(row, "number"),
               text(job, "job"), number(job, "uid"), number(job, "nodes"), number(job, "clients"),
               mib(job, "bytes_read"), mib(job, "bytes_written"), number(job, "queued"), mib(job, "queued_bytes"),
               json_number_value(json_object_get(job, "share")),
               json_is_true(json_object_get(job, "active")) ? "" : "  inactive");
    }
}

static void print_survey(const json_t *rows)
{
    size_t i;
    json_t *row;

    printf("%3s  %-22s %-8s %-16s %10s %10s %10s %10s %5s %7s\n", "no.", "server", "store", "policy", "used MiB",
           "of MiB", "read MiB", "writ. MiB", "jobs", "queued");
    json_array_foreach(rows, i, row)
    {
        print_server(row);
    }
    printf("\n%3s  %-32s %6s %5s %8s %10s %10s %7s %10s %6s\n", "no.", "job", "uid", "nodes", "clients", "read MiB",
           "writ. MiB", "queued", "queued MiB", "share");
    json_array_foreach(rows, i, row)
    {
        print_jobs(row);
    }
}

static int run_status(const themis_tools_command_t *self, int argc, char **argv)
{
    int as_json = 0, result = THEMIS_TOOLS_OK;
    const char *servers = NULL;
    const themis_tools_option_t options[] = {{0, "json", &as_json, NULL}, {'s', "servers", NULL, &servers}, {0}};
    themis_session_info_t info;
    themis_t *session;

    if (themis_tools_options(self, argc, argv, options) != argc)
        return themis_tools_usage(self);
    if (themis_tools_session(self, servers, &session) != THEMIS_TOOLS_OK)
        return THEMIS_TOOLS_FAILED;
    themis_session_info(session, &info);
    json_t *rows = json_array();
    for (uint32_t i = 0; i < info.servers; i++) {
        json_t *row = survey(session, i);
        if (!row || !json_is_true(json_object_get(row, "reachable")))
            result = THEMIS_TOOLS_FAILED;
        json_array_append_new(rows, row);
    }
    if (as_json) {
        json_dumpf(rows, stdout, JSON_INDENT(2));
        putchar('\n');
    } else {
        print_survey(rows);
    }
    json_decref(rows);
    return result;
}

const themis_tools_command_t themis_tools_status = {"status", "[--json] [-s HOST:PORT,...]",
                                                    "Shows servers, jobs, bytes and queues.",
                                                    "  --json   as JSON: an array with an object for each server\n  -s "
                                                    "LIST  these servers instead of those configured\n",
                                                    run_status};
