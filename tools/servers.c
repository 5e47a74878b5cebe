/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tools/servers.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include "util/clock.h"
#include "util/config.h"

enum { PATH_BYTES = 4096, MAX_ARGUMENTS = 64, START_ATTEMPTS = 3 };
static const uint64_t start_limit = 20 * THEMIS_NS_PER_S, stop_limit = 15 * THEMIS_NS_PER_S;

int themis_tools_servers_settings(const themis_tools_command_t *self, char *text,
                                  themis_tools_servers_options_t *options)
{
    int count = 0;
    char *rest = NULL;

    for (char *word = text ? strtok_r(text, ",", &rest) : NULL; word; word = strtok_r(NULL, ",", &rest)) {
        if (count == THEMIS_TOOLS_MAX_SETTINGS - 1)
            return themis_tools_complain(self, "more than %d settings", THEMIS_TOOLS_MAX_SETTINGS - 1);
        options->settings[count++] = word;
    }
    options->settings[count] = NULL;
    return THEMIS_TOOLS_OK;
}

/* --- files of this installation ----------------------------------------------------------------------------------- */

/* The tool's own directory, its last component cut off `up` times. */
static int own_directory(int up, char *path, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", path, size - 1);

    if (length < 0)
        return 0;
    path[length] = '\0';
    for (int i = 0; i <= up; i++) {
        char *slash = strrchr(path, '/');
        if (!slash)
            return 0;
        *slash = '\0';
    }
    return 1;
}

static int try_path(int up, const char *relative, char *path, size_t size)
{
    char own[PATH_BYTES];

    return own_directory(up, own, sizeof own) && snprintf(path, size, "%s/%s", own, relative) < (int)size &&
           access(path, R_OK) == 0;
}

int themis_tools_find(const char *installed, const char *built, const char *fixed, char *path, size_t size)
{
    /* a tool in its build tree is tools/.libs/themis, or tools/themis when it was linked without libtool's wrapper */
    return try_path(1, installed, path, size) || try_path(2, built, path, size) || try_path(1, built, path, size) ||
           (snprintf(path, size, "%s", fixed) < (int)size && access(path, R_OK) == 0);
}

static int remove_entry(const char *path, const struct stat *stat, int type, struct FTW *position)
{
    return remove(path);
}

void themis_tools_remove_directory(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
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

/* --- starting ----------------------------------------------------------------------------------------------------- */

/* In the child: away from the terminal's signals, and ended with the tool unless it is to stay. */
static void become_server(const themis_tools_servers_options_t *options, int index, command_t *command)
{
    char log[PATH_BYTES];

    setsid();
    if (!options->keep) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
    } else {
        snprintf(log, sizeof log, "%s/server%d.log", options->directory, index);
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
    themis_config_env_default("UCX_NET_DEVICES", "lo");
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

/* 1 if a server has ended by itself. */
static int any_ended(themis_tools_servers_t *servers)
{
    int status;

    for (int i = 0; i < servers->count; i++)
        if (servers->pids[i] > 0 && waitpid(servers->pids[i], &status, WNOHANG) == servers->pids[i]) {
            servers->pids[i] = 0;
            return 1;
        }
    return 0;
}

/* Each server has answered once, in this session. */
static int all_answer(const char *list, int count)
{
    themis_options_t options;
    themis_t *session;
    char *text;
    int answered = 0;

    themis_options_init(&options);
    options.servers = list;
    options.timeout = THEMIS_NS_PER_S;
    if (themis_connect(&options, &session) != THEMIS_OK)
        return 0;
    while (answered < count && themis_query(session, (uint32_t)answered, "policy", &text) == THEMIS_OK) {
        free(text);
        answered++;
    }
    themis_disconnect(session);
    return answered == count;
}

static int await(const themis_tools_command_t *self, themis_tools_servers_t *servers)
{
    uint64_t until = themis_clock_now() + start_limit;

    while (themis_clock_now() < until) {
        if (any_ended(servers))
            return themis_tools_complain(self, "a server ended at once; its message is above, or in its log");
        if (all_answer(servers->list, servers->count))
            return THEMIS_TOOLS_OK;
        usleep(20000);
    }
    return themis_tools_complain(self, "the servers did not answer: %s", themis_last_error());
}

/* One attempt; the ports may be gone again by the time the servers want them. */
static int attempt(const themis_tools_command_t *self, const themis_tools_servers_options_t *options,
                   const char *program, themis_tools_servers_t *servers)
{
    *servers = (themis_tools_servers_t){.count = options->count};
    int result = choose_ports(self, servers);

    for (int i = 0; i < servers->count && result == THEMIS_TOOLS_OK; i++)
        result = start_one(self, options, program, i, servers);
    if (result == THEMIS_TOOLS_OK)
        result = await(self, servers);
    if (result != THEMIS_TOOLS_OK)
        themis_tools_servers_stop(servers);
    return result;
}

int themis_tools_servers_start(const themis_tools_command_t *self, const themis_tools_servers_options_t *options,
                               themis_tools_servers_t *servers)
{
    char program[PATH_BYTES];

    if (options->count < 1 || options->count > THEMIS_TOOLS_MAX_SERVERS)
        return themis_tools_complain(self, "the number of servers is to be 1 to %d", THEMIS_TOOLS_MAX_SERVERS);
    if (!themis_tools_find("sbin/themisd", "server/themisd", THEMIS_SBINDIR "/themisd", program, sizeof program))
        return themis_tools_complain(self, "themisd is not installed with this tool");
    int result = THEMIS_TOOLS_FAILED;
    for (int i = 0; i < START_ATTEMPTS && result != THEMIS_TOOLS_OK; i++)
        result = attempt(self, options, program, servers);
    return result;
}

/* --- ending ------------------------------------------------------------------------------------------------------- */

static int some_left(themis_tools_servers_t *servers)
{
    while (any_ended(servers))
        ;
    for (int i = 0; i < servers->count; i++)
        if (servers->pids[i] > 0)
            return 1;
    return 0;
}

void themis_tools_servers_stop(themis_tools_servers_t *servers)
{
    uint64_t until = themis_clock_now() + stop_limit;

    for (int i = 0; i < servers->count; i++)
        if (servers->pids[i] > 0)
            kill(servers->pids[i], SIGTERM);
    while (some_left(servers) && themis_clock_now() < until)
        usleep(5000);
    for (int i = 0; i < servers->count; i++)
        if (servers->pids[i] > 0) {
            kill(servers->pids[i], SIGKILL);
            waitpid(servers->pids[i], NULL, 0);
            servers->pids[i] = 0;
        }
}
