/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "server/engine.h"
#include <string.h>
#include <time.h>
#include <utlist.h>
#include "server/control_requests.h"
#include "server/direct.h"
#include "server/direct_requests.h"
#include "server/drain.h"
#include "server/io_requests.h"
#include "server/lease.h"
#include "server/lock_requests.h"
#include "server/name_requests.h"
#include "server/object_requests.h"
#include "server/session_requests.h"
#include "server/slices.h"
#include "util/clock.h"
#include "util/log.h"

enum { SLOW_BYTES = 64 << 10, MANY_QUEUED = 4 };
#define GUARD (5 * THEMIS_NS_PER_MS)
#define TICK (THEMIS_NS_PER_S / 2)
#define DRAIN_TICK (10 * THEMIS_NS_PER_MS)
#define LONG_SLEEP (60 * THEMIS_NS_PER_S)

/* --- taking requests; with the lock ------------------------------------------------------------------------------- */

static themis_server_request_t *request_take_control(themis_server_t *server, uint64_t now, uint64_t *wake)
{
    themis_sched_control_item_t *item = themis_sched_control_queue_next(&server->control, now, wake);

    if (!item)
        return NULL;
    themis_server_request_t *request =
        (themis_server_request_t *)((char *)item - offsetof(themis_server_request_t, control));
    DL_DELETE(request->session->control, request);
    return request;
}

static themis_server_request_t *request_take_scheduled(themis_server_t *server, uint64_t now, uint64_t *wake)
{
    uint64_t bytes = 0, later;
    themis_sched_item_t *item = server->slices.counted < server->slices.limit
                                    ? themis_sched_next(server->sched, now, &bytes, &later)
                                    : themis_sched_next_metadata(server->sched, now, &later);
    themis_server_request_t *request = (themis_server_request_t *)item;

    *wake = later < *wake ? later : *wake;
    if (request)
        themis_server_slice_begin(request, bytes, now);
    return request;
}

/* The next request to go on with, or NULL; *wake: when to ask again. */
static themis_server_request_t *request_take(themis_server_t *server, uint64_t *wake)
{
    themis_server_request_t *request = server->ready;

    *wake = UINT64_MAX;
    if (request) {
        DL_DELETE(server->ready, request);
        return request;
    }
    uint64_t now = themis_util_clock_now();
    themis_server_direct_tick(server, now);
    request = request_take_control(server, now, wake);
    return request ? request : request_take_scheduled(server, now, wake);
}

/* --- serving; without the lock ------------------------------------------------------------------------------------ */

/* The request may take long or wait for a disk, so another worker is to poll meanwhile. */
static int is_slow(const themis_server_t *server, const themis_server_request_t *request)
{
    if (themis_server_request_is_data(request))
        return themis_store_blocking(server->store) || request->slice.left > SLOW_BYTES;
    return request->header.opcode == THEMIS_OP_SETTLE || request->header.opcode == THEMIS_OP_CHECK ||
           request->header.opcode == THEMIS_OP_POLICY ||
           request->header.opcode == THEMIS_OP_JOB_SERVERS || /* it syncs a database */
           themis_server_name_requests_is_rename(request) ||
           (request->route == THEMIS_SERVER_ROUTE_SCHEDULED && request->header.opcode != THEMIS_OP_LOCK &&
            request->header.opcode != THEMIS_OP_COUNTER);
}

/*
 * Is another worker to be woken before this one serves the request? Waking costs as much as a few small requests, so
 * for those none is woken, unless no sleeping worker checks that this one comes back to poll. With the lock.
 */
static int wants_help(const themis_server_t *server, const themis_server_request_t *request)
{
    uint64_t waiting = themis_sched_queued(server->sched);

    if (server->ready || waiting >= MANY_QUEUED)
        return 1;
    if (is_slow(server, request))
        return !server->workers.polling || waiting;
    return !server->workers.polling && !server->workers.guarded;
}

