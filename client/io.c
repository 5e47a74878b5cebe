/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/io.h"
#include <stdlib.h>
#include <string.h>
#include "client/call.h"
#include "client/error.h"
#include "client/file.h"
#include "client/placement.h"
#include "util/iov.h"
#include "util/memory.h"

enum { INLINE_PIECES = 4, SMALL_BYTES = 64 << 10 };

typedef enum phase { PHASE_DATA, PHASE_SIZES, PHASE_DONE } phase_t;

/* How far the object of one slot goes. Several calls may tell differently while others write. */
typedef struct reach {
    int known;
    uint64_t least, most;
} reach_t;

struct themis_request {
    themis_request_t *next; /* of the free ones */
    themis_file_t *file;
    themis_proto_opcode_t opcode;
    phase_t phase;
    uint32_t remaining; /* calls that have not ended */
    themis_client_call_t **calls;
    uint32_t call_count, call_capacity;
    themis_client_call_t **open; /* by slot: the call that is being filled */
    uint32_t open_capacity;
    themis_run_t *runs; /* copies of the caller's lists, for reads */
    size_t run_count, run_capacity;
    struct iovec *memory;
    size_t memory_count, memory_capacity;
    uint64_t bytes, moved;
    reach_t *reach; /* by slot; of a short read */
    themis_status_t status;
    themis_util_memory_seen_t seen; /* of the memory of small requests, also earlier ones */
};

/* --- requests from the session's list ----------------------------------------------------------------------------- */

static themis_request_t *take_request(themis_t *session)
{
    pthread_mutex_lock(&session->lock);
    themis_request_t *request = session->free_requests;
    if (request)
        session->free_requests = request->next;
    pthread_mutex_unlock(&session->lock);
    return request ? request : calloc(1, sizeof *request);
}

static void put_calls(themis_request_t *request)
{
    for (uint32_t i = 0; i < request->call_count; i++)
        themis_client_call_put(request->calls[i]);
    request->call_count = 0;
}

static void put_request(themis_request_t *request)
{
    themis_t *session = request->file->session;

    put_calls(request);
    free(request->reach);
    request->reach = NULL;
    pthread_mutex_lock(&session->lock);
    request->next = session->free_requests;
    session->free_requests = request;
    pthread_mutex_unlock(&session->lock);
}

void themis_client_io_free_requests(themis_t *session)
{
    themis_request_t *next;

    for (themis_request_t *request = session->free_requests; request; request = next) {
        next = request->next;
        free(request->calls);
        free(request->open);
        free(request->runs);
        free(request->memory);
        free(request);
    }
}

/* Makes room for `count` elements of `size` bytes. */
static themis_status_t reserve(void *array, size_t *capacity, size_t count, size_t size)
{
    void **place = array;

    if (count <= *capacity)
        return THEMIS_OK;
    size_t wanted = count < 2 * *capacity ? 2 * *capacity : count;
    void *grown = realloc(*place, wanted * size);
    if (!grown)
        return THEMIS_NO_MEMORY;
    *place = grown;
    *capacity = wanted;
    return THEMIS_OK;
}

/* --- cutting a list into calls ------------------------------------------------------------------------------------ */

/* A place in a list of memory pieces. */
typedef struct cursor {
    const struct iovec *piece;
    size_t within;
} cursor_t;

/* The next at most `bytes` contiguous bytes of memory. */
static struct iovec cursor_next(cursor_t *cursor, uint64_t bytes)
{
    while (cursor->within == cursor->piece->iov_len) {
        cursor->piece++;
        cursor->within = 0;
    }
    size_t left = cursor->piece->iov_len - cursor->within;
    struct iovec part = {(char *)cursor->piece->iov_base + cursor->within, bytes < left ? (size_t)bytes : left};
    cursor->within += part.iov_len;
    return part;
}

