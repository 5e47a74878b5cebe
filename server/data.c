/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * READ and WRITE, one path with a direction: extents from the cursor, memory from the store, bytes by the network,
 * commit by the store; window after window until the slice is used up.
 */
#include "server/access.h"
#include "server/server.h"
#include "util/log.h"

static themis_direction_t direction_of(const themis_request_t *request)
{
    return request->header.opcode == THEMIS_OP_WRITE ? THEMIS_WRITE : THEMIS_READ;
}

/* The end of a transfer that the network went on with: a worker takes it from here. */
static void on_moved(void *arg, themis_status_t status)
{
    themis_request_t *request = arg;
    themis_server_t *server = request->server;

    pthread_mutex_lock(&server->lock);
    request->status = status;
    themis_server_stall_moved(request);
    pthread_mutex_unlock(&server->lock);
}

static themis_status_t move(themis_request_t *request)
{
    const themis_store_window_t *window = request->window;
    const unsigned char *descriptor = request->body.io.descriptor;

    request->state = THEMIS_SERVER_REQUEST_MOVING;
    if (window->direction == THEMIS_WRITE)
        return themis_net_pull(request->conn, descriptor, request->cursor.done, window->pieces, window->piece_count,
                               on_moved, request);
    return themis_net_push(request->conn, descriptor, request->cursor.done, window->pieces, window->piece_count,
                           on_moved, request);
}

static themis_status_t open_object(themis_request_t *request)
{
    themis_store_t *store = request->server->store;
    themis_direction_t direction = direction_of(request);
    uint64_t id = request->body.io.object;
    themis_store_size_t size;

    request->opened = 1;
    request->end = direction == THEMIS_WRITE ? UINT64_MAX : 0;
    themis_status_t status =
        themis_server_access_object(&request->session->identity, id,
                                    direction == THEMIS_WRITE ? THEMIS_SERVER_ACCESS_WRITE : THEMIS_SERVER_ACCESS_READ);
    if (status != THEMIS_OK)
        return status;
    status = direction == THEMIS_WRITE ? themis_server_objects_open(request->server, id, &request->object)
                                       : themis_store_open(store, id, 0, &request->object);
    if (status == THEMIS_NO_ENTRY)
        return THEMIS_OK; /* nothing was written here: an end of 0 */
    if (status != THEMIS_OK || direction == THEMIS_WRITE)
        return status;
    status = themis_store_size(store, request->object, &size);
    if (status == THEMIS_OK)
        request->end = size.end;
    return status;
}

/* The next window's transfer: begun, or done; THEMIS_OK with window->bytes 0 when nothing is left to move. */
static themis_status_t begin_window(themis_request_t *request)
{
    themis_store_window_t *window = request->window;
    uint64_t limit = request->slice < THEMIS_STORE_WINDOW_BYTES ? request->slice : THEMIS_STORE_WINDOW_BYTES;

    window->bytes = 0;
    window->object = request->object;
    window->direction = direction_of(request);
    window->extent_count =
        themis_server_cursor_fill(&request->cursor, limit, request->end, window->extents, THEMIS_STORE_WINDOW_EXTENTS);
    if (window->extent_count == 0)
        return THEMIS_OK;
    themis_status_t status = themis_store_prepare(request->server->store, window);
    if (status != THEMIS_OK) {
        window->bytes = 0;
        return status;
    }
    return move(request);
}

static themis_status_t finish_window(themis_request_t *request, themis_status_t moved)
{
    themis_store_window_t *window = request->window;
    themis_status_t status = themis_store_finish(request->server->store, window, moved);

    request->state = THEMIS_SERVER_REQUEST_SERVED;
    if (status != THEMIS_OK)
        return status;
    themis_server_cursor_advance(&request->cursor, window->bytes);
    request->slice -= window->bytes;
    request->moved += window->bytes;
    request->total += window->bytes;
    request->item.bytes -= window->bytes;
    return THEMIS_OK;
}

static void answer(themis_request_t *request, themis_status_t status)
{
    themis_proto_io_done_t done = {.bytes = request->total, .end = request->end};
    themis_store_size_t size;

    request->item.bytes = 0;
    if (status == THEMIS_OK && request->end == UINT64_MAX) {
        status = themis_store_size(request->server->store, request->object, &size);
        done.end = size.end;
    }
    if (status == THEMIS_DISCONNECTED)
        return;
    themis_server_request_reply(request, status, &done, NULL);
}

themis_status_t themis_server_data_serve(themis_request_t *request, int resumed)
{
    themis_status_t status = THEMIS_OK;

    if (resumed)
        status = finish_window(request, request->status);
    else if (!request->opened)
        status = open_object(request);
    while (status == THEMIS_OK && request->slice) {
        status = begin_window(request);
        if (status == THEMIS_IN_PROGRESS)
            return status;
        if (request->window->bytes == 0) {
            if (status == THEMIS_OK)
                request->item.bytes = 0; /* the rest lies behind the end */
            break;
        }
        status = finish_window(request, status);
    }
    if (status != THEMIS_OK || request->item.bytes == 0)
        answer(request, status);
    return status;
}
