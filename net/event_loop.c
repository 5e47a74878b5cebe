/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who makes progress, and how. One thread has the role: it polls, then sleeps, and calls the handlers; the others in
 * themis_net_progress wait until it has handled something or gives the role away. While it sleeps nothing is locked:
 * sends of other threads go out directly, and whatever of theirs needs progress wakes it.
 */
#include <errno.h>
#include <sched.h>
#include <sys/epoll.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "net/local/channel.h"
#include "util/clock.h"
#include "util/log.h"

enum { POLLS = 16, EVENTS = 256, MAX_READY = 16, SHORT_SLEEP_MS = 200, SELDOM = 32, MAX_DOUBT = 6 };

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

static void empty_bell(themis_net_t *net)
{
    uint64_t count;
    ssize_t got = read(net->wake_fd, &count, sizeof count);

    (void)got; /* another wake may have emptied it */
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
        conn->announced = 1;
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

/* Brings net->polled up to date. */
static void list_locals(themis_net_t *net)
{
    themis_net_conn_t *conn, *next, **list;
    size_t count = 0;

    themis_net_lock(net);
    net->polled_version = net->locals_version;
    list = calloc(HASH_COUNT(net->conns) + 1, sizeof *list);
    if (list == NULL)
        net->polled_version--; /* again next time */
    HASH_ITER(hh, net->conns, conn, next)
    {
        if (list == NULL || conn->local == NULL)
            continue;
        themis_net_conn_ref(conn);
        list[count++] = conn;
    }
    themis_net_unlock(net);
    if (list == NULL)
        return;
    for (size_t i = 0; i < net->polled_count; i++)
        themis_net_conn_unref(net->polled[i]);
    free(net->polled);
    net->polled = list;
    net->polled_count = count;
}

static unsigned poll_locals(themis_net_t *net)
{
    unsigned handled = 0;

    if (net->polled_version != net->locals_version)
        list_locals(net);
    for (size_t i = 0; i < net->polled_count; i++)
        handled += themis_net_local_poll(net->polled[i]);
    return handled;
}

/* A peer of this host has rung: what it wrote is found in its ring. */
static int is_ring(const struct epoll_event *event)
{
    return event->data.u64 >= THEMIS_NET_EPOLL_KEYS && !(event->data.u64 & THEMIS_NET_EPOLL_PROCESS) &&
           !(event->events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR));
}

/* The lock is held. A key may be that of a connection that has just gone. */
static void take_event(themis_net_t *net, uint64_t what)
{
    themis_net_conn_t *conn;
    uint64_t key = what & ~THEMIS_NET_EPOLL_PROCESS;

    if (what == THEMIS_NET_EPOLL_BELL) {
        empty_bell(net);
    } else if (what == THEMIS_NET_EPOLL_LISTENER) {
        themis_net_local_accept(net);
    } else if (what >= THEMIS_NET_EPOLL_STRANGER && what < THEMIS_NET_EPOLL_KEYS) {
        themis_net_local_identify(net, (unsigned)(what - THEMIS_NET_EPOLL_STRANGER));
    } else if (what != THEMIS_NET_EPOLL_UCX) {
        HASH_FIND(hh, net->conns, &key, sizeof key, conn);
        if (conn != NULL && conn->local != NULL)
            themis_net_local_hang_up(conn);
    }
}

/*
 * What the sockets say. While we spin this is looked at now and then only: a system call costs more than a message.
 * Returns 1 if nothing but local peers have rung.
 */
static int look_at_sockets(themis_net_t *net, int timeout_ms)
{
    struct epoll_event ready[MAX_READY];
    int rings = 0;

    int count = epoll_wait(net->epoll_fd, ready, MAX_READY, timeout_ms);
    for (int i = 0; i < count; i++)
        rings += is_ring(&ready[i]);
    if (count <= 0 || rings == count)
        return count > 0;
    themis_net_lock(net);
    for (int i = 0; i < count; i++)
        if (!is_ring(&ready[i]))
            take_event(net, ready[i].data.u64);
    themis_net_unlock(net);
    return 0;
}