static themis_status_t add_memory(themis_client_call_t *call, const struct iovec *part)
{
    if (themis_util_iov_extend(call->memory, call->memory_count, part->iov_base, part->iov_len))
        return THEMIS_OK;
    if (call->memory_count == call->memory_capacity) {
        themis_status_t status =
            reserve(&call->memory, &call->memory_capacity, call->memory_count + INLINE_PIECES, sizeof *call->memory);
        if (status != THEMIS_OK)
            return status;
    }
    call->memory[call->memory_count++] = *part;
    return THEMIS_OK;
}

typedef struct cutting {
    themis_request_t *request;
    cursor_t cursor;
} cutting_t;

static themis_status_t add_call(themis_request_t *request, uint32_t slot, themis_client_call_t **result)
{
    themis_file_t *file = request->file;
    uint32_t server = themis_client_place_server(&file->layout, slot, file->session->settings.server_count);
    size_t capacity = request->call_capacity;
    themis_status_t status = reserve(&request->calls, &capacity, request->call_count + 1, sizeof *request->calls);

    request->call_capacity = (uint32_t)capacity;
    if (status != THEMIS_OK || (status = themis_client_call_get(file->session, server, result)) != THEMIS_OK)
        return status;
    request->calls[request->call_count++] = *result;
    (*result)->slot = slot;
    (*result)->object = file->object;
    return THEMIS_OK;
}

static themis_status_t cut_part(void *arg, uint32_t slot, const themis_run_t *run, uint64_t position)
{
    cutting_t *cutting = arg;
    themis_client_call_t **open = &cutting->request->open[slot];
    themis_status_t status = THEMIS_OK;

    if (run->count > 1 && run->stride < run->length) { /* each piece is a run on the wire */
        for (uint64_t i = 0; i < run->count && status == THEMIS_OK; i++) {
            themis_run_t piece = {run->offset + i * run->stride, run->length, run->length, 1};
            status = cut_part(arg, slot, &piece, position + i * run->length);
        }
        return status;
    }
    if (!*open || (*open)->runs.count + 2 > THEMIS_PROTO_MAX_RUNS)
        status = add_call(cutting->request, slot, open);
    if (status == THEMIS_OK)
        status = themis_util_runs_add_run(&(*open)->runs, run);
    for (uint64_t left = run->length * run->count; left > 0 && status == THEMIS_OK;) {
        struct iovec part = cursor_next(&cutting->cursor, left);
        left -= part.iov_len;
        status = add_memory(*open, &part);
    }
    return status;
}

static themis_status_t cut(themis_request_t *request, const themis_list_t *list)
{
    const themis_layout_t *layout = &request->file->layout;
    cutting_t cutting = {request, {list->memory, 0}};
    size_t capacity = request->open_capacity;
    themis_status_t status = reserve(&request->open, &capacity, layout->count, sizeof(*request->open));

    request->open_capacity = (uint32_t)capacity;
    if (status != THEMIS_OK)
        return status;
    memset(request->open, 0, layout->count * sizeof(*request->open));
    for (size_t i = 0; i < list->run_count && status == THEMIS_OK; i++)
        if (list->runs[i].length > 0)
            status = themis_client_place_run(layout, &list->runs[i], 0, cut_part, &cutting);
    return status;
}

/* --- starting ----------------------------------------------------------------------------------------------------- */

static themis_status_t check(const themis_file_t *file, const themis_list_t *list, int write, uint64_t *bytes)
{
    uint64_t memory = 0;

    if (write && !(file->flags & THEMIS_OPEN_WRITE))
        return themis_client_fail(THEMIS_READ_ONLY, "%s: not opened for writing", file->path);
    if (!write && !(file->flags & THEMIS_OPEN_READ))
        return themis_client_fail(THEMIS_ACCESS, "%s: not opened for reading", file->path);
    if (themis_client_place_bytes(list->runs, list->run_count, bytes) != THEMIS_OK)
        return themis_client_fail(THEMIS_RANGE, "%s: an offset or length of 2^63 or more", file->path);
    for (size_t i = 0; i < list->memory_count; i++)
        memory += list->memory[i].iov_len;
    if (memory != *bytes)
        return themis_client_fail(THEMIS_INVALID, "%s: %llu bytes of memory for %llu bytes of file", file->path,
                                  (unsigned long long)memory, (unsigned long long)*bytes);
    return THEMIS_OK;
}

