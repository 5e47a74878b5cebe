/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tools/local_servers.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "themis/themis.h"
#include "tools/command.h"
#include "tools/installation.h"
#include "util/clock.h"
#include "util/config.h"

enum {
    PATH_BYTES = 4096,
    MAX_ARGUMENTS = 96,
    MAX_SETTINGS = 31,
    START_ATTEMPTS = 3,
    SHOWN_LINES = 5,
    LINE_BYTES = 1024
};
static const uint64_t start_limit = 20 * THEMIS_NS_PER_S, stop_limit = 15 * THEMIS_NS_PER_S;
static const uint64_t min_timeout = 50 * THEMIS_NS_PER_MS, max_timeout = THEMIS_NS_PER_S;

int themis_tools_local_servers_check(themis_tools_local_servers_options_t *options)
{
    int64_t count = 1;
    int settings = 0;

    if (options->number &&
        themis_util_config_integer(options->number, 1, THEMIS_TOOLS_MAX_SERVERS, &count) != THEMIS_OK)
        return themis_tools_misuse("-s %s: expected a number from 1 to %d", options->number, THEMIS_TOOLS_MAX_SERVERS);
    for (const char *at = options->settings; at; at = strchr(at + 1, ','))
        settings++;
    if (settings > MAX_SETTINGS)
        return themis_tools_misuse("-o: more than %d settings", MAX_SETTINGS);
    options->count = (int)count;
    return THEMIS_TOOLS_OK;
}

/* --- the command line of a server --------------------------------------------------------------------------------- */

/* A socket bound to a port of loopback, 0 for any; *address gets the port. -1 with errno. */
static int port_bind(uint16_t port, int reuse, struct sockaddr_in *address)
{
    socklen_t length = sizeof *address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    *address =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};
    if (fd >= 0 && reuse)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
    if (fd < 0 || (bind(fd, (struct sockaddr *)address, length) == 0 &&
                   getsockname(fd, (struct sockaddr *)address, &length) == 0))
        return fd;
    close(fd);
    return -1;
}

/* Chooses free ports: all are held at once so that they differ. */
static int ports_choose(themis_tools_local_servers_t *servers)
{
    int sockets[THEMIS_TOOLS_MAX_SERVERS], opened = 0, result = THEMIS_TOOLS_OK;
    struct sockaddr_in address;
    size_t used = 0;

    while (opened < servers->count && (sockets[opened] = port_bind(0, 0, &address)) >= 0)
        used += (size_t)snprintf(servers->list + used, sizeof servers->list - used, "%s127.0.0.1:%u",
                                 opened++ ? "," : "", ntohs(address.sin_port));
    if (opened < servers->count)
        result = themis_tools_error_errno("no free port on 127.0.0.1");
    while (opened-- > 0)
        close(sockets[opened]);
    return result;
}

/* 1 if another process has one of the ports; closed connections do not count. */
static int ports_are_taken(const themis_tools_local_servers_t *servers)
{
    const char *at = servers->list;
    struct sockaddr_in address;

    for (int i = 0; i < servers->count; i++) {
        at = strchr(at, ':') + 1;
        int fd = port_bind((uint16_t)strtoul(at, NULL, 10), 1, &address);
        if (fd < 0)
            return 1;
        close(fd);
    }
    return 0;
}

/* Half of the free memory, divided among all; pages are allocated as they are used. */
static void default_size(int count, char *text, size_t size)
{
    unsigned long long kib = 0;
    char line[256];
    FILE *file = fopen("/proc/meminfo", "re");

    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %llu", &kib) == 1)
            break;
    if (file)
        fclose(file);
    kib = kib / 2 / (unsigned)count;
    snprintf(text, size, "%lluk", (kib > 65536 ? kib : 65536) & ~3ull);
}

typedef struct command {
    char *arguments[MAX_ARGUMENTS + 1];
    int count;
    int failed;
} command_t;

/* value may be NULL. */
static void argument_add(command_t *command, const char *option, const char *value)
{
    const char *both[] = {option, value};

    for (int i = 0; i < 2 && both[i]; i++) {
        command->arguments[command->count] = strdup(both[i]);
        command->failed |= !command->arguments[command->count++];
    }
}

/* "key=value" or "key", of `length` bytes. */
static void setting_add(command_t *command, const char *setting, int length)
{
    char *key = strndup(setting, (size_t)length), *value = key ? strchr(key, '=') : NULL, option[256];

    if (value)
        *value++ = '\0';
    snprintf(option, sizeof option, "--%s", key ? key : "");
    argument_add(command, option, value ? value : "yes");
    command->failed |= !key;
    free(key);
}

static void command_free(command_t *command)
{
    while (command->count > 0)
        free(command->arguments[--command->count]);
}

