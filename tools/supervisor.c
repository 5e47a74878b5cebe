/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The supervisor is in a process group of its own, so that a signal to the tool's group leaves it, but in the same
 * session, so that the command stays in the foreground of its terminal. As a subreaper it becomes the parent of what
 * the command leaves behind. It takes all signals by sigwait; the kernel sends it one when the tool ends.
 */
#define _GNU_SOURCE
#include "tools/supervisor.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "tools/command.h"
#include "tools/ignored.h"
#include "util/clock.h"

#define TOOL_ENDED SIGRTMIN /* no constant; batch systems send other signals to all processes of a job */
enum { ROUND_NS = 5000000 };
static const uint64_t term_limit = THEMIS_NS_PER_S, kill_limit = 5 * THEMIS_NS_PER_S;
/* So long a signal of the terminal may take by way of the tool. */
static const uint64_t late_limit = 200 * THEMIS_NS_PER_MS;

static volatile sig_atomic_t supervisor_pid; /* in the tool, for the handler */

/* Of the supervisor. */
static struct {
    sigset_t signals, before; /* that it takes; the mask of the command */
    pid_t tool, group;        /* of the tool */
    int ended_by;
    int command_runs;
    uint64_t command_ended; /* when */
} self;

/* What the tool and the supervisor handle otherwise than the command, which gets what the tool was started with. */
static const struct {
    int number, is_passed; /* 1: from the tool to the supervisor, unless it was ignored */
} changed[] = {{SIGINT, 1},  {SIGTERM, 1}, {SIGHUP, 1},  {SIGUSR1, 1},
               {SIGUSR2, 1}, {SIGQUIT, 0}, {SIGTTOU, 0}, {SIGPIPE, 0}};
enum { CHANGED = sizeof changed / sizeof *changed };

/* --- in the tool -------------------------------------------------------------------------------------------------- */

static void signal_forward(int signal)
{
    if (supervisor_pid > 0)
        kill((pid_t)supervisor_pid, signal);
}

static int supervisor_await(pid_t pid)
{
    int status;

    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return themis_tools_error_errno("the process that supervises the command");
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    return themis_tools_error("the process that supervises the command was ended by signal %d", WTERMSIG(status));
}

static void signals_choose(void)
{
    sigemptyset(&self.signals);
    sigaddset(&self.signals, SIGCHLD);
    sigaddset(&self.signals, TOOL_ENDED);
    for (int i = 0; i < CHANGED; i++) {
        if (themis_tools_signal_is_ignored(changed[i].number))
            signal(changed[i].number, SIG_IGN);
        else if (changed[i].is_passed)
            sigaddset(&self.signals, changed[i].number);
    }
}

static void signals_pass(void)
{
    const struct sigaction pass = {.sa_handler = signal_forward};

    for (int i = 0; i < CHANGED; i++)
        if (sigismember(&self.signals, changed[i].number))
            sigaction(changed[i].number, &pass, NULL);
}

static void supervisor_begin(void)
{
    prctl(PR_SET_NAME, "supervisor");
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    self.group = getpgrp();
    setpgid(0, 0);
    signal(SIGTTOU, SIG_IGN); /* messages to the terminal, though in its background */
    prctl(PR_SET_PDEATHSIG, TOOL_ENDED);
    if (getppid() != self.tool)
        raise(TOOL_ENDED);
}

int themis_tools_supervise(int (*work)(void *arg), void *arg)
{
    self.tool = getpid();
    signals_choose();
    signal(SIGQUIT, SIG_IGN);
    sigprocmask(SIG_BLOCK, &self.signals, &self.before);
    pid_t pid = fork();
    if (pid == 0) {
        supervisor_begin();
        int status = work(arg);
        fflush(stdout);
        _exit(status);
    }
    if (pid < 0)
        return themis_tools_error_errno("fork");
    supervisor_pid = pid;
    signals_pass();
    sigprocmask(SIG_SETMASK, &self.before, NULL);
    return supervisor_await(pid);
}

/* --- signals of the supervisor ------------------------------------------------------------------------------------ */

/* While a command runs SIGINT is left to it; it has it from the terminal, whose foreground it is in. */
static int interrupt_is_of_command(void)
{
    return self.command_runs || themis_util_clock_now() - self.command_ended < late_limit;
}

static void signal_note(int number)
{
    if (number == TOOL_ENDED && getppid() != self.tool)
        self.ended_by = SIGKILL;
    else if (self.ended_by == 0 &&
             (number == SIGTERM || number == SIGHUP || (number == SIGINT && !interrupt_is_of_command())))
        self.ended_by = number;
}

