/* SPDX-License-Identifier: BSD-3-Clause */
/* themisd: options, daemon, signals. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <config.h>
#include "server/drain.h"
#include "server/engine.h"
#include "server/host_check.h"
#include "server/lifecycle.h"
#include "server/notify.h"
#include "util/clock.h"
#include "util/config.h"
#include "util/log.h"

enum { MAX_OPTIONS = 128, ERROR_BYTES = 1024, EXIT_USAGE = 2 };

typedef struct command_line {
    const char *file, *pid_file, *port_file, *port_fd, *key_fd;
    int daemon, check;
    /* options of the configuration, in their order: they are set again whenever the file is read */
    const char *names[MAX_OPTIONS], *values[MAX_OPTIONS];
    int count;
} command_line_t;

static void usage(FILE *out)
{
    fprintf(out, "usage: themisd [-c FILE] [OPTION VALUE]...\n"
                 "  -c, --config       file to read; options override it\n"
                 "  --daemon           goes to the background once it listens\n"
                 "  --pid-file         file for the process id\n"
                 "  --port-file        file for the port, written when the server is ready\n"
                 "  --port-fd          the same for an open file descriptor, which is closed then\n"
                 "  --key-fd           open file descriptor that has the key of clients' rights\n"
                 "  --check            checks the configuration and exits\n"
                 "  -h, --help; -V, --version\n"
                 "keys of the configuration file as options (doc/configuration.md):\n");
    themis_server_config_help(out);
}

/* The value of an option: after '=', or the next argument; NULL with a message if there is none. */
static const char *option_value(char **argv, int *at, char *equals)
{
    if (equals)
        return equals + 1;
    if (!argv[*at + 1]) {
        fprintf(stderr, "themisd: %s needs a value\n", argv[*at]);
        return NULL;
    }
    return argv[++*at];
}

static int option_set(command_line_t *line, const char *name, const char *value)
{
    const char **own = strcmp(name, "config") == 0      ? &line->file
                       : strcmp(name, "pid-file") == 0  ? &line->pid_file
                       : strcmp(name, "port-file") == 0 ? &line->port_file
                       : strcmp(name, "port-fd") == 0   ? &line->port_fd
                       : strcmp(name, "key-fd") == 0    ? &line->key_fd
                                                        : NULL;

    if (own) {
        *own = value;
        return 0;
    }
    if (line->count == MAX_OPTIONS) {
        fprintf(stderr, "themisd: more than %d options: use a configuration file\n", MAX_OPTIONS);
        return -1;
    }
    line->names[line->count] = name;
    line->values[line->count++] = value;
    return 0;
}

/* 0: go on; else the exit status plus 1. */
static int command_line_parse(command_line_t *line, char **argv)
{
    for (int at = 1; argv[at]; at++) {
        char *word = strcmp(argv[at], "-c") == 0 ? (char *)"--config" : argv[at];
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            usage(stdout);
            return 1 + EXIT_SUCCESS;
        }
        if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
            printf("themisd %s\n", PACKAGE_VERSION);
            return 1 + EXIT_SUCCESS;
        }
        if (strcmp(word, "--daemon") == 0 || strcmp(word, "--check") == 0) {
            *(word[2] == 'd' ? &line->daemon : &line->check) = 1;
            continue;
        }
        if (strncmp(word, "--", 2) != 0) {
            fprintf(stderr, "themisd: \"%s\" is not an option; --help lists them\n", word);
            return 1 + EXIT_USAGE;
        }
        char *equals = strchr(word, '=');
        const char *value = option_value(argv, &at, equals);
        if (equals)
            *equals = 0;
        if (!value || option_set(line, word + 2, value) < 0)
            return 1 + EXIT_USAGE;
    }
    return 0;
}

/* The number of an open file descriptor; -1: it is none. */
static int descriptor_parse(const char *text)
{
    int64_t fd;

    return themis_util_config_integer(text, STDERR_FILENO + 1, INT_MAX, &fd) == THEMIS_OK ? (int)fd : -1;
}

static themis_status_t key_fd_set(const char *text, themis_server_config_t *config, char error[ERROR_BYTES])
{
    config->key_fd = text ? descriptor_parse(text) : -1;
    if (!text || config->key_fd >= 0)
        return THEMIS_OK;
    snprintf(error, ERROR_BYTES, "--key-fd %.20s: expected the number of an open file descriptor from 3", text);
    return THEMIS_PARSE;
}

