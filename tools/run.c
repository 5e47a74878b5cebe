/* SPDX-License-Identifier: BSD-3-Clause */
/* themis run: runs a command with the driver preloaded, and with servers of its own if none are configured. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include "themis/themis.h"
#include "tools/allocation.h"
#include "tools/command.h"
#include "tools/run_allocation.h"
#include "tools/discard.h"
#include "tools/options.h"
#include "tools/preload.h"
#include "tools/private_servers.h"
#include "tools/server_list.h"
#include "tools/staging.h"
#include "tools/supervisor.h"
#include "util/config.h"

enum { LIST_BYTES = 4096, CANNOT_RUN = 126 /* this status and above: the command was not run, or ended by a signal */ };

typedef struct running {
    themis_tools_private_servers_t servers;
    themis_tools_staging_t staging;
    int with_servers; /* 1: of its own */
    int posix;        /* 1: file calls are intercepted, too */
    const char *list; /* that the command gets, or NULL */
    themis_tools_run_allocation_t allocation;
    char **command;
} running_t;

/* In the child. */
static int environment_set(void *arg)
{
    const running_t *running = arg;

    if (running->list)
        setenv("THEMIS_SERVERS", running->list, 1);
    if (running->with_servers)
        unsetenv("THEMIS_PLACEMENT"); /* it is of other servers */
    themis_tools_run_allocation_export(&running->allocation);
    if (running->with_servers && themis_tools_private_servers_are_local(&running->servers))
        themis_util_config_env_default("UCX_NET_DEVICES", "lo");
    return 0;
}

static int command_prepare(void *arg)
{
    const running_t *running = arg;

    if (themis_tools_preload_set(running->posix) != THEMIS_TOOLS_OK ||
        themis_tools_mount_point_set() != THEMIS_TOOLS_OK)
        return 126;
    /* UCX would handle SIGHUP in every program that loads it */
    themis_util_config_env_default("UCX_DEBUG_SIGNO", "0");
    return environment_set(arg);
}

static void child_ended(void *arg, pid_t child, int status)
{
    running_t *running = arg;

    themis_tools_private_servers_ended(&running->servers, child, status);
}

static int child_is_server(void *arg, pid_t child)
{
    const running_t *running = arg;

    return themis_tools_private_servers_own(&running->servers, child);
}

static void servers_look(void *arg)
{
    running_t *running = arg;

    if (running->with_servers)
        themis_tools_private_servers_look(&running->servers);
    else
        themis_tools_run_allocation_renew(&running->allocation);
}

static int supervised_run(running_t *running, char **command, int (*prepare)(void *arg))
{
    themis_tools_supervised_t supervised = {command, prepare, child_ended, child_is_server, NULL, running};

    if (running->with_servers ? !themis_tools_private_servers_are_local(&running->servers) : running->allocation.wanted)
        supervised.look = servers_look;
    return themis_tools_supervisor_run(&supervised);
}

static int copy_run(void *arg, char **command)
{
    return supervised_run(arg, command, environment_set);
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
    result = supervised_run(running, running->command, command_prepare);
    if (!themis_tools_supervisor_go_on())
        return result;
    int copied = themis_tools_staging_end(&running->staging, copy_run, running);
    if (running->with_servers && !running->staging.quiet && (!running->staging.keep || copied != THEMIS_TOOLS_OK))
        themis_tools_discard_tell(running->list, discard_note(&running->staging, copied),
                                  result > 0 && result < CANNOT_RUN, themis_tools_supervisor_signal);
    return result == THEMIS_TOOLS_OK ? copied : result;
}

/* On servers that are there, with some of them for this job if it wants that. */
static int allocated_run(running_t *running)
{
    themis_tools_run_allocation_make(&running->allocation, running->list, running->command);
    int result = stages_run(running);

    themis_tools_supervisor_go_on(); /* one that made an end of the command leaves this its time */
    themis_tools_run_allocation_release(&running->allocation);
    return result;
}