/* Waits for a signal for at most `ns`; 0 if none came. */
static int signal_take(long ns)
{
    struct timespec limit = {.tv_nsec = ns};
    int number = sigtimedwait(&self.signals, NULL, &limit);

    if (number <= 0)
        return 0;
    signal_note(number);
    return number;
}

int themis_tools_supervisor_signal(void)
{
    sigset_t others = self.signals;
    const struct timespec now = {0};
    int number;

    sigdelset(&others, SIGCHLD);
    while ((number = sigtimedwait(&others, NULL, &now)) > 0)
        signal_note(number);
    return self.ended_by;
}

int themis_tools_supervisor_go_on(void)
{
    if (themis_tools_supervisor_signal() == SIGKILL)
        return 0;
    self.ended_by = 0;
    return 1;
}

/* --- the command's processes -------------------------------------------------------------------------------------- */

static void command_exec(const themis_tools_supervised_t *supervised, pid_t supervisor)
{
    setpgid(0, self.group);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != supervisor)
        _exit(128 + SIGTERM);
    for (int i = 0; i < CHANGED; i++)
        signal(changed[i].number, themis_tools_signal_is_ignored(changed[i].number) ? SIG_IGN : SIG_DFL);
    sigprocmask(SIG_SETMASK, &self.before, NULL);
    int result = supervised->prepare(supervised->arg);
    if (result != 0)
        _exit(result);
    execvp(supervised->command[0], supervised->command);
    result = errno == ENOENT ? 127 : 126;
    themis_tools_error_errno(supervised->command[0]);
    _exit(result);
}

/* Waits for all children that have ended; 1 if the command is among them. */
static int children_reap(const themis_tools_supervised_t *supervised, pid_t command, int *command_status)
{
    int status, found = 0;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        if (pid == command) {
            *command_status = status;
            found = 1;
        } else {
            supervised->ended(supervised->arg, pid, status);
        }
    }
    return found;
}

/* Sends SIGKILL to each child but the spared ones; returns how many. */
static int children_kill(const themis_tools_supervised_t *supervised)
{
    FILE *file = fopen("/proc/thread-self/children", "re");
    int pid, count = 0;

    while (file && fscanf(file, "%d", &pid) == 1)
        if (!supervised->is_spared(supervised->arg, (pid_t)pid)) {
            kill((pid_t)pid, SIGKILL);
            count++;
        }
    if (file)
        fclose(file);
    return count;
}

/* What remains when the command has ended: children of what is killed become ours, and are killed in their turn. */
static void remains_kill(const themis_tools_supervised_t *supervised)
{
    uint64_t until = themis_util_clock_now() + kill_limit;
    int status;

    while (children_kill(supervised) > 0 && themis_util_clock_now() < until) {
        signal_take(ROUND_NS);
        children_reap(supervised, 0, &status);
    }
}

/* A launcher ends its ranks upon SIGTERM. */
static void command_end(const themis_tools_supervised_t *supervised, pid_t command)
{
    uint64_t until = themis_util_clock_now() + term_limit;
    int status, ended = 0;

    kill(command, SIGTERM);
    kill(command, SIGCONT);
    while (!ended && themis_util_clock_now() < until) {
        signal_take(ROUND_NS);
        ended = children_reap(supervised, command, &status);
    }
}

/* Until the command ends, or the tool does. What the command leaves behind goes on, unless an end was asked for. */
static int command_await(const themis_tools_supervised_t *supervised, pid_t command)
{
    const struct timespec second = {.tv_sec = 1};
    int status = 0;

    while (self.ended_by != SIGKILL && !children_reap(supervised, command, &status)) {
        int number = supervised->look ? sigtimedwait(&self.signals, NULL, &second) : sigwaitinfo(&self.signals, NULL);
        if (number > 0)
            signal_note(number);
        if (number == SIGTERM || number == SIGHUP || number == SIGUSR1 || number == SIGUSR2)
            kill(command, number);
        if (supervised->look) /* may take seconds */
            supervised->look(supervised->arg);
    }
    if (self.ended_by == SIGKILL)
        command_end(supervised, command);
    if (self.ended_by != 0)
        remains_kill(supervised);
    if (self.ended_by == SIGKILL)
        return 128 + SIGKILL;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int themis_tools_supervisor_run(const themis_tools_supervised_t *supervised)
{
    pid_t supervisor = getpid();

    if (themis_tools_supervisor_signal() != 0)
        return 128 + self.ended_by;
    pid_t command = fork();
    if (command == 0)
        command_exec(supervised, supervisor);
    if (command < 0)
        return themis_tools_error_errno(supervised->command[0]);
    self.command_runs = 1;
    int status = command_await(supervised, command);
    self.command_runs = 0;
    self.command_ended = themis_util_clock_now();
    return status;
}