/* By shared memory and the network this process copies the bytes itself, and a wrong address would end it. */
static themis_status_t check_memory(themis_request_t *request, const themis_list_t *list)
{
    themis_util_memory_seen_t *seen = request->bytes <= SMALL_BYTES ? &request->seen : NULL;

    if (themis_util_memory_check(list->memory, list->memory_count, seen) == THEMIS_OK)
        return THEMIS_OK;
    return themis_client_fail(THEMIS_BAD_ADDRESS, "%s: the buffer is not in this process's memory",
                              request->file->path);
}

/* A read needs its lists again if it turns out short. */
static themis_status_t keep_lists(themis_request_t *request, const themis_list_t *list)
{
    themis_status_t status = reserve(&request->runs, &request->run_capacity, list->run_count, sizeof *request->runs);

    if (status == THEMIS_OK)
        status = reserve(&request->memory, &request->memory_capacity, list->memory_count, sizeof *request->memory);
    if (status != THEMIS_OK)
        return status;
    if (list->run_count)
        memcpy(request->runs, list->runs, list->run_count * sizeof *request->runs);
    if (list->memory_count)
        memcpy(request->memory, list->memory, list->memory_count * sizeof *request->memory);
    request->run_count = list->run_count;
    request->memory_count = list->memory_count;
    return THEMIS_OK;
}

/* All calls are cut before the first is sent, so from here on nothing fails half-way. */
static void send_all(themis_request_t *request)
{
    request->remaining = request->call_count;
    for (uint32_t i = 0; i < request->call_count; i++)
        themis_client_call_start_io(request->calls[i], request->opcode, &request->remaining);
    themis_client_nudge(request->file->session);
}

static themis_status_t start(themis_file_t *file, const themis_list_t *list, themis_proto_opcode_t opcode,
                             themis_request_t **result)
{
    uint64_t bytes;
    themis_status_t status = check(file, list, opcode == THEMIS_OP_WRITE, &bytes);

    if (status == THEMIS_OK)
        status = themis_client_file_check_locks(file);
    if (status != THEMIS_OK)
        return status;
    themis_request_t *request = take_request(file->session);
    if (!request)
        return themis_client_fail(THEMIS_NO_MEMORY, "out of memory for a request");
    request->file = file;
    request->opcode = opcode;
    request->phase = PHASE_DATA;
    request->bytes = bytes;
    request->moved = 0;
    request->status = THEMIS_OK;
    if ((status = check_memory(request, list)) != THEMIS_OK) {
        put_request(request);
        return status;
    }
    if ((status = cut(request, list)) == THEMIS_OK && opcode == THEMIS_OP_READ)
        status = keep_lists(request, list);
    if (status != THEMIS_OK) {
        put_request(request);
        return themis_client_fail(status, "%s: out of memory for a list", file->path);
    }
    send_all(request);
    *result = request;
    return THEMIS_OK;
}

/* --- ending ------------------------------------------------------------------------------------------------------- */

static void note_end(themis_request_t *request, uint32_t slot, uint64_t end)
{
    reach_t *reach = &request->reach[slot];

    reach->least = reach->known && reach->least < end ? reach->least : end;
    reach->most = reach->known && reach->most > end ? reach->most : end;
    reach->known = 1;
}

