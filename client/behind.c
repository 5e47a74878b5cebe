/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/behind.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "client/error.h"

enum { SEARCHED_RUNS = 64, MAX_RUNS = 8192 };

void themis_client_behind_init(themis_client_behind_t *behind, themis_file_t *file, size_t capacity)
{
    *behind = (themis_client_behind_t){.file = file, .capacity = capacity};
}

void themis_client_behind_free(themis_client_behind_t *behind)
{
    for (int i = 0; i < 2; i++) {
        free(behind->buffers[i].bytes);
        themis_util_runs_free(&behind->buffers[i].runs);
    }
}

int themis_client_behind_takes(const themis_client_behind_t *behind, uint64_t bytes)
{
    return bytes <= behind->capacity / 2;
}

int themis_client_behind_is_dirty(const themis_client_behind_t *behind)
{
    return behind->request || behind->buffers[behind->filling].used > 0;
}

int themis_client_behind_touches(const themis_client_behind_t *behind, const themis_client_span_t *span)
{
    const themis_client_behind_buffer_t *filling = &behind->buffers[behind->filling];
    const themis_client_behind_buffer_t *other = &behind->buffers[!behind->filling];

    return (filling->used > 0 && themis_client_span_overlap(&filling->span, span)) ||
           (behind->request && themis_client_span_overlap(&other->span, span));
}

/* --- errors ------------------------------------------------------------------------------------------------------- */

static void keep_failure(themis_client_behind_t *behind, themis_status_t status)
{
    if (status == THEMIS_OK || behind->failed != THEMIS_OK)
        return;
    behind->failed = status;
    snprintf(behind->cause, sizeof behind->cause, "%s", themis_last_error());
}

themis_status_t themis_client_behind_report(themis_client_behind_t *behind)
{
    themis_status_t status = behind->failed;

    if (status == THEMIS_OK)
        return THEMIS_OK;
    behind->failed = THEMIS_OK;
    return themis_client_fail(status, "%s (written earlier)", behind->cause);
}

/* --- sending ------------------------------------------------------------------------------------------------------ */

static void await(themis_client_behind_t *behind)
{
    themis_request_t *request = behind->request;

    if (!request)
        return;
    behind->request = NULL;
    keep_failure(behind, themis_request_wait(request, NULL));
}

/* The full buffer leaves once the one before has arrived, and the other one is empty then. */
static void send_filled(themis_client_behind_t *behind)
{
    themis_client_behind_buffer_t *buffer = &behind->buffers[behind->filling];

    if (buffer->used == 0)
        return;
    await(behind);
    struct iovec memory = {buffer->bytes, buffer->used};
    themis_list_t list = {&memory, 1, buffer->runs.run, buffer->runs.count};
    keep_failure(behind, themis_iwrite_list(behind->file, &list, &behind->request));
    behind->filling = !behind->filling;
    buffer = &behind->buffers[behind->filling];
    buffer->used = 0;
    buffer->span = (themis_client_span_t){0, 0};
    themis_util_runs_clear(&buffer->runs);
}

themis_status_t themis_client_behind_flush(themis_client_behind_t *behind)
{
    send_filled(behind);
    await(behind);
    return themis_client_behind_report(behind);
}

/* --- taking ------------------------------------------------------------------------------------------------------- */

/* 1 if two runs may have a byte in common; exact where both are rows of one vector. */
static int runs_overlap(const themis_run_t *a, const themis_run_t *b)
{
    themis_client_span_t one = themis_client_span_of_run(a), two = themis_client_span_of_run(b);
    uint64_t stride = a->count > 1 ? a->stride : b->stride;

    if (!themis_client_span_overlap(&one, &two))
        return 0;
    if (stride == 0 || (a->count > 1 && b->count > 1 && a->stride != b->stride) || (a->count == 1 && b->count == 1))
        return 1;
    uint64_t distance = (b->offset % stride + stride - a->offset % stride) % stride; /* of their phases */
    return distance < a->length || distance + b->length > stride;
}

/* 1 if the buffer may hold a byte of the list. */
static int holds_some(const themis_client_behind_buffer_t *buffer, const themis_list_t *list,
                      const themis_client_span_t *span)
{
    if (buffer->used == 0 || !themis_client_span_overlap(&buffer->span, span))
        return 0;
    if (buffer->runs.count > SEARCHED_RUNS || list->run_count > SEARCHED_RUNS)
        return 1;
    for (size_t i = 0; i < list->run_count; i++) {
        if (list->runs[i].count == 0 || list->runs[i].length == 0)
            continue;
        for (size_t k = 0; k < buffer->runs.count; k++)
            if (runs_overlap(&buffer->runs.run[k], &list->runs[i]))
                return 1;
    }
    return 0;
}

static themis_status_t copy(const themis_client_behind_t *behind, themis_client_behind_buffer_t *buffer,
                            const themis_list_t *list)
{
    if (!buffer->bytes && !(buffer->bytes = malloc(behind->capacity)))
        return themis_client_fail(THEMIS_NO_MEMORY, "out of memory for a cache");
    for (size_t i = 0; i < list->run_count; i++)
        if (themis_util_runs_add_run(&buffer->runs, &list->runs[i]) != THEMIS_OK)
            return themis_client_fail(THEMIS_NO_MEMORY, "out of memory for a cache");
    for (size_t i = 0; i < list->memory_count; i++) {
        memcpy(buffer->bytes + buffer->used, list->memory[i].iov_base, list->memory[i].iov_len);
        buffer->used += list->memory[i].iov_len;
    }
    return THEMIS_OK;
}

themis_status_t themis_client_behind_add(themis_client_behind_t *behind, const themis_list_t *list,
                                         const themis_client_span_t *span)
{
    themis_client_behind_buffer_t *buffer = &behind->buffers[behind->filling];
    size_t bytes = 0;

    for (size_t i = 0; i < list->memory_count; i++)
        bytes += list->memory[i].iov_len;
    if (bytes == 0)
        return THEMIS_OK;
    if (buffer->used + bytes > behind->capacity || buffer->runs.count > MAX_RUNS || holds_some(buffer, list, span)) {
        send_filled(behind);
        buffer = &behind->buffers[behind->filling];
    }
    themis_status_t status = copy(behind, buffer, list);
    if (status == THEMIS_OK)
        themis_client_span_grow(&buffer->span, span);
    return status;
}
