/* SPDX-License-Identifier: BSD-3-Clause */
/* The workers: who polls, who serves, who sleeps (see server.h), and the life of the server. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>
#include <utlist.h>
#include "server/server.h"
#include "server/monitoring.h"
#include "util/clock.h"
#include "util/log.h"

enum { SLICES_PER_WORKER = 2, WAKE_BYTES = 64 << 10, MANY = 4 };
#define GUARD (5 * THEMIS_NS_PER_MS)
#define TICK (THEMIS_NS_PER_S / 2)
#define LONG_SLEEP (60 * THEMIS_NS_PER_S)

void themis_server_rouse(themis_server_t *server)
{
    if (server->polling && pthread_equal(server->poller, pthread_self()))
        return; /* this thread looks when it has polled */
    if (server->idle_count)
        pthread_cond_signal(&server->idle);
    else if (server->polling)
        themis_net_wake(server->net);
}

void themis_server_ready(themis_server_t *server, themis_request_t *request)
{
    request->state = THEMIS_SERVER_REQUEST_READY;
    DL_APPEND(server->ready, request);
    themis_server_rouse(server);
}

/* --- taking and ending requests; with the lock -------------------------------------------------------------------- */

static int is_data(const themis_request_t *request)
{
    return request->header.opcode == THEMIS_OP_READ || request->header.opcode == THEMIS_OP_WRITE;
}

static void begin_slice(themis_server_t *server, themis_request_t *request, uint64_t slice, uint64_t now)
{
    DL_DELETE(request->session->queued, request);
    request->started = now;
    request->moved = 0;
    request->slice = slice;
    server->in_service++;
    request->session->in_service++;
    if (is_data(request))
        themis_server_stall_begin(request, now);
}

static themis_request_t *take_control(themis_server_t *server, uint64_t now, uint64_t *wake)
{
    themis_sched_control_item_t *item = themis_sched_control_queue_next(&server->control, now, wake);

    if (!item)
        return NULL;
    themis_request_t *request = (themis_request_t *)((char *)item - offsetof(themis_request_t, control));
    DL_DELETE(request->session->asked, request);
    return request;
}

static themis_request_t *take_scheduled(themis_server_t *server, uint64_t now, uint64_t *wake)
{
    uint64_t slice = 0, later;
    themis_sched_item_t *item = server->slices < server->slice_limit
                                    ? themis_sched_next(server->sched, now, &slice, &later)
                                    : themis_sched_next_metadata(server->sched, now, &later);
    themis_request_t *request = (themis_request_t *)item;

    *wake = later < *wake ? later : *wake;
    if (request)
        begin_slice(server, request, slice, now);
    return request;
}

/* The next request to go on with, or NULL; *wake: when to ask again. */
static themis_request_t *take(themis_server_t *server, uint64_t *wake)
{
    themis_request_t *request = server->ready;

    *wake = UINT64_MAX;
    if (request) {
        DL_DELETE(server->ready, request);
        return request;
    }
    uint64_t now = themis_util_clock_now();
    request = take_control(server, now, wake);
    return request ? request : take_scheduled(server, now, wake);
}

/* Nobody can be answered any more: the client has gone, or come back by another connection and will ask again. */
static int is_lost(const themis_request_t *request)
{
    return request->session->conn != request->conn;
}

static void end_slice(themis_server_t *server, themis_request_t *request)
{
    uint64_t now = themis_util_clock_now();
    themis_sched_job_t *job = request->session->job;

    if (request->window)
        themis_server_stall_end(request, now);
    server->in_service--;
    request->session->in_service--;
    if (request->epoch != request->session->epoch)
        request->session->behind--;
    *(request->header.opcode == THEMIS_OP_READ ? &job->bytes_read : &job->bytes_written) += request->moved;
    if (request->item.bytes && is_lost(request))
        request->item.bytes = 0;
    if (request->item.bytes) {
        request->state = THEMIS_SERVER_REQUEST_QUEUED;
        DL_PREPEND(request->session->queued, request);
    }
    themis_sched_done(server->sched, &request->item, request->moved, now - request->started, now);
    if (request->session->stalled)
        themis_server_hold_session(server, request->session, now);
    else
        themis_server_caught_up(server, request->session);
}

