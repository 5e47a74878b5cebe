/* SPDX-License-Identifier: BSD-3-Clause */
#include "preload/core/state.h"
#include <errno.h>
#include <pthread.h>
#include <unistd.h>
#include "posix/hidden.h"
#include "preload/core/open_files.h"
#include "util/log.h"
#include "util/mount_point.h"

static struct {
    pthread_rwlock_t calls;  /* read: a call is under way */
    pthread_mutex_t opening; /* of a session */
    themis_t *session;
    themis_posix_t *filesystem; /* atomic; NULL: there is no session */
    _Atomic uint64_t generation;
    int told; /* why there is no session */
} state = {.calls = PTHREAD_RWLOCK_INITIALIZER, .opening = PTHREAD_MUTEX_INITIALIZER, .generation = 1};

static __thread themis_posix_caller_t caller;

static int connect_servers(void)
{
    themis_posix_t *filesystem;
    themis_t *session;

    if (themis_connect(NULL, &session) != THEMIS_OK) {
        if (!state.told)
            themis_error("files below %s cannot be used: %s", themis_util_mount_point(), themis_last_error());
        state.told = 1;
        return EIO;
    }
    const int error = themis_posix_create(session, &filesystem);
    if (error) {
        themis_disconnect(session);
        return error;
    }
    state.session = session;
    __atomic_store_n(&state.filesystem, filesystem, __ATOMIC_RELEASE);
    return 0;
}

int themis_preload_begin(themis_posix_t **filesystem)
{
    int error = 0;

    pthread_rwlock_rdlock(&state.calls);
    *filesystem = __atomic_load_n(&state.filesystem, __ATOMIC_ACQUIRE);
    if (*filesystem)
        return 0;
    pthread_mutex_lock(&state.opening);
    if (!state.filesystem)
        error = connect_servers();
    *filesystem = state.filesystem;
    pthread_mutex_unlock(&state.opening);
    if (error)
        pthread_rwlock_unlock(&state.calls);
    return error;
}

void themis_preload_end(void)
{
    pthread_rwlock_unlock(&state.calls);
}

int themis_preload_is_connected(void)
{
    return __atomic_load_n(&state.filesystem, __ATOMIC_ACQUIRE) != NULL;
}

uint64_t themis_preload_generation(void)
{
    return state.generation;
}

const themis_posix_caller_t *themis_preload_caller(void)
{
    caller.uid = geteuid();
    caller.gid = getegid();
    return &caller;
}

int themis_preload_pause(void)
{
    return pthread_rwlock_trywrlock(&state.calls) == 0;
}

void themis_preload_await_pause(void)
{
    pthread_rwlock_wrlock(&state.calls);
}

void themis_preload_resume(void)
{
    pthread_rwlock_unlock(&state.calls);
}

void themis_preload_abandon(void)
{
    state.session = NULL;
    state.filesystem = NULL;
    state.generation++;
    /* the lock counts threads that are not here */
    state.calls = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
    pthread_rwlock_wrlock(&state.calls);
}

void themis_preload_disconnect(void)
{
    themis_posix_t *filesystem = state.filesystem;

    if (!filesystem)
        return;
    themis_preload_open_files_close();
    themis_posix_hidden_remove_all(filesystem);
    state.filesystem = NULL;
    state.generation++;
    themis_posix_destroy(filesystem);
    themis_disconnect(state.session);
    state.session = NULL;
}

int themis_preload_result(int error)
{
    if (error)
        errno = error;
    return error ? -1 : 0;
}
