/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/slices.h"
#include <stdlib.h>
#include <utlist.h>
#include "server/client_session.h"
#include "server/history.h"
#include "server/queue.h"
#include "util/clock.h"
#include "util/log.h"

enum { MAX_STALLED = 32 };
static const uint64_t stalled_after = 100 * THEMIS_NS_PER_MS;

/* --- windows ------------------------------------------------------------------------------------------------------ */

static themis_status_t windows_make(themis_server_slices_t *slices, uint32_t wanted)
{
    while (slices->windows_made < wanted) {
        themis_status_t status = themis_store_window_create(&slices->windows[slices->window_count]);
        if (status != THEMIS_OK)
            return status;
        slices->window_count++;
        slices->windows_made++;
    }
    return THEMIS_OK;
}

/* One for each slice that is counted, stalled or extra, and one for the extra slice that the job of each stalled one
 * may still get. */
static uint32_t windows_wanted(const themis_server_slices_t *slices, uint32_t stalled, uint32_t extra)
{
    return slices->limit + 2 * stalled + extra;
}

static void window_give_back(themis_server_slices_t *slices, themis_store_window_t *window)
{
    uint32_t wanted = windows_wanted(slices, slices->stalled_count, slices->extra_count);

    slices->windows[slices->window_count++] = window;
    while (slices->windows_made > wanted && slices->window_count) {
        themis_store_window_destroy(slices->windows[--slices->window_count]);
        slices->windows_made--;
    }
}

themis_status_t themis_server_slices_create(themis_server_t *server)
{
    themis_server_slices_t *slices = &server->slices;

    slices->windows = calloc(windows_wanted(slices, MAX_STALLED, MAX_STALLED), sizeof *slices->windows);
    return slices->windows ? windows_make(slices, slices->limit) : THEMIS_NO_MEMORY;
}

void themis_server_slices_destroy(themis_server_t *server)
{
    while (server->slices.window_count)
        themis_store_window_destroy(server->slices.windows[--server->slices.window_count]);
    free(server->slices.windows);
}

/* --- from begin to end -------------------------------------------------------------------------------------------- */

static void data_begin(themis_server_request_t *request, uint64_t now)
{
    themis_server_t *server = request->server;
    themis_sched_job_t *job = request->session->job;

    if (job->stalled) {
        request->slice.kind = THEMIS_SERVER_SLICE_EXTRA;
        server->slices.extra_count++;
        themis_sched_hold(server->sched, job, 1, now);
    } else {
        request->slice.kind = THEMIS_SERVER_SLICE_COUNTED;
        server->slices.counted++;
    }
    request->slice.window = server->slices.windows[--server->slices.window_count];
}

void themis_server_slice_begin(themis_server_request_t *request, uint64_t bytes, uint64_t now)
{
    DL_DELETE(request->session->queued, request);
    request->slice = (themis_server_slice_t){.started = now, .left = bytes};
    request->server->slices.in_service++;
    request->session->in_service++;
    if (themis_server_request_is_data(request))
        data_begin(request, now);
}

/* The slice leaves its count; `next` is how it counts from now on. */
static void kind_change(themis_server_request_t *request, themis_server_slice_kind_t next, uint64_t now)
{
    themis_server_t *server = request->server;
    themis_server_session_t *session = request->session;

    if (request->slice.kind == THEMIS_SERVER_SLICE_COUNTED) {
        server->slices.counted--;
    } else if (request->slice.kind == THEMIS_SERVER_SLICE_EXTRA) {
        server->slices.extra_count--;
        themis_sched_hold(server->sched, session->job, 0, now);
    } else if (request->slice.kind == THEMIS_SERVER_SLICE_STALLED) {
        session->stalled--;
        session->job->stalled--;
        server->slices.stalled_count--;
    }
    request->slice.kind = next;
    if (next == THEMIS_SERVER_SLICE_STALLED) {
        session->stalled++;
        session->job->stalled++;
        server->slices.stalled_count++;
    }
}

