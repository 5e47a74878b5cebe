/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For each host there is a channel: the pipes to a launcher and through it to the agent (tools/agent.c). First all
 * agents reserve ports, so that each server can be given the addresses of all. The servers of the first host start
 * before the others, so that what no server accepts is told once. The end of a pipe, for whatever reason, ends the
 * servers behind it.
 */
#define _GNU_SOURCE
#include "tools/host_servers.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tools/agent.h"
#include "tools/command.h"
#include "tools/launcher.h"
#include "tools/lines.h"
#include "tools/reach.h"
#include "util/clock.h"
#include "util/config.h"

enum { PATH_BYTES = 4096, LOOK_MS = 100 };
static const uint64_t start_limit = 120 * THEMIS_NS_PER_S, stop_limit = 20 * THEMIS_NS_PER_S,
                      reach_limit = 3 * THEMIS_NS_PER_S;

typedef enum channel_state { CHANNEL_ASKED, CHANNEL_RESERVED, CHANNEL_STARTING, CHANNEL_READY, CHANNEL_GONE } state_t;

typedef struct channel {
    const char *host; /* borrowed */
    char *launched;   /* the launcher's command, for messages; owned */
    char *addresses;  /* of its servers, "address:port,..."; owned */
    pid_t pid;        /* of the launcher; 0: it has ended */
    int input;        /* writing end; -1: closed */
    themis_tools_lines_t output;
    int first, count; /* its servers */
    state_t state;
    uint64_t heard;
} channel_t;

struct themis_tools_host_servers {
    const themis_tools_host_servers_options_t *options;
    channel_t *channels;
    int channel_count, count;
    char *list; /* of all; owned */
    uint64_t beat;
    int stopping;                                /* 1: what ends now is meant to */
    uint8_t key[THEMIS_TOOLS_KEY_BYTES];         /* among servers; cleared when all have started */
    char secret[2 * THEMIS_TOOLS_KEY_BYTES + 1]; /* of the job, in hexadecimal digits: servers serve who has it */
};

/* --- channels ----------------------------------------------------------------------------------------------------- */

/* What does not fit into the pipe is lost, and the channel with it: its launcher has not read for hours. */
__attribute__((format(printf, 2, 3))) static void channel_say(channel_t *channel, const char *format, ...)
{
    char *line = NULL;
    va_list list;

    va_start(list, format);
    int length = channel->input < 0 ? -1 : vasprintf(&line, format, list);
    va_end(list);
    if (length < 0)
        return;
    if (write(channel->input, line, (size_t)length) != length) {
        close(channel->input);
        channel->input = -1;
    }
    explicit_bzero(line, (size_t)length); /* the key may be in it */
    free(line);
}

static char *words_join(const themis_tools_launcher_command_t *command)
{
    char *joined = strdup("");

    for (int i = 0; i < command->count && joined; i++) {
        char *longer = NULL;
        if (asprintf(&longer, "%s%s%s", joined, i ? " " : "", command->words[i]) < 0)
            longer = NULL;
        free(joined);
        joined = longer;
    }
    return joined;
}

