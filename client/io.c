/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/io.h"
#include <stdatomic.h>
#include "client/capability.h"
#include "client/enlist.h"
#include "client/error.h"
#include "client/file.h"
#include "client/lock.h"
#include "client/striping.h"
#include "client/request.h"
#include "client/short_read.h"
#include "client/split.h"

enum { SMALL_BYTES = 64 << 10, MAX_RENEWALS = THEMIS_CLIENT_MAX_RENEWALS };

/* --- checks ------------------------------------------------------------------------------------------------------- */

themis_status_t themis_client_io_check(const char *path, const themis_list_t *list, uint64_t *bytes)
{
    uint64_t memory = 0;

    if (themis_client_striping_bytes(list->runs, list->run_count, bytes) != THEMIS_OK)
        return themis_client_fail(THEMIS_RANGE, "%s: an offset or length of 2^63 or more", path);
    for (size_t i = 0; i < list->memory_count; i++)
        memory += list->memory[i].iov_len;
    if (memory != *bytes)
        return themis_client_fail(THEMIS_INVALID, "%s: %llu bytes of memory for %llu bytes of file", path,
                                  (unsigned long long)memory, (unsigned long long)*bytes);
    return THEMIS_OK;
}

themis_status_t themis_client_io_check_memory(const char *path, const themis_list_t *list,
                                              themis_util_memory_seen_t *seen)
{
    if (themis_util_memory_check(list->memory, list->memory_count, seen) == THEMIS_OK)
        return THEMIS_OK;
    return themis_client_fail(THEMIS_BAD_ADDRESS, "%s: the buffer is not in this process's memory", path);
}

static inline themis_status_t check_flags(const themis_file_t *file, themis_proto_opcode_t opcode)
{
    if (opcode == THEMIS_OP_WRITE && !(file->flags & THEMIS_OPEN_WRITE))
        return themis_client_fail(THEMIS_READ_ONLY, "%s: not opened for writing", file->path);
    if (opcode == THEMIS_OP_READ && !(file->flags & THEMIS_OPEN_READ))
        return themis_client_fail(THEMIS_ACCESS, "%s: not opened for reading", file->path);
    return THEMIS_OK;
}

/* --- starting ----------------------------------------------------------------------------------------------------- */

static themis_status_t request_prepare(themis_request_t *request, const themis_list_t *list)
{
    themis_status_t status =
        themis_client_io_check_memory(request->path, list, request->bytes <= SMALL_BYTES ? &request->seen : NULL);

    if (status != THEMIS_OK)
        return status;
    if ((status = themis_client_split(request, list)) == THEMIS_OK && request->opcode == THEMIS_OP_READ)
        status = themis_client_request_keep_list(request, list);
    if (status != THEMIS_OK)
        return themis_client_fail(status, "%s: out of memory for a list", request->path);
    return THEMIS_OK;
}

/* NULL: out of memory. */
static themis_request_t *request_create(themis_file_t *file, themis_proto_opcode_t opcode, uint64_t bytes)
{
    themis_request_t *request = themis_client_request_get(&file->session->requests);

    if (!request)
        return NULL;
    request->file = file;
    request->path = file->path;
    request->layout = &file->layout;
    request->object = file->attr.id;
    request->epoch = themis_client_lock_epoch(file);
    request->opcode = opcode;
    request->bytes = bytes;
    request->remaining = 0;
    return request;
}

static themis_status_t fail_no_request(void)
{
    return themis_client_fail(THEMIS_NO_MEMORY, "out of memory for a request");
}

/* By messages; `list` was checked and has so many bytes. All calls exist before the first is sent, so nothing fails
 * half-way. */
static themis_status_t request_start(themis_file_t *file, const themis_list_t *list, themis_proto_opcode_t opcode,
                                     uint64_t bytes, themis_request_t **result)
{
    themis_request_t *request = request_create(file, opcode, bytes);

    if (!request)
        return fail_no_request();
    themis_status_t status = request_prepare(request, list);
    if (status != THEMIS_OK) {
        themis_client_request_put(request);
        return status;
    }
    request->expires = themis_client_capability_expires(file);
    for (size_t i = 0; i < request->call_count; i++)
        themis_client_call_start(request->calls[i], opcode, NULL, &request->remaining);
    themis_client_poller_serve(&file->session->poller);
    *result = request;
    return THEMIS_OK;
}

/* --- completion --------------------------------------------------------------------------------------------------- */

