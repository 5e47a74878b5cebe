/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/ahead.h"
#include <stdlib.h>
#include <string.h>

enum { FIRST_READS = 8, GROWTH = 4, NEEDED_REPEATS = 2 };

void themis_client_ahead_init(themis_client_ahead_t *ahead, themis_file_t *file, const themis_client_behind_t *behind,
                              size_t capacity)
{
    *ahead = (themis_client_ahead_t){.file = file, .behind = behind, .capacity = capacity};
}

static void drop_window(themis_client_ahead_window_t *window)
{
    if (window->request)
        themis_request_wait(window->request, NULL); /* a failure shows again when somebody wants these bytes */
    window->request = NULL;
    window->filled = 0;
}

void themis_client_ahead_drop(themis_client_ahead_t *ahead)
{
    drop_window(&ahead->windows[0]);
    drop_window(&ahead->windows[1]);
}

void themis_client_ahead_forget(themis_client_ahead_t *ahead, const themis_client_span_t *span)
{
    for (int i = 0; i < 2; i++)
        if (ahead->windows[i].filled && themis_client_span_overlap(&ahead->windows[i].span, span))
            drop_window(&ahead->windows[i]);
}

void themis_client_ahead_free(themis_client_ahead_t *ahead)
{
    themis_client_ahead_drop(ahead);
    themis_util_runs_free(&ahead->runs);
    free(ahead->windows[0].bytes);
    free(ahead->windows[1].bytes);
}

/* --- the pattern -------------------------------------------------------------------------------------------------- */

static int same_shape(const themis_run_t *a, const themis_run_t *b)
{
    return a->length == b->length && a->count == b->count && (a->count == 1 || a->stride == b->stride);
}

/* Notes a read; returns 1 if it continues a pattern. */
static int continues(themis_client_ahead_t *ahead, const themis_run_t *run, uint64_t bytes)
{
    uint64_t distance = run->offset - ahead->offset;

    if (!same_shape(&ahead->shape, run)) {
        ahead->repeated = 0;
    } else if (run->offset <= ahead->offset || distance != ahead->distance) {
        ahead->repeated = run->offset > ahead->offset;
    } else {
        ahead->repeated += ahead->repeated < NEEDED_REPEATS;
    }
    if (ahead->repeated < NEEDED_REPEATS) {
        themis_client_ahead_drop(ahead);
        ahead->reads = FIRST_READS;
    }
    ahead->shape = *run;
    ahead->offset = run->offset;
    ahead->distance = distance;
    ahead->bytes = bytes;
    return ahead->repeated >= NEEDED_REPEATS;
}

/* --- windows ------------------------------------------------------------------------------------------------------ */

/* Pieces of one read may lie between those of another only in ways that a list can name as well: each read is a run. */
static themis_status_t build_runs(themis_client_ahead_t *ahead, uint64_t first, uint64_t count)
{
    themis_status_t status = THEMIS_OK;

    themis_util_runs_clear(&ahead->runs);
    for (uint64_t i = 0; i < count && status == THEMIS_OK; i++) {
        themis_run_t run = {first + i * ahead->distance, ahead->shape.length, ahead->shape.stride, ahead->shape.count};
        status = themis_util_runs_add_run(&ahead->runs, &run);
    }
    return status;
}

/* Starts to fetch a window that begins with the read at `first`. Nothing happens where that is not possible. */
static void fetch(themis_client_ahead_t *ahead, themis_client_ahead_window_t *window, uint64_t first)
{
    uint64_t count = ahead->capacity / ahead->bytes;
    themis_run_t shape = ahead->shape;

    drop_window(window);
    count = count < ahead->reads ? count : ahead->reads;
    themis_client_span_t one = themis_client_span_of_run(&shape);
    if (count < 2 || first > INT64_MAX / 2 || ahead->distance > INT64_MAX / 4 / count)
        return;
    themis_client_span_t span = {first, first + (count - 1) * ahead->distance + (one.end - one.first)};
    if (themis_client_behind_touches(ahead->behind, &span))
        return;
    if (!window->bytes && !(window->bytes = malloc(ahead->capacity)))
        return;
    if (build_runs(ahead, first, count) != THEMIS_OK)
        return;
    struct iovec memory = {window->bytes, count * ahead->bytes};
    themis_list_t list = {&memory, 1, ahead->runs.run, ahead->runs.count};
    if (themis_iread_list(ahead->file, &list, &window->request) != THEMIS_OK)
        return;
    window->first = first;
    window->count = count;
    window->filled = 1;
    window->span = span;
    if (ahead->reads < ahead->capacity / ahead->bytes)
        ahead->reads *= GROWTH;
}

/* 1 if the read at `offset` is in the window. */
static int has(const themis_client_ahead_t *ahead, const themis_client_ahead_window_t *window, uint64_t offset,
               uint64_t *index)
{
    if (!window->filled || offset < window->first || (offset - window->first) % ahead->distance != 0)
        return 0;
    *index = (offset - window->first) / ahead->distance;
    return *index < window->count;
}

/* Waits for the window, and copies read number `index` if all of it was there. */
static int serve(themis_client_ahead_t *ahead, themis_client_ahead_window_t *window, uint64_t index,
                 const themis_list_t *list)
{
    const char *from = window->bytes + index * ahead->bytes;
    size_t done = 0;

    if (window->request) {
        themis_request_t *request = window->request;
        window->request = NULL;
        window->valid = themis_request_wait(request, &done) == THEMIS_OK ? done : 0;
    }
    if ((index + 1) * ahead->bytes > window->valid) { /* the end of the file may have moved since */
        drop_window(window);
        ahead->repeated = 0;
        return 0;
    }
    for (size_t i = 0; i < list->memory_count; i++) {
        memcpy(list->memory[i].iov_base, from, list->memory[i].iov_len);
        from += list->memory[i].iov_len;
    }
    return 1;
}

/* The window behind the current one is fetched when the current one is begun. */
static void fetch_next(themis_client_ahead_t *ahead, themis_client_ahead_window_t *current)
{
    themis_client_ahead_window_t *next = &ahead->windows[!ahead->current];
    uint64_t behind = current->first + current->count * ahead->distance;

    if (!next->filled || next->first != behind)
        fetch(ahead, next, behind);
}

int themis_client_ahead_read(themis_client_ahead_t *ahead, const themis_list_t *list, uint64_t bytes, size_t *done)
{
    uint64_t index;

    if (list->run_count != 1 || bytes == 0 || bytes > ahead->capacity / 2 || !continues(ahead, list->runs, bytes))
        return 0;
    if (!has(ahead, &ahead->windows[ahead->current], ahead->offset, &index)) {
        ahead->current = !ahead->current;
        if (!has(ahead, &ahead->windows[ahead->current], ahead->offset, &index)) {
            fetch(ahead, &ahead->windows[ahead->current], ahead->offset);
            index = 0;
        }
    }
    themis_client_ahead_window_t *window = &ahead->windows[ahead->current];
    if (!window->filled || !serve(ahead, window, index, list))
        return 0;
    fetch_next(ahead, window);
    *done = (size_t)bytes;
    return 1;
}
