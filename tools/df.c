/* SPDX-License-Identifier: BSD-3-Clause */
/* themis df: the space of each server, used and free. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "tools/command.h"
#include "tools/format.h"
#include "tools/json.h"
#include "tools/options.h"
#include "tools/sessions.h"
#include "util/config.h"

typedef struct space {
    uint64_t capacity, used;
} space_t;

static const char *bytes_text(uint64_t bytes, int human, char text[32])
{
    if (human)
        return themis_tools_format_bytes((double)bytes, text);
    snprintf(text, 32, "%" PRIu64, (bytes + 1023) / 1024);
    return text;
}

static void line_print(const char *name, const char *store, const space_t *space, int human)
{
    char capacity[32], used[32], available[32], share[8] = "-";
    uint64_t left = space->capacity > space->used ? space->capacity - space->used : 0;

    if (space->capacity > 0) /* rounded up, as df does */
        snprintf(share, sizeof share, "%.0f%%", (double)((space->used * 100 + space->capacity - 1) / space->capacity));
    printf("%-24s %-6s %14s %14s %14s %5s\n", name, store, bytes_text(space->capacity, human, capacity),
           bytes_text(space->used, human, used), bytes_text(left, human, available), share);
}

/* Of one server; `address` is its entry in the list, to the next comma. */
static int server_show(themis_t *session, uint32_t index, const char *address, int human, json_t *rows, space_t *sum)
{
    const char *error = "DOWN";
    char name[300];
    json_t *server = themis_tools_session_is_down(session, index, NULL)
                         ? NULL
                         : themis_tools_json_query(session, index, "server", &error);

    snprintf(name, sizeof name, "%.*s", (int)strcspn(address, ","), address);
    if (!server) {
        if (rows)
            json_array_append_new(rows, json_pack("{s:s, s:b}", "server", name, "reachable", 0));
        return themis_tools_error("server %s: %s", name, error);
    }
    const char *store = themis_tools_json_text(server, "store");
    const space_t space = {(uint64_t)themis_tools_json_number(server, "capacity_bytes"),
                           (uint64_t)themis_tools_json_number(server, "used_bytes")};
    sum->capacity += space.capacity;
    sum->used += space.used;
    if (rows)
        json_array_append_new(rows, json_pack("{s:s, s:b, s:s, s:I, s:I, s:I}", "server", name, "reachable", 1, "store",
                                              store, "capacity_bytes", (json_int_t)space.capacity, "used_bytes",
                                              (json_int_t)space.used, "objects",
                                              (json_int_t)themis_tools_json_number(server, "objects")));
    else
        line_print(name, store, &space, human);
    json_decref(server);
    return THEMIS_TOOLS_OK;
}

static int run_df(int argc, char **argv)
{
    int as_json = 0, human = 0, result = THEMIS_TOOLS_OK;
    const char *servers = NULL;
    const themis_tools_option_t options[] = {
        {'h', "human-readable", &human, NULL}, {'s', "servers", NULL, &servers}, {0, "json", &as_json, NULL}, {0}};
    themis_session_info_t info;
    themis_t *session;
    space_t sum = {0};

    if (themis_tools_options(argc, argv, options) != argc)
        return themis_tools_usage();
    themis_util_config_env_default("THEMIS_TIMEOUT", "900ms");
    if (themis_tools_session_get(servers, &session) != THEMIS_TOOLS_OK)
        return THEMIS_TOOLS_FAILED;
    themis_session_info(session, &info);
    json_t *rows = as_json ? json_array() : NULL;
    if (!as_json)
        printf("%-24s %-6s %14s %14s %14s %5s\n", "Server", "Store", human ? "Size" : "1K-blocks", "Used", "Available",
               "Use%");
    const char *address = info.server_list;
    for (uint32_t i = 0; i < info.servers; i++) {
        result |= server_show(session, i, address, human, rows, &sum);
        address += strcspn(address, ",");
        address += *address == ',';
    }
    if (as_json)
        themis_tools_json_print(rows);
    else if (info.servers > 1)
        line_print("total", "", &sum, human);
    return result;
}

const themis_tools_command_t themis_tools_df = {"df",
                                                "[-h] [--json] [-s HOST:PORT,...]",
                                                "Shows the space of each server, in KiB.",
                                                "  -h       sizes as 1.5G\n"
                                                "  -s       the servers, instead of those that are configured\n"
                                                "  --json   as JSON\n",
                                                run_df,
                                                0};
