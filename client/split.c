/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/split.h"
#include <string.h>
#include "client/array.h"
#include "client/cursor.h"
#include "client/striping.h"
#include "util/iov.h"

enum { INLINE_PIECES = 4 };

typedef struct splitting {
    themis_request_t *request;
    themis_client_cursor_t cursor;
} splitting_t;

static themis_status_t add_memory(themis_client_call_t *call, const struct iovec *part)
{
    if (themis_util_iov_extend(call->memory, call->memory_count, part->iov_base, part->iov_len))
        return THEMIS_OK;
    if (call->memory_count == call->memory_capacity) {
        themis_status_t status = themis_client_array_reserve(&call->memory, &call->memory_capacity,
                                                             call->memory_count + INLINE_PIECES, sizeof *call->memory);
        if (status != THEMIS_OK)
            return status;
    }
    call->memory[call->memory_count++] = *part;
    return THEMIS_OK;
}

/* A run of one object and its memory, to the call that is open for the object. */
static themis_status_t add_run(void *arg, uint32_t index, const themis_run_t *run, uint64_t position)
{
    splitting_t *splitting = arg;
    themis_client_call_t **open = &splitting->request->open[index];
    themis_status_t status = THEMIS_OK;

    if (run->count > 1 && run->stride < run->length) { /* each piece is a run on the wire */
        for (uint64_t i = 0; i < run->count && status == THEMIS_OK; i++) {
            themis_run_t piece = {run->offset + i * run->stride, run->length, run->length, 1};
            status = add_run(arg, index, &piece, position + i * run->length);
        }
        return status;
    }
    if (!*open || (*open)->runs.count + 2 > THEMIS_PROTO_MAX_RUNS)
        status = themis_client_request_add_call(splitting->request, index, open);
    if (status == THEMIS_OK)
        status = themis_util_runs_add_run(&(*open)->runs, run);
    for (uint64_t left = run->length * run->count; left > 0 && status == THEMIS_OK;) {
        struct iovec part = themis_client_cursor_next(&splitting->cursor, left);
        left -= part.iov_len;
        status = add_memory(*open, &part);
    }
    return status;
}

themis_status_t themis_client_split(themis_request_t *request, const themis_list_t *list)
{
    splitting_t splitting = {request, {list->memory, 0}};
    uint32_t count = request->layout->count;
    themis_status_t status =
        themis_client_array_reserve(&request->open, &request->open_capacity, count, sizeof(*request->open));

    if (status != THEMIS_OK)
        return status;
    memset(request->open, 0, count * sizeof(*request->open));
    for (size_t i = 0; i < list->run_count && status == THEMIS_OK; i++)
        if (list->runs[i].length > 0)
            status = themis_client_striping_run(request->layout, &list->runs[i], 0, add_run, &splitting);
    return status;
}
