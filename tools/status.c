/* SPDX-License-Identifier: BSD-3-Clause */
/* themis status: each server and its jobs. */
#include <stdio.h>
#include <string.h>
#include "tools/command.h"
#include "tools/format.h"
#include "tools/json.h"
#include "tools/policies.h"
#include "tools/sessions.h"
#include "tools/statistics.h"
#include "util/config.h"

static double mib(const json_t *object, const char *key)
{
    return themis_tools_json_number(object, key) / 0x1p20;
}

/* `address` begins with that of the server. {"number":, "reachable":, "server":, "jobs":} of one server; one that does
 * not answer has "error" instead. */
static json_t *server_query(themis_t *session, uint32_t index, const char *address)
{
    const char *error = "it accepts no connection";
    int is_down = themis_tools_session_is_down(session, index, NULL);
    json_t *server = is_down ? NULL : themis_tools_json_query(session, index, "server", &error), *jobs = NULL;

    if (server)
        jobs = themis_tools_statistics_jobs(session, index, &error);
    if (!jobs) {
        json_decref(server);
        return json_pack("{s:i, s:b, s:s, s:s#}", "number", (int)index, "reachable", 0, "error", error, "address",
                         address, (int)strcspn(address, ","));
    }
    return json_pack("{s:i, s:b, s:o, s:o}", "number", (int)index, "reachable", 1, "server", server, "jobs", jobs);
}

/* When the servers that answer first missed server `number`, in seconds since 1970; 0: none knows. */
static double first_missed(const json_t *rows, uint32_t number)
{
    double first = 0;
    size_t i;
    json_t *row;

    json_array_foreach(rows, i, row)
    {
        first = themis_tools_statistics_missed(json_object_get(row, "server"), number, first);
    }
    return first;
}

/* Adds "down_since_s" to the rows of servers that do not answer, where it is known. */
static void missed_add(json_t *rows)
{
    size_t i;
    json_t *row;

    json_array_foreach(rows, i, row)
    {
        double since = json_is_true(json_object_get(row, "reachable"))
                           ? 0
                           : first_missed(rows, (uint32_t)themis_tools_json_number(row, "number"));
        if (since > 0)
            json_object_set_new(row, "down_since_s", json_real(since));
    }
}

/* "DOWN since DATE TIME: why" */
static void print_down(const json_t *row)
{
    const char *error = themis_tools_json_text(row, "error");
    char since[THEMIS_TOOLS_SINCE_BYTES];

    printf("%3.0f  %-22s DOWN%s: %s\n", themis_tools_json_number(row, "number"), themis_tools_json_text(row, "address"),
           themis_tools_format_since(themis_tools_json_number(row, "down_since_s"), since), error);
}

static void print_server(const json_t *row)
{
    const json_t *server = json_object_get(row, "server"), *sharing = json_object_get(server, "sharing"),
                 *direct = json_object_get(server, "direct");

    if (!json_is_true(json_object_get(row, "reachable"))) {
        print_down(row);
        return;
    }
    printf("%3.0f  %-22s %-8s %-20s %10.0f %10.0f %10.0f %10.0f %5.0f %7.0f  %s, %s%s\n",
           themis_tools_json_number(row, "number"), themis_tools_json_text(server, "name"),
           themis_tools_json_text(server, "store"), themis_tools_json_text(sharing, "policy"),
           mib(server, "used_bytes"), mib(server, "capacity_bytes"), mib(server, "bytes_read"),
           mib(server, "bytes_written"), themis_tools_json_number(server, "jobs"),
           themis_tools_json_number(server, "queued"), themis_tools_json_text(direct, "mode"),
           themis_tools_json_text(direct, "pages"),
           json_is_true(json_object_get(server, "draining")) ? "  draining" : "");
}

static void print_jobs(const json_t *row)
{
    size_t i;
    json_t *job;

    json_array_foreach(json_object_get(row, "jobs"), i, job)
    {
        printf("%3.0f  %-32.32s %6.0f %5.0f %8.0f %10.0f %10.0f %7.0f %10.0f %6.3f%s\n",
               themis_tools_json_number(row, "number"), themis_tools_json_text(job, "job"),
               themis_tools_json_number(job, "uid"), themis_tools_json_number(job, "nodes"),
               themis_tools_json_number(job, "clients"), mib(job, "bytes_read"), mib(job, "bytes_written"),
               themis_tools_json_number(job, "queued"), mib(job, "queued_bytes"),
               json_number_value(json_object_get(job, "share")),
               json_is_true(json_object_get(job, "active")) ? "" : "  inactive");
    }
}

static void print_servers(const json_t *rows)
{
    themis_tools_policies_t policies = {.differ = 0};
    size_t i;
    json_t *row;

    printf("%3s  %-22s %-8s %-20s %10s %10s %10s %10s %5s %7s  %s\n", "no.", "server", "store", "policy", "used MiB",
           "of MiB", "read MiB", "writ. MiB", "jobs", "queued", "direct, pages");
    json_array_foreach(rows, i, row)
    {
        print_server(row);
        themis_tools_policies_add(&policies, json_object_get(json_object_get(row, "server"), "sharing"));
    }
    printf("\n%3s  %-32s %6s %5s %8s %10s %10s %7s %10s %6s\n", "no.", "job", "uid", "nodes", "clients", "read MiB",
           "writ. MiB", "queued", "queued MiB", "share");
    json_array_foreach(rows, i, row)
    {
        print_jobs(row);
    }
    themis_tools_policies_tell(&policies);
}

static int run_status(int argc, char **argv)
{
    int as_json = 0, result = THEMIS_TOOLS_OK;
    const char *servers = NULL;
    const themis_tools_option_t options[] = {{0, "json", &as_json, NULL}, {'s', "servers", NULL, &servers}, {0}};
    themis_session_info_t info;
    themis_t *session;

    if (themis_tools_options(argc, argv, options) != argc)
        return themis_tools_usage();
    themis_util_config_env_default("THEMIS_TIMEOUT", "900ms"); /* one that hangs is shown soon, too */
    if (themis_tools_session_get(servers, &session) != THEMIS_TOOLS_OK)
        return THEMIS_TOOLS_FAILED;
    themis_session_info(session, &info);
    json_t *rows = json_array();
    const char *address = info.server_list;
    for (uint32_t i = 0; i < info.servers; i++) {
        json_t *row = server_query(session, i, address);
        address += strcspn(address, ",");
        address += *address == ',';
        if (!row || !json_is_true(json_object_get(row, "reachable")))
            result = THEMIS_TOOLS_FAILED;
        json_array_append_new(rows, row);
    }
    missed_add(rows);
    if (as_json) {
        themis_tools_json_print(rows);
    } else {
        print_servers(rows);
        json_decref(rows);
    }
    return result;
}

const themis_tools_command_t themis_tools_status = {"status", "[--json] [-s HOST:PORT,...]",
                                                    "Shows servers, jobs, bytes and queues.",
                                                    "  --json   as JSON: an array with an object for each server\n  -s "
                                                    "LIST  these servers instead of those configured\n",
                                                    run_status};
