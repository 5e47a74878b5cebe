/* SPDX-License-Identifier: BSD-3-Clause */
/* The process: when it begins, forks, and ends. */
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "preload/entry/entry.h"
#include "util/mount_point.h"

/* --- umask ---------------------------------------------------------------------------------------------------------
 */

static _Atomic mode_t mask = (mode_t)-1; /* not known yet */

EXPORTED mode_t umask(mode_t wanted)
{
    const mode_t before = REAL(umask)(wanted);

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

    if (core && !themis_preload_inside)
        core->fork_prepare();
}

static void fork_parent(void)
{
    const themis_preload_core_t *core = themis_preload_loaded();

    if (core && !themis_preload_inside)
        core->fork_parent();
}

static void fork_child(void)
{
    const themis_preload_core_t *core = themis_preload_loaded();

    themis_preload_descriptors_own();
    if (core && !themis_preload_inside)
        themis_preload_internals_close();
    if (core && !themis_preload_inside)
        core->fork_child();
}

/* --- beginning and end ---------------------------------------------------------------------------------------------
 */

__attribute__((constructor)) static void begin(void)
{
    themis_preload_real_begin();
    if (!*themis_util_mount_point())
        return;
    themis_preload_descriptors_inherit();
    pthread_atfork(fork_prepare, fork_parent, fork_child);
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
        fflush(NULL);
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
