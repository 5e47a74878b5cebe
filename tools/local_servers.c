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
#include "tools/installation.h"
#include "util/clock.h"
#include "util/config.h"

enum { PATH_BYTES = 4096, MAX_ARGUMENTS = 64, START_ATTEMPTS = 3, SHOWN_LINES = 5, LINE_BYTES = 1024 };
static const uint64_t start_limit = 20 * THEMIS_NS_PER_S, stop_limit = 15 * THEMIS_NS_PER_S;
static const uint64_t first_patience = 50 * THEMIS_NS_PER_MS, last_patience = THEMIS_NS_PER_S;

int themis_tools_servers_settings(const themis_tools_command_t *self, char *text,
                                  themis_tools_servers_options_t *options)
{
    int count = 0;
    char *rest = NULL;

    for (char *word = text ? strtok_r(text, ",", &rest) : NULL; word; word = strtok_r(NULL, ",", &rest)) {
        if (count == THEMIS_TOOLS_MAX_SETTINGS - 1)
            return themis_tools_misused(self, "-o: more than %d settings", THEMIS_TOOLS_MAX_SETTINGS - 1);
        options->settings[count++] = word;
    }
    options->settings[count] = NULL;
    return THEMIS_TOOLS_OK;
}

/* --- what a server is started with -------------------------------------------------------------------------------- */

/* Ports that nobody has now: all are held at once so that they differ. */
static int choose_ports(const themis_tools_command_t *self, themis_tools_servers_t *servers)
{
    int sockets[THEMIS_TOOLS_MAX_SERVERS], opened = 0, result = THEMIS_TOOLS_OK;
    size_t used = 0;

    for (; opened < servers->count && result == THEMIS_TOOLS_OK; opened++) {
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t length = sizeof address;
        sockets[opened] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (sockets[opened] < 0 || bind(sockets[opened], (struct sockaddr *)&address, length) != 0 ||
            getsockname(sockets[opened], (struct sockaddr *)&address, &length) != 0)
            result = themis_tools_complain(self, "no free port: %s", strerror(errno));
        used += (size_t)snprintf(servers->list + used, sizeof servers->list - used, "%s127.0.0.1:%u", opened ? "," : "",
                                 ntohs(address.sin_port));
    }
    while (opened-- > 0)
        if (sockets[opened] >= 0)
            close(sockets[opened]);
    return result;
}

/* 1 if somebody has one of the ports; ended connections do not count. */
static int is_any_taken(const themis_tools_servers_t *servers)
{
    const char *at = servers->list;
    int taken = 0, yes = 1;

    for (int i = 0; i < servers->count && !taken; i++) {
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        at = strchr(at, ':') + 1;
        address.sin_port = htons((uint16_t)strtoul(at, NULL, 10));
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        taken = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) != 0;
        if (fd >= 0)
            close(fd);
    }
    return taken;
}

/* Half of the memory that is free, for all together; pages are taken as they are used. */
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

static void add(command_t *command, const char *option, const char *value)
{
    const char *both[] = {option, value};

    for (int i = 0; i < 2; i++) {
        if (!both[i] || command->count == MAX_ARGUMENTS)
            continue;
        command->arguments[command->count] = strdup(both[i]);
        command->failed |= !command->arguments[command->count++];
    }
}

static void add_setting(command_t *command, const char *setting)
{
    const char *equals = strchr(setting, '=');
    char option[256];

    snprintf(option, sizeof option, "--%.*s", equals ? (int)(equals - setting) : (int)strlen(setting), setting);
    add(command, option, equals ? equals + 1 : "yes");
}

static void free_command(command_t *command)
{
    while (command->count > 0)
        free(command->arguments[--command->count]);
}

static void build_command(const themis_tools_servers_options_t *options, const themis_tools_servers_t *servers,
                          const char *program, int index, command_t *command)
{
    char text[64], address[64];
    const char *at = servers->list;

    for (int i = 0; i < index; i++)
        at = strchr(at, ',') + 1;
    snprintf(address, sizeof address, "%.*s", (int)strcspn(at, ","), at);
    *strchr(address, ':') = '\0';
    add(command, program, NULL);
    add(command, "--listen", address);
    add(command, "--port", address + strlen(address) + 1);
    add(command, "--servers", servers->list);
    snprintf(text, sizeof text, "%d", index);
    add(command, "--index", text);
    default_size(options->count, text, sizeof text);
    add(command, "--size", options->size ? options->size : text);
    add(command, "--log", options->keep ? "info" : "warn");
    if (options->policy)
        add(command, "--policy", options->policy);
    /* Servers of one command's own: what it wishes for (the hint themis_policy) they take. */
    if (!options->keep)
        add(command, "--policies", "any");
    for (int i = 0; options->settings[i]; i++)
        add_setting(command, options->settings[i]);
}

