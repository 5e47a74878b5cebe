/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * themis agent: the servers of a `themis run` on another host. It gets lines on standard input and answers on standard
 * output, "themis-agent WORD ..."; launchers may write others between them.
 *
 *   host NAME              as the job names it            version NUMBER   of this protocol, before all others
 *   network TEXT           to choose the address          env NAME=VALUE   for the servers
 *   size, policy, settings TEXT  as in `themis run`       key HEX          that servers share
 *   secret HEX             of who they serve
 *   reserve N              answer: ports ADDRESS:PORT,...
 *   start FIRST LIST       servers FIRST.. of the list; answer: ready, later also: ended NUMBER STATUS
 *   alive                  answer: alive
 *   stop                   ends servers and agent, as does the end of standard input
 *
 * The signals of a batch system are meant for the ranks: only who started the agent decides when the servers end, since
 * files may have to be copied from them before. If nothing is heard of it for a minute, its host is lost.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tools/address.h"
#include "tools/agent.h"
#include "tools/command.h"
#include "tools/lines.h"
#include "tools/local_servers.h"
#include "util/clock.h"
#include "util/config.h"

static struct {
    themis_tools_local_servers_options_t options;
    themis_tools_local_servers_t servers;
    themis_tools_lines_t input;
    char *host, *network, *size, *policy, *settings; /* owned */
    uint8_t key[THEMIS_TOOLS_KEY_BYTES];
    int greeted, reserved, started, stopped;
    uint64_t heard;
} agent;

__attribute__((format(printf, 1, 2))) static void answer(const char *format, ...)
{
    va_list list;

    fputs(THEMIS_TOOLS_AGENT_PREFIX, stdout);
    va_start(list, format);
    vfprintf(stdout, format, list);
    va_end(list);
    fputc('\n', stdout);
    if (fflush(stdout) != 0)
        agent.stopped = 1;
}

/* --- what is asked for; each returns a status of the tool ----------------------------------------------------------
 */

static int version_check(char *text)
{
    int64_t version;

    if (themis_util_config_integer(text, 0, INT32_MAX, &version) != THEMIS_OK || version != THEMIS_TOOLS_AGENT_VERSION)
        return themis_tools_error("this host has another version of Themis (of agents: %d, not %s)",
                                  THEMIS_TOOLS_AGENT_VERSION, text);
    agent.greeted = 1;
    return THEMIS_TOOLS_OK;
}

static int text_keep(char **kept, const char *text)
{
    free(*kept);
    *kept = strdup(text);
    return *kept ? THEMIS_TOOLS_OK : themis_tools_error("out of memory");
}

static int env_take(char *text)
{
    char *equals = strchr(text, '=');

    if (!equals)
        return themis_tools_error("env %s: expected NAME=VALUE", text);
    *equals = '\0';
    return setenv(text, equals + 1, 1) == 0 ? THEMIS_TOOLS_OK : themis_tools_error_errno("env");
}

static int key_take(char *text)
{
    if (themis_tools_hex_read(text, agent.key, sizeof agent.key) != 0)
        return themis_tools_error("key: expected %zu bytes in hexadecimal digits", sizeof agent.key);
    agent.options.key = agent.key;
    return THEMIS_TOOLS_OK;
}

/* The servers inherit it. */
static int secret_take(char *text)
{
    uint8_t secret[THEMIS_TOOLS_KEY_BYTES];

    if (themis_tools_hex_read(text, secret, sizeof secret) != 0)
        return themis_tools_error("secret: expected %zu bytes in hexadecimal digits", sizeof secret);
    explicit_bzero(secret, sizeof secret);
    unsetenv("THEMIS_SECRET_FILE");
    return setenv("THEMIS_SECRET", text, 1) == 0 ? THEMIS_TOOLS_OK : themis_tools_error_errno("secret");
}

static int reserve(char *text)
{
    struct in_addr address;

    if (!agent.host || agent.reserved)
        return themis_tools_error("reserve: it comes once, after the host");
    agent.options.number = text;
    agent.options.size = agent.size;
    agent.options.policy = agent.policy;
    agent.options.settings = agent.settings;
    int result = themis_tools_local_servers_check(&agent.options);
    if (result == THEMIS_TOOLS_OK)
        result = themis_tools_address_choose(agent.host, agent.network, &address);
    if (result == THEMIS_TOOLS_OK)
        result = themis_tools_local_servers_reserve(&agent.options, address, &agent.servers);
    if (result != THEMIS_TOOLS_OK)
        return result;
    agent.reserved = 1;
    answer("ports %s", agent.servers.list);
    return THEMIS_TOOLS_OK;
}