static void command_build(const themis_tools_local_servers_options_t *options,
                          const themis_tools_local_servers_t *servers, const char *program, int index,
                          command_t *command)
{
    char text[64], address[64];
    const char *at = servers->list, *setting = options->settings;

    for (int i = 0; i < index; i++)
        at = strchr(at, ',') + 1;
    snprintf(address, sizeof address, "%.*s", (int)strcspn(at, ","), at);
    *strchr(address, ':') = '\0';
    argument_add(command, program, NULL);
    argument_add(command, "--listen", address);
    argument_add(command, "--port", address + strlen(address) + 1);
    argument_add(command, "--servers", servers->list);
    snprintf(text, sizeof text, "%d", index);
    argument_add(command, "--index", text);
    default_size(options->count, text, sizeof text);
    argument_add(command, "--size", options->size ? options->size : text);
    argument_add(command, "--direct", "on");
    argument_add(command, "--log", options->keep ? "info" : "warn");
    if (options->policy)
        argument_add(command, "--policy", options->policy);
    /* servers that serve one command only may take the policy that it asks for (the hint themis_policy) */
    if (!options->keep)
        argument_add(command, "--policies", "any");
    while (setting && *setting) {
        int length = (int)strcspn(setting, ",");

        if (length > 0)
            setting_add(command, setting, length);
        setting += length + (setting[length] == ',');
    }
}

/* --- messages of servers ------------------------------------------------------------------------------------------ */

static void log_path(const themis_tools_local_servers_options_t *options, int index, char *path, size_t size)
{
    snprintf(path, size, "%s/server%d.log", options->directory, index);
}

/* The last lines of a file. */
static void file_tail_print(FILE *file)
{
    char lines[SHOWN_LINES][LINE_BYTES];
    unsigned count = 0;

    rewind(file);
    while (fgets(lines[count % SHOWN_LINES], LINE_BYTES, file))
        count++;
    for (unsigned i = count > SHOWN_LINES ? count - SHOWN_LINES : 0; i < count; i++)
        fputs(lines[i % SHOWN_LINES], stderr);
}

/* --- starting ----------------------------------------------------------------------------------------------------- */

/* In the child: replaces file descriptor `fd` by /dev/null. */
static void null_redirect(int fd, int flags)
{
    int null = open("/dev/null", flags | O_CLOEXEC);

    if (null >= 0)
        dup2(null, fd);
}

static void command_exec(command_t *command)
{
    unsetenv("LD_PRELOAD");
    execv(command->arguments[0], command->arguments);
    fprintf(stderr, "themis: %s: %s\n", command->arguments[0], strerror(errno));
    _exit(127);
}

/* In the child: in a session of its own, so that signals of the terminal do not reach it, and ended with the tool
 * unless it is kept. */
static void server_exec(const themis_tools_local_servers_options_t *options, int index, command_t *command)
{
    char log[PATH_BYTES];

    setsid();
    null_redirect(STDIN_FILENO, O_RDONLY);
    if (!options->keep) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        null_redirect(STDOUT_FILENO, O_WRONLY);
    } else {
        log_path(options, index, log, sizeof log);
        int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        if (fd >= 0) {
            dup2(fd, STDOUT_FILENO);
            dup2(fd, STDERR_FILENO);
        }
    }
    themis_util_config_env_default("UCX_NET_DEVICES", "lo");
    command_exec(command);
}

static int server_start(const themis_tools_local_servers_options_t *options, const char *program, int index,
                        themis_tools_local_servers_t *servers)
{
    command_t command = {0};
    int result = THEMIS_TOOLS_OK;

    command_build(options, servers, program, index, &command);
    pid_t pid = command.failed ? -1 : fork();
    if (pid == 0)
        server_exec(options, index, &command);
    if (pid < 0)
        result = themis_tools_error_errno("a server could not be started");
    else
        servers->pids[index] = pid;
    command_free(&command);
    return result;
}

/* In the child: only checks the configuration; messages go to `messages`. */
static void check_exec(command_t *command, FILE *messages)
{
    null_redirect(STDOUT_FILENO, O_WRONLY);
    dup2(fileno(messages), STDERR_FILENO);
    command_exec(command);
}

/* Waits for `themisd --check`; the messages about a wrong configuration are printed here, once. */
static int check_wait(pid_t pid, FILE *messages)
{
    int status;

    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return themis_tools_error_errno("themisd");
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return THEMIS_TOOLS_OK;
    file_tail_print(messages);
    if (WIFEXITED(status) && WEXITSTATUS(status) == THEMIS_TOOLS_USAGE)
        return themis_tools_misuse("no server accepts such a configuration");
    if (WIFSIGNALED(status))
        return themis_tools_error("themisd --check was ended by signal %d", WTERMSIG(status));
    return themis_tools_error("themisd --check failed with status %d", WEXITSTATUS(status));
}

static int check_configuration(const themis_tools_local_servers_options_t *options, const char *program)
{
    themis_tools_local_servers_t servers = {.count = options->count};
    command_t command = {0};
    int result = ports_choose(&servers);
    FILE *messages;

    if (result != THEMIS_TOOLS_OK)
        return result;
    messages = tmpfile();
    command_build(options, &servers, program, 0, &command);
    argument_add(&command, "--check", NULL);
    pid_t pid = !messages || command.failed ? -1 : fork();
    if (pid == 0)
        check_exec(&command, messages);
    if (pid > 0)
        result = check_wait(pid, messages);
    else
        result = themis_tools_error("themisd could not be run: %s", command.failed ? "out of memory" : strerror(errno));
    command_free(&command);
    if (messages)
        fclose(messages);
    return result;
}