static int is_interrupted(void)
{
    return themis_tools_supervisor_signal() == SIGINT;
}

/* For the command, the copies and this process, which looks at what is left: what is shown to its own servers on hosts
 * counts before what a site has configured for others. */
static void secret_export(const themis_tools_private_servers_t *servers)
{
    const char *secret = themis_tools_private_servers_secret(servers);

    if (!secret)
        return;
    setenv("THEMIS_SECRET", secret, 1);
    setenv("THEMIS_AUTH", "secret", 1);
    unsetenv("THEMIS_SECRET_FILE");
}

/* In the supervisor. */
static int work(void *arg)
{
    running_t *running = arg;

    if (!running->with_servers)
        return allocated_run(running);
    running->servers.options.cancelled = themis_tools_supervisor_signal;
    int result = themis_tools_private_servers_start(&running->servers, &running->list);
    if (result != THEMIS_TOOLS_OK)
        return themis_tools_supervisor_signal() ? 128 + themis_tools_supervisor_signal() : result;
    secret_export(&running->servers);
    if (!running->staging.quiet)
        themis_tools_private_servers_tell(&running->servers);
    result = stages_run(running);
    themis_tools_supervisor_go_on(); /* one that made an end of the command leaves the servers their time */
    themis_tools_private_servers_stop(&running->servers, is_interrupted);
    return result;
}

/* Whose servers: its own with -s, those configured, those of `themis start`, or else its own. `list` gets the list. */
static int servers_choose(running_t *running, char list[LIST_BYTES])
{
    char *configured = NULL;
    const themis_tools_local_servers_options_t *options = &running->servers.options;
    int wanted = options->number || running->servers.hosts_given;
    themis_status_t status = wanted ? THEMIS_NO_ENTRY : themis_configured_servers(NULL, &configured);
    const char *whose = "that are configured";

    /* where the configuration is wrong nothing is run: on servers of its own the command's files would be lost */
    if (status != THEMIS_OK && status != THEMIS_NO_ENTRY)
        return themis_tools_error_last();
    if (configured)
        snprintf(list, LIST_BYTES, "%s", configured);
    free(configured);
    if (status == THEMIS_NO_ENTRY) {
        running->with_servers = wanted || !themis_tools_server_list_started(list, LIST_BYTES);
        if (running->with_servers)
            return themis_tools_private_servers_check(&running->servers);
        if (!themis_tools_server_list_answers(list))
            return themis_tools_error("the servers of 'themis start', %s, do not answer; 'themis stop' forgets them, "
                                      "-s 1 takes one of its own",
                                      list);
        whose = "of 'themis start'";
        running->list = list;
    }
    if (options->policy || options->settings || options->size || running->servers.launcher || running->servers.network)
        return themis_tools_misuse("servers are configured or started: -p, -o, --size, --launcher and --network apply "
                                   "only to servers that it starts, with -s");
    if (!running->staging.quiet)
        themis_tools_note("the servers %s, %s", whose, list);
    return THEMIS_TOOLS_OK;
}

