/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Transfers that the network has, and clients that do not take part in theirs: stopped, hung, or behind a link that is
 * gone.
 *
 * A slice that has not moved for `patience` is taken out of the count of slices that the workers share, so that others
 * go on; its session gets no further one until it has ended, and the session's job only one at a time, beside that
 * count, until none of its slices stalls. Until it is known as such it may keep the bytes of others waiting, for at
 * most `patience` and what a slice takes; metadata operations go on meanwhile (themis_sched_next_metadata), but for
 * those that are behind bytes in their own job's queue. A client that moves nothing for the configured limit loses its
 * connection: its transfers end then, and if it lives it connects again and repeats what it asked for.
 *
 * Memory: each stalled slice keeps its window, and its job may take one more; they come on top of those of slice_limit.
 * At most MAX_STALLED slices stall at a time: before there are more, the oldest loses its connection.
 */
#include <stdlib.h>
#include <utlist.h>
#include "server/server.h"
#include "util/clock.h"
#include "util/log.h"

enum { MAX_STALLED = 32 };
static const uint64_t patience = 100 * THEMIS_NS_PER_MS;

/* --- windows ------------------------------------------------------------------------------------------------------ */

static themis_status_t make_windows(themis_server_t *server, uint32_t wanted)
{
    while (server->windows_made < wanted) {
        themis_status_t status = themis_store_window_create(&server->windows[server->window_count]);
        if (status != THEMIS_OK)
            return status;
        server->window_count++;
        server->windows_made++;
    }
    return THEMIS_OK;
}

/* One for each slice that is counted, for each that stalls, and for each that is beside the count; and one for what the
 * job of each that stalls may yet have beside it. */
static uint32_t windows_wanted(const themis_server_t *server, uint32_t stalled, uint32_t beside)
{
    return server->slice_limit + 2 * stalled + beside;
}

static void give_window_back(themis_server_t *server, themis_store_window_t *window)
{
    uint32_t wanted = windows_wanted(server, server->stalled_count, server->beside_count);

    server->windows[server->window_count++] = window;
    while (server->windows_made > wanted && server->window_count) {
        themis_store_window_destroy(server->windows[--server->window_count]);
        server->windows_made--;
    }
}

themis_status_t themis_server_stall_create(themis_server_t *server)
{
    server->windows = calloc(windows_wanted(server, MAX_STALLED, MAX_STALLED), sizeof *server->windows);
    return server->windows ? make_windows(server, server->slice_limit) : THEMIS_NO_MEMORY;
}

void themis_server_stall_destroy(themis_server_t *server)
{
    while (server->window_count)
        themis_store_window_destroy(server->windows[--server->window_count]);
    free(server->windows);
}

/* --- slices ------------------------------------------------------------------------------------------------------- */

void themis_server_stall_begin(themis_request_t *request, uint64_t now)
{
    themis_server_t *server = request->server;
    themis_sched_job_t *job = request->session->job;

    request->counted = job->stalled == 0;
    if (request->counted) {
        server->slices++;
    } else {
        server->beside_count++;
        themis_sched_hold(server->sched, job, 1, now);
    }
    request->window = server->windows[--server->window_count];
}

/* The slice is neither counted any more nor the one that its job may have beside. */
static void uncount(themis_request_t *request, uint64_t now)
{
    themis_server_t *server = request->server;

    if (request->counted) {
        server->slices--;
    } else if (!request->stalled) {
        server->beside_count--;
        themis_sched_hold(server->sched, request->session->job, 0, now);
    }
    request->counted = 0;
}

void themis_server_stall_end(themis_request_t *request, uint64_t now)
{
    themis_server_t *server = request->server;

    uncount(request, now);
    if (request->stalled) {
        request->stalled = 0;
        request->session->stalled--;
        request->session->job->stalled--;
        server->stalled_count--;
    }
    give_window_back(server, request->window);
    request->window = NULL;
}

/* --- what the network has ----------------------------------------------------------------------------------------- */

void themis_server_stall_park(themis_request_t *request)
{
    themis_server_t *server = request->server;

    if (request->arrived) {
        request->arrived = 0;
        themis_server_ready(server, request);
        return;
    }
    request->parked = 1;
    request->parked_at = themis_util_clock_now();
    if (request->stalled)
        DL_APPEND(server->stalled, request);
    else
        DL_APPEND(server->moving, request);
}

void themis_server_stall_moved(themis_request_t *request)
{
    themis_server_t *server = request->server;

    if (!request->parked) {
        request->arrived = 1; /* before it was parked */
        return;
    }
    request->parked = 0;
    if (request->stalled)
        DL_DELETE(server->stalled, request);
    else
        DL_DELETE(server->moving, request);
    themis_server_ready(server, request);
}

static int is_lost(const themis_request_t *request)
{
    return request->session->conn != request->conn;
}

static void disconnect(themis_request_t *request)
{
    if (is_lost(request))
        return;
    themis_warn("%s of job %s takes no part in a transfer: its connection is closed",
                themis_net_conn_peer(request->conn), request->session->identity.id);
    themis_server_disconnect(request->server, request->session);
}

/* Room for one more that stalls? If not, the oldest is to make it. */
static int make_room(themis_server_t *server)
{
    themis_request_t *request;

    if (server->beside_count >= MAX_STALLED)
        return 0; /* each of them ends or stalls soon */
    if (server->stalled_count < MAX_STALLED)
        return make_windows(server, windows_wanted(server, server->stalled_count + 1, server->beside_count)) ==
               THEMIS_OK;
    DL_FOREACH(server->stalled, request)
    if (is_lost(request))
        return 0; /* it is about to end */
    if (server->stalled)
        disconnect(server->stalled);
    return 0;
}

static void mark(themis_request_t *request, uint64_t now)
{
    themis_server_t *server = request->server;
    themis_server_session_t *session = request->session;

    DL_DELETE(server->moving, request);
    DL_APPEND(server->stalled, request);
    uncount(request, now);
    request->stalled = 1;
    server->stalled_count++;
    session->job->stalled++;
    if (session->stalled++ == 0)
        themis_server_hold_session(server, session, now);
}

/* A stalled slice that moves again for a while is parked at the end, so the first is the one that waits longest. */
static void give_up(themis_server_t *server, uint64_t now)
{
    themis_request_t *request, *next;

    DL_FOREACH_SAFE(server->stalled, request, next)
    {
        if (now - request->parked_at < server->config.stall_limit)
            return;
        disconnect(request);
    }
}

int themis_server_stall_check(themis_server_t *server, uint64_t now, uint64_t *wake)
{
    int marked = 0;

    while (server->moving && now - server->moving->parked_at >= patience && make_room(server)) {
        mark(server->moving, now);
        marked = 1;
    }
    give_up(server, now);
    uint64_t due = UINT64_MAX;
    if (server->moving)
        due = server->moving->parked_at + patience;
    if (server->stalled && server->stalled->parked_at + server->config.stall_limit < due)
        due = server->stalled->parked_at + server->config.stall_limit;
    if (due < now + patience / 4) /* no room yet, or what was closed has not ended: soon */
        due = now + patience / 4;
    if (due < *wake)
        *wake = due;
    return marked;
}

void themis_server_stall_abandon(themis_server_t *server)
{
    themis_request_t *request;

    DL_FOREACH(server->moving, request)
    disconnect(request);
    DL_FOREACH(server->stalled, request)
    disconnect(request);
}
