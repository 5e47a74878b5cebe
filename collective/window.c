/* SPDX-License-Identifier: BSD-3-Clause */
#include "collective/window.h"
#include <stdlib.h>
#include <string.h>
#include "collective/span.h"
#include "util/iov.h"

static uint64_t words(uint64_t bytes)
{
    return (bytes + 63) / 64;
}

themis_status_t themis_collective_window_prepare(themis_collective_window_t *window,
                                                 const themis_collective_plan_t *plan,
                                                 const themis_aggregation_domains_t *domains)
{
    if (window->capacity < plan->window) {
        themis_collective_window_destroy(window);
        window->bytes = malloc(plan->window);
        window->used = malloc(words(plan->window) * sizeof(uint64_t));
        if (!window->bytes || !window->used) {
            themis_collective_window_destroy(window);
            return THEMIS_NO_MEMORY;
        }
        window->capacity = plan->window;
    }
    window->plan = plan;
    window->domains = domains;
    window->request = NULL;
    return THEMIS_OK;
}

void themis_collective_window_destroy(themis_collective_window_t *window)
{
    free(window->bytes);
    free(window->used);
    themis_util_runs_free(&window->runs);
    window->bytes = NULL;
    window->used = NULL;
    window->capacity = 0;
}

void themis_collective_window_turn(themis_collective_window_t *window, uint64_t round)
{
    window->round = round;
    memset(window->used, 0, words(window->plan->window) * sizeof(uint64_t));
}

static void begin(const themis_collective_window_t *window, themis_collective_span_t *span)
{
    uint64_t bytes = window->plan->window;
    themis_collective_span_begin(span, window->domains, window->plan->mine, window->round * bytes, bytes);
}

uint64_t themis_collective_window_part_bytes(const themis_collective_plan_t *plan,
                                             const themis_aggregation_domains_t *domains, uint64_t round,
                                             const themis_collective_part_t *part)
{
    themis_collective_span_t span;
    themis_collective_extent_t extent;
    uint64_t bytes = 0;
    themis_collective_span_begin(&span, domains, plan->mine, round * plan->window, plan->window);
    while (themis_collective_span_next(&span, &extent)) {
        uint64_t low = extent.offset - domains->first;
        for (uint32_t r = 0; r < part->ranks; r++)
            bytes += themis_util_runs_bytes_in(&part->runs[r], low, low + extent.length);
    }
    return bytes;
}

/* Marks bits [from, from + count). */
static void mark(uint64_t *bits, uint64_t from, uint64_t count)
{
    while (count) {
        uint64_t shift = from & 63, part = 64 - shift < count ? 64 - shift : count;
        bits[from >> 6] |= (part == 64 ? UINT64_MAX : ((UINT64_C(1) << part) - 1)) << shift;
        from += part;
        count -= part;
    }
}

/* Moves one row between the packed message and the window, where its first byte is at `place`. */
static void move_row(themis_collective_window_t *window, const themis_util_runs_row_t *row, uint64_t place,
                     char *packed, themis_direction_t direction)
{
    for (uint64_t i = 0; i < row->count; i++, place += row->stride, packed += row->length) {
        if (direction == THEMIS_READ) {
            memcpy(packed, window->bytes + place, row->length);
        } else {
            memcpy(window->bytes + place, packed, row->length);
            mark(window->used, place, row->length);
        }
    }
}

/* A message holds the bytes of rank after rank, each in the order of the file. */
void themis_collective_window_move(themis_collective_window_t *window, const themis_collective_part_t *part,
                                   char *message, themis_direction_t direction)
{
    themis_collective_span_t span;
    themis_collective_extent_t extent;
    themis_util_runs_clip_t clip;
    themis_util_runs_row_t row;
    for (uint32_t r = 0; r < part->ranks; r++) {
        begin(window, &span);
        while (part->runs[r].count && themis_collective_span_next(&span, &extent)) {
            uint64_t low = extent.offset - window->domains->first;
            themis_util_runs_clip_begin(&clip, &part->runs[r], low, low + extent.length);
            while (themis_util_runs_clip_next(&clip, &row)) {
                move_row(window, &row, extent.place + (row.offset - low), message, direction);
                message += row.length * row.count;
            }
        }
    }
}

/* End of the stretch of bits equal to `value` that begins at `from`, at most `end`. */
static uint64_t stretch(const uint64_t *bits, uint64_t from, uint64_t end, int value)
{
    while (from < end) {
        uint64_t word = value ? ~bits[from >> 6] : bits[from >> 6];
        word >>= from & 63;
        if (word) {
            from += (uint64_t)__builtin_ctzll(word);
            return from < end ? from : end;
        }
        from = (from | 63) + 1;
    }
    return end;
}