/* The servers keep the ports that all others have been told of. */
static int start(char *text)
{
    uint16_t ports[THEMIS_TOOLS_MAX_SERVERS];
    int64_t first;
    char *list = strchr(text, ' ');

    if (!agent.reserved || agent.started || !list)
        return themis_tools_error("start: it comes once, after reserve, with the first number and a list");
    *list++ = '\0';
    if (themis_util_config_integer(text, 0, INT16_MAX, &first) != THEMIS_OK)
        return themis_tools_error("start %s: not a number of a server", text);
    memcpy(ports, agent.servers.ports, sizeof ports);
    agent.started = 1;
    int result = themis_tools_local_servers_launch(&agent.options, list, (int)first, &agent.servers);
    if (result != THEMIS_TOOLS_OK)
        return result;
    if (memcmp(ports, agent.servers.ports, sizeof ports) != 0)
        return themis_tools_error("-o port: servers of several hosts choose their own ports");
    answer("ready");
    return THEMIS_TOOLS_OK;
}

static int alive(char *text)
{
    (void)text;
    answer("alive");
    return THEMIS_TOOLS_OK;
}

static int stop(char *text)
{
    (void)text;
    agent.stopped = 1;
    return THEMIS_TOOLS_OK;
}

static int line_serve(char *line)
{
    static const struct {
        const char *word;
        char **kept;              /* the text is kept there, or */
        int (*serve)(char *text); /* that is done */
    } words[] = {{"version", NULL, version_check},
                 {"host", &agent.host, NULL},
                 {"network", &agent.network, NULL},
                 {"size", &agent.size, NULL},
                 {"policy", &agent.policy, NULL},
                 {"settings", &agent.settings, NULL},
                 {"env", NULL, env_take},
                 {"key", NULL, key_take},
                 {"secret", NULL, secret_take},
                 {"reserve", NULL, reserve},
                 {"start", NULL, start},
                 {"alive", NULL, alive},
                 {"stop", NULL, stop}};
    char *text = strchr(line, ' '), none[] = "";

    if (text)
        *text++ = '\0';
    agent.heard = themis_util_clock_now();
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(words[i].word, line) != 0)
            continue;
        if (!agent.greeted && words[i].serve != version_check)
            return themis_tools_error("this command is for 'themis run', which sends its version first");
        return words[i].kept ? text_keep(words[i].kept, text ? text : none) : words[i].serve(text ? text : none);
    }
    return themis_tools_error("'%s' is no word of 'themis run'", line);
}

/* --- life --------------------------------------------------------------------------------------------------------- */

/* While servers start nothing is asked for; the end of standard input cancels. */
static int is_cancelled(void)
{
    struct pollfd polled = {.fd = agent.input.fd, .events = POLLRDHUP};

    return poll(&polled, 1, 0) > 0 && (polled.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL));
}

static void children_reap(void)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        int number = themis_tools_local_servers_ended(&agent.servers, pid);
        if (number >= 0)
            answer("ended %d %d", number, status);
    }
}

static int input_serve(void)
{
    int result = THEMIS_TOOLS_OK;
    char *line;

    while (result == THEMIS_TOOLS_OK && !agent.stopped && (line = themis_tools_lines_next(&agent.input)))
        result = line_serve(line);
    if (agent.input.ended)
        agent.stopped = 1;
    return result;
}

/* Sleeps until there is input or a child has ended, or until it is time to look at the clock. */
static void event_await(int children)
{
    struct pollfd polled[] = {{.fd = agent.input.fd, .events = POLLIN}, {.fd = children, .events = POLLIN}};
    struct signalfd_siginfo taken;

    if (poll(polled, 2, (int)(THEMIS_TOOLS_AGENT_BEAT / THEMIS_NS_PER_MS)) > 0 && (polled[1].revents & POLLIN) &&
        read(children, &taken, sizeof taken) < 0)
        return;
    children_reap();
}

static int agent_serve(int children)
{
    int result = THEMIS_TOOLS_OK;

    while (result == THEMIS_TOOLS_OK && !agent.stopped) {
        event_await(children);
        result = input_serve();
        if (themis_util_clock_now() - agent.heard > THEMIS_TOOLS_AGENT_SILENCE) {
            themis_tools_note("%s: nothing was heard of 'themis run' for %u s: its servers end",
                              agent.host ? agent.host : "", (unsigned)(THEMIS_TOOLS_AGENT_SILENCE / THEMIS_NS_PER_S));
            break;
        }
    }
    return result;
}

static void signals_ignore(void)
{
    static const int ignored[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE, SIGXCPU};

    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        signal(ignored[i], SIG_IGN);
}

static int run_agent(int argc, char **argv)
{
    sigset_t child;

    (void)argv;
    if (argc != 1)
        return themis_tools_usage();
    signals_ignore();
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_SETMASK, &child, NULL);
    int children = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    if (children < 0 || themis_tools_lines_init(&agent.input, STDIN_FILENO) != 0)
        return themis_tools_error_errno("agent");
    agent.heard = themis_util_clock_now();
    agent.options.cancelled = is_cancelled;
    int result = agent_serve(children);
    themis_tools_local_servers_stop(&agent.servers, NULL);
    themis_tools_lines_free(&agent.input);
    close(children);
    return result;
}

const themis_tools_command_t themis_tools_agent = {
    "agent", "", "Serves 'themis run' on a host of its job; not for users.", NULL, run_agent};