/* UCX costs a system call for each look: only when something can come from there, else now and then. */
static int progress_ucx(themis_net_t *net, int now)
{
    int active = 0;

    if (!now && net->ops == 0 && net->closing == 0 && HASH_COUNT(net->conns) == net->locals)
        return 0;
    net->armed = 0;
    for (int i = 0; i < POLLS && ucp_worker_progress(net->worker) > 0; i++)
        active = 1;
    return active;
}

/* One look at everything; *active tells that UCX did something. */
static unsigned pass(themis_net_t *net, int thorough, int *active)
{
    thorough |= net->tick++ % SELDOM == 0;
    if (thorough)
        look_at_sockets(net, 0);
    themis_net_lock(net);
    *active = progress_ucx(net, thorough);
    if (net->doomed != NULL || (thorough && net->strangers > 0))
        themis_net_conns_tend(net);
    if (thorough)
        net->soon = themis_net_local_tend(net) || net->strangers > 0;
    unsigned handled = hand_out(net);
    themis_net_unlock(net);
    return handled + poll_locals(net);
}

/* --- sleeping ---------------------------------------------------------------------------------------------------- */

/* UCX stays armed until it is looked at again. Lock held. */
static int arm_ucx(themis_net_t *net)
{
    if (!net->armed)
        net->armed = ucp_worker_arm(net->worker) == UCS_OK;
    return net->armed;
}

/* Asks everybody to ring. Returns 0 if something is there already. */
static int arm(themis_net_t *net)
{
    int good = net->polled_version == net->locals_version;

    for (size_t i = 0; good && i < net->polled_count; i++)
        good = themis_net_local_doze(net->polled[i]);
    if (!good)
        return 0;
    themis_net_lock(net);
    good = net->events == NULL && net->doomed == NULL && arm_ucx(net);
    net->kick = 0;
    themis_net_unlock(net);
    return good;
}

/* Sleeps until something is to be done, at most `timeout` ns. Returns 1 if it is all in the rings. */
static int doze(themis_net_t *net, uint64_t timeout)
{
    uint64_t ms = (timeout + THEMIS_NS_PER_MS - 1) / THEMIS_NS_PER_MS;
    int in_rings = 0;

    if (net->soon && ms > SHORT_SLEEP_MS)
        ms = SHORT_SLEEP_MS;
    atomic_store(&net->sleeping, 1);
    if (!atomic_load(&net->wake_pending) && arm(net))
        in_rings = look_at_sockets(net, ms > INT32_MAX ? INT32_MAX : (int)ms);
    atomic_store(&net->sleeping, 0);
    for (size_t i = 0; i < net->polled_count; i++)
        themis_net_local_awake(net->polled[i]);
    return in_rings;
}

/* --- polling before sleeping -------------------------------------------------------------------------------------- */

/*
 * How long to poll now, in ns. Polling pays while the peer runs on another processor or gets this one by a yield. Where
 * it does not (more processes than processors, a slow disk), less and less of the waits try it.
 */
static uint64_t spin_time(themis_net_t *net)
{
    if (net->unspun == 0)
        return net->options.spin;
    net->unspun--;
    return 0;
}

static void note_spin(themis_net_t *net, int paid)
{
    if (paid)
        net->doubt = 0;
    else if (net->doubt < MAX_DOUBT)
        net->doubt++;
    net->unspun = (1U << net->doubt) - 1;
}

/* Returns when something was handled, the time is over, or somebody calls themis_net_wake. */
static unsigned lead(themis_net_t *net, uint64_t timeout)
{
    uint64_t start = themis_util_clock_now(), now = start, quiet = start, spin = 0;
    int active, thorough = timeout == 0, waits = 0, slept = 0;

    for (;;) {
        unsigned handled = pass(net, thorough, &active);
        if (waits && !slept && spin > 0 && handled > 0)
            note_spin(net, 1);
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
            note_spin(net, 0);
        slept = 1;
        thorough = !doze(net, timeout - (now - start));
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