/* --- what a server says --------------------------------------------------------------------------------------------
 */

static void log_path(const themis_tools_servers_options_t *options, int index, char *path, size_t size)
{
    snprintf(path, size, "%s/server%d.log", options->directory, index);
}

/* The last lines of a file. */
static void show_end(FILE *file)
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

/* In the child: away from the terminal's signals, and ended with the tool unless it is to stay. */
static void become_server(const themis_tools_servers_options_t *options, int index, command_t *command)
{
    char log[PATH_BYTES];

    setsid();
    if (!options->keep) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
    } else {
        log_path(options, index, log, sizeof log);
        int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        if (fd >= 0) {
            dup2(fd, STDOUT_FILENO);
            dup2(fd, STDERR_FILENO);
        }
    }
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0)
        dup2(null, STDIN_FILENO);
    if (null >= 0 && !options->keep)
        dup2(null, STDOUT_FILENO);
    themis_util_config_env_default("UCX_NET_DEVICES", "lo");
    unsetenv("LD_PRELOAD");
    execv(command->arguments[0], command->arguments);
    fprintf(stderr, "themis: %s: %s\n", command->arguments[0], strerror(errno));
    _exit(127);
}

static int start_one(const themis_tools_command_t *self, const themis_tools_servers_options_t *options,
                     const char *program, int index, themis_tools_servers_t *servers)
{
    command_t command = {0};
    int result = THEMIS_TOOLS_OK;

    build_command(options, servers, program, index, &command);
    pid_t pid = command.failed ? -1 : fork();
    if (pid == 0)
        become_server(options, index, &command);
    if (pid < 0)
        result = themis_tools_complain(self, "a server could not be started: %s", strerror(errno));
    else
        servers->pids[index] = pid;
    free_command(&command);
    return result;
}

/* In the child: only looks at the configuration, and says into `said` what it thinks of it. */
static void become_check(command_t *command, FILE *said)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    if (null >= 0)
        dup2(null, STDOUT_FILENO);
    dup2(fileno(said), STDERR_FILENO);
    unsetenv("LD_PRELOAD");
    execv(command->arguments[0], command->arguments);
    fprintf(stderr, "themis: %s: %s\n", command->arguments[0], strerror(errno));
    _exit(127);
}