void themis_server_slice_end(themis_server_request_t *request)
{
    themis_server_t *server = request->server;
    themis_server_session_t *session = request->session;
    uint64_t now = themis_util_clock_now();

    if (request->slice.window) {
        kind_change(request, THEMIS_SERVER_SLICE_NONE, now);
        window_give_back(&server->slices, request->slice.window);
        request->slice.window = NULL;
    }
    server->slices.in_service--;
    session->in_service--;
    if (request->epoch != session->epoch)
        session->in_service_earlier--;
    if (!session->listed && !session->in_service)
        themis_server_locks_end_session(server->locks, session->incarnation);
    *(request->header.opcode == THEMIS_OP_READ ? &session->job->bytes_read : &session->job->bytes_written) +=
        request->slice.moved;
    if (request->slice.moved)
        themis_server_history_access(server, session, request->body.io.object);
    if (themis_server_request_is_orphan(request))
        request->item.bytes = 0;
    if (request->item.bytes) {
        request->state = THEMIS_SERVER_REQUEST_QUEUED;
        DL_PREPEND(session->queued, request);
    }
    themis_sched_done(server->sched, &request->item, request->slice.moved, now - request->slice.started, now);
    if (session->stalled)
        themis_server_queue_hold(session, now);
    else
        themis_server_queue_resume(session, now);
}

/* --- transfers that the network has ------------------------------------------------------------------------------- */

static themis_server_request_t **list_of(themis_server_request_t *request)
{
    themis_server_slices_t *slices = &request->server->slices;

    return request->slice.kind == THEMIS_SERVER_SLICE_STALLED ? &slices->stalled : &slices->moving;
}

void themis_server_slice_park(themis_server_request_t *request)
{
    if (request->state == THEMIS_SERVER_REQUEST_MOVED) {
        themis_server_queue_add_ready(request);
        return;
    }
    request->state = THEMIS_SERVER_REQUEST_PARKED;
    request->slice.parked = themis_util_clock_now();
    DL_APPEND(*list_of(request), request);
}

void themis_server_slice_moved(themis_server_request_t *request, themis_status_t status)
{
    request->status = status;
    if (request->state == THEMIS_SERVER_REQUEST_MOVING) {
        request->state = THEMIS_SERVER_REQUEST_MOVED;
        return;
    }
    DL_DELETE(*list_of(request), request);
    themis_server_queue_add_ready(request);
}

static void request_disconnect(themis_server_request_t *request)
{
    if (themis_server_request_is_orphan(request))
        return;
    themis_warn("%s of job %s takes no part in a transfer: its connection is closed",
                themis_net_conn_peer(request->conn), request->session->identity.id);
    themis_server_session_disconnect(request->server, request->session);
}

/* May one more slice be stalled? If not, the oldest one is made to end. */
static int stalled_make_room(themis_server_slices_t *slices)
{
    themis_server_request_t *request;

    if (slices->extra_count >= MAX_STALLED)
        return 0; /* each of them ends or stalls soon */
    if (slices->stalled_count < MAX_STALLED)
        return windows_make(slices, windows_wanted(slices, slices->stalled_count + 1, slices->extra_count)) ==
               THEMIS_OK;
    DL_FOREACH(slices->stalled, request)
    if (themis_server_request_is_orphan(request))
        return 0; /* it is about to end */
    if (slices->stalled)
        request_disconnect(slices->stalled);
    return 0;
}

int themis_server_slices_check_stalled(themis_server_t *server, uint64_t now, uint64_t *wake)
{
    themis_server_slices_t *slices = &server->slices;
    uint64_t due = UINT64_MAX;
    themis_server_request_t *request, *next;
    int found = 0;

    for (; slices->moving && now - slices->moving->slice.parked >= stalled_after && stalled_make_room(slices);
         found = 1) {
        request = slices->moving;
        DL_DELETE(slices->moving, request);
        kind_change(request, THEMIS_SERVER_SLICE_STALLED, now);
        DL_APPEND(slices->stalled, request);
        if (request->session->stalled == 1)
            themis_server_queue_hold(request->session, now);
    }
    /* a stalled slice that moves again for a while is parked at the end, so the first one has waited longest */
    DL_FOREACH_SAFE(slices->stalled, request, next)
    {
        if (now - request->slice.parked < server->config.stall_limit)
            break;
        request_disconnect(request);
    }
    if (slices->moving)
        due = slices->moving->slice.parked + stalled_after;
    if (slices->stalled && slices->stalled->slice.parked + server->config.stall_limit < due)
        due = slices->stalled->slice.parked + server->config.stall_limit;
    if (due < now + stalled_after / 4) /* no room yet, or what was closed has not ended: soon */
        due = now + stalled_after / 4;
    if (due < *wake)
        *wake = due;
    return found;
}

void themis_server_slices_abandon(themis_server_t *server)
{
    themis_server_request_t *request;

    DL_FOREACH(server->slices.moving, request)
    request_disconnect(request);
    DL_FOREACH(server->slices.stalled, request)
    request_disconnect(request);
}