/* A server has refused a call for a reason that can be mended: THEMIS_LOCKED, it knows a later epoch of the locks that
 * the call was made under; THEMIS_EXPIRED, the capability has; THEMIS_NOT_LISTED, the file's first server does not know
 * of it yet. Else THEMIS_OK. */
static themis_status_t call_refusal(themis_client_call_t *call, const char *path)
{
    themis_proto_body_t reply;
    themis_status_t status = themis_client_call_result(call, path, &reply);

    return status == THEMIS_EXPIRED || status == THEMIS_NOT_LISTED || (status == THEMIS_LOCKED && call->epoch)
               ? status
               : THEMIS_OK;
}

/* Gets what `refusal` says is out of date; LOCKED: the present epoch, if the locks are still held. */
static themis_status_t refusal_mend(themis_request_t *request, themis_status_t refusal)
{
    if (request->renewals++ >= MAX_RENEWALS)
        return refusal; /* with the text of a call's result */
    if (refusal == THEMIS_NOT_LISTED)
        return themis_client_enlist(request->file);
    return refusal == THEMIS_EXPIRED
               ? themis_client_capability_renew(request->file, request->expires, request->renewals - 1)
               : themis_client_lock_renew(request->file, &request->epoch);
}

/* Starts the calls that were refused for this reason again. */
static themis_status_t request_renew(themis_request_t *request, themis_status_t refusal)
{
    themis_status_t status = refusal_mend(request, refusal);

    request->expires = themis_client_capability_expires(request->file);
    for (size_t i = 0; i < request->call_count && status == THEMIS_OK; i++) {
        if (call_refusal(request->calls[i], request->path) != refusal)
            continue;
        request->calls[i]->epoch = request->epoch;
        themis_client_call_start(request->calls[i], request->opcode, NULL, &request->remaining);
    }
    return status;
}

/* Adds up what the calls moved; the first error counts. *refusal: why some are to be renewed. */
static themis_status_t sum_up(themis_request_t *request, themis_status_t *refusal)
{
    themis_proto_body_t reply;

    request->moved = 0;
    for (size_t i = 0; i < request->call_count; i++) {
        themis_status_t status = themis_client_call_result(request->calls[i], request->path, &reply);
        if (status == THEMIS_OK)
            request->moved += reply.io_done.bytes;
        else if (call_refusal(request->calls[i], request->path) != THEMIS_OK)
            *refusal = status;
        else
            return status;
    }
    return THEMIS_OK;
}

static void finish_data(themis_request_t *request)
{
    themis_status_t refusal = THEMIS_OK;

    request->phase = THEMIS_CLIENT_PHASE_DONE;
    request->status = sum_up(request, &refusal);
    if (request->status == THEMIS_OK && refusal != THEMIS_OK) {
        request->status = request_renew(request, refusal);
        if (request->status == THEMIS_OK)
            request->phase = THEMIS_CLIENT_PHASE_DATA;
        return;
    }
    if (request->status != THEMIS_OK || request->moved >= request->bytes)
        return;
    if (request->opcode == THEMIS_OP_WRITE) {
        request->status = themis_client_fail(THEMIS_IO, "%s: %llu of %llu bytes were written", request->path,
                                             (unsigned long long)request->moved, (unsigned long long)request->bytes);
        return;
    }
    request->status = themis_client_short_read_start(request);
    if (request->status == THEMIS_OK)
        request->phase = THEMIS_CLIENT_PHASE_SIZES;
}

static void finish_sizes(themis_request_t *request)
{
    request->phase = THEMIS_CLIENT_PHASE_DONE;
    request->status = themis_client_short_read_finish(request);
    if (!themis_client_capability_retry(request->file, request->expires, &request->renewals, &request->status))
        return;
    request->expires = themis_client_capability_expires(request->file);
    request->status = themis_client_short_read_ask(request);
    if (request->status == THEMIS_OK)
        request->phase = THEMIS_CLIENT_PHASE_SIZES;
}

/* All calls of a phase have ended. */
static void phase_finish(themis_request_t *request)
{
    if (request->phase == THEMIS_CLIENT_PHASE_DATA)
        finish_data(request);
    else
        finish_sizes(request);
}

static themis_status_t request_end(themis_request_t *request, size_t *done)
{
    themis_status_t status = request->status;

    if (!request->direct)
        atomic_fetch_add(&request->file->direct.messages, request->moved);
    if (status == THEMIS_OK) /* locks may have been lost meanwhile */
        status = themis_client_lock_check(request->file);
    if (status == THEMIS_OK && done)
        *done = (size_t)request->moved;
    themis_client_request_put(request);
    return status;
}