static themis_status_t config_load(const command_line_t *line, themis_server_config_t *config, char error[ERROR_BYTES])
{
    themis_status_t status = THEMIS_OK;

    themis_server_config_init(config);
    if (line->file)
        status = themis_server_config_read(config, line->file, error, ERROR_BYTES);
    for (int i = 0; i < line->count && status == THEMIS_OK; i++)
        status = themis_server_config_set(config, line->names[i], line->values[i], error, ERROR_BYTES);
    if (status == THEMIS_OK)
        status = key_fd_set(line->key_fd, config, error);
    if (status == THEMIS_OK)
        status = themis_server_config_check(config, error, ERROR_BYTES);
    return status;
}

/* The file appears with its content, since others wait for it. */
static int write_number(const char *path, long number)
{
    char fresh[4200];
    int length = snprintf(fresh, sizeof fresh, "%s.new", path);
    FILE *file = NULL;

    if (length < (int)sizeof fresh)
        file = fopen(fresh, "we");
    else
        errno = ENAMETOOLONG;
    if (!file || fprintf(file, "%ld\n", number) < 0 || fclose(file) != 0 || rename(fresh, path) != 0) {
        themis_error("cannot write %s: %s", path, strerror(errno));
        return -1;
    }
    return 0;
}

/* Who started this server reads the port from a pipe; without it the pipe's end says that the server has ended. */
static int port_report(const char *fd_text, unsigned port)
{
    int fd = descriptor_parse(fd_text);

    if (fd < 0) {
        themis_error("--port-fd %s: expected the number of an open file descriptor from 3", fd_text);
        return -1;
    }
    if (dprintf(fd, "%u\n", port) < 0 || close(fd) != 0) {
        themis_error("cannot write to --port-fd %s: %s", fd_text, strerror(errno));
        return -1;
    }
    return 0;
}

/*
 * The child goes on; the parent waits for a byte from it, so that `themisd --daemon` returns when the server listens,
 * and shows whether it does. Returns the pipe's end in the child, and -1 - exit status in the parent.
 */
static int daemon_fork(void)
{
    int ends[2];
    char byte;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return -1 - EXIT_FAILURE;
    pid_t child = fork();
    if (child < 0)
        return -1 - EXIT_FAILURE;
    if (child > 0) {
        close(ends[1]);
        return read(ends[0], &byte, 1) == 1 ? -1 - EXIT_SUCCESS : -1 - EXIT_FAILURE;
    }
    close(ends[0]);
    setsid();
    return ends[1];
}

/* What started the daemon, for example ssh, may wait for the end of its output. Messages still go to a file. */
static void daemon_detach(int ready)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    struct stat messages;

    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
        if (fstat(STDERR_FILENO, &messages) != 0 || !S_ISREG(messages.st_mode))
            dup2(null, STDERR_FILENO);
        close(null);
    }
    if (write(ready, "", 1) != 1)
        themis_warn("the process that started this daemon has ended");
    close(ready);
}

/* Is standard error the journal's? systemd names the file behind it. */
static int is_journal(void)
{
    const char *name = themis_util_config_env("JOURNAL_STREAM");
    unsigned long long device, inode;
    struct stat messages;

    return name && sscanf(name, "%llu:%llu", &device, &inode) == 2 && fstat(STDERR_FILENO, &messages) == 0 &&
           messages.st_dev == device && messages.st_ino == inode;
}

/* Standard error becomes the file, also again after a rotation; an empty path leaves it. */
static int log_open(const char *path)
{
    int fd = *path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640) : -1;
    int failed = *path && (fd < 0 || dup2(fd, STDERR_FILENO) < 0);

    if (failed)
        themis_error("log_file = %s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    themis_util_log_set_journal(is_journal());
    return failed ? -1 : 0;
}

/* Who waits for the start: what started a daemon, by a pipe, and the terminal, if messages go to a file; -1: nobody. */
typedef struct start {
    int ready, terminal;
} start_t;

/* Messages go to the log file from here on; errors are seen on the terminal as well, until the server has started. */
static int start_log_open(start_t *start, const char *path)
{
    start->terminal = *path ? fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1) : -1;
    if (log_open(path) < 0)
        return -1;
    themis_util_log_copy_errors(start->terminal);
    return 0;
}

static void start_end(const start_t *start)
{
    int null = start->terminal >= 0 ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;

    themis_util_log_copy_errors(-1);
    if (null >= 0) { /* not closed: another thread may be about to write there */
        dup3(null, start->terminal, O_CLOEXEC);
        close(null);
    }
    if (start->ready >= 0)
        daemon_detach(start->ready);
}

static void config_reload(themis_server_t *server, const command_line_t *line)
{
    char error[ERROR_BYTES];
    themis_server_config_t *fresh = malloc(sizeof *fresh);

    themis_server_notify("RELOADING=1\nMONOTONIC_USEC=%llu", (unsigned long long)(themis_util_clock_now() / 1000));
    log_open(server->config.log_file); /* it may have been rotated */
    if (fresh && config_load(line, fresh, error) == THEMIS_OK) {
        if (strcmp(fresh->log_file, server->config.log_file) != 0)
            log_open(fresh->log_file);
        themis_server_reload(server, fresh);
    } else {
        themis_error("%s; the old configuration stays", fresh ? error : "out of memory");
    }
    free(fresh);
    themis_server_notify("READY=1");
}

