/* SPDX-License-Identifier: BSD-3-Clause */
/* themis run: a command with the driver in front of its MPI library, and servers for its lifetime if it has none. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "client/settings.h"
#include "tools/installation.h"
#include "tools/local_servers.h"
#include "util/config.h"

enum { PATH_BYTES = 4096 };

static volatile sig_atomic_t child; /* pid of the command, for the handler */
static volatile sig_atomic_t ended_by;

/* The command gets what we get; when it has ended, so do we. */
static void pass_on(int signal)
{
    ended_by = signal;
    if (child > 0)
        kill((pid_t)child, signal);
}

static void handle_signals(void)
{
    struct sigaction pass = {.sa_handler = pass_on}, ignore = {.sa_handler = SIG_IGN};

    sigaction(SIGTERM, &pass, NULL);
    sigaction(SIGHUP, &pass, NULL);
    /* a terminal sends these to the command too */
    sigaction(SIGINT, &ignore, NULL);
    sigaction(SIGQUIT, &ignore, NULL);
}

static void default_signals(void)
{
    const int signals[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT};

    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], SIG_DFL);
}

/* Puts the driver before what is preloaded already. */
static int set_preload(const themis_tools_command_t *self)
{
    const char *already = themis_util_config_env("LD_PRELOAD");
    char library[PATH_BYTES], value[2 * PATH_BYTES];

    if (!themis_tools_find("lib/libthemis-mpiio.so", "adio/.libs/libthemis-mpiio.so",
                           THEMIS_LIBDIR "/libthemis-mpiio.so", library, sizeof library))
        return themis_tools_complain(self, "libthemis-mpiio.so is not installed with this tool");
    snprintf(value, sizeof value, "%s%s%s", library, already ? ":" : "", already ? already : "");
    setenv("LD_PRELOAD", value, 1);
    return THEMIS_TOOLS_OK;
}

/* In the child. */
static void become_command(const themis_tools_command_t *self, const char *list, int private_servers, char **command)
{
    default_signals();
    if (set_preload(self) != THEMIS_TOOLS_OK)
        _exit(126);
    if (list)
        setenv("THEMIS_SERVERS", list, 1);
    if (private_servers)
        themis_util_config_env_default("UCX_NET_DEVICES", "lo");
    /* UCX would take SIGHUP for itself in every program that it is loaded into */
    themis_util_config_env_default("UCX_DEBUG_SIGNO", "0");
    execvp(command[0], command);
    themis_tools_complain(self, "%s: %s", command[0], strerror(errno));
    _exit(errno == ENOENT ? 127 : 126);
}

/* The status of the command, as a shell would report it. */
static int run_command(const themis_tools_command_t *self, const char *list, int private_servers, char **command)
{
    int status;
    pid_t pid = fork();

    if (pid == 0)
        become_command(self, list, private_servers, command);
    if (pid < 0)
        return themis_tools_complain(self, "%s: %s", command[0], strerror(errno));
    child = pid;
    if (ended_by) /* it came between the handler and the child */
        kill(pid, ended_by);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return themis_tools_complain(self, "%s: %s", command[0], strerror(errno));
    child = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* A directory of this run's own, in memory if possible. */
static int make_directory(const themis_tools_command_t *self, char *path, size_t size)
{
    const char *places[] = {themis_util_config_env("TMPDIR"), "/dev/shm", "/tmp"};

    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (!places[i] || snprintf(path, size, "%s/themis-run-XXXXXX", places[i]) >= (int)size)
            continue;
        if (mkdtemp(path))
            return THEMIS_TOOLS_OK;
    }
    return themis_tools_complain(self, "no directory for the servers: %s", strerror(errno));
}

static int run_with_servers(const themis_tools_command_t *self, themis_tools_servers_options_t *options, char **command)
{
    char directory[PATH_BYTES];
    themis_tools_servers_t servers;
    int result = make_directory(self, directory, sizeof directory);

    if (result != THEMIS_TOOLS_OK)
        return result;
    options->directory = directory;
    result = themis_tools_servers_start(self, options, &servers);
    if (result == THEMIS_TOOLS_OK) {
        result = ended_by ? 128 + ended_by : run_command(self, servers.list, 1, command);
        themis_tools_servers_stop(&servers);
    }
    themis_tools_remove_directory(directory);
    return result;
}

/* With the servers that are configured; where that is done wrongly the command is not run, since its files would go
 * to servers that end with it. */
static int run_with_configured(const themis_tools_command_t *self, const themis_options_t *options, char **command)
{
    themis_client_settings_t settings;

    if (themis_client_settings_load(options, &settings) != THEMIS_OK)
        return themis_tools_complain(self, "%s", themis_last_error());
    themis_client_settings_free(&settings);
    return run_command(self, NULL, 0, command);
}

static int run_run(const themis_tools_command_t *self, int argc, char **argv)
{
    const char *number = NULL, *settings = NULL;
    themis_tools_servers_options_t servers = {.count = 1};
    themis_options_t configured;
    const themis_tools_option_t options[] = {{'s', "servers", NULL, &number},
                                             {0, "size", NULL, &servers.size},
                                             {'p', "policy", NULL, &servers.policy},
                                             {'o', "set", NULL, &settings},
                                             {0}};
    int at = themis_tools_options(self, argc, argv, options), result;
    int64_t count = 1;

    if (at < 0 || at == argc)
        return themis_tools_usage(self);
    if (number && themis_util_config_integer(number, 1, THEMIS_TOOLS_MAX_SERVERS, &count) != THEMIS_OK)
        return themis_tools_misused(self, "-s %s: expected a number from 1 to %d", number, THEMIS_TOOLS_MAX_SERVERS);
    servers.count = (int)count;
    handle_signals();
    themis_options_init(&configured);
    int own = number || !themis_client_settings_name_servers(&configured);
    if (!own && (servers.policy || settings || servers.size))
        return themis_tools_misused(self,
                                    "servers are configured: -p, -o and --size are for servers of its own, with -s");
    if (!own)
        return run_with_configured(self, &configured, argv + at);
    char *copy = settings ? strdup(settings) : NULL;
    result = themis_tools_servers_settings(self, copy, &servers);
    if (result == THEMIS_TOOLS_OK)
        result = run_with_servers(self, &servers, argv + at);
    free(copy);
    return result;
}

const themis_tools_command_t themis_tools_run = {
    "run", "[-s N] [--size BYTES] [-p POLICY] [-o KEY=VALUE,...] [--] COMMAND...",
    "Runs an MPI program on Themis files.",
    "Sets the preload of the driver. Where no servers are configured, or with -s, it starts servers of its own on "
    "this\n"
    "machine, which end with the command and keep nothing. The status is that of the command.\n"
    "  -s N      start N servers\n"
    "  --size B  memory that each may use; at first half of what is free, shared among them\n"
    "  -p NAME   their policy\n"
    "  -o K=V    any other key of themisd's configuration\n",
    run_run};