/* Returns THEMIS_IN_PROGRESS if the network or the lock table has the request now. `resumed`: it had it before. */
static themis_status_t request_serve_by_kind(themis_server_request_t *request, int resumed)
{
    unsigned opcode = request->header.opcode;

    if (themis_server_request_is_data(request))
        return themis_server_io_requests_serve(request, resumed);
    if (opcode >= THEMIS_OP_LOCK && opcode < THEMIS_OP_STATUS)
        return themis_server_lock_requests_serve(request, resumed);
    if (opcode <= THEMIS_OP_GOODBYE)
        themis_server_session_requests_serve(request);
    else if (opcode >= THEMIS_OP_STATUS)
        themis_server_control_requests_serve(request);
    else if (opcode >= THEMIS_OP_MAP && opcode <= THEMIS_OP_SEGMENT)
        themis_server_direct_requests_serve(request);
    else if (opcode >= THEMIS_OP_READ)
        themis_server_object_requests_serve(request);
    else
        themis_server_name_requests_serve(request);
    return THEMIS_OK;
}

static void request_serve(themis_server_t *server, themis_server_request_t *request)
{
    int resumed = request->state == THEMIS_SERVER_REQUEST_READY;
    uint64_t started = request->route == THEMIS_SERVER_ROUTE_CONTROL ? themis_util_clock_thread() : 0;

    request->state = THEMIS_SERVER_REQUEST_SERVED;
    if (request_serve_by_kind(request, resumed) == THEMIS_IN_PROGRESS)
        return;
    pthread_mutex_lock(&server->lock);
    if (request->route == THEMIS_SERVER_ROUTE_SCHEDULED)
        themis_server_slice_end(request);
    else if (request->route == THEMIS_SERVER_ROUTE_CONTROL)
        themis_sched_control_queue_done(&server->control, themis_util_clock_thread() - started,
                                        themis_util_clock_now());
    if (request->item.bytes == 0)
        themis_server_request_free(request);
    pthread_mutex_unlock(&server->lock);
}

/* --- waiting; with the lock --------------------------------------------------------------------------------------- */

/* Periodic work; returns when it is due next, in ns from now. */
static uint64_t tick(themis_server_t *server, uint64_t now)
{
    themis_server_workers_t *workers = &server->workers;

    if (themis_server_drain_is_done(server)) {
        workers->stopped = 1;
        pthread_cond_broadcast(&workers->idle);
        themis_net_wake(server->net);
    } else if (server->drain.active && now >= server->drain.end) {
        themis_server_slices_abandon(server);
    }
    if (now >= workers->next_tick) {
        themis_server_lease_expire(server, now);
        workers->next_tick = now + TICK;
    }
    uint64_t next = themis_server_direct_tick(server, now), leases = workers->next_tick - now;
    if (server->drain.active && leases > DRAIN_TICK)
        leases = DRAIN_TICK;
    else if (!server->drain.active && themis_sched_job_table_count(server->jobs) == 0 && !server->pending.list)
        leases = LONG_SLEEP;
    return next < leases ? next : leases;
}

/* Returns 1 if it was signalled, 0 if it is `wake`. */
static int worker_sleep_until(themis_server_t *server, uint64_t wake)
{
    struct timespec until = {.tv_sec = (time_t)(wake / THEMIS_NS_PER_S), .tv_nsec = (long)(wake % THEMIS_NS_PER_S)};

    if (wake == UINT64_MAX)
        return pthread_cond_wait(&server->workers.idle, &server->lock) == 0;
    return pthread_cond_clockwait(&server->workers.idle, &server->lock, CLOCK_MONOTONIC, &until) == 0;
}

/*
 * One sleeping worker looks now and then while there is work: if the one that polled serves something small that does
 * not end (it may wait for a page of the client's memory), this one has to poll. Returns 1 when it has to get up, 0
 * when nothing is left to look after.
 */
static int worker_guard(themis_server_t *server, uint64_t wake)
{
    themis_server_workers_t *workers = &server->workers;
    int signalled = 0, stuck = 0, quiet = 0;

    workers->guarded = 1;
    while (!signalled && !stuck && !quiet) {
        uint64_t turns = workers->turns, next = themis_util_clock_now() + GUARD;
        signalled = worker_sleep_until(server, next < wake ? next : wake) || wake <= next;
        stuck = !workers->polling && workers->turns == turns;
        quiet = workers->polling && workers->turns == turns;
    }
    workers->guarded = 0;
    return signalled || stuck;
}