/* In the child. */
static void launcher_exec(const themis_tools_launcher_command_t *command, int input, int output)
{
    sigset_t none;

    dup2(input, STDIN_FILENO);
    dup2(output, STDOUT_FILENO);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    signal(SIGPIPE, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    unsetenv("LD_PRELOAD"); /* it is for the program */
    unsetenv("NOTIFY_SOCKET");
    execvp(command->words[0], command->words);
    themis_tools_error("launcher %s: %s; --launcher chooses another", command->words[0], strerror(errno));
    _exit(127);
}

static int channel_fork(channel_t *channel, const themis_tools_launcher_command_t *command)
{
    int in[2], out[2];

    if (pipe2(in, O_CLOEXEC) != 0)
        return themis_tools_error_errno("a launcher could not be started");
    if (pipe2(out, O_CLOEXEC) != 0) {
        close(in[0]);
        close(in[1]);
        return themis_tools_error_errno("a launcher could not be started");
    }
    pid_t pid = fork();
    if (pid == 0)
        launcher_exec(command, in[0], out[1]);
    close(in[0]);
    close(out[1]);
    channel->input = in[1];
    fcntl(in[1], F_SETFL, O_WRONLY | O_NONBLOCK);
    if (themis_tools_lines_init(&channel->output, out[0]) != 0 || pid < 0)
        return themis_tools_error("a launcher could not be started: %s", strerror(pid < 0 ? errno : ENOMEM));
    channel->pid = pid;
    return THEMIS_TOOLS_OK;
}

/* On this host no launcher is needed. */
static int channel_open(const themis_tools_host_servers_options_t *options, channel_t *channel, int host)
{
    const char *launcher = options->launcher ? options->launcher : themis_tools_launcher_default(options->hosts);
    themis_tools_launcher_command_t command = {.count = 0};
    static char agent[] = "agent";
    char self[PATH_BYTES];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

    if (length < 0)
        return themis_tools_error_errno("/proc/self/exe");
    self[length] = '\0';
    int result = THEMIS_TOOLS_OK;
    if (themis_tools_host_is_this(channel->host)) {
        command.words[0] = strdup(self);
        command.words[1] = strdup(agent);
        command.count = 2;
    } else {
        result = themis_tools_launcher_build(launcher, options->hosts, host, (const char *[]){self, agent}, &command);
    }
    if (result == THEMIS_TOOLS_OK) {
        channel->launched = words_join(&command);
        result = channel_fork(channel, &command);
    }
    themis_tools_launcher_free(&command);
    return result;
}

static int env_say(void *arg, const char *variable)
{
    channel_say(arg, "env %s\n", variable);
    return 0;
}

/* What the agent needs to reserve ports. */
static void channel_greet(themis_tools_host_servers_t *servers, channel_t *channel)
{
    const themis_tools_local_servers_options_t *options = servers->options->servers;
    const struct {
        const char *word, *text;
    } texts[] = {{"host", channel->host},
                 {"network", servers->options->network},
                 {"size", options->size},
                 {"policy", options->policy},
                 {"settings", options->settings}};
    char key[2 * sizeof servers->key + 1];

    channel_say(channel, "version %d\n", THEMIS_TOOLS_AGENT_VERSION);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].text)
            channel_say(channel, "%s %s\n", texts[i].word, texts[i].text);
    themis_util_config_env_each("UCX_", env_say, channel);
    channel_say(channel, "secret %s\n", servers->secret);
    if (servers->count > 1) {
        themis_tools_hex_write(servers->key, sizeof servers->key, key);
        channel_say(channel, "key %s\n", key);
        explicit_bzero(key, sizeof key);
    }
    channel_say(channel, "reserve %d\n", channel->count);
}

/* --- what agents say ---------------------------------------------------------------------------------------------- */

static int channel_fail(themis_tools_host_servers_t *servers, channel_t *channel, const char *why)
{
    state_t state = channel->state;

    channel->state = CHANNEL_GONE;
    if (servers->stopping)
        return THEMIS_TOOLS_OK;
    if (state < CHANNEL_READY)
        return themis_tools_error("%s: %s before its servers had started; launched was: %s", channel->host, why,
                                  channel->launched);
    if (channel->count == 1)
        themis_tools_note("%s: %s: server %d and what is on it are gone", channel->host, why, channel->first);
    else
        themis_tools_note("%s: %s: servers %d to %d and what is on them are gone", channel->host, why, channel->first,
                          channel->first + channel->count - 1);
    return THEMIS_TOOLS_FAILED;
}

/* "ADDRESS:PORT,...", as many as were asked for. */
static int ports_take(channel_t *channel, const char *text)
{
    int count = 1;

    for (const char *at = text; (at = strchr(at, ',')); at++)
        count++;
    if (channel->state != CHANNEL_ASKED || count != channel->count || text[strspn(text, "0123456789.:,")] != '\0')
        return themis_tools_error("%s: its agent offers '%.100s' for %d servers", channel->host, text, channel->count);
    channel->addresses = strdup(text);
    channel->state = CHANNEL_RESERVED;
    return channel->addresses ? THEMIS_TOOLS_OK : themis_tools_error("out of memory");
}

