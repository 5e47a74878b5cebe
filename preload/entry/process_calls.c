/* SPDX-License-Identifier: BSD-3-Clause */
/* The process: when it begins, forks, and ends. */
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include "preload/entry/entry.h"
#include "util/mount_point.h"

/* --- umask ---------------------------------------------------------------------------------------------------------
 */

static _Atomic mode_t mask = (mode_t)-1; /* not known yet */

EXPORTED mode_t umask(mode_t wanted)
{
    const mode_t before = REAL(umask)(wanted);

    if (themis_preload_owns())
        mask = wanted & 0777;
    return before;
}

/* The kernel tells it only by changing it; that is done once. */
mode_t themis_preload_umask(void)
{
    if (mask == (mode_t)-1) {
        const mode_t before = REAL(umask)(077);
        REAL(umask)(before);
        mask = before;
    }
    return mask;
}

/* --- forks ---------------------------------------------------------------------------------------------------------
 */

static void fork_prepare(void)
{
    const themis_preload_core_t *core = themis_preload_loaded();

    if (!core || themis_preload_inside || !(core = themis_preload_enter()))
        return;
    core->fork_prepare();
    themis_preload_leave();
}

static void fork_parent(void)
{
    const themis_preload_core_t *core = themis_preload_loaded();

    if (core && !themis_preload_inside)
        core->fork_parent();
}

void themis_preload_forked(void)
{
    const themis_preload_core_t *core = themis_preload_loaded();

    themis_preload_descriptors_own();
    themis_preload_streams_reset();
    themis_preload_directories_reset();
    if (!core || themis_preload_inside)
        return;
    themis_preload_internals_close();
    core->fork_child();
}

/* Nobody is to hear of the child's end who has a handler for that, as its memory is another process's. */
int themis_preload_apart(int (*work)(void *), void *arg)
{
    const struct timespec none = {0};
    sigset_t ends, before;
    int status = 0;

    sigemptyset(&ends);
    sigaddset(&ends, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &ends, &before);
    const pid_t child = fork();
    if (child == 0)
        _exit(work(arg));
    const int failed = child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status);
    sigtimedwait(&ends, NULL, &none);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed ? EIO : WEXITSTATUS(status);
}

/* --- beginning and end ---------------------------------------------------------------------------------------------
 */

__attribute__((constructor)) static void begin(void)
{
    themis_preload_real_begin();
    if (!*themis_util_mount_point())
        return;
    themis_preload_descriptors_inherit();
    pthread_atfork(fork_prepare, fork_parent, themis_preload_forked);
    for (int fd = 0; fd <= 2; fd++)
        themis_preload_standard_stream(fd);
}

static void end(void)
{
    const themis_preload_core_t *core = themis_preload_loaded();

    if (!core || !themis_preload_owns() || !(core = themis_preload_enter()))
        return;
    core->end();
    themis_preload_leave();
}

/* Streams are flushed after this by the C library, which then is too late for what is removed at the end. */
__attribute__((destructor)) static void finish(void)
{
    if (themis_preload_loaded())
        themis_preload_streams_flush();
    end();
}

EXPORTED void _exit(int status)
{
    end();
    REAL(_exit)(status);
    __builtin_unreachable();
}

EXPORTED void _Exit(int status)
{
    _exit(status);
}
