/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who makes progress, and how. One thread has the role: it polls, then sleeps, and calls the handlers; the others in
 * themis_net_progress wait until it has handled something or gives the role away. While it sleeps nothing is locked:
 * sends of other threads go out directly, and whatever of theirs needs progress wakes it.
 */
#include <errno.h>
#include <sched.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>
#include "net/internal.h"
#include "util/clock.h"
#include "util/log.h"

enum { POLLS = 16, EVENTS = 256, MAX_READY = 16, STRANGERS_SLEEP_MS = 500 };

void themis_net_lock(themis_net_t *net)
{
    pthread_mutex_lock(&net->lock);
}

static void ring_bell(themis_net_t *net)
{
    uint64_t one = 1;
    int error = errno;

    ssize_t written = write(net->wake_fd, &one, sizeof one);
    (void)written; /* fails only when the bell is rung already */
    errno = error;
}

void themis_net_unlock(themis_net_t *net)
{
    int kick = net->kick && atomic_load(&net->sleeping);

    net->kick = 0;
    pthread_mutex_unlock(&net->lock);
    if (kick)
        ring_bell(net);
}

void themis_net_wake(themis_net_t *net)
{
    atomic_store(&net->wake_pending, 1);
    if (atomic_load(&net->sleeping))
        ring_bell(net);
}

/* --- the role ---------------------------------------------------------------------------------------------------- */

static struct timespec after(uint64_t ns)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    uint64_t sum = (uint64_t)at.tv_nsec + ns % THEMIS_NS_PER_S;
    at.tv_sec += (time_t)(ns / THEMIS_NS_PER_S + sum / THEMIS_NS_PER_S);
    at.tv_nsec = (long)(sum % THEMIS_NS_PER_S);
    return at;
}

int themis_net_in_handler(themis_net_t *net)
{
    pthread_mutex_lock(&net->role_lock);
    int inside = net->led && pthread_equal(net->leader, pthread_self());
    pthread_mutex_unlock(&net->role_lock);
    return inside;
}

/* Returns 1 with the role, 0 if another thread has handled something meanwhile or the time is over. */
static int take_role(themis_net_t *net, uint64_t timeout)
{
    int taken = 0, error = 0;

    pthread_mutex_lock(&net->role_lock);
    if (net->led && !pthread_equal(net->leader, pthread_self()) && timeout > 0) {
        struct timespec until = after(timeout < INT64_MAX ? timeout : INT64_MAX);
        uint64_t generation = net->generation;
        net->waiters++;
        while (net->led && generation == net->generation && error != ETIMEDOUT)
            error = pthread_cond_timedwait(&net->role_free, &net->role_lock, &until);
        net->waiters--;
        if (generation != net->generation)
            goto out;
    }
    if (!net->led) {
        net->led = taken = 1;
        net->leader = pthread_self();
    }
out:
    pthread_mutex_unlock(&net->role_lock);
    return taken;
}

static void leave_role(themis_net_t *net, int handled)
{
    pthread_mutex_lock(&net->role_lock);
    net->led = 0;
    if (handled)
        net->generation++;
    if (net->waiters > 0)
        pthread_cond_broadcast(&net->role_free);
    pthread_mutex_unlock(&net->role_lock);
}

/* --- one pass ---------------------------------------------------------------------------------------------------- */

static void tell(themis_net_event_t *event)
{
    themis_net_conn_t *conn = event->conn;
    themis_net_t *net = conn->net;

    switch (event->type) {
    case THEMIS_NET_EVENT_OPENED:
        if (net->handlers.opened != NULL && conn->state != THEMIS_NET_CLOSED)
            net->handlers.opened(net->arg, conn);
        break;
    case THEMIS_NET_EVENT_MESSAGE:
        if (net->handlers.message != NULL && conn->state != THEMIS_NET_CLOSED)
            net->handlers.message(net->arg, conn, event->bytes, event->length);
        break;
    case THEMIS_NET_EVENT_CLOSED:
        if (net->handlers.closed != NULL && conn->state != THEMIS_NET_CLOSED)
            net->handlers.closed(net->arg, conn, event->status);
        break;
    case THEMIS_NET_EVENT_MOVED:
        event->moved(event->arg, event->status);
        break;
    }
}

/* Hands out what is queued. The lock is held at entry and exit, and not while handlers run. */
static unsigned hand_out(themis_net_t *net)
{
    unsigned handled = 0;

    while (net->events != NULL && handled < EVENTS) {
        themis_net_event_t *event = net->events;
        DL_DELETE(net->events, event);
        themis_net_unlock(net);
        tell(event);
        handled++;
        themis_net_lock(net);
        themis_net_event_free(event);
    }
    return handled;
}

/* One look at everything; *active tells that UCX did something. */
static unsigned pass(themis_net_t *net, int *active)
{
    *active = 0;
    themis_net_lock(net);
    for (int i = 0; i < POLLS && ucp_worker_progress(net->worker) > 0; i++)
        *active = 1;
    if (net->doomed != NULL || net->strangers > 0)
        themis_net_conns_tend(net);
    unsigned handled = hand_out(net);
    themis_net_unlock(net);
    return handled;
}

/* --- sleeping ---------------------------------------------------------------------------------------------------- */

static int armed(themis_net_t *net, int *strangers)
{
    themis_net_lock(net);
    int good = net->events == NULL && net->doomed == NULL && ucp_worker_arm(net->worker) == UCS_OK;
    *strangers = net->strangers > 0;
    net->kick = 0;
    themis_net_unlock(net);
    return good;
}

static void empty_bell(themis_net_t *net)
{
    uint64_t count;
    ssize_t got = read(net->wake_fd, &count, sizeof count);

    (void)got; /* another wake may have emptied it */
}

/* Sleeps until something is to be done, at most `timeout` ns. */
static void doze(themis_net_t *net, uint64_t timeout)
{
    struct epoll_event ready[MAX_READY];
    int strangers;
    uint64_t ms = (timeout + THEMIS_NS_PER_MS - 1) / THEMIS_NS_PER_MS;

    atomic_store(&net->sleeping, 1);
    if (!atomic_load(&net->wake_pending) && armed(net, &strangers)) {
        if (strangers && ms > STRANGERS_SLEEP_MS)
            ms = STRANGERS_SLEEP_MS;
        int count = epoll_wait(net->epoll_fd, ready, MAX_READY, ms > INT32_MAX ? INT32_MAX : (int)ms);
        for (int i = 0; i < count; i++)
            if (ready[i].data.ptr == &net->wake_fd)
                empty_bell(net);
    }
    atomic_store(&net->sleeping, 0);
}

/* Returns when something was handled, the time is over, or somebody calls themis_net_wake. */
static unsigned lead(themis_net_t *net, uint64_t timeout)
{
    uint64_t start = themis_clock_now(), now = start, quiet = start;
    unsigned handled;
    int active;

    for (;;) {
        handled = pass(net, &active);
        if (handled > 0 || timeout == 0 || atomic_exchange(&net->wake_pending, 0))
            return handled;
        now = themis_clock_now();
        if (now - start >= timeout)
            return 0;
        if (active)
            quiet = now;
        if (now - quiet >= net->options.spin)
            doze(net, timeout - (now - start));
        else if (net->options.yield)
            sched_yield();
    }
}

unsigned themis_net_progress(themis_net_t *net, uint64_t timeout)
{
    if (!take_role(net, timeout))
        return 0;
    unsigned handled = lead(net, timeout);
    leave_role(net, handled > 0 || timeout > 0);
    return handled;
}
