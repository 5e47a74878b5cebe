/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each server needs the addresses of all: their ports are reserved first, all at once, and each is handed over to its
 * server, which reports through a pipe when it listens. The pipe's end without a report says that it has ended.
 */
#define _GNU_SOURCE
#include "tools/local_servers.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tools/command.h"
#include "tools/installation.h"
#include "tools/port_reservation.h"
#include "tools/server_command.h"
#include "util/clock.h"
#include "util/config.h"

enum { PATH_BYTES = 4096, SHOWN_LINES = 5, LINE_BYTES = 1024, LOOK_MS = 100 };
static const char per_node[] = "/node";
static const uint64_t start_limit = 120 * THEMIS_NS_PER_S, stop_limit = 15 * THEMIS_NS_PER_S;

int themis_tools_local_servers_check(themis_tools_local_servers_options_t *options)
{
    const char *slash = options->number ? strchr(options->number, '/') : NULL;
    int64_t count = 1;
    int settings = 0;
    char number[16];

    options->per_node = slash && strcmp(slash, per_node) == 0;
    if (options->number) {
        snprintf(number, sizeof number, "%.*s", (int)strcspn(options->number, options->per_node ? "/" : ""),
                 options->number);
        if (themis_util_config_integer(number, 1, THEMIS_TOOLS_MAX_SERVERS, &count) != THEMIS_OK)
            return themis_tools_misuse("-s %s: expected a number from 1 to %d, or N/node", options->number,
                                       THEMIS_TOOLS_MAX_SERVERS);
    }
    for (const char *at = options->settings; at; at = strchr(at + 1, ','))
        settings++;
    if (settings > THEMIS_TOOLS_MAX_SETTINGS)
        return themis_tools_misuse("-o: more than %d settings", THEMIS_TOOLS_MAX_SETTINGS);
    options->count = (int)count;
    return THEMIS_TOOLS_OK;
}

/* Servers that start: what is needed until all have reported, and the key that they share. */
typedef struct starting {
    const themis_tools_local_servers_options_t *options;
    const char *program;
    const char *list;                      /* of all servers */
    int reports[THEMIS_TOOLS_MAX_SERVERS]; /* reading ends of pipes; -1: none, or reported */
    int key;                               /* memory file with the key; -1: none */
} starting_t;

/* --- ports -------------------------------------------------------------------------------------------------------- */

static void list_fill(struct in_addr address, themis_tools_local_servers_t *servers)
{
    char text[INET_ADDRSTRLEN];
    size_t used = 0;

    inet_ntop(AF_INET, &address, text, sizeof text);
    for (int i = 0; i < servers->count; i++)
        used += (size_t)snprintf(servers->list + used, sizeof servers->list - used, "%s%s:%u", i ? "," : "", text,
                                 servers->ports[i]);
}

static void ports_release(themis_tools_local_servers_t *servers)
{
    for (int i = 0; i < THEMIS_TOOLS_MAX_SERVERS; i++) {
        if (servers->reserved[i] >= 0)
            close(servers->reserved[i]);
        servers->reserved[i] = -1;
    }
}

int themis_tools_local_servers_reserve(const themis_tools_local_servers_options_t *options, struct in_addr address,
                                       themis_tools_local_servers_t *servers)
{
    int result = THEMIS_TOOLS_OK;

    *servers = (themis_tools_local_servers_t){.count = options->count};
    for (int i = 0; i < THEMIS_TOOLS_MAX_SERVERS; i++)
        servers->reserved[i] = -1;
    for (int i = 0; i < servers->count && result == THEMIS_TOOLS_OK; i++)
        if ((servers->reserved[i] = themis_tools_port_reserve(address, &servers->ports[i])) < 0)
            result = themis_tools_error_errno("a port for a server could not be had");
    list_fill(address, servers);
    if (result != THEMIS_TOOLS_OK)
        ports_release(servers);
    return result;
}

