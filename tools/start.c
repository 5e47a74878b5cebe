/* SPDX-License-Identifier: BSD-3-Clause */
/* themis start and themis stop: servers on this machine that stay until they are stopped. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "client/settings.h"
#include "tools/local_servers.h"
#include "util/clock.h"
#include "util/config.h"

enum { PATH_BYTES = 4096 };
static const uint64_t end_limit = 20 * THEMIS_NS_PER_S;

/* Where servers of this user leave their list and logs if no place is given. */
static void default_directory(char *path, size_t size)
{
    const char *runtime = themis_util_config_env("XDG_RUNTIME_DIR");

    if (runtime)
        snprintf(path, size, "%s/themis", runtime);
    else
        snprintf(path, size, "/tmp/themis-%u", (unsigned)getuid());
}

static int write_list(const themis_tools_command_t *self, const char *directory, const char *list)
{
    char path[PATH_BYTES];

    snprintf(path, sizeof path, "%s/servers", directory);
    FILE *file = fopen(path, "we");
    if (!file || fprintf(file, "%s\n", list) < 0 || fclose(file) != 0)
        return themis_tools_complain(self, "%s: %s", path, strerror(errno));
    return THEMIS_TOOLS_OK;
}

/* 1 and the list, if servers were started with this directory. */
static int read_list(const char *directory, char *list, size_t size)
{
    char path[PATH_BYTES];

    snprintf(path, sizeof path, "%s/servers", directory);
    FILE *file = fopen(path, "re");
    int found = file && fgets(list, (int)size, file);
    if (file)
        fclose(file);
    if (found)
        list[strcspn(list, "\n")] = '\0';
    return found;
}

static int run_start(const themis_tools_command_t *self, int argc, char **argv)
{
    const char *number = NULL, *directory = NULL, *settings = NULL;
    themis_tools_servers_options_t servers = {.count = 1, .keep = 1};
    const themis_tools_option_t options[] = {{'s', "servers", NULL, &number},  {'d', "directory", NULL, &directory},
                                             {0, "size", NULL, &servers.size}, {'p', "policy", NULL, &servers.policy},
                                             {'o', "set", NULL, &settings},    {0}};
    char place[PATH_BYTES], list[PATH_BYTES], *copy;
    themis_tools_servers_t started;
    int64_t count = 1;

    if (themis_tools_options(self, argc, argv, options) != argc)
        return themis_tools_usage(self);
    if (number && themis_util_config_integer(number, 1, THEMIS_TOOLS_MAX_SERVERS, &count) != THEMIS_OK)
        return themis_tools_misused(self, "-s %s: expected a number from 1 to %d", number, THEMIS_TOOLS_MAX_SERVERS);
    servers.count = (int)count;
    default_directory(place, sizeof place);
    servers.directory = directory ? directory : place;
    if (read_list(servers.directory, list, sizeof list))
        return themis_tools_complain(self, "servers were started with %s already; 'themis stop%s%s' ends them",
                                     servers.directory, directory ? " -d " : "", directory ? directory : "");
    if (mkdir(servers.directory, 0700) != 0 && errno != EEXIST)
        return themis_tools_complain(self, "%s: %s", servers.directory, strerror(errno));
    copy = settings ? strdup(settings) : NULL;
    int result = themis_tools_servers_settings(self, copy, &servers);
    if (result == THEMIS_TOOLS_OK)
        result = themis_tools_servers_start(self, &servers, &started);
    if (result == THEMIS_TOOLS_OK && (result = write_list(self, servers.directory, started.list)) != THEMIS_TOOLS_OK)
        themis_tools_servers_stop(&started);
    free(copy);
    if (result == THEMIS_TOOLS_OK)
        printf("export THEMIS_SERVERS=%s\n", started.list);
    return result;
}

const themis_tools_command_t themis_tools_start = {
    "start", "[-s N] [-d DIRECTORY] [--size BYTES] [-p POLICY] [-o KEY=VALUE,...]",
    "Starts servers on this machine that stay; prints the line that makes a shell use them.",
    "Use it as: eval \"$(themis start -s 2)\"\n"
    "  -s N      how many (1)\n"
    "  -d DIR    where their logs and list are kept ($XDG_RUNTIME_DIR/themis or /tmp/themis-UID)\n"
    "  --size B  memory that each may use; at first half of what is free, shared among them\n"
    "  -p NAME   their policy\n"
    "  -o K=V    any other key of themisd's configuration\n",
    run_start};

/* --- stop --------------------------------------------------------------------------------------------------------- */

/* They have ended when none can be reached any more. */
static int await_end(const themis_tools_command_t *self, const char *list)
{
    uint64_t until = themis_util_clock_now() + end_limit;
    themis_options_t options;
    themis_t *session;

    themis_options_init(&options);
    options.servers = list;
    options.timeout = 100 * THEMIS_NS_PER_MS;
    while (themis_util_clock_now() < until) {
        if (themis_connect(&options, &session) != THEMIS_OK)
            return THEMIS_TOOLS_OK;
        themis_disconnect(session);
        usleep(50000);
    }
    return themis_tools_complain(self, "some server of %s has not ended yet", list);
}

/* Asks each; one that is gone already is as good as stopped, but all of them are a mistake. */
static int stop_all(const themis_tools_command_t *self, const char *list)
{
    themis_session_info_t info;
    themis_options_t options;
    themis_t *session;
    int failed = 0;

    themis_options_init(&options);
    options.servers = list;
    options.timeout = THEMIS_NS_PER_S;
    if (themis_connect(&options, &session) != THEMIS_OK)
        return themis_tools_failed(self);
    themis_session_info(session, &info);
    for (uint32_t i = 0; i < info.servers; i++)
        if (themis_shutdown(session, i) != THEMIS_OK)
            failed = themis_tools_failed(self);
    themis_disconnect(session);
    return failed ? THEMIS_TOOLS_FAILED : await_end(self, list);
}

/* The server list of the configuration, or "". */
static void configured_list(char *list, size_t size)
{
    themis_options_t options;
    themis_client_settings_t settings;

    *list = '\0';
    themis_options_init(&options);
    if (themis_client_settings_load(&options, &settings) != THEMIS_OK)
        return;
    snprintf(list, size, "%s", settings.server_list);
    themis_client_settings_free(&settings);
}

static int run_stop(const themis_tools_command_t *self, int argc, char **argv)
{
    const char *directory = NULL;
    const themis_tools_option_t options[] = {{'d', "directory", NULL, &directory}, {0}};
    char place[PATH_BYTES], list[PATH_BYTES], path[PATH_BYTES + 16];

    if (themis_tools_options(self, argc, argv, options) != argc)
        return themis_tools_usage(self);
    int given = directory != NULL;
    default_directory(place, sizeof place);
    if (!given)
        directory = place;
    int started = read_list(directory, list, sizeof list);
    if (!started && given)
        return themis_tools_complain(self, "no servers were started with %s", directory);
    if (!started)
        configured_list(list, sizeof list);
    if (!*list)
        return themis_tools_complain(self, "no servers were started with %s, and none are configured", directory);
    int result = stop_all(self, list);
    if (started) {
        snprintf(path, sizeof path, "%s/servers", directory);
        unlink(path);
    }
    return result;
}

const themis_tools_command_t themis_tools_stop = {
    "stop", "[-d DIRECTORY]", "Ends the servers that 'themis start' started, or else those that are configured.",
    "They serve what is queued before they end.\n  -d DIR   as given to start; then only those of that directory\n",
    run_stop};