/* The written bytes of one extent become runs; they are moved together so that they are one piece of memory. */
static themis_status_t collect_extent(themis_collective_window_t *window, const themis_collective_extent_t *extent)
{
    uint64_t at = extent->place, end = extent->place + extent->length;
    themis_status_t status = THEMIS_OK;
    while (status == THEMIS_OK && (at = stretch(window->used, at, end, 0)) < end) {
        uint64_t stop = stretch(window->used, at, end, 1), packed = window->runs.bytes;
        if (packed != at)
            memmove(window->bytes + packed, window->bytes + at, stop - at);
        status = themis_util_runs_add(&window->runs, extent->offset + (at - extent->place), stop - at);
        at = stop;
    }
    return status;
}

static themis_status_t collect_written(themis_collective_window_t *window)
{
    themis_collective_span_t span;
    themis_collective_extent_t extent;
    themis_status_t status = THEMIS_OK;
    begin(window, &span);
    while (status == THEMIS_OK && themis_collective_span_next(&span, &extent))
        status = collect_extent(window, &extent);
    return status;
}

/* First and last byte of an extent that anyone asks for; 0 if nobody does. */
static int asked_range(const themis_collective_window_t *window, const themis_collective_extent_t *extent,
                       uint64_t *from, uint64_t *to)
{
    uint64_t base = window->domains->first, low = extent->offset - base, high = low + extent->length;
    *from = UINT64_MAX;
    *to = 0;
    for (uint32_t p = 0; p < window->plan->parts; p++) {
        const themis_collective_part_t *part = &window->plan->part[p];
        for (uint32_t r = 0; r < part->ranks; r++) {
            themis_util_runs_clip_t clip;
            themis_util_runs_row_t row;
            themis_util_runs_clip_begin(&clip, &part->runs[r], low, high);
            if (!themis_util_runs_clip_next(&clip, &row))
                continue;
            *from = row.offset < *from ? row.offset : *from;
            uint64_t end = themis_util_runs_last_before(&part->runs[r], high);
            *to = end > *to ? end : *to;
        }
    }
    if (!*to)
        return 0;
    *from += base;
    *to += base;
    return 1;
}

/*
 * What a read asks for: of each extent the range from the first to the last byte that is wanted. The runs' memory is
 * where the bytes belong in the window, so the unwanted ends of extents break it into pieces.
 */
static themis_status_t collect_asked(themis_collective_window_t *window, struct iovec *memory, size_t *pieces)
{
    themis_collective_span_t span;
    themis_collective_extent_t extent;
    uint64_t from, to;
    themis_status_t status = THEMIS_OK;
    *pieces = 0;
    begin(window, &span);
    while (status == THEMIS_OK && themis_collective_span_next(&span, &extent)) {
        if (!asked_range(window, &extent, &from, &to))
            continue;
        char *place = window->bytes + extent.place + (from - extent.offset);
        status = themis_util_runs_add(&window->runs, from, to - from);
        if (!themis_util_iov_extend(memory, *pieces, place, to - from))
            memory[(*pieces)++] = (struct iovec){place, to - from};
    }
    return status;
}

static size_t count_extents(const themis_collective_window_t *window)
{
    themis_collective_span_t span;
    themis_collective_extent_t extent;
    size_t count = 0;
    begin(window, &span);
    while (themis_collective_span_next(&span, &extent))
        count++;
    return count;
}

static themis_status_t start(themis_collective_window_t *window, const themis_collective_sink_t *sink,
                             themis_direction_t direction, const struct iovec *memory, size_t pieces)
{
    window->asked = window->runs.bytes;
    if (!window->asked)
        return THEMIS_OK;
    themis_list_t list = {memory, pieces, window->runs.run, window->runs.count};
    return sink->start(sink->arg, direction, &list, &window->request);
}

themis_status_t themis_collective_window_start(themis_collective_window_t *window, const themis_collective_sink_t *sink,
                                               themis_direction_t direction)
{
    themis_util_runs_clear(&window->runs);
    if (direction == THEMIS_WRITE) {
        themis_status_t status = collect_written(window);
        struct iovec memory = {window->bytes, window->runs.bytes};
        return status == THEMIS_OK ? start(window, sink, direction, &memory, 1) : status;
    }
    size_t pieces;
    struct iovec *memory = malloc((count_extents(window) + 1) * sizeof *memory);
    if (!memory)
        return THEMIS_NO_MEMORY;
    themis_status_t status = collect_asked(window, memory, &pieces);
    if (status == THEMIS_OK)
        status = start(window, sink, direction, memory, pieces);
    free(memory);
    return status;
}

themis_status_t themis_collective_window_test(themis_collective_window_t *window, const themis_collective_sink_t *sink,
                                              uint64_t *eof)
{
    if (!window->request)
        return THEMIS_OK;
    size_t done = 0;
    themis_status_t status = sink->test(sink->arg, window->request, &done);
    if (status == THEMIS_IN_PROGRESS)
        return status;
    window->request = NULL;
    if (status == THEMIS_OK && done < window->asked) {
        uint64_t end = themis_util_runs_offset(&window->runs, done);
        *eof = end < *eof ? end : *eof;
    }
    return status;
}
