/* SPDX-License-Identifier: BSD-3-Clause */
#include "mount/pool.h"
#include <errno.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <utlist.h>
#include "util/clock.h"
#include "util/log.h"

/* Threads that work, and that receive at once when there is little to do. */
enum { MAX_THREADS = 256, MAX_RECEIVING = 8 };

typedef struct themis_mount_worker {
    struct themis_mount_worker *prev, *next;
    themis_mount_pool_t *pool;
    pthread_t thread;
    struct fuse_buf received;
    void *buffer; /* owned; for replies */
    size_t capacity;
} themis_mount_worker_t;

static _Thread_local themis_mount_worker_t *this_worker;

void *themis_mount_pool_buffer(size_t bytes)
{
    themis_mount_worker_t *worker = this_worker;

    if (!worker || bytes <= worker->capacity)
        return worker ? worker->buffer : NULL;
    void *grown = malloc(bytes);
    if (!grown)
        return NULL;
    free(worker->buffer);
    worker->buffer = grown;
    worker->capacity = bytes;
    return grown;
}

/* --- requests that are put aside ---------------------------------------------------------------------------------- */

/* What never waits for a server. */
static int is_immediate(const struct fuse_buf *buffer)
{
    struct fuse_in_header header;

    if (buffer->size < sizeof header)
        return 1;
    memcpy(&header, buffer->mem, sizeof header);
    return header.opcode == FUSE_INTERRUPT || header.opcode == FUSE_FORGET || header.opcode == FUSE_BATCH_FORGET ||
           header.opcode == FUSE_INIT || header.opcode == FUSE_DESTROY;
}

/* Takes what the worker has received. Returns 0 without memory. */
static int park(themis_mount_worker_t *worker)
{
    themis_mount_pool_t *pool = worker->pool;
    themis_mount_parked_t *parked = malloc(sizeof *parked);

    if (!parked)
        return 0;
    *parked = (themis_mount_parked_t){.buffer = worker->received};
    worker->received.mem = NULL;
    *pool->last_parked = parked;
    pool->last_parked = &parked->next;
    return 1;
}

/* With the lock held, which is released meanwhile. Returns 0 if none is. */
static int serve_parked(themis_mount_pool_t *pool)
{
    themis_mount_parked_t *parked = pool->parked;

    if (!parked)
        return 0;
    pool->parked = parked->next;
    if (!pool->parked)
        pool->last_parked = &pool->parked;
    pthread_mutex_unlock(&pool->lock);
    fuse_session_process_buf(pool->session, &parked->buffer);
    free(parked->buffer.mem);
    free(parked);
    pthread_mutex_lock(&pool->lock);
    return 1;
}

/* --- threads ------------------------------------------------------------------------------------------------------ */

static int worker_start(themis_mount_pool_t *pool);

/* With the lock held. Returns 0 when the kernel has ended the session. */
static int receive_and_serve(themis_mount_worker_t *worker)
{
    themis_mount_pool_t *pool = worker->pool;

    pool->receiving++;
    pthread_mutex_unlock(&pool->lock);
    int bytes = fuse_session_receive_buf(pool->session, &worker->received);
    pthread_mutex_lock(&pool->lock);
    pool->receiving--;
    if (bytes == -EINTR || bytes == -EAGAIN)
        return 1;
    if (bytes <= 0) {
        if (bytes < 0 && bytes != -ENODEV)
            themis_error("/dev/fuse: %s", strerror(-bytes));
        return 0;
    }
    if (pool->receiving == 0 && !worker_start(pool) && !is_immediate(&worker->received) && park(worker))
        return 1;
    pthread_mutex_unlock(&pool->lock);
    fuse_session_process_buf(pool->session, &worker->received);
    pthread_mutex_lock(&pool->lock);
    return 1;
}

static void *worker_run(void *arg)
{
    themis_mount_worker_t *worker = arg;
    themis_mount_pool_t *pool = worker->pool;

    this_worker = worker;
    pthread_mutex_lock(&pool->lock);
    while (!pool->ending) {
        if (serve_parked(pool))
            continue;
        if (pool->receiving >= MAX_RECEIVING)
            break;
        if (!receive_and_serve(worker)) {
            pool->ending = 1;
            pthread_kill(pool->owner, SIGTERM);
        }
    }
    DL_DELETE(pool->workers, worker);
    pool->threads--;
    pthread_cond_signal(&pool->ended);
    pthread_mutex_unlock(&pool->lock); /* the pool may be gone from here on */
    free(worker->received.mem);
    free(worker->buffer);
    free(worker);
    return NULL;
}

/* With the lock held, so that the thread is known before it runs. */
static int worker_start(themis_mount_pool_t *pool)
{
    themis_mount_worker_t *worker = pool->threads < MAX_THREADS ? calloc(1, sizeof *worker) : NULL;

    if (!worker)
        return 0;
    worker->pool = pool;
    if (pthread_create(&worker->thread, NULL, worker_run, worker) != 0) {
        free(worker);
        return 0;
    }
    pthread_detach(worker->thread);
    DL_APPEND(pool->workers, worker);
    pool->threads++;
    return 1;
}

static void on_wake(int signal)
{
    (void)signal;
}

themis_status_t themis_mount_pool_init(themis_mount_pool_t *pool, struct fuse_session *session)
{
    const struct sigaction wake = {.sa_handler = on_wake}; /* a read ends with it */
    pthread_condattr_t attributes;

    *pool = (themis_mount_pool_t){.session = session, .owner = pthread_self()};
    pool->last_parked = &pool->parked;
    sigaction(SIGUSR1, &wake, NULL);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&pool->ended, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_lock(&pool->lock);
    int started = worker_start(pool);
    pthread_mutex_unlock(&pool->lock);
    if (started)
        return THEMIS_OK;
    pthread_cond_destroy(&pool->ended);
    pthread_mutex_destroy(&pool->lock);
    return THEMIS_NO_MEMORY;
}

/* Wakes the threads that receive. One that is about to begin is reached by the next round. */
static void wake_all(themis_mount_pool_t *pool)
{
    const uint64_t round = themis_util_clock_now() + 10 * THEMIS_NS_PER_MS;
    const struct timespec until = {.tv_sec = (time_t)(round / THEMIS_NS_PER_S),
                                   .tv_nsec = (long)(round % THEMIS_NS_PER_S)};
    themis_mount_worker_t *worker;

    DL_FOREACH(pool->workers, worker)
    {
        pthread_kill(worker->thread, SIGUSR1);
    }
    pthread_cond_timedwait(&pool->ended, &pool->lock, &until);
}

int themis_mount_pool_end(themis_mount_pool_t *pool, uint64_t limit)
{
    const uint64_t until = themis_util_clock_now() + limit;

    pthread_mutex_lock(&pool->lock);
    pool->ending = 1;
    while (pool->threads > 0 && themis_util_clock_now() < until)
        wake_all(pool);
    unsigned left = pool->threads;
    pthread_mutex_unlock(&pool->lock);
    if (left > 0)
        return 0;
    while (pool->parked) {
        themis_mount_parked_t *parked = pool->parked;
        pool->parked = parked->next;
        free(parked->buffer.mem);
        free(parked);
    }
    pthread_cond_destroy(&pool->ended);
    pthread_mutex_destroy(&pool->lock);
    return 1;
}