static int line_take(themis_tools_host_servers_t *servers, channel_t *channel, const char *line)
{
    const size_t prefix = sizeof THEMIS_TOOLS_AGENT_PREFIX - 1;
    int number, status;

    if (strncmp(line, THEMIS_TOOLS_AGENT_PREFIX, prefix) != 0) {
        fprintf(stderr, "%s\n", line); /* what the launcher or a login says */
        return THEMIS_TOOLS_OK;
    }
    line += prefix;
    channel->heard = themis_util_clock_now();
    if (strncmp(line, "ports ", 6) == 0)
        return ports_take(channel, line + 6);
    if (strcmp(line, "ready") == 0 && channel->state == CHANNEL_STARTING)
        channel->state = CHANNEL_READY;
    else if (sscanf(line, "ended %d %d", &number, &status) == 2 && !servers->stopping)
        themis_tools_server_ended_tell(number, channel->host, status);
    return THEMIS_TOOLS_OK;
}

static int channel_hear(themis_tools_host_servers_t *servers, channel_t *channel)
{
    int result = THEMIS_TOOLS_OK;
    char *line;

    if (channel->state == CHANNEL_GONE || !channel->output.text)
        return THEMIS_TOOLS_OK;
    while (result == THEMIS_TOOLS_OK && (line = themis_tools_lines_next(&channel->output)))
        result = line_take(servers, channel, line);
    if (result == THEMIS_TOOLS_OK && channel->output.ended)
        return channel_fail(servers, channel, "its agent has ended");
    if (result == THEMIS_TOOLS_OK && themis_util_clock_now() - channel->heard > THEMIS_TOOLS_AGENT_SILENCE &&
        channel->state == CHANNEL_READY)
        return channel_fail(servers, channel, "nothing is heard of it");
    return result;
}

static void channels_beat(themis_tools_host_servers_t *servers)
{
    uint64_t now = themis_util_clock_now();

    if (now - servers->beat < THEMIS_TOOLS_AGENT_BEAT)
        return;
    servers->beat = now;
    for (int i = 0; i < servers->channel_count; i++)
        channel_say(&servers->channels[i], "alive\n");
}

/* Waits for at most LOOK_MS, and hears all. */
static int channels_hear(themis_tools_host_servers_t *servers)
{
    struct pollfd polled[THEMIS_TOOLS_MAX_HOST_SERVERS];
    int result = THEMIS_TOOLS_OK;

    for (int i = 0; i < servers->channel_count; i++) {
        const channel_t *channel = &servers->channels[i];
        int fd = channel->state == CHANNEL_GONE || channel->output.ended ? -1 : channel->output.fd;
        polled[i] = (struct pollfd){.fd = fd, .events = POLLIN};
    }
    poll(polled, (nfds_t)servers->channel_count, LOOK_MS);
    for (int i = 0; i < servers->channel_count && result == THEMIS_TOOLS_OK; i++)
        result = channel_hear(servers, &servers->channels[i]);
    channels_beat(servers);
    return result;
}

/* Until channels `from` to `to` have that state. */
static int state_await(themis_tools_host_servers_t *servers, int from, int to, state_t state)
{
    uint64_t until = themis_util_clock_now() + start_limit;
    int (*cancelled)(void) = servers->options->servers->cancelled;
    int at = from;

    while (at < to) {
        int result = channels_hear(servers);
        if (result != THEMIS_TOOLS_OK)
            return result;
        while (at < to && servers->channels[at].state >= state)
            at++;
        if (at < to && cancelled && cancelled())
            return THEMIS_TOOLS_FAILED;
        if (at < to && themis_util_clock_now() > until)
            return themis_tools_error("%s: no word of its servers within %u s; launched was: %s",
                                      servers->channels[at].host, (unsigned)(start_limit / THEMIS_NS_PER_S),
                                      servers->channels[at].launched);
    }
    return THEMIS_TOOLS_OK;
}

/* --- start -------------------------------------------------------------------------------------------------------- */

