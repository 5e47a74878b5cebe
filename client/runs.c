/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/runs.h"
#include <stdlib.h>

enum { FIRST_CAPACITY = 8 };

void themis_client_runs_clear(themis_client_runs_t *runs)
{
    runs->count = 0;
    runs->pending.count = 0;
    runs->bytes = 0;
}

void themis_client_runs_free(themis_client_runs_t *runs)
{
    free(runs->array);
    *runs = (themis_client_runs_t){0};
}

static themis_status_t reserve(themis_client_runs_t *runs)
{
    if (runs->count < runs->capacity)
        return THEMIS_OK;
    size_t capacity = runs->capacity ? 2 * runs->capacity : FIRST_CAPACITY;
    themis_run_t *array = realloc(runs->array, capacity * sizeof *array);
    if (!array)
        return THEMIS_NO_MEMORY;
    runs->array = array;
    runs->capacity = capacity;
    return THEMIS_OK;
}

/* Makes `run` part of `last` if its pieces continue it. */
static int fold(themis_run_t *last, const themis_run_t *run)
{
    uint64_t stride;

    if (last->length != run->length || run->offset < last->offset)
        return 0;
    if (last->count > 1)
        stride = last->stride;
    else if (run->count > 1)
        stride = run->stride;
    else
        stride = run->offset - last->offset;
    if (stride < run->length || run->offset - last->offset != last->count * stride)
        return 0;
    if (run->count > 1 && run->stride != stride)
        return 0;
    last->stride = stride;
    last->count += run->count;
    return 1;
}

static void append(themis_client_runs_t *runs, const themis_run_t *run)
{
    if (runs->count > 0 && fold(&runs->array[runs->count - 1], run))
        return;
    runs->array[runs->count++] = *run;
}

static void close_pending(themis_client_runs_t *runs)
{
    if (runs->pending.count)
        append(runs, &runs->pending);
    runs->pending.count = 0;
}

themis_status_t themis_client_runs_finish(themis_client_runs_t *runs)
{
    themis_status_t status = reserve(runs);

    if (status == THEMIS_OK)
        close_pending(runs);
    return status;
}

themis_status_t themis_client_runs_add(themis_client_runs_t *runs, uint64_t offset, uint64_t length)
{
    themis_run_t *pending = &runs->pending;

    if (length == 0)
        return THEMIS_OK;
    if (pending->count && pending->offset + pending->length == offset) {
        pending->length += length;
        pending->stride = pending->length;
    } else {
        themis_status_t status = reserve(runs);
        if (status != THEMIS_OK)
            return status;
        close_pending(runs);
        *pending = (themis_run_t){offset, length, length, 1};
    }
    runs->bytes += length;
    return THEMIS_OK;
}

/* What lies between the first and the last piece of a run, as it is. */
static themis_status_t add_middle(themis_client_runs_t *runs, const themis_run_t *run)
{
    themis_run_t middle = {run->offset + run->stride, run->length, run->stride, run->count - 2};
    themis_status_t status = themis_client_runs_finish(runs);

    if (status != THEMIS_OK || (status = reserve(runs)) != THEMIS_OK)
        return status;
    append(runs, &middle);
    runs->bytes += middle.length * middle.count;
    return THEMIS_OK;
}

static themis_status_t add_pieces(themis_client_runs_t *runs, const themis_run_t *run)
{
    themis_status_t status = THEMIS_OK;

    for (uint64_t i = 0; i < run->count && status == THEMIS_OK; i++)
        status = themis_client_runs_add(runs, run->offset + i * run->stride, run->length);
    return status;
}

/*
 * The first piece may be adjacent to what came before and the last one to what follows, so both go through the pending
 * extent and the rest is appended as it is.
 */
themis_status_t themis_client_runs_add_run(themis_client_runs_t *runs, const themis_run_t *run)
{
    themis_status_t status;

    if (run->count == 0 || run->length == 0)
        return THEMIS_OK;
    if (run->count > 1 && run->stride == run->length)
        return themis_client_runs_add(runs, run->offset, run->length * run->count);
    if (run->count <= 2 || run->stride < run->length)
        return add_pieces(runs, run);
    if ((status = themis_client_runs_add(runs, run->offset, run->length)) != THEMIS_OK ||
        (status = add_middle(runs, run)) != THEMIS_OK)
        return status;
    return themis_client_runs_add(runs, run->offset + (run->count - 1) * run->stride, run->length);
}
