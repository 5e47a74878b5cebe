/* SPDX-License-Identifier: BSD-3-Clause */
/* themis run: runs a command with the driver preloaded, and with servers of its own if none are configured. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include "themis/themis.h"
#include "tools/command.h"
#include "tools/discard.h"
#include "tools/local_servers.h"
#include "tools/options.h"
#include "tools/preload.h"
#include "tools/server_list.h"
#include "tools/staging.h"
#include "tools/supervisor.h"
#include "util/config.h"

enum { LIST_BYTES = 4096, CANNOT_RUN = 126 /* this status and above: the command was not run, or ended by a signal */ };

typedef struct running {
    themis_tools_local_servers_options_t options;
    themis_tools_local_servers_t servers;
    themis_tools_staging_t staging;
    int with_servers; /* 1: of its own */
    int no_posix;     /* 1: file calls are not intercepted */
    const char *list; /* otherwise: that the command gets, or NULL */
    char **command;
} running_t;

/* In the child. */
static int environment_set(void *arg)
{
    const running_t *running = arg;

    if (running->list)
        setenv("THEMIS_SERVERS", running->list, 1);
    if (running->with_servers)
        themis_util_config_env_default("UCX_NET_DEVICES", "lo");
    return 0;
}

static int command_prepare(void *arg)
{
    const running_t *running = arg;

    if (themis_tools_preload_set(!running->no_posix) != THEMIS_TOOLS_OK ||
        themis_tools_mount_point_set() != THEMIS_TOOLS_OK)
        return 126;
    /* UCX would handle SIGHUP in every program that loads it */
    themis_util_config_env_default("UCX_DEBUG_SIGNO", "0");
    return environment_set(arg);
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

static int copy_run(void *arg, char **command)
{
    const themis_tools_supervised_t supervised = {command, environment_set, child_ended, child_is_server, arg};

    return themis_tools_supervisor_run(&supervised);
}

/* How what was copied relates to what is discarded. */
static const char *discard_note(const themis_tools_staging_t *staging, int copied)
{
    if (copied != THEMIS_TOOLS_OK)
        return "what could not be copied, see above, is lost";
    return staging->out.count > 0 ? "what --stage-out named has been copied before"
                                  : "--keep DIR or --stage-out copies";
}

/* The command between the copies to and from the servers. The latter are made whatever became of it. */
static int stages_run(running_t *running)
{
    int result = themis_tools_staging_begin(&running->staging, copy_run, running);

    if (result != THEMIS_TOOLS_OK)
        return result;
    result = command_run(running);
    if (!themis_tools_supervisor_go_on())
        return result;
    int copied = themis_tools_staging_end(&running->staging, copy_run, running);
    if (running->with_servers && !running->staging.quiet && (!running->staging.keep || copied != THEMIS_TOOLS_OK))
        themis_tools_discard_tell(running->servers.list, discard_note(&running->staging, copied),
                                  result > 0 && result < CANNOT_RUN, themis_tools_supervisor_signal);
    return result == THEMIS_TOOLS_OK ? copied : result;
}

static int is_interrupted(void)
{
    return themis_tools_supervisor_signal() == SIGINT;
}

/* In the supervisor. */
static int work(void *arg)
{
    running_t *running = arg;

    if (!running->with_servers)
        return stages_run(running);
    running->options.cancelled = themis_tools_supervisor_signal;
    int result = themis_tools_local_servers_start(&running->options, &running->servers);
    if (result != THEMIS_TOOLS_OK)
        return themis_tools_supervisor_signal() ? 128 + themis_tools_supervisor_signal() : result;
    running->list = running->servers.list;
    if (!running->staging.quiet)
        themis_tools_note("%d server%s of its own, %s: what %s at the end is gone", running->servers.count,
                          running->servers.count == 1 ? "" : "s", running->list,
                          running->servers.count == 1 ? "it holds" : "they hold");
    result = stages_run(running);
    themis_tools_supervisor_go_on(); /* one that made an end of the command leaves the servers their time */
    themis_tools_local_servers_stop(&running->servers, is_interrupted);
    return result;
}

/* Whose servers: its own with -s, those configured, those of `themis start`, or else its own. `list` gets the list. */
static int servers_choose(running_t *running, char list[LIST_BYTES])
{
    char *configured = NULL;
    themis_status_t status = running->options.number ? THEMIS_NO_ENTRY : themis_configured_servers(NULL, &configured);
    const char *whose = "that are configured";

    /* where the configuration is wrong nothing is run: on servers of its own the command's files would be lost */
    if (status != THEMIS_OK && status != THEMIS_NO_ENTRY)
        return themis_tools_error_last();
    if (configured)
        snprintf(list, LIST_BYTES, "%s", configured);
    free(configured);
    if (status == THEMIS_NO_ENTRY) {
        running->with_servers = running->options.number || !themis_tools_server_list_started(list, LIST_BYTES);
        if (running->with_servers)
            return THEMIS_TOOLS_OK;
        if (!themis_tools_server_list_answers(list))
            return themis_tools_error("the servers of 'themis start', %s, do not answer; 'themis stop' forgets them, "
                                      "-s 1 takes one of its own",
                                      list);
        whose = "of 'themis start'";
        running->list = list;
    }
    if (running->options.policy || running->options.settings || running->options.size)
        return themis_tools_misuse("servers are configured or started: -p, -o and --size apply only to servers that it "
                                   "starts, with -s");
    if (!running->staging.quiet)
        themis_tools_note("the servers %s, %s", whose, list);
    return THEMIS_TOOLS_OK;
}

static int run_run(int argc, char **argv)
{
    running_t running = {.with_servers = 0};
    themis_tools_local_servers_options_t *servers = &running.options;
    themis_tools_staging_t *staging = &running.staging;
    const themis_tools_option_t options[] = {{'s', "servers", NULL, &servers->number, NULL},
                                             {0, "size", NULL, &servers->size, NULL},
                                             {'p', "policy", NULL, &servers->policy, NULL},
                                             {'o', "set", NULL, &servers->settings, NULL},
                                             {0, "stage-in", NULL, NULL, &staging->in},
                                             {0, "stage-out", NULL, NULL, &staging->out},
                                             {0, "keep", NULL, &staging->keep, NULL},
                                             {0, "verify", &staging->verify, NULL, NULL},
                                             {'q', "quiet", &staging->quiet, NULL, NULL},
                                             {0, "no-posix", &running.no_posix, NULL, NULL},
                                             {0}};
    int at = themis_tools_options(argc, argv, options);
    char list[LIST_BYTES];

    if (at < 0 || at == argc)
        return themis_tools_usage();
    running.command = argv + at;
    int result = themis_tools_local_servers_check(servers);
    if (result == THEMIS_TOOLS_OK)
        result = themis_tools_staging_check(staging);
    if (result == THEMIS_TOOLS_OK)
        result = themis_tools_preload_merge(!running.no_posix, running.command);
    if (result == THEMIS_TOOLS_OK)
        result = servers_choose(&running, list);
    return result == THEMIS_TOOLS_OK ? themis_tools_supervise(work, &running) : result;
}

const themis_tools_command_t themis_tools_run = {
    "run",
    "[-s N] [--size BYTES] [-p POLICY] [-o KEY=VALUE,...] [--stage-in SRC[:DST]] [--stage-out SRC:DST] [--keep DIR] "
    "[--verify] [--no-posix] [-q] [--] COMMAND...",
    "Runs an MPI program on Themis files.",
    "Sets the preload of the driver, and of file calls below the mount point (/themis). Servers are those configured, "
    "else those of 'themis start'; where there are none, "
    "or\n"
    "with -s, it starts servers of its own on this machine, which end with the command and keep nothing. It says "
    "which.\n"
    "The status is that of the command, or of a copy that failed.\n"
    "They come behind what is in LD_PRELOAD, also where the arguments set it (mpirun -genv, env).\n"
    "  -s N      start N servers\n"
    "  --size B  memory that each may use; by default half of what is free, divided among them\n"
    "  -p NAME   their policy\n"
    "  -o K=V    any other key of themisd's configuration\n"
    "  --stage-in SRC[:DST]  copies a file or directory to DST on the servers before (themis:/ without DST); "
    "repeatable\n"
    "  --stage-out SRC:DST   copies SRC of the servers to DST after the command, also when it has failed; repeatable\n"
    "  --keep DIR   copies all files of the servers into DIR after the command\n"
    "  --verify     compares checksums of what these copy\n"
    "  --no-posix   leaves file calls alone: only MPI-IO uses Themis files\n"
    "  -q           says neither whose servers it uses nor what ends with them\n",
    run_run};
