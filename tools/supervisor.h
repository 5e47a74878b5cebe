/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The process between `themis run` and what it starts. It cleans up whatever ends the tool: when the tool is killed,
 * also together with its process group, the supervisor ends the command with all of its processes, and then returns
 * from themis_tools_supervisor_run as after any other end.
 */
#pragma once
#include <sys/types.h>

/*
 * Calls work(arg) in the supervisor, a child, and returns what it returns. SIGTERM, SIGHUP, SIGINT, SIGUSR1 and SIGUSR2
 * of the tool go to it, SIGQUIT is left to the command. Those that the tool was started to ignore, as nohup does, stay
 * ignored, also by the command. To be called once, before there are threads.
 */
int themis_tools_supervise(int (*work)(void *arg), void *arg);

/* The functions below are for `work`. */

/* The signal upon which work is to end, or 0: one that was passed on, or SIGKILL if the tool is gone. SIGINT counts
 * only where no command runs, which has it from the terminal itself. */
int themis_tools_supervisor_signal(void);

/* Forgets a signal that was passed on, for what is to be done in spite of it. Returns 1, or 0 if the tool is gone. */
int themis_tools_supervisor_go_on(void);

typedef struct themis_tools_supervised {
    char **command;                                    /* with its arguments, borrowed */
    int (*prepare)(void *arg);                         /* in the child, before exec; not 0: the child ends with that */
    void (*ended)(void *arg, pid_t child, int status); /* another child, which no longer exists */
    int (*is_spared)(void *arg, pid_t child);          /* 1: not one of the command's processes */
    void (*look)(void *arg);                           /* every second while the command runs; may be NULL */
    void *arg;
} themis_tools_supervised_t;

/* Runs the command in the tool's process group; SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 are passed on to it. Returns its
 * status as a shell reports it; 128 + a signal also where that made an end of it. */
int themis_tools_supervisor_run(const themis_tools_supervised_t *supervised);
