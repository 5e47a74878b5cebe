/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "mount/mount.h"
#include "mount/operations.h"
#include "mount/pool.h"
#include "posix/hidden.h"
#include "util/clock.h"
#include "util/log.h"

/* How long the end waits for threads; and for servers, beyond their timeout. */
static const uint64_t end_margin = THEMIS_NS_PER_S, default_timeout = 60 * THEMIS_NS_PER_S;

typedef struct serving {
    themis_t *session;
    themis_mount_state_t state;
    struct fuse_session *fuse;
    themis_mount_pool_t pool;
} serving_t;

/* --- messages of libfuse ------------------------------------------------------------------------------------------ */

static themis_mount_error_t *error_wanted; /* libfuse has one log for a process; NULL: to our log */

__attribute__((format(printf, 2, 0))) static void on_fuse_log(enum fuse_log_level level, const char *format,
                                                              va_list list)
{
    char text[512];

    vsnprintf(text, sizeof text, format, list);
    text[strcspn(text, "\n")] = '\0';
    if (error_wanted) { /* a message comes in pieces */
        size_t length = strlen(error_wanted->text);
        snprintf(error_wanted->text + length, sizeof error_wanted->text - length, "%s", text);
    } else if (level <= FUSE_LOG_WARNING) {
        themis_warn("%s", text);
    }
}

/* `otherwise`: where libfuse gave no reason, or wrote it to standard error itself. */
static int fail(themis_mount_error_t *error, const char *otherwise)
{
    if (!error->text[0])
        snprintf(error->text, sizeof error->text, "%s", otherwise);
    error_wanted = NULL;
    return 0;
}

/* --- beginning ---------------------------------------------------------------------------------------------------- */

static int servers_connect(serving_t *serving, const char *servers, const themis_mount_settings_t *settings,
                           themis_mount_error_t *error)
{
    themis_options_t options;

    themis_options_init(&options);
    options.servers = servers;
    options.timeout = settings->timeout;
    if (themis_connect(&options, &serving->session) != THEMIS_OK)
        return fail(error, themis_last_error());
    if (themis_posix_create(serving->session, &serving->state.filesystem) != 0)
        return fail(error, "out of memory");
    serving->state.settings = settings;
    return 1;
}

static int kernel_connect(serving_t *serving, const char *directory, themis_mount_settings_t *settings,
                          themis_mount_error_t *error)
{
    if (themis_mount_requests_init(&serving->state.requests, serving->state.filesystem) != THEMIS_OK)
        return fail(error, "no thread could be started");
    fuse_set_log_func(on_fuse_log);
    error_wanted = error;
    serving->fuse =
        fuse_session_new(&settings->fuse, &themis_mount_operations, sizeof themis_mount_operations, &serving->state);
    if (serving->fuse && fuse_session_mount(serving->fuse, directory) == 0) {
        error_wanted = NULL;
        return 1;
    }
    fail(error, serving->fuse ? "it could not be mounted" : "an option of -o is not known");
    if (serving->fuse)
        fuse_session_destroy(serving->fuse);
    themis_mount_requests_free(&serving->state.requests);
    return 0;
}

/* --- the end ------------------------------------------------------------------------------------------------------ */

/* Removing hidden files, in a thread of its own as it may wait for servers. */
typedef struct removal {
    themis_posix_t *filesystem;
    pthread_mutex_t lock;
    pthread_cond_t done;
    int ended;
} removal_t;

static void *removal_run(void *arg)
{
    removal_t *removal = arg;

    themis_posix_hidden_remove_all(removal->filesystem);
    pthread_mutex_lock(&removal->lock);
    removal->ended = 1;
    pthread_cond_signal(&removal->done);
    pthread_mutex_unlock(&removal->lock);
    return NULL;
}

/* Returns 0 if it has not ended after `limit` ns. */
static int hidden_remove(themis_posix_t *filesystem, uint64_t limit)
{
    static removal_t removal; /* stays if the thread does */
    const uint64_t end = themis_util_clock_now() + limit;
    const struct timespec until = {.tv_sec = (time_t)(end / THEMIS_NS_PER_S), .tv_nsec = (long)(end % THEMIS_NS_PER_S)};
    pthread_condattr_t attributes;
    pthread_t thread;

    removal = (removal_t){.filesystem = filesystem};
    pthread_mutex_init(&removal.lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&removal.done, &attributes);
    pthread_condattr_destroy(&attributes);
    if (pthread_create(&thread, NULL, removal_run, &removal) != 0)
        return 0;
    pthread_mutex_lock(&removal.lock);
    while (!removal.ended && pthread_cond_timedwait(&removal.done, &removal.lock, &until) == 0)
        ;
    int ended = removal.ended;
    pthread_mutex_unlock(&removal.lock);
    if (ended)
        pthread_join(thread, NULL);
    return ended;
}

/* First no more requests are served; then the hidden files go, while their nodes are there; then the kernel ends what
 * still waits. Threads that wait for servers are left behind. */
static themis_mount_end_t end(serving_t *serving, const themis_mount_settings_t *settings)
{
    const uint64_t timeout = settings->timeout ? settings->timeout : default_timeout;
    const int idle = themis_mount_pool_end(&serving->pool, end_margin);
    const int removed = hidden_remove(serving->state.filesystem, idle ? timeout + end_margin : end_margin);

    fuse_session_unmount(serving->fuse);
    if (!idle || !removed)
        return THEMIS_MOUNT_STUCK;
    themis_mount_requests_free(&serving->state.requests);
    fuse_session_destroy(serving->fuse);
    return THEMIS_MOUNT_ENDED;
}

/* --- serving ------------------------------------------------------------------------------------------------------ */

static void serve(serving_t *serving, const sigset_t *signals, void (*ready)(void *arg), void *arg)
{
    int signal;

    if (themis_mount_pool_init(&serving->pool, serving->fuse) != THEMIS_OK) {
        themis_error("no thread could be started");
        return;
    }
    ready(arg);
    while (sigwait(signals, &signal) != 0)
        ;
    themis_info("the mount ends");
}

static void disconnect(serving_t *serving)
{
    themis_posix_destroy(serving->state.filesystem);
    themis_disconnect(serving->session);
}

themis_mount_end_t themis_mount_serve(const char *servers, const char *directory, themis_mount_settings_t *settings,
                                      void (*ready)(void *arg), void *arg, themis_mount_error_t *error)
{
    static serving_t serving; /* stays if threads do */
    sigset_t signals;

    error->text[0] = '\0';
    serving = (serving_t){0};
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    signal(SIGPIPE, SIG_IGN);
    if (!servers_connect(&serving, servers, settings, error)) {
        disconnect(&serving);
        return THEMIS_MOUNT_FAILED;
    }
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    if (!kernel_connect(&serving, directory, settings, error)) {
        disconnect(&serving);
        return THEMIS_MOUNT_FAILED;
    }
    serve(&serving, &signals, ready, arg);
    themis_mount_end_t ended = end(&serving, settings);
    if (ended == THEMIS_MOUNT_ENDED)
        disconnect(&serving);
    return ended;
}