/* What became of `themisd --check`; a configuration that no server would take is told here, once. */
static int judge(const themis_tools_command_t *self, pid_t pid, FILE *said)
{
    int status;

    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return themis_tools_complain(self, "themisd: %s", strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return THEMIS_TOOLS_OK;
    show_end(said);
    if (WIFEXITED(status) && WEXITSTATUS(status) == THEMIS_TOOLS_USAGE)
        return themis_tools_misused(self, "no server is started with such a configuration");
    if (WIFSIGNALED(status))
        return themis_tools_complain(self, "themisd --check was ended by signal %d", WTERMSIG(status));
    return themis_tools_complain(self, "themisd --check failed with status %d", WEXITSTATUS(status));
}

static int check_configuration(const themis_tools_command_t *self, const themis_tools_servers_options_t *options,
                               const char *program)
{
    themis_tools_servers_t servers = {.count = options->count};
    command_t command = {0};
    int result = choose_ports(self, &servers);
    FILE *said = tmpfile();

    build_command(options, &servers, program, 0, &command);
    add(&command, "--check", NULL);
    pid_t pid = result != THEMIS_TOOLS_OK || !said || command.failed ? -1 : fork();
    if (pid == 0)
        become_check(&command, said);
    if (pid > 0)
        result = judge(self, pid, said);
    else if (result == THEMIS_TOOLS_OK)
        result = themis_tools_complain(self, "themisd could not be run: %s",
                                       command.failed ? "out of memory" : strerror(errno));
    free_command(&command);
    if (said)
        fclose(said);
    return result;
}

/* The number of a server that has ended by itself since the last call, or -1. */
static int find_ended(themis_tools_servers_t *servers)
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

/* Why one ended: run's servers have said it on standard error, the others in their logs. */
static int tell_of_end(const themis_tools_command_t *self, const themis_tools_servers_options_t *options, int index)
{
    char log[PATH_BYTES];
    FILE *file;

    if (!options->keep)
        return themis_tools_complain(self, "server %d ended at once; its message is above", index);
    log_path(options, index, log, sizeof log);
    themis_tools_complain(self, "server %d ended at once; the end of its log, %s:", index, log);
    file = fopen(log, "re");
    if (file) {
        show_end(file);
        fclose(file);
    }
    return THEMIS_TOOLS_FAILED;
}

/* Little patience at first, so that one that cannot start is noticed at once. */
static int await(const themis_tools_command_t *self, const themis_tools_servers_options_t *options,
                 themis_tools_servers_t *servers)
{
    uint64_t until = themis_util_clock_now() + start_limit, patience = first_patience;

    while (themis_util_clock_now() < until) {
        int ended = find_ended(servers);
        if (ended >= 0)
            return tell_of_end(self, options, ended);
        if (all_answer(servers->list, servers->count, patience))
            return THEMIS_TOOLS_OK;
        patience = 2 * patience < last_patience ? 2 * patience : last_patience;
        usleep(20000);
    }
    return themis_tools_complain(self, "the servers did not answer: %s%s%s", themis_last_error(),
                                 options->keep ? "; their logs are in " : "", options->keep ? options->directory : "");
}

/* One attempt on ports that are free now. */
static int attempt(const themis_tools_command_t *self, const themis_tools_servers_options_t *options,
                   const char *program, themis_tools_servers_t *servers)
{
    *servers = (themis_tools_servers_t){.count = options->count};
    int result = choose_ports(self, servers);

    for (int i = 0; i < servers->count && result == THEMIS_TOOLS_OK; i++)
        result = start_one(self, options, program, i, servers);
    if (result == THEMIS_TOOLS_OK)
        result = await(self, options, servers);
    if (result != THEMIS_TOOLS_OK)
        themis_tools_servers_stop(servers);
    return result;
}

int themis_tools_servers_start(const themis_tools_command_t *self, const themis_tools_servers_options_t *options,
                               themis_tools_servers_t *servers)
{
    char program[PATH_BYTES];

    if (options->count < 1 || options->count > THEMIS_TOOLS_MAX_SERVERS)
        return themis_tools_misused(self, "the number of servers is to be 1 to %d", THEMIS_TOOLS_MAX_SERVERS);
    if (!themis_tools_find("sbin/themisd", "server/themisd", THEMIS_SBINDIR "/themisd", program, sizeof program))
        return themis_tools_complain(self, "themisd is not installed with this tool");
    int result = check_configuration(self, options, program);
    if (result != THEMIS_TOOLS_OK)
        return result;
    /* only ports that somebody else took meanwhile are a reason to try again */
    result = attempt(self, options, program, servers);
    for (int i = 1; i < START_ATTEMPTS && result != THEMIS_TOOLS_OK && is_any_taken(servers); i++)
        result = attempt(self, options, program, servers);
    return result;
}

/* --- ending ------------------------------------------------------------------------------------------------------- */

static int some_left(themis_tools_servers_t *servers)
{
    while (find_ended(servers) >= 0)
        ;
    for (int i = 0; i < servers->count; i++)
        if (servers->pids[i] > 0)
            return 1;
    return 0;
}

void themis_tools_servers_stop(themis_tools_servers_t *servers)
{
    uint64_t until = themis_util_clock_now() + stop_limit;

    for (int i = 0; i < servers->count; i++)
        if (servers->pids[i] > 0)
            kill(servers->pids[i], SIGTERM);
    while (some_left(servers) && themis_util_clock_now() < until)
        usleep(5000);
    for (int i = 0; i < servers->count; i++)
        if (servers->pids[i] > 0) {
            kill(servers->pids[i], SIGKILL);
            waitpid(servers->pids[i], NULL, 0);
            servers->pids[i] = 0;
        }
}
