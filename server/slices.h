/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Slices under way: from the scheduler's choice to its end, and clients that take no part in their transfers, since
 * they are stopped, hang, or their network is down. All functions but create and destroy with the lock.
 *
 * A transfer that has not moved for 100 ms is stalled. Its slice does not count towards the limit of slices any more,
 * so that others go on; its session gets no further slice until it has ended, and the session's job only one at a time,
 * beyond the limit, until none of its slices is stalled. Until then it may delay the bytes of others, for at most 100
 * ms and what a slice takes; metadata operations go on meanwhile (themis_sched_next_metadata), except those that wait
 * for bytes in their own job's queue. A client that moves nothing for `stall_limit` loses its connection: its transfers
 * end then, and if it lives it connects again and repeats its requests.
 *
 * Memory: each stalled slice keeps its window, and its job may take one more, in addition to those of the limit. At
 * most 32 slices are stalled at a time: before there are more, the oldest loses its connection.
 */
#pragma once
#include "server/request.h"

/* Makes the windows for slices.limit. */
themis_status_t themis_server_slices_create(themis_server_t *server);
void themis_server_slices_destroy(themis_server_t *server);

/* A worker has taken the request from the scheduler to move `bytes` (0: metadata), and gets a window for them. */
void themis_server_slice_begin(themis_server_request_t *request, uint64_t bytes, uint64_t now);
/* The slice is over. If item.bytes is above 0 the request is queued again. */
void themis_server_slice_end(themis_server_request_t *request);

/* The worker leaves the request to the network (THEMIS_IN_PROGRESS). */
void themis_server_slice_park(themis_server_request_t *request);
/* The network has ended the request's transfer with `status`, possibly before the worker has parked it. After both,
 * any worker may go on with it. */
void themis_server_slice_moved(themis_server_request_t *request, themis_status_t status);

/* Looks for stalled slices; returns 1 if there are new ones, which lets others begin. *wake is lowered to the time at
 * which to look again. */
int themis_server_slices_check_stalled(themis_server_t *server, uint64_t now, uint64_t *wake);
/* Closes the connections of all transfers under way. */
void themis_server_slices_abandon(themis_server_t *server);
