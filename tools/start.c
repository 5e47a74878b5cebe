/* SPDX-License-Identifier: BSD-3-Clause */
/* themis start: servers on this machine that run until they are stopped. */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include "tools/command.h"
#include "tools/local_servers.h"
#include "tools/options.h"
#include "tools/server_list.h"

enum { PATH_BYTES = 4096 };

static int run_start(int argc, char **argv)
{
    const char *directory = NULL;
    themis_tools_local_servers_options_t servers = {.keep = 1};
    const themis_tools_option_t options[] = {
        {'s', "servers", NULL, &servers.number}, {'d', "directory", NULL, &directory},
        {0, "size", NULL, &servers.size},        {'p', "policy", NULL, &servers.policy},
        {'o', "set", NULL, &servers.settings},   {0}};
    char default_directory[PATH_BYTES], list[PATH_BYTES];
    themis_tools_local_servers_t started;

    if (themis_tools_options(argc, argv, options) != argc)
        return themis_tools_usage();
    int result = themis_tools_local_servers_check(&servers);
    if (result != THEMIS_TOOLS_OK)
        return result;
    themis_tools_server_list_directory(default_directory, sizeof default_directory);
    servers.directory = directory ? directory : default_directory;
    if (mkdir(servers.directory, 0700) != 0 && errno != EEXIST)
        return themis_tools_error_errno(servers.directory);
    /* anybody may have made it in /tmp, with links to other files in it */
    if (!directory && !themis_tools_server_list_is_private(servers.directory))
        return themis_tools_error("%s is not a directory that only you can write to; name another one with -d",
                                  servers.directory);
    if (themis_tools_server_list_read(servers.directory, list, sizeof list))
        return themis_tools_error("servers were started with %s already; 'themis stop%s%s' ends them",
                                  servers.directory, directory ? " -d " : "", directory ? directory : "");
    result = themis_tools_local_servers_start(&servers, &started);
    if (result != THEMIS_TOOLS_OK)
        return result;
    result = themis_tools_server_list_write(servers.directory, started.list);
    if (result == THEMIS_TOOLS_OK)
        printf("export THEMIS_SERVERS=%s\n", started.list);
    else
        themis_tools_local_servers_stop(&started, NULL);
    return result;
}

const themis_tools_command_t themis_tools_start = {
    "start", "[-s N] [-d DIRECTORY] [--size BYTES] [-p POLICY] [-o KEY=VALUE,...]",
    "Starts servers on this machine that stay; prints the line that makes a shell use them.",
    "Use it as: eval \"$(themis start -s 2)\"\n"
    "  -s N      how many (1)\n"
    "  -d DIR    where their logs and list are kept ($XDG_RUNTIME_DIR/themis or /tmp/themis-UID)\n"
    "  --size B  memory that each may use; by default half of what is free, divided among them\n"
    "  -p NAME   their policy\n"
    "  -o K=V    any other key of themisd's configuration\n",
    run_start};