/* Asks the servers of which nothing is known yet how far their objects go. */
static themis_status_t ask_sizes(themis_request_t *request)
{
    themis_proto_object_t object = {request->file->object};
    themis_status_t status = THEMIS_OK;
    themis_client_call_t *call;

    request->phase = PHASE_SIZES;
    for (uint32_t slot = 0; slot < request->file->layout.count && status == THEMIS_OK; slot++)
        if (!request->reach[slot].known)
            status = add_call(request, slot, &call);
    if (status != THEMIS_OK) {
        put_calls(request);
        return status;
    }
    request->remaining = request->call_count;
    for (uint32_t i = 0; i < request->call_count; i++) {
        status = themis_client_call_start(request->calls[i], THEMIS_OP_SIZE, &object, &request->remaining);
        if (status != THEMIS_OK) { /* what was started has to end; its result is not looked at */
            pthread_mutex_lock(&request->file->session->lock);
            request->remaining -= request->call_count - i;
            pthread_mutex_unlock(&request->file->session->lock);
            themis_client_wait(request->file->session, &request->remaining);
            put_calls(request);
            return status;
        }
    }
    return THEMIS_OK;
}

/* Adds up what the calls say. The error of the first that failed stands. */
static void gather_data(themis_request_t *request)
{
    themis_proto_body_t body;

    for (uint32_t i = 0; i < request->call_count && request->status == THEMIS_OK; i++) {
        request->status = themis_client_call_result(request->calls[i], request->file->path, &body);
        if (request->status == THEMIS_OK)
            request->moved += body.io_done.bytes;
    }
}

/* A short read: which of the missing bytes are holes depends on all servers. */
static themis_status_t begin_sizes(themis_request_t *request)
{
    themis_proto_body_t body;

    request->reach = calloc(request->file->layout.count, sizeof *request->reach);
    if (!request->reach)
        return THEMIS_NO_MEMORY;
    for (uint32_t i = 0; i < request->call_count; i++)
        if (themis_client_call_result(request->calls[i], request->file->path, &body) == THEMIS_OK)
            note_end(request, request->calls[i]->slot, body.io_done.end);
    put_calls(request);
    return ask_sizes(request);
}

static void finish_data(themis_request_t *request)
{
    request->phase = PHASE_DONE;
    gather_data(request);
    if (request->status != THEMIS_OK || request->moved >= request->bytes)
        return;
    if (request->opcode == THEMIS_OP_WRITE)
        request->status = themis_client_fail(THEMIS_IO, "%s: %llu of %llu bytes were written", request->file->path,
                                             (unsigned long long)request->moved, (unsigned long long)request->bytes);
    else
        request->status = begin_sizes(request);
}

typedef struct filling {
    const themis_request_t *request;
    cursor_t cursor;
    uint64_t size; /* of the file */
} filling_t;

/* Zeros or skips `length` bytes of memory. */
static void fill(filling_t *filling, uint64_t length, int zero)
{
    while (length > 0) {
        struct iovec part = cursor_next(&filling->cursor, length);
        if (zero)
            memset(part.iov_base, 0, part.iov_len);
        length -= part.iov_len;
    }
}

static uint64_t between(uint64_t low, uint64_t value, uint64_t high)
{
    return value < low ? low : value > high ? high : value;
}

static themis_status_t fill_part(void *arg, uint32_t slot, const themis_run_t *run, uint64_t position)
{
    filling_t *filling = arg;
    uint64_t held = filling->request->reach[slot].least;
    uint64_t end = themis_client_place_object_end(&filling->request->file->layout, slot, filling->size);

    for (uint64_t i = 0; i < run->count; i++) {
        uint64_t first = run->offset + i * run->stride, behind = first + run->length;
        uint64_t hole = between(first, held, behind), rest = between(hole, end, behind);
        fill(filling, hole - first, 0);
        fill(filling, rest - hole, 1);
        fill(filling, behind - rest, 0);
    }
    return THEMIS_OK;
}