themis_status_t themis_request_wait(themis_request_t *request, size_t *done)
{
    while (request->phase != THEMIS_CLIENT_PHASE_DONE) {
        themis_client_poller_wait(&request->file->session->poller, &request->remaining);
        phase_finish(request);
    }
    return request_end(request, done);
}

themis_status_t themis_request_test(themis_request_t *request, size_t *done)
{
    while (request->phase != THEMIS_CLIENT_PHASE_DONE) {
        if (!themis_client_poller_test(&request->file->session->poller, &request->remaining))
            return THEMIS_IN_PROGRESS;
        phase_finish(request);
    }
    return request_end(request, done);
}

/* --- entry points ------------------------------------------------------------------------------------------------- */

static themis_status_t access_check(themis_file_t *file, const themis_list_t *list, themis_proto_opcode_t opcode,
                                    uint64_t *bytes)
{
    themis_status_t status = check_flags(file, opcode);

    if (status == THEMIS_OK)
        status = themis_client_io_check(file->path, list, bytes);
    return status == THEMIS_OK ? themis_client_lock_check(file) : status;
}

/* Under a lock nothing is moved directly: a server could not refuse it when the lock was lost. */
static int move_directly(themis_file_t *file, const themis_list_t *list, themis_proto_opcode_t opcode, uint64_t bytes)
{
    return !themis_client_lock_epoch(file) && themis_client_direct_move(file, list, opcode == THEMIS_OP_WRITE, bytes);
}

static themis_status_t start_list(themis_file_t *file, const themis_list_t *list, themis_proto_opcode_t opcode,
                                  themis_request_t **request)
{
    uint64_t bytes;
    themis_status_t status = access_check(file, list, opcode, &bytes);

    if (status != THEMIS_OK)
        return status;
    if (!move_directly(file, list, opcode, bytes))
        return request_start(file, list, opcode, bytes, request);
    *request = request_create(file, opcode, bytes);
    if (!*request)
        return fail_no_request();
    (*request)->phase = THEMIS_CLIENT_PHASE_DONE;
    (*request)->moved = bytes;
    (*request)->direct = 1;
    return THEMIS_OK;
}

themis_status_t themis_iread_list(themis_file_t *file, const themis_list_t *list, themis_request_t **request)
{
    return start_list(file, list, THEMIS_OP_READ, request);
}

themis_status_t themis_iwrite_list(themis_file_t *file, const themis_list_t *list, themis_request_t **request)
{
    return start_list(file, list, THEMIS_OP_WRITE, request);
}

static themis_status_t move_list(themis_file_t *file, const themis_list_t *list, themis_proto_opcode_t opcode,
                                 size_t *done)
{
    themis_request_t *request;
    uint64_t bytes;
    themis_status_t status = access_check(file, list, opcode, &bytes);

    if (status != THEMIS_OK)
        return status;
    if (!move_directly(file, list, opcode, bytes)) {
        status = request_start(file, list, opcode, bytes, &request);
        return status == THEMIS_OK ? themis_request_wait(request, done) : status;
    }
    status = themis_client_lock_check(file); /* locks may have been lost meanwhile */
    if (status == THEMIS_OK && done)
        *done = (size_t)bytes;
    return status;
}

themis_status_t themis_read_list(themis_file_t *file, const themis_list_t *list, size_t *done)
{
    return move_list(file, list, THEMIS_OP_READ, done);
}

themis_status_t themis_write_list(themis_file_t *file, const themis_list_t *list, size_t *done)
{
    return move_list(file, list, THEMIS_OP_WRITE, done);
}

static themis_status_t move_extent(themis_file_t *file, void *buffer, size_t bytes, uint64_t offset,
                                   themis_proto_opcode_t opcode, size_t *done)
{
    struct iovec memory = {buffer, bytes};
    themis_run_t run = {offset, bytes, bytes, 1};
    themis_list_t list = {&memory, 1, &run, 1};

    return move_list(file, &list, opcode, done);
}

themis_status_t themis_read(themis_file_t *file, void *buffer, size_t bytes, uint64_t offset, size_t *done)
{
    return move_extent(file, buffer, bytes, offset, THEMIS_OP_READ, done);
}

themis_status_t themis_write(themis_file_t *file, const void *buffer, size_t bytes, uint64_t offset, size_t *done)
{
    return move_extent(file, (void *)(uintptr_t)buffer, bytes, offset, THEMIS_OP_WRITE, done);
}