static int run_run(int argc, char **argv)
{
    running_t running = {.with_servers = 0};
    themis_tools_private_servers_t *private = &running.servers;
    themis_tools_local_servers_options_t *servers = &private->options;
    themis_tools_staging_t *staging = &running.staging;
    const themis_tools_option_t options[] = {{'s', "servers", NULL, &servers->number, NULL},
                                             {0, "size", NULL, &servers->size, NULL},
                                             {'p', "policy", NULL, &servers->policy, NULL},
                                             {'o', "set", NULL, &servers->settings, NULL},
                                             {0, "stage-in", NULL, NULL, &staging->in},
                                             {0, "stage-out", NULL, NULL, &staging->out},
                                             {0, "keep", NULL, &staging->keep, NULL},
                                             {0, "verify", &staging->verify, NULL, NULL},
                                             {0, "hosts", NULL, &private->hosts_given, NULL},
                                             {0, "launcher", NULL, &private->launcher, NULL},
                                             {0, "network", NULL, &private->network, NULL},
                                             {'q', "quiet", &staging->quiet, NULL, NULL},
                                             {0, "posix", &running.posix, NULL, NULL},
                                             {0, "allocate", &running.allocation.wanted, NULL, NULL},
                                             {0, "nodes", NULL, &running.allocation.nodes, NULL},
                                             {0, "lease", NULL, &running.allocation.lease, NULL},
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
        result = themis_tools_preload_merge(running.posix, running.command);
    if (result == THEMIS_TOOLS_OK && !running.allocation.wanted &&
        (running.allocation.nodes || running.allocation.lease))
        result = themis_tools_misuse("--nodes and --lease are for --allocate");
    if (result == THEMIS_TOOLS_OK)
        result = themis_tools_allocation_check(running.allocation.nodes, running.allocation.lease);
    if (result == THEMIS_TOOLS_OK)
        result = servers_choose(&running, list);
    if (result == THEMIS_TOOLS_OK && running.with_servers && running.allocation.wanted)
        result = themis_tools_misuse("--allocate is for servers that are configured: its own serve nobody else");
    if (result == THEMIS_TOOLS_OK)
        result = themis_tools_supervise(work, &running);
    themis_tools_private_servers_free(private);
    return result;
}

const themis_tools_command_t themis_tools_run = {
    "run",
    "[-s N[/node]] [--hosts FILE or LIST] [--launcher NAME] [--network NAME] [--size BYTES] [-p POLICY] "
    "[-o KEY=VALUE,...] [--allocate [--nodes LIST] [--lease TIME]] [--stage-in SRC[:DST]] [--stage-out SRC:DST] "
    "[--keep DIR] [--verify] [--posix] [-q] [--] "
    "COMMAND...",
    "Runs an MPI program on Themis files.",
    "Sets the preload of the driver. Servers are those configured, else those of 'themis start'; where there are none, "
    "or\n"
    "with -s or --hosts, it starts servers of its own, which end with the command and keep nothing: on the nodes of "
    "the "
    "job\n"
    "of Slurm, PBS, LSF or Flux that it is in, else on this machine. It says which.\n"
    "The status is that of the command, or of a copy that failed.\n"
    "The driver comes behind what is in LD_PRELOAD, also where the arguments set it (mpirun -genv, env).\n"
    "  -s N      start N servers in all, N/node on each node; by default 1, or 1/node in a job of several nodes\n"
    "  --hosts H    on these hosts: a file with one a line, or a list as in a,n[0-3]; localhost: on this machine "
    "alone\n"
    "  --launcher L how to get there: srun, ssh, mpirun, flux, or a command to which host and program are added\n"
    "  --network N  interface (ib0) or network (10.1.0.0/16) of the servers' addresses\n"
    "  --size B  memory that each may use; by default half of what is free, divided among them\n"
    "  -p NAME   their policy\n"
    "  -o K=V    any other key of themisd's configuration\n"
    "  --allocate   asks the allocation service of the servers configured for some of them, for the command's new "
    "files,\n"
    "               and releases them after it\n"
    "  --nodes LIST nodes of the job (as of themis allocate); by default those of the batch system's\n"
    "  --lease TIME after which the service releases them where this process cannot\n"
    "  --stage-in SRC[:DST]  copies a file or directory to DST on the servers before (themis:/ without DST); "
    "repeatable\n"
    "  --stage-out SRC:DST   copies SRC of the servers to DST after the command, also when it has failed; repeatable\n"
    "  --keep DIR   copies all files of the servers into DIR after the command\n"
    "  --verify     compares checksums of what these copy\n"
    "  --posix      file calls of all programs below the mount point (/themis) are on Themis files, too\n"
    "  -q           says neither whose servers it uses nor what ends with them\n",
    run_run};