void themis_server_unschedule(themis_server_t *server, themis_request_t *request)
{
    end_slice(server, request);
    request->scheduled = 0;
}

/* --- serving; without the lock ------------------------------------------------------------------------------------ */

/* May take long, or wait for a disk: somebody else is to poll meanwhile. */
static int is_slow(const themis_server_t *server, const themis_request_t *request)
{
    if (is_data(request))
        return themis_store_blocking(server->store) || request->slice > WAKE_BYTES;
    return request->scheduled && request->header.opcode != THEMIS_OP_LOCK &&
           request->header.opcode != THEMIS_OP_COUNTER;
}

/*
 * Is another thread to be woken before this one serves the request? That costs as much as a few small requests, so for
 * those it is not, unless nobody watches that this one comes back to poll. With the lock.
 */
static int wants_help(const themis_server_t *server, const themis_request_t *request)
{
    uint64_t waiting = themis_sched_queued(server->sched);

    if (server->ready || waiting >= MANY)
        return 1;
    if (is_slow(server, request))
        return !server->polling || waiting;
    return !server->polling && !server->guarded;
}

/* Returns THEMIS_IN_PROGRESS if the network goes on with it. */
static themis_status_t serve_data(themis_server_t *server, themis_request_t *request, int resumed)
{
    if (themis_server_data_serve(request, resumed) == THEMIS_IN_PROGRESS) {
        pthread_mutex_lock(&server->lock);
        themis_server_stall_park(request);
        pthread_mutex_unlock(&server->lock);
        return THEMIS_IN_PROGRESS;
    }
    if (request->item.bytes == 0 && request->object) {
        themis_store_close(server->store, request->object);
        request->object = NULL;
    }
    return THEMIS_OK;
}

/* Returns THEMIS_IN_PROGRESS if somebody else has the request now. */
static themis_status_t serve_by_kind(themis_server_t *server, themis_request_t *request, int resumed)
{
    unsigned opcode = request->header.opcode;

    if (is_data(request))
        return serve_data(server, request, resumed);
    if (opcode <= THEMIS_OP_GOODBYE)
        themis_server_presence_serve(request);
    else if (opcode >= THEMIS_OP_STATUS)
        themis_server_control_serve(request);
    else if (opcode >= THEMIS_OP_LOCK)
        return themis_server_locking_serve(request);
    else if (opcode >= THEMIS_OP_READ)
        themis_server_objects_serve(request);
    else
        themis_server_names_serve(request);
    return THEMIS_OK;
}

static void serve(themis_server_t *server, themis_request_t *request)
{
    int resumed = request->state == THEMIS_SERVER_REQUEST_READY;
    uint64_t began = request->control.job ? themis_util_clock_thread() : 0;

    request->state = THEMIS_SERVER_REQUEST_SERVED;
    if (serve_by_kind(server, request, resumed) == THEMIS_IN_PROGRESS)
        return;
    pthread_mutex_lock(&server->lock);
    if (request->scheduled) {
        end_slice(server, request);
    } else if (request->control.job) {
        themis_sched_control_queue_done(&server->control, themis_util_clock_thread() - began, themis_util_clock_now());
    }
    if (request->item.bytes == 0)
        themis_server_request_free(request);
    pthread_mutex_unlock(&server->lock);
}

/* --- waiting ------------------------------------------------------------------------------------------------------ */

static int is_drained(themis_server_t *server)
{
    uint64_t waiting = themis_sched_queued(server->sched) + server->control.queued;

    return server->draining && !server->ready && server->in_service == 0 &&
           (waiting == 0 || themis_util_clock_now() >= server->drain_end);
}

