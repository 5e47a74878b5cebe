/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One path with a direction: extents from the cursor, memory from the store, bytes by the network, commit by the store;
 * window after window until the slice is used up.
 */
#include "server/io_requests.h"
#include "server/access.h"
#include "server/object_requests.h"
#include "server/reply.h"
#include "server/slices.h"
#include "util/clock.h"

static themis_direction_t direction_of(const themis_server_request_t *request)
{
    return request->header.opcode == THEMIS_OP_WRITE ? THEMIS_WRITE : THEMIS_READ;
}

/* The end of a transfer that the network went on with: a worker takes it from here. */
static void on_moved(void *arg, themis_status_t status)
{
    themis_server_request_t *request = arg;
    themis_server_t *server = request->server;

    pthread_mutex_lock(&server->lock);
    themis_server_slice_moved(request, status);
    pthread_mutex_unlock(&server->lock);
}

static themis_status_t window_move(themis_server_request_t *request)
{
    const themis_store_window_t *window = request->slice.window;
    const unsigned char *descriptor = request->body.io.descriptor;

    request->state = THEMIS_SERVER_REQUEST_MOVING;
    if (window->direction == THEMIS_WRITE)
        return themis_net_pull(request->conn, descriptor, request->cursor.done, window->pieces, window->piece_count,
                               on_moved, request);
    return themis_net_push(request->conn, descriptor, request->cursor.done, window->pieces, window->piece_count,
                           on_moved, request);
}

static themis_status_t object_open(themis_server_request_t *request)
{
    themis_store_t *store = request->server->store;
    const themis_proto_io_t *io = &request->body.io;
    int write = direction_of(request) == THEMIS_WRITE;
    uint64_t id = io->object;
    themis_store_size_t size;

    request->opened = 1;
    request->end = write ? UINT64_MAX : 0;
    themis_status_t status =
        themis_server_access_object(request->server->capabilities, &request->session->identity, id, &io->capability,
                                    write ? THEMIS_PROTO_RIGHT_WRITE : THEMIS_PROTO_RIGHT_READ);
    if (status != THEMIS_OK)
        return status;
    status = themis_server_object_requests_find(request, id, write, &request->object);
    if (write)
        return status;
    if (status == THEMIS_NO_ENTRY)
        return THEMIS_OK; /* nothing was written here: an end of 0 */
    if (status == THEMIS_OK)
        status = themis_store_size(store, request->object, &size);
    if (status == THEMIS_OK)
        request->end = size.end;
    return status;
}

/* Is the lock that the access is made under still the one that it was granted? */
static themis_status_t fence_pass(themis_server_request_t *request)
{
    themis_server_t *server = request->server;
    const themis_proto_io_t *io = &request->body.io;

    if (!io->epoch || !request->object)
        return THEMIS_OK;
    pthread_mutex_lock(&server->lock);
    themis_status_t status = themis_server_fences_pass(server->fences, io->object, io->epoch, themis_util_clock_wall());
    pthread_mutex_unlock(&server->lock);
    return status;
}

/* The next window's transfer, begun or done; THEMIS_OK with window->bytes 0 when nothing is left to move. */
static themis_status_t window_begin(themis_server_request_t *request)
{
    themis_store_window_t *window = request->slice.window;
    uint64_t left = request->slice.left;

    window->bytes = 0;
    window->object = request->object;
    window->direction = direction_of(request);
    window->extent_count =
        themis_server_cursor_fill(&request->cursor, left < THEMIS_STORE_WINDOW_BYTES ? left : THEMIS_STORE_WINDOW_BYTES,
                                  request->end, window->extents, THEMIS_STORE_WINDOW_EXTENTS);
    if (window->extent_count == 0)
        return THEMIS_OK;
    themis_status_t status = themis_store_prepare(request->server->store, window);
    if (status == THEMIS_OK)
        return window_move(request);
    window->bytes = 0;
    return status;
}

static themis_status_t window_finish(themis_server_request_t *request, themis_status_t moved)
{
    themis_store_window_t *window = request->slice.window;
    themis_status_t status = themis_store_finish(request->server->store, window, moved);

    request->state = THEMIS_SERVER_REQUEST_SERVED;
    if (status != THEMIS_OK)
        return status;
    themis_server_cursor_advance(&request->cursor, window->bytes);
    request->slice.left -= window->bytes;
    request->slice.moved += window->bytes;
    request->total += window->bytes;
    request->item.bytes -= window->bytes;
    return THEMIS_OK;
}

static themis_status_t slice_serve(themis_server_request_t *request, int resumed)
{
    themis_status_t status = THEMIS_OK;

    if (resumed)
        status = window_finish(request, request->status);
    else if (!request->opened)
        status = object_open(request);
    if (!resumed && status == THEMIS_OK)
        status = fence_pass(request);
    while (status == THEMIS_OK && request->slice.left) {
        status = window_begin(request);
        if (status == THEMIS_IN_PROGRESS)
            return status;
        if (request->slice.window->bytes == 0) {
            if (status == THEMIS_OK)
                request->item.bytes = 0; /* the rest lies past the end */
            break;
        }
        status = window_finish(request, status);
    }
    return status;
}

/* All is done, or has failed: replies, unless the client is gone. */
static void request_finish(themis_server_request_t *request, themis_status_t status)
{
    themis_proto_io_done_t done = {.bytes = request->total, .end = request->end};
    themis_store_size_t size;

    request->item.bytes = 0;
    if (status == THEMIS_OK && request->end == UINT64_MAX) {
        status = themis_store_size(request->server->store, request->object, &size);
        done.end = size.end;
    }
    /* before the reply: what the client removes after it is free at once */
    if (request->object)
        themis_store_close(request->server->store, request->object);
    request->object = NULL;
    if (status != THEMIS_DISCONNECTED)
        themis_server_reply_send(request, status, &done, NULL);
}

themis_status_t themis_server_io_requests_serve(themis_server_request_t *request, int resumed)
{
    themis_server_t *server = request->server;
    themis_status_t status = slice_serve(request, resumed);

    if (status == THEMIS_IN_PROGRESS) {
        pthread_mutex_lock(&server->lock);
        themis_server_slice_park(request);
        pthread_mutex_unlock(&server->lock);
        return THEMIS_IN_PROGRESS;
    }
    if (status != THEMIS_OK || request->item.bytes == 0)
        request_finish(request, status);
    return THEMIS_OK;
}
