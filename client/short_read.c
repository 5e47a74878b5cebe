/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/short_read.h"
#include <stdlib.h>
#include <string.h>
#include "client/capability.h"
#include "client/cursor.h"
#include "client/enlist.h"
#include "client/striping.h"

static void note_end(themis_client_object_end_t *known, int exists, uint64_t end)
{
    known->exists |= exists;
    known->min = known->known && known->min < end ? known->min : end;
    known->max = known->known && known->max > end ? known->max : end;
    known->known = 1;
}

themis_status_t themis_client_short_read_ask(themis_request_t *request)
{
    themis_proto_object_t object = {request->object};
    themis_status_t status = THEMIS_OK;

    themis_client_capability_get(request->file, &object.capability);
    request->remaining = 0;
    for (size_t i = 0; i < request->call_count && status == THEMIS_OK; i++)
        status = themis_client_call_start(request->calls[i], THEMIS_OP_SIZE, &object, &request->remaining);
    if (status != THEMIS_OK) { /* the calls that were started must end first */
        themis_client_poller_wait(request->requests->calls->peers->common.poller, &request->remaining);
        themis_client_request_put_calls(request);
    }
    return status;
}

/* Of objects that are not there the first server knows more. */
static int any_may_be_absent(const themis_request_t *request)
{
    for (uint32_t index = 1; index < request->layout->count; index++)
        if (!request->ends[index].exists)
            return 1;
    return 0;
}

themis_status_t themis_client_short_read_start(themis_request_t *request)
{
    themis_status_t status = THEMIS_OK;
    themis_proto_body_t reply;
    themis_client_call_t *call;

    request->ends = calloc(request->layout->count, sizeof *request->ends);
    if (!request->ends)
        return THEMIS_NO_MEMORY;
    for (size_t i = 0; i < request->call_count; i++)
        if (themis_client_call_result(request->calls[i], request->path, &reply) == THEMIS_OK)
            note_end(&request->ends[request->calls[i]->index], request->calls[i]->exists, reply.io_done.end);
    themis_client_request_put_calls(request);
    int needs_list = any_may_be_absent(request);
    for (uint32_t index = 0; index < request->layout->count && status == THEMIS_OK; index++)
        if (!request->ends[index].known || (index == 0 && needs_list))
            status = themis_client_request_add_call(request, index, &call);
    if (status == THEMIS_OK)
        return themis_client_short_read_ask(request);
    themis_client_request_put_calls(request);
    return status;
}

typedef struct filling {
    const themis_request_t *request;
    themis_client_cursor_t cursor;
    uint64_t size; /* of the file */
} filling_t;

/* Zeros or skips `length` bytes of memory. */
static void memory_fill(filling_t *filling, uint64_t length, int zero)
{
    while (length > 0) {
        struct iovec part = themis_client_cursor_next(&filling->cursor, length);
        if (zero)
            memset(part.iov_base, 0, part.iov_len);
        length -= part.iov_len;
    }
}

static uint64_t clamp(uint64_t min, uint64_t value, uint64_t max)
{
    return value < min ? min : value > max ? max : value;
}

/* Of each piece: what was read, then a hole up to the end of the file, then what lies past it. */
static themis_status_t fill_holes(void *arg, uint32_t index, const themis_run_t *run, uint64_t position)
{
    filling_t *filling = arg;
    uint64_t held = filling->request->ends[index].min;
    uint64_t object_end = themis_client_striping_object_end(filling->request->layout, index, filling->size);

    for (uint64_t i = 0; i < run->count; i++) {
        uint64_t first = run->offset + i * run->stride, end = first + run->length;
        uint64_t hole = clamp(first, held, end), rest = clamp(hole, object_end, end);
        memory_fill(filling, hole - first, 0);
        memory_fill(filling, rest - hole, 1);
        memory_fill(filling, end - rest, 0);
    }
    return THEMIS_OK;
}

/* The replies of the second phase. THEMIS_LOST: an object that is not there was, by the list of the first server. */
static themis_status_t sizes_take(themis_request_t *request)
{
    const themis_file_t *file = request->file;
    themis_client_enlist_survey_t survey = {.store = file->attr.store};
    themis_proto_body_t reply;

    for (size_t i = 0; i < request->call_count; i++) {
        themis_client_call_t *call = request->calls[i];
        themis_status_t status = themis_client_call_result(call, request->path, &reply);
        if (status != THEMIS_OK)
            return status;
        note_end(&request->ends[call->index], call->exists, reply.size.end);
        if (call->index == 0)
            survey.first = reply.size;
    }
    for (uint32_t index = 1; index < request->layout->count; index++)
        if (themis_client_enlist_survey_add(&survey, index, request->ends[index].exists, file->bindings[index].store,
                                            &reply.size))
            return themis_client_enlist_fail(file, index);
    return THEMIS_OK;
}

themis_status_t themis_client_short_read_finish(themis_request_t *request)
{
    const themis_layout_t *layout = request->layout;
    filling_t filling = {request, {request->memory, 0}, 0};
    themis_status_t status = sizes_take(request);
    if (status != THEMIS_OK)
        return status;
    for (uint32_t index = 0; index < layout->count; index++) {
        uint64_t end = themis_client_striping_file_end(layout, index, request->ends[index].max);
        filling.size = end > filling.size ? end : filling.size;
    }
    for (size_t i = 0; i < request->run_count; i++)
        if (request->runs[i].length > 0)
            themis_client_striping_run(layout, &request->runs[i], 0, fill_holes, &filling);
    request->moved = themis_client_striping_bytes_before(request->runs, request->run_count, filling.size);
    return THEMIS_OK;
}
