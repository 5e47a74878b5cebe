/* SPDX-License-Identifier: BSD-3-Clause */
/* themis run: runs a command with the driver preloaded, and with servers of its own if none are configured. */
#define _GNU_SOURCE
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "themis/themis.h"
#include "tools/command.h"
#include "tools/installation.h"
#include "tools/local_servers.h"
#include "tools/options.h"
#include "util/config.h"

enum { PATH_BYTES = 4096 };

static volatile sig_atomic_t child; /* pid of the command, for the handler */
static volatile sig_atomic_t ended_by;

/* The command gets the signals that we get; we end when it has ended. */
static void signal_forward(int signal)
{
    ended_by = signal;
    if (child > 0)
        kill((pid_t)child, signal);
}

static void signals_handle(void)
{
    struct sigaction pass = {.sa_handler = signal_forward}, ignore = {.sa_handler = SIG_IGN};

    sigaction(SIGTERM, &pass, NULL);
    sigaction(SIGHUP, &pass, NULL);
    /* the terminal sends these to the command too */
    sigaction(SIGINT, &ignore, NULL);
    sigaction(SIGQUIT, &ignore, NULL);
}

static void signals_default(void)
{
    const int signals[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT};

    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], SIG_DFL);
}

/* Puts the driver first in LD_PRELOAD. */
static int preload_set(void)
{
    const char *already = themis_util_config_env("LD_PRELOAD");
    char library[PATH_BYTES], value[2 * PATH_BYTES];

    if (!themis_tools_installation_find("lib/libthemis-mpiio.so", "adio/.libs/libthemis-mpiio.so",
                                        THEMIS_LIBDIR "/libthemis-mpiio.so", library, sizeof library))
        return themis_tools_error("libthemis-mpiio.so, the driver, is not installed with this tool");
    snprintf(value, sizeof value, "%s%s%s", library, already ? ":" : "", already ? already : "");
    setenv("LD_PRELOAD", value, 1);
    return THEMIS_TOOLS_OK;
}

/* In the child. */
static void become_command(const char *list, int private_servers, char **command)
{
    signals_default();
    if (preload_set() != THEMIS_TOOLS_OK)
        _exit(126);
    if (list)
        setenv("THEMIS_SERVERS", list, 1);
    if (private_servers)
        themis_util_config_env_default("UCX_NET_DEVICES", "lo");
    /* UCX would handle SIGHUP in every program that loads it */
    themis_util_config_env_default("UCX_DEBUG_SIGNO", "0");
    execvp(command[0], command);
    themis_tools_error_errno(command[0]);
    _exit(errno == ENOENT ? 127 : 126);
}

/* The status of the command, as a shell would report it. */
static int run_command(const char *list, int private_servers, char **command)
{
    int status;
    pid_t pid = fork();

    if (pid == 0)
        become_command(list, private_servers, command);
    if (pid < 0)
        return themis_tools_error_errno(command[0]);
    child = pid;
    if (ended_by) /* the signal came before the child existed */
        kill(pid, ended_by);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return themis_tools_error_errno(command[0]);
    child = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* A new directory for the servers' files, in memory if possible. */
static int directory_make(char *path, size_t size)
{
    const char *places[] = {themis_util_config_env("TMPDIR"), "/dev/shm", "/tmp"};

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (!places[i] || snprintf(path, size, "%s/themis-run-XXXXXX", places[i]) >= (int)size)
            continue;
        if (mkdtemp(path))
            return THEMIS_TOOLS_OK;
    }
    return themis_tools_error("no temporary directory for the servers could be made: %s", strerror(errno));
}

static int entry_remove(const char *path, const struct stat *stat, int type, struct FTW *position)
{
    return remove(path);
}

static int run_with_servers(themis_tools_local_servers_options_t *options, char **command)
{
    char directory[PATH_BYTES];
    themis_tools_local_servers_t servers;
    int result = directory_make(directory, sizeof directory);

    if (result != THEMIS_TOOLS_OK)
        return result;
    options->directory = directory;
    result = themis_tools_local_servers_start(options, &servers);
    if (result == THEMIS_TOOLS_OK) {
        result = ended_by ? 128 + ended_by : run_command(servers.list, 1, command);
        themis_tools_local_servers_stop(&servers);
    }
    nftw(directory, entry_remove, 16, FTW_DEPTH | FTW_PHYS);
    return result;
}

static int run_run(int argc, char **argv)
{
    themis_tools_local_servers_options_t servers = {0};
    const themis_tools_option_t options[] = {{'s', "servers", NULL, &servers.number},
                                             {0, "size", NULL, &servers.size},
                                             {'p', "policy", NULL, &servers.policy},
                                             {'o', "set", NULL, &servers.settings},
                                             {0}};
    int at = themis_tools_options(argc, argv, options);
    themis_status_t configured = THEMIS_NO_ENTRY;
    char *list = NULL;

    if (at < 0 || at == argc)
        return themis_tools_usage();
    int result = themis_tools_local_servers_check(&servers);
    if (result != THEMIS_TOOLS_OK)
        return result;
    signals_handle();
    if (!servers.number)
        configured = themis_configured_servers(NULL, &list);
    free(list);
    if (configured == THEMIS_NO_ENTRY)
        return run_with_servers(&servers, argv + at);
    if (servers.policy || servers.settings || servers.size)
        return themis_tools_misuse(
            "servers are configured: -p, -o and --size apply only to servers that it starts, with -s");
    /* where the configuration is wrong nothing is run: on servers of its own the command's files would be lost */
    return configured == THEMIS_OK ? run_command(NULL, 0, argv + at) : themis_tools_error_last();
}

const themis_tools_command_t themis_tools_run = {
    "run", "[-s N] [--size BYTES] [-p POLICY] [-o KEY=VALUE,...] [--] COMMAND...",
    "Runs an MPI program on Themis files.",
    "Sets the preload of the driver. Where no servers are configured, or with -s, it starts servers of its own on "
    "this\n"
    "machine, which end with the command and keep nothing. The status is that of the command.\n"
    "  -s N      start N servers\n"
    "  --size B  memory that each may use; by default half of what is free, divided among them\n"
    "  -p NAME   their policy\n"
    "  -o K=V    any other key of themisd's configuration\n",
    run_run};