static void finish_sizes(themis_request_t *request)
{
    const themis_layout_t *layout = &request->file->layout;
    filling_t filling = {request, {request->memory, 0}, 0};
    themis_proto_body_t body;

    request->phase = PHASE_DONE;
    for (uint32_t i = 0; i < request->call_count && request->status == THEMIS_OK; i++) {
        request->status = themis_client_call_result(request->calls[i], request->file->path, &body);
        if (request->status == THEMIS_OK)
            note_end(request, request->calls[i]->slot, body.size.end);
    }
    if (request->status != THEMIS_OK)
        return;
    for (uint32_t slot = 0; slot < layout->count; slot++) {
        uint64_t end = themis_client_place_file_end(layout, slot, request->reach[slot].most);
        filling.size = end > filling.size ? end : filling.size;
    }
    for (size_t i = 0; i < request->run_count; i++)
        if (request->runs[i].length > 0)
            themis_client_place_run(layout, &request->runs[i], 0, fill_part, &filling);
    request->moved = themis_client_place_before(request->runs, request->run_count, filling.size);
}

/* All calls of a phase have ended. */
static void advance(themis_request_t *request)
{
    if (request->phase == PHASE_DATA)
        finish_data(request);
    else if (request->phase == PHASE_SIZES)
        finish_sizes(request);
}

static themis_status_t end(themis_request_t *request, size_t *done)
{
    themis_status_t status = request->status;

    if (status == THEMIS_OK) /* they may have been lost meanwhile */
        status = themis_client_file_check_locks(request->file);
    if (status == THEMIS_OK && done)
        *done = (size_t)request->moved;
    put_request(request);
    return status;
}

themis_status_t themis_request_wait(themis_request_t *request, size_t *done)
{
    while (request->phase != PHASE_DONE) {
        themis_client_wait(request->file->session, &request->remaining);
        advance(request);
    }
    return end(request, done);
}

themis_status_t themis_request_test(themis_request_t *request, size_t *done)
{
    while (request->phase != PHASE_DONE) {
        if (!themis_client_poll(request->file->session, &request->remaining))
            return THEMIS_IN_PROGRESS;
        advance(request);
    }
    return end(request, done);
}

/* --- entry points ------------------------------------------------------------------------------------------------- */

themis_status_t themis_iread_list(themis_file_t *file, const themis_list_t *list, themis_request_t **request)
{
    return start(file, list, THEMIS_OP_READ, request);
}

themis_status_t themis_iwrite_list(themis_file_t *file, const themis_list_t *list, themis_request_t **request)
{
    return start(file, list, THEMIS_OP_WRITE, request);
}

static themis_status_t move(themis_file_t *file, const themis_list_t *list, themis_proto_opcode_t opcode, size_t *done)
{
    themis_request_t *request;
    themis_status_t status = start(file, list, opcode, &request);

    return status == THEMIS_OK ? themis_request_wait(request, done) : status;
}

themis_status_t themis_read_list(themis_file_t *file, const themis_list_t *list, size_t *done)
{
    return move(file, list, THEMIS_OP_READ, done);
}

themis_status_t themis_write_list(themis_file_t *file, const themis_list_t *list, size_t *done)
{
    return move(file, list, THEMIS_OP_WRITE, done);
}

static themis_status_t move_plain(themis_file_t *file, void *buffer, size_t bytes, uint64_t offset,
                                  themis_proto_opcode_t opcode, size_t *done)
{
    struct iovec memory = {buffer, bytes};
    themis_run_t run = {offset, bytes, bytes, 1};
    themis_list_t list = {&memory, 1, &run, 1};

    return move(file, &list, opcode, done);
}

themis_status_t themis_read(themis_file_t *file, void *buffer, size_t bytes, uint64_t offset, size_t *done)
{
    return move_plain(file, buffer, bytes, offset, THEMIS_OP_READ, done);
}

themis_status_t themis_write(themis_file_t *file, const void *buffer, size_t bytes, uint64_t offset, size_t *done)
{
    return move_plain(file, (void *)(uintptr_t)buffer, bytes, offset, THEMIS_OP_WRITE, done);
}
