/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests that wait for a worker: in the scheduler, in the control queue, or in the ready list of those that bypass
 * both. Whatever is queued, a worker is woken if none would look otherwise. All functions with the lock.
 */
#pragma once
#include "server/request.h"

/* To the scheduler; or the request is held, while an earlier connection of its session has requests in service or its
 * client does not take part in a transfer. */
void themis_server_queue_add(themis_server_request_t *request, uint64_t now);
void themis_server_queue_add_control(themis_server_request_t *request);
/* Any worker may go on with the request next. */
void themis_server_queue_add_ready(themis_server_request_t *request);

/* Takes the session's requests back from the scheduler and holds them. */
void themis_server_queue_hold(themis_server_session_t *session, uint64_t now);
/* Queues what is held, if it need not wait any more. */
void themis_server_queue_resume(themis_server_session_t *session, uint64_t now);
/* Drops the session's requests that wait; the client sends them again if it reconnects. The caller holds a reference to
 * the session. */
void themis_server_queue_cancel(themis_server_t *server, themis_server_session_t *session);