static void handled_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGHUP);
    sigaddset(set, SIGUSR1);
}

typedef struct signals {
    themis_server_t *server;
    const command_line_t *line;
    sigset_t set;
} signals_t;

/* Handles all signals of the process; SIGUSR1, which only run sends, ends it. */
static void *signals_main(void *arg)
{
    signals_t *signals = arg;
    int number;

    while (sigwait(&signals->set, &number) == 0 && number != SIGUSR1) {
        if (number == SIGHUP)
            config_reload(signals->server, signals->line);
        else
            themis_server_drain_start(signals->server);
    }
    return NULL;
}

static void signals_end(pthread_t thread)
{
    pthread_kill(thread, SIGUSR1);
    pthread_join(thread, NULL);
}

static void warn_of_loss(const themis_server_config_t *config)
{
    if (strcmp(config->store, "arena") == 0 && !*config->directory && (*config->file || *config->state))
        themis_warn("store = arena: files last only as long as this process, also with %s = %s",
                    *config->file ? "file" : "state", *config->file ? config->file : config->state);
}

static int run(themis_server_t *server, const command_line_t *line, const start_t *start)
{
    signals_t signals = {.server = server, .line = line};
    pthread_t thread;

    handled_signals(&signals.set);
    int cause = pthread_create(&thread, NULL, signals_main, &signals);
    if (cause) {
        themis_error("cannot start a thread for signals: %s", strerror(cause));
        return EXIT_FAILURE;
    }
    if (themis_server_start(server) != THEMIS_OK) {
        signals_end(thread);
        return EXIT_FAILURE;
    }
    int failed = (line->pid_file && write_number(line->pid_file, (long)getpid()) < 0) ||
                 (line->port_file && write_number(line->port_file, server->port) < 0) ||
                 (line->port_fd && port_report(line->port_fd, server->port) < 0);
    pthread_mutex_lock(&server->lock); /* a client may change the policy already */
    themis_info("%s listens at port %u, store %s, policy %s", server->config.name, server->port,
                themis_store_type(server->store), server->config.policy);
    pthread_mutex_unlock(&server->lock);
    warn_of_loss(&server->config);
    if (failed)
        themis_server_drain_start(server);
    else
        start_end(start);
    if (!failed)
        themis_server_notify("READY=1\nMAINPID=%ld\nSTATUS=listens at port %u", (long)getpid(), server->port);
    themis_server_engine_join(server);
    signals_end(thread);
    if (line->pid_file)
        unlink(line->pid_file);
    if (line->port_file)
        unlink(line->port_file);
    themis_info("stopped");
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

static void set_up_process(const themis_server_config_t *config)
{
    themis_util_log_level_t level;
    struct rlimit files;
    sigset_t handled;

    /* before there are threads, those of libraries included: only signals_main receives them */
    handled_signals(&handled);
    pthread_sigmask(SIG_BLOCK, &handled, NULL);
    themis_util_log_set_name("themisd");
    themis_util_log_set_timestamps(1);
    if (themis_util_log_level_parse(config->log, &level) == 0)
        themis_util_log_set_level(level);
    /* freed memory is kept: mapping and unmapping stops every thread that moves bytes */
    mallopt(M_MMAP_THRESHOLD, 64 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    signal(SIGPIPE, SIG_IGN);
    /* connections take open files */
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

int main(int argc, char **argv)
{
    static themis_server_config_t config;
    char error[ERROR_BYTES] = "";
    command_line_t line = {0};
    themis_server_t *server;
    start_t start = {.ready = -1, .terminal = -1};

    int status = command_line_parse(&line, argv);
    if (status)
        return status - 1;
    if (config_load(&line, &config, error) != THEMIS_OK) {
        fprintf(stderr, "themisd: %s\n", error);
        return EXIT_USAGE;
    }
    if (line.check) {
        if (themis_server_host_check(&config, stdout, stderr) > 0)
            return EXIT_USAGE;
        printf("configuration is valid\n");
        return EXIT_SUCCESS;
    }
    set_up_process(&config);
    if (start_log_open(&start, config.log_file) < 0)
        return EXIT_FAILURE;
    if (line.daemon && (start.ready = daemon_fork()) < 0)
        return -1 - start.ready;
    if (themis_server_create(&config, &server) != THEMIS_OK)
        return EXIT_FAILURE;
    status = run(server, &line, &start);
    themis_server_destroy(server);
    return status;
}
