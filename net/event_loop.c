/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/event_loop.h"
#include <errno.h>
#include <sched.h>
#include <sys/epoll.h>
#include <time.h>
#include "net/event.h"
#include "net/reaper.h"
#include "util/clock.h"

enum { MAX_EVENTS = 256, MAX_READY = 16, SHORT_SLEEP_MS = 200, THOROUGH_INTERVAL = 32, MAX_FAILED_SPINS = 6 };

void themis_net_loop_init(themis_net_loop_t *loop)
{
    pthread_condattr_t monotonic;

    pthread_mutex_init(&loop->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&loop->free, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

void themis_net_loop_destroy(themis_net_loop_t *loop)
{
    pthread_cond_destroy(&loop->free);
    pthread_mutex_destroy(&loop->lock);
}

int themis_net_in_handler(themis_net_t *net)
{
    pthread_mutex_lock(&net->loop.lock);
    int inside = net->loop.taken && pthread_equal(net->loop.thread, pthread_self());
    pthread_mutex_unlock(&net->loop.lock);
    return inside;
}

static struct timespec time_after(uint64_t ns)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    uint64_t sum = (uint64_t)at.tv_nsec + ns % THEMIS_NS_PER_S;
    at.tv_sec += (time_t)(ns / THEMIS_NS_PER_S + sum / THEMIS_NS_PER_S);
    at.tv_nsec = (long)(sum % THEMIS_NS_PER_S);
    return at;
}

/* Returns 1 for the thread that is to make progress, 0 if another has handled something or the time is over. */
static int loop_enter(themis_net_loop_t *loop, uint64_t timeout)
{
    uint64_t generation;
    int entered = 0, error = 0;

    pthread_mutex_lock(&loop->lock);
    generation = loop->generation;
    if (loop->taken && !pthread_equal(loop->thread, pthread_self()) && timeout > 0) {
        struct timespec until = time_after(timeout < INT64_MAX ? timeout : INT64_MAX);
        loop->waiters++;
        while (loop->taken && generation == loop->generation && error != ETIMEDOUT)
            error = pthread_cond_timedwait(&loop->free, &loop->lock, &until);
        loop->waiters--;
    }
    if (!loop->taken && generation == loop->generation) {
        loop->taken = entered = 1;
        loop->thread = pthread_self();
    }
    pthread_mutex_unlock(&loop->lock);
    return entered;
}

static void loop_leave(themis_net_loop_t *loop, int handled)
{
    pthread_mutex_lock(&loop->lock);
    loop->taken = 0;
    if (handled)
        loop->generation++;
    if (loop->waiters > 0)
        pthread_cond_broadcast(&loop->free);
    pthread_mutex_unlock(&loop->lock);
}

/* --- one pass ---------------------------------------------------------------------------------------------------- */

/* Hands out what is queued. The lock is held at entry and exit, and not while handlers run. */
static unsigned deliver_events(themis_net_t *net)
{
    unsigned handled = 0;

    while (net->events != NULL && handled < MAX_EVENTS) {
        themis_net_event_t *event = net->events;
        DL_DELETE(net->events, event);
        themis_net_unlock(net);
        themis_net_event_deliver(event);
        handled++;
        themis_net_lock(net);
        themis_net_event_free(event);
    }
    return handled;
}

/* A peer of this host has written to the socket of its connection: its messages are found by polling. */
static int is_message_signal(const struct epoll_event *event)
{
    return event->data.u64 >= THEMIS_NET_EPOLL_KEYS && !(event->data.u64 & THEMIS_NET_EPOLL_PROCESS) &&
           !(event->events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR));
}

/*
 * Waits for the descriptors. While we spin this is done now and then only: a system call costs more than a message.
 * Returns 1 if nothing but messages of local peers was signalled.
 */
static int wait_for_descriptors(themis_net_t *net, int timeout_ms)
{
    struct epoll_event ready[MAX_READY];
    int messages = 0;

    int count = epoll_wait(net->epoll_fd, ready, MAX_READY, timeout_ms);
    for (int i = 0; i < count; i++) {
        if (is_message_signal(&ready[i]))
            messages++;
        else if (ready[i].data.u64 == THEMIS_NET_EPOLL_WAKE)
            themis_net_drain_wake(net);
        else if (ready[i].data.u64 >= THEMIS_NET_EPOLL_LOCAL)
            net->transports[THEMIS_NET_LOCAL]->on_event(net, ready[i].data.u64);
    }
    return count > 0 && messages == count;
}

