/* SPDX-License-Identifier: BSD-3-Clause */
/* themis stop: ends the servers that themis start started, or those that are configured. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "themis/themis.h"
#include "tools/command.h"
#include "tools/options.h"
#include "tools/server_list.h"
#include "util/clock.h"

enum { PATH_BYTES = 4096 };
static const uint64_t end_limit = 20 * THEMIS_NS_PER_S;

static themis_status_t list_connect(const char *list, uint64_t timeout, themis_t **session)
{
    themis_options_t options;

    themis_options_init(&options);
    options.servers = list;
    options.timeout = timeout;
    return themis_connect(&options, session);
}

/* They have ended when none can be reached. */
static int end_await(const char *list)
{
    uint64_t until = themis_util_clock_now() + end_limit;
    themis_t *session;

    while (themis_util_clock_now() < until) {
        if (list_connect(list, 100 * THEMIS_NS_PER_MS, &session) != THEMIS_OK)
            return THEMIS_TOOLS_OK;
        themis_disconnect(session);
        usleep(50000);
    }
    return themis_tools_error("a server of %s has not ended after 20 s", list);
}

/* A server that has ended already is no error, unless none of them runs. */
static int servers_stop(const char *list)
{
    themis_session_info_t info;
    themis_t *session;
    int failed = 0;

    if (list_connect(list, THEMIS_NS_PER_S, &session) != THEMIS_OK)
        return themis_tools_error_last();
    themis_session_info(session, &info);
    for (uint32_t i = 0; i < info.servers; i++)
        if (themis_shutdown(session, i) != THEMIS_OK)
            failed = themis_tools_error_last();
    themis_disconnect(session);
    return failed ? THEMIS_TOOLS_FAILED : end_await(list);
}

static int configured_servers_stop(const char *directory)
{
    char *list;

    if (themis_configured_servers(NULL, &list) != THEMIS_OK)
        return themis_tools_error("no servers were started with %s, and none are configured", directory);
    int result = servers_stop(list);
    free(list);
    return result;
}

static int run_stop(int argc, char **argv)
{
    const char *directory = NULL;
    const themis_tools_option_t options[] = {{'d', "directory", NULL, &directory}, {0}};
    char default_directory[PATH_BYTES], list[PATH_BYTES];

    if (themis_tools_options(argc, argv, options) != argc)
        return themis_tools_usage();
    int given = directory != NULL;
    themis_tools_server_list_directory(default_directory, sizeof default_directory);
    if (!given)
        directory = default_directory;
    if (!themis_tools_server_list_read(directory, list, sizeof list))
        return given ? themis_tools_error("no servers were started with %s", directory)
                     : configured_servers_stop(directory);
    int result = servers_stop(list);
    themis_tools_server_list_remove(directory);
    return result;
}

const themis_tools_command_t themis_tools_stop = {
    "stop", "[-d DIRECTORY]", "Ends the servers that 'themis start' started, or else those that are configured.",
    "They serve what is queued before they end.\n  -d DIR   as given to start; then only those of that directory\n",
    run_stop};