static void stop_workers(themis_server_t *server)
{
    server->stopped = 1;
    pthread_cond_broadcast(&server->idle);
    themis_net_wake(server->net);
}

/* What is to be done from time to time; returns when it is next, in ns from now. */
static uint64_t tick(themis_server_t *server, uint64_t now)
{
    if (is_drained(server))
        stop_workers(server);
    else if (server->draining && now >= server->drain_end)
        themis_server_stall_abandon(server);
    if (now >= server->next_tick) {
        themis_server_expire(server, now);
        server->next_tick = now + TICK;
    }
    uint64_t own =
        themis_sched_job_table_count(server->jobs) || server->draining ? server->next_tick - now : LONG_SLEEP;
    if (server->draining && own > 10 * THEMIS_NS_PER_MS)
        own = 10 * THEMIS_NS_PER_MS;
    return own;
}

/* Returns 1 if it was signalled, 0 if it is `wake`. */
static int sleep_until(themis_server_t *server, uint64_t wake)
{
    struct timespec until = {.tv_sec = (time_t)(wake / THEMIS_NS_PER_S), .tv_nsec = (long)(wake % THEMIS_NS_PER_S)};

    if (wake == UINT64_MAX)
        return pthread_cond_wait(&server->idle, &server->lock) == 0;
    return pthread_cond_clockwait(&server->idle, &server->lock, CLOCK_MONOTONIC, &until) == 0;
}

/*
 * One of the sleepers looks now and then while there is work: if the one who polled serves something small that does
 * not end (it may wait for a page of the client's memory), this one is to poll. Returns 1 when it is to get up, 0 when
 * nothing is left to watch.
 */
static int guard(themis_server_t *server, uint64_t wake)
{
    int signalled = 0, stuck = 0, quiet = 0;

    server->guarded = 1;
    while (!signalled && !stuck && !quiet) {
        uint64_t turns = server->turns, next = themis_util_clock_now() + GUARD;
        signalled = sleep_until(server, next < wake ? next : wake) || wake <= next;
        stuck = !server->polling && server->turns == turns;
        quiet = server->polling && server->turns == turns;
    }
    server->guarded = 0;
    return signalled || stuck;
}

static void sleep_idle(themis_server_t *server, uint64_t wake)
{
    server->idle_count++;
    if (server->guarded || !guard(server, wake))
        sleep_until(server, wake);
    server->idle_count--;
}

/* Nothing to serve: polls if nobody does, else sleeps. With the lock, which is released meanwhile. */
static void wait_for_work(themis_server_t *server, uint64_t wake)
{
    uint64_t now = themis_util_clock_now();
    if (themis_server_stall_check(server, now, &wake))
        return;
    if (server->polling) {
        sleep_idle(server, wake);
        return;
    }
    uint64_t timeout = tick(server, now);
    if (server->stopped)
        return;
    if (wake != UINT64_MAX && wake < now + timeout)
        timeout = wake > now ? wake - now : 0;
    server->polling = 1;
    server->turns++;
    server->poller = pthread_self();
    pthread_mutex_unlock(&server->lock);
    themis_net_progress(server->net, timeout);
    pthread_mutex_lock(&server->lock);
    server->polling = 0;
}

static void *worker_main(void *arg)
{
    themis_server_t *server = arg;
    uint64_t wake;

    pthread_mutex_lock(&server->lock);
    while (!server->stopped) {
        themis_request_t *request = take(server, &wake);
        if (!request) {
            wait_for_work(server, wake);
            continue;
        }
        if (server->idle_count && wants_help(server, request))
            pthread_cond_signal(&server->idle);
        server->turns++;
        pthread_mutex_unlock(&server->lock);
        serve(server, request);
        pthread_mutex_lock(&server->lock);
    }
    pthread_mutex_unlock(&server->lock);
    return NULL;
}

/* --- life --------------------------------------------------------------------------------------------------------- */

