/* SPDX-License-Identifier: BSD-3-Clause */
/* themis run: runs a command with the driver preloaded, and with servers of its own if none are configured. */
#include <stdlib.h>
#include "themis/themis.h"
#include "tools/command.h"
#include "tools/local_servers.h"
#include "tools/options.h"
#include "tools/preload.h"
#include "tools/supervisor.h"
#include "util/config.h"

typedef struct running {
    themis_tools_local_servers_options_t options;
    themis_tools_local_servers_t servers;
    int with_servers; /* 1: of its own */
    char **command;
} running_t;

/* In the child. */
static int command_prepare(void *arg)
{
    const running_t *running = arg;

    if (themis_tools_preload_set() != THEMIS_TOOLS_OK)
        return 126;
    if (running->with_servers) {
        setenv("THEMIS_SERVERS", running->servers.list, 1);
        themis_util_config_env_default("UCX_NET_DEVICES", "lo");
    }
    /* UCX would handle SIGHUP in every program that loads it */
    themis_util_config_env_default("UCX_DEBUG_SIGNO", "0");
    return 0;
}

static void child_ended(void *arg, pid_t child, int status)
{
    running_t *running = arg;

    themis_tools_local_servers_ended(&running->servers, child, status);
}

static int child_is_server(void *arg, pid_t child)
{
    const running_t *running = arg;

    for (int i = 0; i < running->servers.count; i++)
        if (running->servers.pids[i] == child)
            return 1;
    return 0;
}

static int command_run(running_t *running)
{
    const themis_tools_supervised_t supervised = {running->command, command_prepare, child_ended, child_is_server,
                                                  running};

    return themis_tools_supervisor_run(&supervised);
}

/* In the supervisor. */
static int work(void *arg)
{
    running_t *running = arg;

    if (!running->with_servers)
        return command_run(running);
    running->options.cancelled = themis_tools_supervisor_signal;
    int result = themis_tools_local_servers_start(&running->options, &running->servers);
    if (result != THEMIS_TOOLS_OK)
        return themis_tools_supervisor_signal() ? 128 + themis_tools_supervisor_signal() : result;
    result = command_run(running);
    themis_tools_local_servers_stop(&running->servers);
    return result;
}

static int run_run(int argc, char **argv)
{
    running_t running = {.with_servers = 0};
    themis_tools_local_servers_options_t *servers = &running.options;
    const themis_tools_option_t options[] = {{'s', "servers", NULL, &servers->number},
                                             {0, "size", NULL, &servers->size},
                                             {'p', "policy", NULL, &servers->policy},
                                             {'o', "set", NULL, &servers->settings},
                                             {0}};
    int at = themis_tools_options(argc, argv, options);
    themis_status_t configured = THEMIS_NO_ENTRY;
    char *list = NULL;

    if (at < 0 || at == argc)
        return themis_tools_usage();
    int result = themis_tools_local_servers_check(servers);
    if (result != THEMIS_TOOLS_OK)
        return result;
    running.command = argv + at;
    if ((result = themis_tools_preload_merge(running.command)) != THEMIS_TOOLS_OK)
        return result;
    if (!servers->number)
        configured = themis_configured_servers(NULL, &list);
    free(list);
    running.with_servers = configured == THEMIS_NO_ENTRY;
    /* where the configuration is wrong nothing is run: on servers of its own the command's files would be lost */
    if (!running.with_servers && configured != THEMIS_OK)
        return themis_tools_error_last();
    if (!running.with_servers && (servers->policy || servers->settings || servers->size))
        return themis_tools_misuse(
            "servers are configured: -p, -o and --size apply only to servers that it starts, with -s");
    return themis_tools_supervise(work, &running);
}

const themis_tools_command_t themis_tools_run = {
    "run", "[-s N] [--size BYTES] [-p POLICY] [-o KEY=VALUE,...] [--] COMMAND...",
    "Runs an MPI program on Themis files.",
    "Sets the preload of the driver. Where no servers are configured, or with -s, it starts servers of its own on "
    "this\n"
    "machine, which end with the command and keep nothing. The status is that of the command.\n"
    "The driver comes behind what is in LD_PRELOAD, also where the arguments set it (mpirun -genv, env).\n"
    "  -s N      start N servers\n"
    "  --size B  memory that each may use; by default half of what is free, divided among them\n"
    "  -p NAME   their policy\n"
    "  -o K=V    any other key of themisd's configuration\n",
    run_run};