/* The index of a server that has ended since the last call, or -1. */
static int ended_find(themis_tools_local_servers_t *servers)
{
    int status;

    for (int i = 0; i < servers->count; i++)
        if (servers->pids[i] > 0 && waitpid(servers->pids[i], &status, WNOHANG) == servers->pids[i]) {
            servers->pids[i] = 0;
            return i;
        }
    return -1;
}

/* Each server has answered once, in this session. */
static int all_answer(const char *list, int count, uint64_t timeout)
{
    themis_options_t options;
    themis_t *session;
    char *text;
    int answered = 0;

    themis_options_init(&options);
    options.servers = list;
    options.timeout = timeout;
    if (themis_connect(&options, &session) != THEMIS_OK)
        return 0;
    while (answered < count && themis_query(session, (uint32_t)answered, "policy", &text) == THEMIS_OK) {
        free(text);
        answered++;
    }
    themis_disconnect(session);
    return answered == count;
}

/* Servers of run write to standard error, those of start to their logs. */
static int ended_error(const themis_tools_local_servers_options_t *options, int index)
{
    char log[PATH_BYTES];
    FILE *file;

    if (!options->keep)
        return themis_tools_error("server %d ended at once; its message is above", index);
    log_path(options, index, log, sizeof log);
    themis_tools_error("server %d ended at once; the end of its log, %s:", index, log);
    file = fopen(log, "re");
    if (file) {
        file_tail_print(file);
        fclose(file);
    }
    return THEMIS_TOOLS_FAILED;
}

/* Timeouts are short at first, so that a server that cannot start is noticed at once. */
static int answers_await(const themis_tools_local_servers_options_t *options, themis_tools_local_servers_t *servers)
{
    uint64_t until = themis_util_clock_now() + start_limit, timeout = min_timeout;

    while (themis_util_clock_now() < until) {
        int ended = ended_find(servers);
        if (ended >= 0)
            return ended_error(options, ended);
        if (all_answer(servers->list, servers->count, timeout))
            return THEMIS_TOOLS_OK;
        timeout = 2 * timeout < max_timeout ? 2 * timeout : max_timeout;
        usleep(20000);
    }
    return themis_tools_error("the servers did not answer: %s%s%s", themis_last_error(),
                              options->keep ? "; their logs are in " : "", options->keep ? options->directory : "");
}

/* One attempt on ports that are free now. */
static int start_attempt(const themis_tools_local_servers_options_t *options, const char *program,
                         themis_tools_local_servers_t *servers)
{
    *servers = (themis_tools_local_servers_t){.count = options->count};
    int result = ports_choose(servers);

    for (int i = 0; i < servers->count && result == THEMIS_TOOLS_OK; i++)
        result = server_start(options, program, i, servers);
    if (result == THEMIS_TOOLS_OK)
        result = answers_await(options, servers);
    if (result != THEMIS_TOOLS_OK)
        themis_tools_local_servers_stop(servers);
    return result;
}

int themis_tools_local_servers_start(const themis_tools_local_servers_options_t *options,
                                     themis_tools_local_servers_t *servers)
{
    char program[PATH_BYTES];

    if (!themis_tools_installation_find("sbin/themisd", "server/themisd", THEMIS_SBINDIR "/themisd", program,
                                        sizeof program))
        return themis_tools_error("themisd is not installed with this tool");
    int result = check_configuration(options, program);
    if (result != THEMIS_TOOLS_OK)
        return result;
    /* try again only if another process has taken one of the ports meanwhile */
    result = start_attempt(options, program, servers);
    for (int i = 1; i < START_ATTEMPTS && result != THEMIS_TOOLS_OK && ports_are_taken(servers); i++)
        result = start_attempt(options, program, servers);
    return result;
}

/* --- ending ------------------------------------------------------------------------------------------------------- */

static int any_runs(themis_tools_local_servers_t *servers)
{
    while (ended_find(servers) >= 0)
        ;
    for (int i = 0; i < servers->count; i++)
        if (servers->pids[i] > 0)
            return 1;
    return 0;
}

void themis_tools_local_servers_stop(themis_tools_local_servers_t *servers)
{
    uint64_t until = themis_util_clock_now() + stop_limit;

    for (int i = 0; i < servers->count; i++)
        if (servers->pids[i] > 0)
            kill(servers->pids[i], SIGTERM);
    while (any_runs(servers) && themis_util_clock_now() < until)
        usleep(5000);
    for (int i = 0; i < servers->count; i++)
        if (servers->pids[i] > 0) {
            kill(servers->pids[i], SIGKILL);
            waitpid(servers->pids[i], NULL, 0);
            servers->pids[i] = 0;
        }
}