static themis_status_t create_sched(themis_server_t *server)
{
    const themis_server_config_t *config = &server->config;
    themis_sched_options_t options;
    char error[512];

    themis_sched_options_init(&options);
    options.policy = config->policy;
    options.draw = config->draw;
    options.quantum = config->quantum;
    options.bandwidth = config->store_bandwidth;
    options.seed = server->incarnation;
    options.gift_interval = config->gift_interval;
    options.tbf_rate = (double)config->tbf_rate;
    themis_status_t status =
        themis_sched_create(&options, themis_util_clock_now(), error, sizeof error, &server->sched);
    if (status != THEMIS_OK)
        themis_error("%s", error);
    return status;
}

static themis_status_t create_store(themis_server_t *server)
{
    const themis_server_config_t *config = &server->config;
    int arena = strcmp(config->store, "arena") == 0;
    themis_store_options_t options = {.type = config->store,
                                      .size = config->size,
                                      .path = arena ? config->file : config->directory,
                                      .index = (uint32_t)config->index,
                                      .warm = config->warm};

    return themis_store_create(&options, &server->store);
}

static themis_status_t create_names(themis_server_t *server)
{
    const themis_server_config_t *config = &server->config;
    themis_server_namespace_options_t options = {
        .directory = config->state,
        .fresh = strcmp(config->store, "arena") == 0, /* its bytes end with the server */
        .index = (uint32_t)config->index,
        .servers = (uint32_t)config->count,
        .layout = {.stripe_size = config->stripe_size, .count = (uint32_t)config->stripe_count, .first = UINT32_MAX}};

    return themis_server_namespace_create(&options, &server->names);
}

static themis_status_t create_net(themis_server_t *server)
{
    themis_server_config_t *config = &server->config;
    themis_status_t status = themis_net_create(NULL, &themis_server_handlers, server, &server->net);

    if (status == THEMIS_OK)
        status = themis_net_listen(server->net, config->listen, (uint16_t)config->port, &server->port);
    if (status == THEMIS_OK && !*config->name)
        snprintf(config->name, sizeof config->name, "%.200s:%u", *config->listen ? config->listen : "localhost",
                 server->port);
    return status;
}

static uint32_t worker_count(const themis_server_config_t *config)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    if (config->workers)
        return (uint32_t)config->workers;
    return cores > 2 ? (uint32_t)cores : 2;
}

typedef themis_status_t (*create_fn)(themis_server_t *server);

static themis_status_t create_parts(themis_server_t *server)
{
    static const create_fn parts[] = {create_sched,
                                      create_store,
                                      create_names,
                                      themis_server_stall_create,
                                      create_net,
                                      themis_server_peers_create,
                                      themis_server_watch_start};
    themis_status_t status = themis_sched_job_table_create(&server->jobs);

    if (status == THEMIS_OK)
        status = themis_server_sessions_create(&server->sessions);
    if (status == THEMIS_OK)
        status = themis_server_removed_create(&server->removed);
    if (status == THEMIS_OK)
        status = themis_server_locks_create(themis_server_lock_granted, server, &server->locks);
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == THEMIS_OK; i++)
        status = parts[i](server);
    return status;
}

themis_status_t themis_server_create(const themis_server_config_t *config, themis_server_t **server)
{
    themis_server_t *made = calloc(1, sizeof *made);
    ssize_t random;

    if (!made)
        return THEMIS_NO_MEMORY;
    made->config = *config;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->idle, NULL);
    random = getrandom(&made->incarnation, sizeof made->incarnation, 0);
    if (random != sizeof made->incarnation)
        made->incarnation = themis_util_clock_wall();
    made->began = themis_util_clock_now();
    made->thread_count = worker_count(config);
    made->slice_limit = made->thread_count * SLICES_PER_WORKER;
    made->threads = calloc(made->thread_count, sizeof *made->threads);
    themis_status_t status = made->threads ? create_parts(made) : THEMIS_NO_MEMORY;
    made->thread_count = made->threads ? made->thread_count : 0;
    if (status != THEMIS_OK) {
        made->thread_count = 0;
        themis_server_destroy(made);
        return status;
    }
    *server = made;
    return THEMIS_OK;
}