static void worker_sleep(themis_server_t *server, uint64_t wake)
{
    server->workers.idle_count++;
    if (server->workers.guarded || !worker_guard(server, wake))
        worker_sleep_until(server, wake);
    server->workers.idle_count--;
}

/* Removes the replies that were saved for sessions that have ended. The lock is released meanwhile. */
static void ended_replies_erase(themis_server_t *server)
{
    uint64_t session;

    while ((session = themis_server_durable_replies_next_ended(server->durable_replies))) {
        pthread_mutex_unlock(&server->lock);
        themis_server_durable_replies_erase(server->durable_replies, session);
        pthread_mutex_lock(&server->lock);
    }
}

/* Removes the records of sessions that no longer hold locks. The lock is released meanwhile. */
static void holders_erase(themis_server_t *server)
{
    if (!server->holders_due)
        return;
    server->holders_due = 0;
    pthread_mutex_unlock(&server->lock);
    themis_server_lock_holders_erase(server->lock_holders);
    pthread_mutex_lock(&server->lock);
}

/* Something waits for worker_main's end of a turn. */
static int has_ended_parts(const themis_server_t *server)
{
    return server->closing || server->holders_due || themis_server_direct_has_ended(server);
}

/* Nothing to serve: polls if no other worker does, else sleeps. The lock is released meanwhile. */
static void worker_wait(themis_server_t *server, uint64_t wake)
{
    themis_server_workers_t *workers = &server->workers;
    uint64_t now = themis_util_clock_now();

    if (themis_server_slices_check_stalled(server, now, &wake) || has_ended_parts(server))
        return;
    if (workers->polling) {
        worker_sleep(server, wake);
        return;
    }
    uint64_t timeout = tick(server, now);
    if (workers->stopped || has_ended_parts(server))
        return;
    if (wake != UINT64_MAX && wake < now + timeout)
        timeout = wake > now ? wake - now : 0;
    workers->polling = 1;
    workers->turns++;
    workers->poller = pthread_self();
    pthread_mutex_unlock(&server->lock);
    themis_net_progress(server->net, timeout);
    pthread_mutex_lock(&server->lock);
    workers->polling = 0;
}

static void *worker_main(void *arg)
{
    themis_server_t *server = arg;
    uint64_t wake;

    pthread_mutex_lock(&server->lock);
    while (!server->workers.stopped) {
        themis_server_request_t *request = request_take(server, &wake);
        if (request) {
            if (server->workers.idle_count && wants_help(server, request))
                pthread_cond_signal(&server->workers.idle);
            server->workers.turns++;
            pthread_mutex_unlock(&server->lock);
            request_serve(server, request);
            pthread_mutex_lock(&server->lock);
        } else {
            worker_wait(server, wake);
        }
        themis_server_requests_close(server);
        themis_server_direct_release(server);
        ended_replies_erase(server);
        holders_erase(server);
    }
    pthread_mutex_unlock(&server->lock);
    return NULL;
}

themis_status_t themis_server_engine_start(themis_server_t *server)
{
    themis_server_workers_t *workers = &server->workers;
    uint32_t wanted = workers->count;

    for (workers->count = 0; workers->count < wanted; workers->count++) {
        int cause = pthread_create(&workers->threads[workers->count], NULL, worker_main, server);
        if (cause) {
            themis_error("cannot start worker thread %u of %u: %s", workers->count + 1, wanted, strerror(cause));
            return workers->count ? THEMIS_OK : THEMIS_NO_MEMORY;
        }
    }
    return THEMIS_OK;
}

void themis_server_engine_stop(themis_server_t *server)
{
    pthread_mutex_lock(&server->lock);
    server->workers.stopped = 1;
    pthread_cond_broadcast(&server->workers.idle);
    pthread_mutex_unlock(&server->lock);
    themis_net_wake(server->net);
    themis_server_engine_join(server);
}

void themis_server_engine_join(themis_server_t *server)
{
    for (uint32_t i = 0; i < server->workers.count; i++)
        pthread_join(server->workers.threads[i], NULL);
}