/* Which hosts get how many. */
static int servers_spread(themis_tools_host_servers_t *servers)
{
    const themis_tools_hosts_t *hosts = servers->options->hosts;
    const themis_tools_local_servers_options_t *options = servers->options->servers;
    int64_t count = options->per_node ? (int64_t)options->count * hosts->count : options->count;

    if (count > THEMIS_TOOLS_MAX_HOST_SERVERS)
        return themis_tools_misuse("-s %s on %d hosts: more than %d servers", options->number, hosts->count,
                                   THEMIS_TOOLS_MAX_HOST_SERVERS);
    servers->count = (int)count;
    servers->channel_count = servers->count < hosts->count ? servers->count : hosts->count;
    servers->channels = calloc((size_t)servers->channel_count, sizeof *servers->channels);
    if (!servers->channels)
        return themis_tools_error("out of memory");
    for (int i = 0, first = 0; i < servers->channel_count; i++) {
        channel_t *channel = &servers->channels[i];
        channel->input = channel->output.fd = -1;
        channel->count = servers->count / servers->channel_count + (i < servers->count % servers->channel_count);
        channel->first = first;
        first += channel->count;
        if (channel->count > THEMIS_TOOLS_MAX_SERVERS)
            return themis_tools_misuse("more than %d servers on a host", THEMIS_TOOLS_MAX_SERVERS);
    }
    return THEMIS_TOOLS_OK;
}

static int channels_open(themis_tools_host_servers_t *servers)
{
    const themis_tools_hosts_t *hosts = servers->options->hosts;
    int result = THEMIS_TOOLS_OK;

    for (int i = 0; i < servers->channel_count && result == THEMIS_TOOLS_OK; i++) {
        channel_t *channel = &servers->channels[i];
        int host = (int)((int64_t)i * hosts->count / servers->channel_count);
        channel->host = hosts->names[host];
        channel->heard = themis_util_clock_now();
        result = channel_open(servers->options, channel, host);
        if (result == THEMIS_TOOLS_OK)
            channel_greet(servers, channel);
    }
    return result;
}

static int list_make(themis_tools_host_servers_t *servers)
{
    size_t bytes = 1;

    for (int i = 0; i < servers->channel_count; i++)
        bytes += strlen(servers->channels[i].addresses) + 1;
    char *at = servers->list = malloc(bytes);
    if (!at)
        return themis_tools_error("out of memory");
    for (int i = 0; i < servers->channel_count; i++)
        at += sprintf(at, "%s%s", i ? "," : "", servers->channels[i].addresses);
    return THEMIS_TOOLS_OK;
}

static int channels_start(themis_tools_host_servers_t *servers, int from, int to)
{
    for (int i = from; i < to; i++) {
        servers->channels[i].state = CHANNEL_STARTING;
        channel_say(&servers->channels[i], "start %d %s\n", servers->channels[i].first, servers->list);
    }
    return state_await(servers, from, to, CHANNEL_READY);
}

/* Servers that listen at an address which this host does not reach would be missed by the program only. */
static int reach_check(themis_tools_host_servers_t *servers)
{
    unsigned char down[THEMIS_TOOLS_MAX_HOST_SERVERS];
    unsigned answering;

    themis_tools_reach(servers->list, reach_limit, down, (unsigned)servers->count, &answering);
    for (int i = 0; i < servers->channel_count; i++) {
        const channel_t *channel = &servers->channels[i];
        if (answering == 0 || down[channel->first])
            return themis_tools_error("%s: its servers listen at %s, which this host does not reach; --network chooses "
                                      "the interface or network of the addresses",
                                      channel->host, channel->addresses);
    }
    return THEMIS_TOOLS_OK;
}

/* The two are independent: who is given the secret must not be able to make what servers alone make. */
static int keys_make(themis_tools_host_servers_t *servers)
{
    uint8_t secret[THEMIS_TOOLS_KEY_BYTES];

    if (getrandom(servers->key, sizeof servers->key, 0) != sizeof servers->key ||
        getrandom(secret, sizeof secret, 0) != sizeof secret)
        return themis_tools_error_errno("a key for the servers");
    themis_tools_hex_write(secret, sizeof secret, servers->secret);
    explicit_bzero(secret, sizeof secret);
    return THEMIS_TOOLS_OK;
}

static int servers_launch(themis_tools_host_servers_t *servers)
{
    int result = keys_make(servers);

    if (result == THEMIS_TOOLS_OK)
        result = servers_spread(servers);
    if (result == THEMIS_TOOLS_OK)
        result = channels_open(servers);
    if (result == THEMIS_TOOLS_OK)
        result = state_await(servers, 0, servers->channel_count, CHANNEL_RESERVED);
    if (result == THEMIS_TOOLS_OK)
        result = list_make(servers);
    if (result == THEMIS_TOOLS_OK)
        result = channels_start(servers, 0, 1);
    if (result == THEMIS_TOOLS_OK)
        result = channels_start(servers, 1, servers->channel_count);
    return result == THEMIS_TOOLS_OK ? reach_check(servers) : result;
}