themis_status_t themis_server_start(themis_server_t *server)
{
    uint32_t wanted = server->thread_count;

    for (server->thread_count = 0; server->thread_count < wanted; server->thread_count++) {
        int cause = pthread_create(&server->threads[server->thread_count], NULL, worker_main, server);
        if (cause) {
            themis_error("cannot start a worker: %s", strerror(cause));
            return server->thread_count ? THEMIS_OK : THEMIS_NO_MEMORY;
        }
    }
    return themis_server_peers_start(server);
}

void themis_server_join(themis_server_t *server)
{
    for (uint32_t i = 0; i < server->thread_count; i++)
        pthread_join(server->threads[i], NULL);
}

void themis_server_stop(themis_server_t *server)
{
    pthread_mutex_lock(&server->lock);
    if (!server->draining) {
        server->draining = 1;
        server->drain_end = themis_util_clock_now() + server->config.drain;
        themis_info("stopping; %llu requests wait", (unsigned long long)themis_sched_queued(server->sched));
        if (server->idle_count)
            pthread_cond_signal(&server->idle);
        themis_net_wake(server->net);
    }
    pthread_mutex_unlock(&server->lock);
}

void themis_server_reload(themis_server_t *server, const themis_server_config_t *fresh)
{
    char kept[1024], error[512] = "", policy[sizeof server->config.policy], draw[sizeof server->config.draw];
    themis_util_log_level_t level;

    pthread_mutex_lock(&server->lock);
    memcpy(policy, server->config.policy, sizeof policy);
    memcpy(draw, server->config.draw, sizeof draw);
    themis_server_config_reload(&server->config, fresh, kept, sizeof kept);
    themis_status_t status = themis_server_set_policy(server, server->config.policy, NULL, error, sizeof error);
    if (status != THEMIS_OK) {
        memcpy(server->config.policy, policy, sizeof policy);
        memcpy(server->config.draw, draw, sizeof draw);
    }
    themis_proto_layout_t layout = {
        .stripe_size = server->config.stripe_size, .count = (uint32_t)server->config.stripe_count, .first = UINT32_MAX};
    themis_server_peers_kick(server); /* lambda may be another */
    pthread_mutex_unlock(&server->lock);
    themis_server_namespace_set_layout(server->names, &layout);
    if (themis_util_log_level_parse(fresh->log, &level) == 0)
        themis_util_log_set_level(level);
    if (status != THEMIS_OK)
        themis_error("%s; the old policy stays", error);
    if (*kept)
        themis_warn("these keys count only after a restart: %s", kept);
    themis_info("configuration read again");
}

static void end_sessions(themis_server_t *server)
{
    themis_server_session_t *session;

    pthread_mutex_lock(&server->lock);
    while ((session = themis_server_sessions_first(server->sessions)))
        themis_server_end_session(server, session);
    while (server->ready) {
        themis_request_t *request = server->ready;
        DL_DELETE(server->ready, request);
        themis_server_request_free(request);
    }
    pthread_mutex_unlock(&server->lock);
}

void themis_server_destroy(themis_server_t *server)
{
    if (!server)
        return;
    themis_server_watch_stop(server);
    themis_server_peers_destroy(server);
    if (server->sessions)
        end_sessions(server);
    themis_net_destroy(server->net);
    themis_server_sessions_destroy(server->sessions);
    themis_server_locks_destroy(server->locks);
    themis_sched_destroy(server->sched);
    themis_sched_job_table_destroy(server->jobs);
    themis_server_removed_destroy(server->removed);
    themis_server_namespace_destroy(server->names);
    themis_server_stall_destroy(server);
    themis_store_destroy(server->store);
    pthread_cond_destroy(&server->idle);
    pthread_mutex_destroy(&server->lock);
    free(server->threads);
    free(server);
}
