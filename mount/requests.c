/* SPDX-License-Identifier: BSD-3-Clause */
#include "mount/requests.h"
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>
#include <utlist.h>
#include "util/clock.h"

/* Signals that a program handles, as of timers, must not end what takes its usual time. */
static const uint64_t patience = THEMIS_NS_PER_S;

themis_posix_node_t *themis_mount_node_of(themis_posix_t *filesystem, fuse_ino_t number)
{
    return number == FUSE_ROOT_ID ? themis_posix_root(filesystem) : (themis_posix_node_t *)(uintptr_t)number;
}

fuse_ino_t themis_mount_number_of(const themis_posix_node_t *node)
{
    return (fuse_ino_t)(uintptr_t)node;
}

/* --- the thread that answers -------------------------------------------------------------------------------------- */

/* The interrupted request that is due first; NULL: none. */
static themis_mount_request_t *next_due(themis_mount_requests_t *requests)
{
    themis_mount_request_t *request, *due = NULL;

    DL_FOREACH(requests->first, request)
    {
        if (request->registered && request->deadline && (!due || request->deadline < due->deadline))
            due = request;
    }
    return due;
}

static void await(themis_mount_requests_t *requests, uint64_t deadline)
{
    const struct timespec until = {.tv_sec = (time_t)(deadline / THEMIS_NS_PER_S),
                                   .tv_nsec = (long)(deadline % THEMIS_NS_PER_S)};

    if (deadline)
        pthread_cond_timedwait(&requests->interrupted, &requests->lock, &until);
    else
        pthread_cond_wait(&requests->interrupted, &requests->lock);
}

static void *monitor_run(void *arg)
{
    themis_mount_requests_t *requests = arg;

    pthread_mutex_lock(&requests->lock);
    while (!requests->ending) {
        themis_mount_request_t *request = next_due(requests);
        if (!request || request->deadline > themis_util_clock_now()) {
            await(requests, request ? request->deadline : 0);
            continue;
        }
        DL_DELETE(requests->first, request);
        request->answered = 1;
        atomic_store(&request->caller.abandoned, 1);
        fuse_req_t fuse = request->fuse;
        pthread_mutex_unlock(&requests->lock); /* the request may be gone from here on */
        fuse_reply_err(fuse, EINTR);
        themis_posix_wake(requests->filesystem);
        pthread_mutex_lock(&requests->lock);
    }
    pthread_mutex_unlock(&requests->lock);
    return NULL;
}

themis_status_t themis_mount_requests_init(themis_mount_requests_t *requests, themis_posix_t *filesystem)
{
    pthread_condattr_t attributes;

    *requests = (themis_mount_requests_t){.filesystem = filesystem};
    pthread_mutex_init(&requests->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&requests->interrupted, &attributes);
    pthread_condattr_destroy(&attributes);
    if (pthread_create(&requests->monitor, NULL, monitor_run, requests) == 0)
        return THEMIS_OK;
    pthread_cond_destroy(&requests->interrupted);
    pthread_mutex_destroy(&requests->lock);
    return THEMIS_NO_MEMORY;
}

void themis_mount_requests_free(themis_mount_requests_t *requests)
{
    pthread_mutex_lock(&requests->lock);
    requests->ending = 1;
    pthread_cond_broadcast(&requests->interrupted);
    pthread_mutex_unlock(&requests->lock);
    pthread_join(requests->monitor, NULL);
    pthread_cond_destroy(&requests->interrupted);
    pthread_mutex_destroy(&requests->lock);
}

/* --- a request ---------------------------------------------------------------------------------------------------- */

/* Called by the thread that has received the interrupt. libfuse keeps `fuse` until this returns, but not what it was
 * registered with: the request may have ended. */
static void on_interrupt(fuse_req_t fuse, void *arg)
{
    themis_mount_requests_t *requests = arg;
    themis_mount_request_t *request;

    pthread_mutex_lock(&requests->lock);
    DL_FOREACH(requests->first, request)
    {
        if (request->fuse == fuse && !request->deadline) {
            request->deadline = themis_util_clock_now() + patience;
            pthread_cond_signal(&requests->interrupted);
        }
    }
    pthread_mutex_unlock(&requests->lock);
}

void themis_mount_request_begin(themis_mount_requests_t *requests, themis_mount_request_t *request, fuse_req_t fuse,
                                fuse_ino_t node)
{
    const struct fuse_ctx *context = fuse_req_ctx(fuse);

    *request = (themis_mount_request_t){
        .requests = requests, .fuse = fuse, .caller = {.uid = context->uid, .gid = context->gid}};
    if (node) {
        request->node = themis_mount_node_of(requests->filesystem, node);
        themis_posix_acquire(requests->filesystem, request->node);
    }
    pthread_mutex_lock(&requests->lock);
    DL_PREPEND(requests->first, request);
    pthread_mutex_unlock(&requests->lock);
    fuse_req_interrupt_func(fuse, on_interrupt, requests);
    pthread_mutex_lock(&requests->lock);
    request->registered = 1;
    if (request->deadline)
        pthread_cond_signal(&requests->interrupted);
    pthread_mutex_unlock(&requests->lock);
}

int themis_mount_request_end(themis_mount_request_t *request)
{
    themis_mount_requests_t *requests = request->requests;

    pthread_mutex_lock(&requests->lock);
    int own = !request->answered;
    if (own)
        DL_DELETE(requests->first, request);
    request->answered = 1;
    pthread_mutex_unlock(&requests->lock);
    if (request->node)
        themis_posix_release(requests->filesystem, request->node, 1);
    return own;
}
