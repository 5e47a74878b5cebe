/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/queue.h"
#include <utlist.h>
#include "util/clock.h"

static void worker_wake(themis_server_t *server)
{
    themis_server_workers_t *workers = &server->workers;

    if (workers->polling && pthread_equal(workers->poller, pthread_self()))
        return; /* this thread looks when it has polled */
    if (workers->idle_count)
        pthread_cond_signal(&workers->idle);
    else if (workers->polling)
        themis_net_wake(server->net);
}

void themis_server_queue_add(themis_server_request_t *request, uint64_t now)
{
    themis_server_session_t *session = request->session;

    request->route = THEMIS_SERVER_ROUTE_SCHEDULED;
    if (session->in_service_earlier || session->stalled) {
        request->state = THEMIS_SERVER_REQUEST_HELD;
        DL_APPEND(session->held, request);
        return;
    }
    request->state = THEMIS_SERVER_REQUEST_QUEUED;
    DL_APPEND(session->queued, request);
    themis_sched_enqueue(request->server->sched, session->job, &request->item, now);
    worker_wake(request->server);
}

void themis_server_queue_add_control(themis_server_request_t *request)
{
    themis_server_session_t *session = request->session;

    request->route = THEMIS_SERVER_ROUTE_CONTROL;
    request->state = THEMIS_SERVER_REQUEST_CONTROL;
    session->heartbeat_queued |= request->header.opcode == THEMIS_OP_HEARTBEAT;
    DL_APPEND(session->control, request);
    themis_sched_control_queue_add(&request->server->control, session->job, &request->control);
    worker_wake(request->server);
}

void themis_server_queue_add_ready(themis_server_request_t *request)
{
    request->state = THEMIS_SERVER_REQUEST_READY;
    DL_APPEND(request->server->ready, request);
    worker_wake(request->server);
}

void themis_server_queue_hold(themis_server_session_t *session, uint64_t now)
{
    while (session->queued) {
        themis_server_request_t *request = session->queued;
        themis_sched_cancel(request->server->sched, &request->item, now);
        DL_DELETE(session->queued, request);
        request->state = THEMIS_SERVER_REQUEST_HELD;
        DL_APPEND(session->held, request);
    }
}

void themis_server_queue_resume(themis_server_session_t *session, uint64_t now)
{
    while (session->held && !session->in_service_earlier && !session->stalled) {
        themis_server_request_t *request = session->held;
        DL_DELETE(session->held, request);
        themis_server_queue_add(request, now);
    }
}

static void request_cancel(themis_server_request_t **list)
{
    themis_server_request_t *request = *list;

    DL_DELETE(*list, request);
    if (request->saves_reply)
        themis_server_saved_replies_end(&request->session->replies, request->header.id, NULL, 0);
    themis_server_request_free(request);
}

void themis_server_queue_cancel(themis_server_t *server, themis_server_session_t *session)
{
    while (session->queued) {
        themis_sched_cancel(server->sched, &session->queued->item, themis_util_clock_now());
        request_cancel(&session->queued);
    }
    while (session->held)
        request_cancel(&session->held);
    while (session->control) {
        themis_sched_control_queue_remove(&server->control, &session->control->control);
        request_cancel(&session->control);
    }
}