/* Looks for everything once; *active tells that a transport did something. */
static unsigned loop_pass(themis_net_t *net, int thorough, int *active)
{
    thorough |= net->loop.tick++ % THOROUGH_INTERVAL == 0;
    if (thorough)
        wait_for_descriptors(net, 0);
    themis_net_lock(net);
    if (thorough)
        net->loop.short_sleep = 0; /* set again by what has a deadline */
    *active = 0;
    for (int i = 0; i < THEMIS_NET_TRANSPORTS; i++)
        *active |= net->transports[i]->progress(net, thorough);
    if (net->to_close != NULL || (thorough && net->unauthenticated > 0))
        themis_net_reap(net);
    if (thorough)
        net->loop.short_sleep |= net->unauthenticated > 0;
    unsigned handled = deliver_events(net);
    themis_net_unlock(net);
    for (int i = 0; i < THEMIS_NET_TRANSPORTS; i++)
        if (net->transports[i]->receive != NULL)
            handled += net->transports[i]->receive(net);
    return handled;
}

/* --- sleeping ---------------------------------------------------------------------------------------------------- */

/* Returns 0 if something is there already. */
static int loop_arm(themis_net_t *net)
{
    themis_net_lock(net);
    int armed = net->events == NULL && net->to_close == NULL;
    for (int i = THEMIS_NET_TRANSPORTS - 1; armed && i >= 0; i--) /* UCX last: it costs a system call */
        armed = net->transports[i]->arm(net);
    net->kick = 0;
    themis_net_unlock(net);
    return armed;
}

/* Sleeps until something is to be done, at most `timeout` ns. Returns 1 if all of it is messages of local peers. */
static int loop_sleep(themis_net_t *net, uint64_t timeout)
{
    uint64_t ms = (timeout + THEMIS_NS_PER_MS - 1) / THEMIS_NS_PER_MS;
    int only_messages = 0;

    if (net->loop.short_sleep && ms > SHORT_SLEEP_MS)
        ms = SHORT_SLEEP_MS;
    atomic_store(&net->sleeping, 1);
    if (!atomic_load(&net->wake_pending) && loop_arm(net))
        only_messages = wait_for_descriptors(net, ms > INT32_MAX ? INT32_MAX : (int)ms);
    atomic_store(&net->sleeping, 0);
    for (int i = 0; i < THEMIS_NET_TRANSPORTS; i++)
        if (net->transports[i]->disarm != NULL)
            net->transports[i]->disarm(net);
    return only_messages;
}

/* --- polling before sleeping -------------------------------------------------------------------------------------- */

/*
 * How long to poll now, in ns. Polling pays while the peer runs on another processor or gets this one by a yield. Where
 * it does not (more processes than processors, a slow disk), fewer and fewer of the waits try it.
 */
static uint64_t spin_time(themis_net_t *net)
{
    if (net->loop.skipped_spins == 0)
        return net->options.spin;
    net->loop.skipped_spins--;
    return 0;
}

static void spin_note(themis_net_loop_t *loop, int paid)
{
    if (paid)
        loop->failed_spins = 0;
    else if (loop->failed_spins < MAX_FAILED_SPINS)
        loop->failed_spins++;
    loop->skipped_spins = (1U << loop->failed_spins) - 1;
}

/* Returns when something was handled, the time is over, or somebody calls themis_net_wake. */
static unsigned loop_run(themis_net_t *net, uint64_t timeout)
{
    uint64_t start = themis_util_clock_now(), now = start, quiet = start, spin = 0;
    int active, thorough = timeout == 0, waits = 0, slept = 0;

    for (;;) {
        unsigned handled = loop_pass(net, thorough, &active);
        if (waits && !slept && spin > 0 && handled > 0)
            spin_note(&net->loop, 1);
        if (handled > 0 || timeout == 0 || atomic_exchange(&net->wake_pending, 0))
            return handled;
        now = themis_util_clock_now();
        if (now - start >= timeout)
            return 0;
        if (!waits)
            spin = spin_time(net);
        waits = 1;
        if (active)
            quiet = now;
        thorough = 0;
        if (now - quiet < spin) {
            if (net->options.yield)
                sched_yield();
            continue;
        }
        if (!slept && spin > 0)
            spin_note(&net->loop, 0);
        slept = 1;
        thorough = !loop_sleep(net, timeout - (now - start));
    }
}

unsigned themis_net_progress(themis_net_t *net, uint64_t timeout)
{
    if (!loop_enter(&net->loop, timeout))
        return 0;
    unsigned handled = loop_run(net, timeout);
    loop_leave(&net->loop, handled > 0 || timeout > 0);
    return handled;
}
