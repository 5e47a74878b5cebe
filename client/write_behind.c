/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/write_behind.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "client/error.h"

enum { SEARCHED_RUNS = 64, MAX_RUNS = 8192 };

void themis_client_write_behind_init(themis_client_write_behind_t *wb, themis_file_t *file, size_t capacity)
{
    *wb = (themis_client_write_behind_t){.file = file, .capacity = capacity};
}

void themis_client_write_behind_free(themis_client_write_behind_t *wb)
{
    for (int i = 0; i < 2; i++) {
        free(wb->buffers[i].bytes);
        themis_util_runs_free(&wb->buffers[i].runs);
    }
}

int themis_client_write_behind_accepts(const themis_client_write_behind_t *wb, uint64_t bytes)
{
    return bytes <= wb->capacity / 2;
}

int themis_client_write_behind_is_dirty(const themis_client_write_behind_t *wb)
{
    return wb->request || wb->buffers[wb->filling].used > 0;
}

int themis_client_write_behind_overlaps(const themis_client_write_behind_t *wb, const themis_client_extent_t *extent)
{
    const themis_client_write_buffer_t *filling = &wb->buffers[wb->filling];
    const themis_client_write_buffer_t *other = &wb->buffers[!wb->filling];

    return (filling->used > 0 && themis_client_extent_overlaps(&filling->extent, extent)) ||
           (wb->request && themis_client_extent_overlaps(&other->extent, extent));
}

/* --- errors ------------------------------------------------------------------------------------------------------- */

static void defer_error(themis_client_write_behind_t *wb, themis_status_t status)
{
    if (status == THEMIS_OK || wb->deferred != THEMIS_OK)
        return;
    wb->deferred = status;
    snprintf(wb->cause, sizeof wb->cause, "%s", themis_last_error());
}

themis_status_t themis_client_write_behind_report(themis_client_write_behind_t *wb)
{
    themis_status_t status = wb->deferred;

    if (status == THEMIS_OK)
        return THEMIS_OK;
    wb->deferred = THEMIS_OK;
    return themis_client_fail(status, "%s (deferred error of an earlier write)", wb->cause);
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

static void request_finish(themis_client_write_behind_t *wb)
{
    themis_request_t *request = wb->request;

    if (!request)
        return;
    wb->request = NULL;
    defer_error(wb, themis_request_wait(request, NULL));
}

/* Waits for the write of the other buffer, which is filled from now on. */
static void buffer_write(themis_client_write_behind_t *wb)
{
    themis_client_write_buffer_t *buffer = &wb->buffers[wb->filling];

    if (buffer->used == 0)
        return;
    request_finish(wb);
    struct iovec memory = {buffer->bytes, buffer->used};
    themis_list_t list = {&memory, 1, buffer->runs.run, buffer->runs.count};
    defer_error(wb, themis_iwrite_list(wb->file, &list, &wb->request));
    wb->filling = !wb->filling;
    buffer = &wb->buffers[wb->filling];
    buffer->used = 0;
    buffer->extent = (themis_client_extent_t){0, 0};
    themis_util_runs_clear(&buffer->runs);
}

themis_status_t themis_client_write_behind_flush(themis_client_write_behind_t *wb)
{
    buffer_write(wb);
    request_finish(wb);
    return themis_client_write_behind_report(wb);
}

/* --- adding ------------------------------------------------------------------------------------------------------- */

/* 1 if two runs may have a byte in common; exact if both belong to one vector. */
static int runs_overlap(const themis_run_t *a, const themis_run_t *b)
{
    themis_client_extent_t one = themis_client_extent_of_run(a), two = themis_client_extent_of_run(b);
    uint64_t stride = a->count > 1 ? a->stride : b->stride;

    if (!themis_client_extent_overlaps(&one, &two))
        return 0;
    if (stride == 0 || (a->count > 1 && b->count > 1 && a->stride != b->stride) || (a->count == 1 && b->count == 1))
        return 1;
    uint64_t distance =
        (b->offset % stride + stride - a->offset % stride) % stride; /* of their positions within a stride */
    return distance < a->length || distance + b->length > stride;
}

/* 1 if the buffer may have a byte of the list; `extent` is around the list. */
static int buffer_overlaps(const themis_client_write_buffer_t *buffer, const themis_list_t *list,
                           const themis_client_extent_t *extent)
{
    if (buffer->used == 0 || !themis_client_extent_overlaps(&buffer->extent, extent))
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

static themis_status_t buffer_append(const themis_client_write_behind_t *wb, themis_client_write_buffer_t *buffer,
                                     const themis_list_t *list)
{
    if (!buffer->bytes && !(buffer->bytes = malloc(wb->capacity)))
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

themis_status_t themis_client_write_behind_add(themis_client_write_behind_t *wb, const themis_list_t *list,
                                               const themis_client_extent_t *extent)
{
    themis_client_write_buffer_t *buffer = &wb->buffers[wb->filling];
    size_t bytes = 0;

    for (size_t i = 0; i < list->memory_count; i++)
        bytes += list->memory[i].iov_len;
    if (bytes == 0)
        return THEMIS_OK;
    if (buffer->used + bytes > wb->capacity || buffer->runs.count > MAX_RUNS || buffer_overlaps(buffer, list, extent)) {
        buffer_write(wb);
        buffer = &wb->buffers[wb->filling];
    }
    themis_status_t status = buffer_append(wb, buffer, list);
    if (status == THEMIS_OK)
        themis_client_extent_add(&buffer->extent, extent);
    return status;
}