int themis_tools_host_servers_start(const themis_tools_host_servers_options_t *options,
                                    themis_tools_host_servers_t **servers)
{
    themis_tools_host_servers_t *started = calloc(1, sizeof *started);

    *servers = NULL;
    if (!started)
        return themis_tools_error("out of memory");
    started->options = options;
    signal(SIGPIPE, SIG_IGN);
    int result = servers_launch(started);
    explicit_bzero(started->key, sizeof started->key);
    if (result == THEMIS_TOOLS_OK)
        *servers = started;
    else
        themis_tools_host_servers_stop(started, NULL);
    return result;
}

const char *themis_tools_host_servers_list(const themis_tools_host_servers_t *servers)
{
    return servers->list;
}

const char *themis_tools_host_servers_secret(const themis_tools_host_servers_t *servers)
{
    return servers->secret;
}

int themis_tools_host_servers_count(const themis_tools_host_servers_t *servers)
{
    return servers->count;
}

/* --- while they run, and their end -------------------------------------------------------------------------------- */

static channel_t *channel_of(const themis_tools_host_servers_t *servers, pid_t pid)
{
    for (int i = 0; i < servers->channel_count; i++)
        if (servers->channels[i].pid == pid)
            return &servers->channels[i];
    return NULL;
}

int themis_tools_host_servers_own(const themis_tools_host_servers_t *servers, pid_t pid)
{
    return channel_of(servers, pid) != NULL;
}

void themis_tools_host_servers_ended(themis_tools_host_servers_t *servers, pid_t pid, int status)
{
    channel_t *channel = channel_of(servers, pid);
    char why[64];

    if (!channel)
        return;
    channel->pid = 0;
    channel_hear(servers, channel); /* its last words */
    if (channel->state == CHANNEL_GONE)
        return;
    snprintf(why, sizeof why, "its launcher has ended, %s %d", WIFSIGNALED(status) ? "by signal" : "with status",
             WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    channel_fail(servers, channel, why);
}

void themis_tools_host_servers_look(themis_tools_host_servers_t *servers)
{
    for (int i = 0; i < servers->channel_count; i++)
        channel_hear(servers, &servers->channels[i]);
    channels_beat(servers);
}

/* Waits for launchers that have ended; 1 if one still runs. */
static int any_runs(themis_tools_host_servers_t *servers)
{
    int running = 0;

    for (int i = 0; i < servers->channel_count; i++) {
        channel_t *channel = &servers->channels[i];
        if (channel->pid > 0 && waitpid(channel->pid, NULL, WNOHANG) != 0)
            channel->pid = 0;
        running |= channel->pid > 0;
    }
    return running;
}

static void channel_close(channel_t *channel)
{
    if (channel->pid > 0) {
        kill(channel->pid, SIGKILL);
        waitpid(channel->pid, NULL, 0);
    }
    if (channel->input >= 0)
        close(channel->input);
    if (channel->output.fd >= 0)
        close(channel->output.fd);
    themis_tools_lines_free(&channel->output);
    free(channel->launched);
    free(channel->addresses);
}

void themis_tools_host_servers_stop(themis_tools_host_servers_t *servers, int (*cancelled)(void))
{
    uint64_t until = themis_util_clock_now() + stop_limit;

    if (!servers)
        return;
    servers->stopping = 1;
    for (int i = 0; i < servers->channel_count; i++) {
        channel_t *channel = &servers->channels[i];
        channel_say(channel, "stop\n");
        if (channel->input >= 0)
            close(channel->input);
        channel->input = -1;
    }
    /* they are heard meanwhile, so that no launcher waits for room in a pipe */
    while (any_runs(servers) && themis_util_clock_now() < until && !(cancelled && cancelled())) {
        channels_hear(servers);
        usleep(5000);
    }
    for (int i = 0; i < servers->channel_count; i++)
        channel_close(&servers->channels[i]);
    explicit_bzero(servers->secret, sizeof servers->secret);
    free(servers->channels);
    free(servers->list);
    free(servers);
}