static void starting_init(starting_t *starting, const themis_tools_local_servers_options_t *options, const char *list)
{
    *starting = (starting_t){.options = options, .list = list, .key = -1};
    for (int i = 0; i < THEMIS_TOOLS_MAX_SERVERS; i++)
        starting->reports[i] = -1;
}

static void starting_end(starting_t *starting)
{
    for (int i = 0; i < THEMIS_TOOLS_MAX_SERVERS; i++)
        if (starting->reports[i] >= 0)
            close(starting->reports[i]);
    if (starting->key >= 0)
        close(starting->key);
}

/* --- the key ------------------------------------------------------------------------------------------------------ */

/* Is there a setting of this key? */
static int has_setting(const char *settings, const char *key)
{
    size_t length = strlen(key);

    while (settings && *settings) {
        if (strncmp(settings, key, length) == 0 && strchr("=,", settings[length]))
            return 1;
        settings += strcspn(settings, ",");
        settings += *settings == ',';
    }
    return 0;
}

/* Several servers need a key that they share. It is passed as an open file, which no other user can see. One alone
 * makes its own. */
static int key_make(starting_t *starting)
{
    const uint8_t *given = starting->options->key;
    uint8_t key[THEMIS_TOOLS_KEY_BYTES];

    if ((starting->options->count == 1 && !given) || has_setting(starting->options->settings, "key"))
        return THEMIS_TOOLS_OK;
    starting->key = memfd_create("themis-key", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (given)
        memcpy(key, given, sizeof key);
    int made = starting->key >= 0 && (given || getrandom(key, sizeof key, 0) == sizeof key) &&
               write(starting->key, key, sizeof key) == sizeof key &&
               fcntl(starting->key, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0;
    explicit_bzero(key, sizeof key);
    return made ? THEMIS_TOOLS_OK : themis_tools_error_errno("a key for the servers");
}

static void key_add(const starting_t *starting, themis_tools_server_command_t *command)
{
    char text[16];

    if (starting->key < 0)
        return;
    snprintf(text, sizeof text, "%d", starting->key);
    themis_tools_server_command_add(command, "--key-fd", text);
}

/* In the child. */
static void key_inherit(const starting_t *starting)
{
    if (starting->key >= 0)
        fcntl(starting->key, F_SETFD, 0);
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

/* --- the configuration -------------------------------------------------------------------------------------------- */

/* In the child: replaces file descriptor `fd` by /dev/null. */
static void null_redirect(int fd, int flags)
{
    int null = open("/dev/null", flags | O_CLOEXEC);

    if (null >= 0)
        dup2(null, fd);
}

/* In the child: only checks the configuration; messages go to `messages`. */
static void check_exec(const starting_t *starting, themis_tools_server_command_t *command, FILE *messages)
{
    key_inherit(starting);
    null_redirect(STDOUT_FILENO, O_WRONLY);
    dup2(fileno(messages), STDERR_FILENO);
    themis_tools_server_command_exec(command);
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

/* What the caller gave may be wrong; the message comes once, and not from each server. */
static int configuration_check(const starting_t *starting, int first)
{
    const themis_tools_local_servers_options_t *options = starting->options;
    themis_tools_server_command_t command;
    int result;
    FILE *messages;

    if (!options->size && !options->policy && !options->settings)
        return THEMIS_TOOLS_OK;
    messages = tmpfile();
    themis_tools_server_command_build(options, starting->program, starting->list, first, &command);
    themis_tools_server_command_add(&command, "--check", NULL);
    key_add(starting, &command);
    pid_t pid = !messages || command.failed ? -1 : fork();
    if (pid == 0)
        check_exec(starting, &command, messages);
    if (pid > 0)
        result = check_wait(pid, messages);
    else
        result = themis_tools_error("themisd could not be run: %s", command.failed ? "out of memory" : strerror(errno));
    themis_tools_server_command_free(&command);
    if (messages)
        fclose(messages);
    return result;
}

/* --- starting ----------------------------------------------------------------------------------------------------- */

/* In the child: in a session of its own, so that signals of the terminal do not reach it, and ended with the tool
 * unless it is kept. */
static void server_exec(const starting_t *starting, int index, int report, themis_tools_server_command_t *command)
{
    const themis_tools_local_servers_options_t *options = starting->options;
    char log[PATH_BYTES];

    setsid();
    key_inherit(starting);
    fcntl(report, F_SETFD, 0); /* stays open */
    null_redirect(STDIN_FILENO, O_RDONLY);
    if (!options->keep) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        null_redirect(STDOUT_FILENO, O_WRONLY);
    } else {
        log_path(options, index, log, sizeof log);
        int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644);
        if (fd >= 0) {
            dup2(fd, STDOUT_FILENO);
            dup2(fd, STDERR_FILENO);
        }
    }
    themis_tools_server_command_exec(command);
}

static int server_start(starting_t *starting, int index, themis_tools_local_servers_t *servers)
{
    themis_tools_server_command_t command;
    char text[16];
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0)
        return themis_tools_error_errno("a server could not be started");
    starting->reports[index] = ends[0];
    themis_tools_server_command_build(starting->options, starting->program, starting->list, servers->first + index,
                                      &command);
    snprintf(text, sizeof text, "%d", ends[1]);
    themis_tools_server_command_add(&command, "--port-fd", text);
    key_add(starting, &command);
    errno = ENOMEM;
    pid_t pid = command.failed ? -1 : fork();
    if (pid == 0)
        server_exec(starting, index, ends[1], &command);
    int result = pid < 0 ? themis_tools_error_errno("a server could not be started") : THEMIS_TOOLS_OK;
    if (pid > 0)
        servers->pids[index] = pid;
    themis_tools_server_command_free(&command);
    close(ends[1]);
    return result;
}

/* The pipe of server `index` can be read: the line with its port, or the end. */
static int report_take(starting_t *starting, int index, themis_tools_local_servers_t *servers)
{
    char line[16];
    int64_t port;
    ssize_t length = read(starting->reports[index], line, sizeof line - 1);

    if (length < 0 && errno == EINTR)
        return THEMIS_TOOLS_OK;
    close(starting->reports[index]);
    starting->reports[index] = -1;
    if (length <= 0) {
        if (waitpid(servers->pids[index], NULL, 0) > 0)
            servers->pids[index] = 0;
        return ended_error(starting->options, servers->first + index);
    }
    line[length] = '\0';
    line[strcspn(line, "\n")] = '\0';
    if (themis_util_config_integer(line, 1, UINT16_MAX, &port) != THEMIS_OK)
        return themis_tools_error("server %d reports '%s' as its port", servers->first + index, line);
    servers->ports[index] = (uint16_t)port;
    return THEMIS_TOOLS_OK;
}

/* Looks at the pipes once; *left: how many servers have not reported. */
static int reports_poll(starting_t *starting, themis_tools_local_servers_t *servers, int *left)
{
    struct pollfd polled[THEMIS_TOOLS_MAX_SERVERS];
    int result = THEMIS_TOOLS_OK;

    *left = 0;
    for (int i = 0; i < servers->count; i++) {
        polled[i] = (struct pollfd){.fd = starting->reports[i], .events = POLLIN};
        *left += polled[i].fd >= 0;
    }
    if (*left == 0 || poll(polled, (nfds_t)servers->count, LOOK_MS) <= 0)
        return THEMIS_TOOLS_OK;
    for (int i = 0; i < servers->count && result == THEMIS_TOOLS_OK; i++)
        if (polled[i].fd >= 0 && polled[i].revents)
            result = report_take(starting, i, servers);
    return result;
}

static int reports_await(starting_t *starting, themis_tools_local_servers_t *servers)
{
    const themis_tools_local_servers_options_t *options = starting->options;
    uint64_t until = themis_util_clock_now() + start_limit;
    int left = 1, result = THEMIS_TOOLS_OK;

    while (left > 0 && result == THEMIS_TOOLS_OK) {
        if (options->cancelled && options->cancelled())
            return THEMIS_TOOLS_FAILED;
        if (themis_util_clock_now() > until)
            return themis_tools_error(
                "%d servers did not start within %u s%s%s", left, (unsigned)(start_limit / THEMIS_NS_PER_S),
                options->keep ? "; their logs are in " : "", options->keep ? options->directory : "");
        result = reports_poll(starting, servers, &left);
    }
    return result;
}

int themis_tools_local_servers_launch(const themis_tools_local_servers_options_t *options, const char *list, int first,
                                      themis_tools_local_servers_t *servers)
{
    char program[PATH_BYTES];
    starting_t starting;
    int result = THEMIS_TOOLS_OK;

    servers->first = first;
    starting_init(&starting, options, list);
    starting.program = program;
    if (!themis_tools_installation_find("sbin/themisd", "server/themisd", THEMIS_SBINDIR "/themisd", program,
                                        sizeof program))
        result = themis_tools_error("themisd is not installed with this tool");
    if (result == THEMIS_TOOLS_OK)
        result = key_make(&starting);
    if (result == THEMIS_TOOLS_OK)
        result = configuration_check(&starting, first);
    for (int i = 0; i < servers->count && result == THEMIS_TOOLS_OK; i++)
        result = server_start(&starting, i, servers);
    if (result == THEMIS_TOOLS_OK)
        result = reports_await(&starting, servers);
    if (result != THEMIS_TOOLS_OK)
        themis_tools_local_servers_stop(servers, NULL);
    starting_end(&starting);
    ports_release(servers);
    return result;
}

int themis_tools_local_servers_start(const themis_tools_local_servers_options_t *options,
                                     themis_tools_local_servers_t *servers)
{
    const struct in_addr loopback = {.s_addr = htonl(INADDR_LOOPBACK)};
    char list[sizeof servers->list];

    themis_util_config_env_default("UCX_NET_DEVICES", "lo");
    int result = themis_tools_local_servers_reserve(options, loopback, servers);
    if (result != THEMIS_TOOLS_OK)
        return result;
    strcpy(list, servers->list);
    result = themis_tools_local_servers_launch(options, list, 0, servers);
    if (result == THEMIS_TOOLS_OK)
        list_fill(loopback, servers); /* a setting may have given them other ports */
    return result;
}

/* --- ending ------------------------------------------------------------------------------------------------------- */

int themis_tools_local_servers_ended(themis_tools_local_servers_t *servers, pid_t pid)
{
    for (int i = 0; i < servers->count; i++)
        if (servers->pids[i] == pid) {
            servers->pids[i] = 0;
            return servers->first + i;
        }
    return -1;
}

void themis_tools_server_ended_tell(int number, const char *host, int status)
{
    themis_tools_note("server %d%s%s has ended, %s %d: its part of the files is gone", number, host ? " on " : "",
                      host ? host : "", WIFSIGNALED(status) ? "by signal" : "with status",
                      WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

/* Waits for those that have ended; 1 if one still runs. */
static int any_runs(themis_tools_local_servers_t *servers)
{
    int running = 0;

    for (int i = 0; i < servers->count; i++) {
        if (servers->pids[i] > 0 && waitpid(servers->pids[i], NULL, WNOHANG) != 0)
            servers->pids[i] = 0;
        running |= servers->pids[i] > 0;
    }
    return running;
}

void themis_tools_local_servers_stop(themis_tools_local_servers_t *servers, int (*cancelled)(void))
{
    uint64_t until = themis_util_clock_now() + stop_limit;

    for (int i = 0; i < servers->count; i++)
        if (servers->pids[i] > 0)
            kill(servers->pids[i], SIGTERM);
    while (any_runs(servers) && themis_util_clock_now() < until && !(cancelled && cancelled()))
        usleep(5000);
    for (int i = 0; i < servers->count; i++)
        if (servers->pids[i] > 0) {
            kill(servers->pids[i], SIGKILL);
            waitpid(servers->pids[i], NULL, 0);
            servers->pids[i] = 0;
        }
}
