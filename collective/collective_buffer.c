/* SPDX-License-Identifier: BSD-3-Clause */
#include "collective/collective_buffer.h"
#include <stdlib.h>
#include <string.h>
#include "util/iov.h"

static uint64_t words_for(uint64_t bytes)
{
    return (bytes + 63) / 64;
}

themis_status_t themis_collective_buffer_prepare(themis_collective_buffer_t *buffer,
                                                 const themis_collective_call_plan_t *plan,
                                                 const themis_aggregation_domains_t *domains)
{
    if (buffer->capacity < plan->round_bytes) {
        themis_collective_buffer_free(buffer);
        buffer->bytes = malloc(plan->round_bytes);
        buffer->used = malloc(words_for(plan->round_bytes) * sizeof(uint64_t));
        if (!buffer->bytes || !buffer->used) {
            themis_collective_buffer_free(buffer);
            return THEMIS_NO_MEMORY;
        }
        buffer->capacity = plan->round_bytes;
    }
    buffer->plan = plan;
    buffer->round = (themis_collective_round_t){domains, plan->mine, 0, plan->round_bytes};
    buffer->request = NULL;
    return THEMIS_OK;
}

void themis_collective_buffer_free(themis_collective_buffer_t *buffer)
{
    free(buffer->bytes);
    free(buffer->used);
    themis_util_runs_free(&buffer->runs);
    buffer->bytes = NULL;
    buffer->used = NULL;
    buffer->capacity = 0;
}

void themis_collective_buffer_set_round(themis_collective_buffer_t *buffer, uint64_t round)
{
    buffer->round.number = round;
    memset(buffer->used, 0, words_for(buffer->plan->round_bytes) * sizeof(uint64_t));
}

/* Marks bits [from, from + count). */
static void mark_bits(uint64_t *bits, uint64_t from, uint64_t count)
{
    while (count) {
        uint64_t shift = from & 63, part = 64 - shift < count ? 64 - shift : count;
        bits[from >> 6] |= (part == 64 ? UINT64_MAX : ((UINT64_C(1) << part) - 1)) << shift;
        from += part;
        count -= part;
    }
}

/* Moves one row between the packed message and the buffer, where its first byte is at `place`. */
static void move_row(themis_collective_buffer_t *buffer, const themis_util_runs_row_t *row, uint64_t place,
                     char *packed, themis_direction_t direction)
{
    for (uint64_t i = 0; i < row->count; i++, place += row->stride, packed += row->length) {
        if (direction == THEMIS_READ) {
            memcpy(packed, buffer->bytes + place, row->length);
        } else {
            memcpy(buffer->bytes + place, packed, row->length);
            mark_bits(buffer->used, place, row->length);
        }
    }
}

/* A message holds the bytes of rank after rank, each in the order of the file. */
void themis_collective_buffer_move(themis_collective_buffer_t *buffer, const themis_collective_part_t *part,
                                   char *message, themis_direction_t direction)
{
    themis_collective_domain_rows_t rows;
    themis_util_runs_row_t row;
    uint64_t place;
    for (uint32_t r = 0; r < part->ranks; r++) {
        themis_collective_domain_rows_begin(&rows, &buffer->round, &part->runs[r], buffer->round.domains->first);
        while (themis_collective_domain_rows_next(&rows, &row, &place)) {
            move_row(buffer, &row, place, message, direction);
            message += row.length * row.count;
        }
    }
}

/* End of the sequence of bits equal to `value` that begins at `from`, at most `end`. */
static uint64_t end_of_bits(const uint64_t *bits, uint64_t from, uint64_t end, int value)
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
static themis_status_t collect_extent(themis_collective_buffer_t *buffer, const themis_collective_extent_t *extent)
{
    uint64_t at = extent->place, end = extent->place + extent->length;
    themis_status_t status = THEMIS_OK;
    while (status == THEMIS_OK && (at = end_of_bits(buffer->used, at, end, 0)) < end) {
        uint64_t stop = end_of_bits(buffer->used, at, end, 1), packed = buffer->runs.bytes;
        if (packed != at)
            memmove(buffer->bytes + packed, buffer->bytes + at, stop - at);
        status = themis_util_runs_add(&buffer->runs, extent->offset + (at - extent->place), stop - at);
        at = stop;
    }
    return status;
}

static themis_status_t collect_written(themis_collective_buffer_t *buffer)
{
    themis_collective_domain_extents_t extents;
    themis_collective_extent_t extent;
    themis_status_t status = THEMIS_OK;
    themis_collective_domain_extents_begin(&extents, &buffer->round);
    while (status == THEMIS_OK && themis_collective_domain_extents_next(&extents, &extent))
        status = collect_extent(buffer, &extent);
    return status;
}

/* The range from the first to the last byte of an extent that any rank reads; 0 if none does. */
static int requested_range(const themis_collective_buffer_t *buffer, const themis_collective_extent_t *extent,
                           uint64_t *from, uint64_t *to)
{
    uint64_t base = buffer->round.domains->first, low = extent->offset - base, high = low + extent->length;
    *from = UINT64_MAX;
    *to = 0;
    for (uint32_t p = 0; p < buffer->plan->parts; p++) {
        const themis_collective_part_t *part = &buffer->plan->part[p];
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
 * What a read asks for: of each extent the range from the first to the last byte that any rank reads. The runs' memory
 * is where the bytes belong in the buffer, so the other parts of extents break it into pieces.
 */
static themis_status_t collect_requested(themis_collective_buffer_t *buffer, struct iovec *memory, size_t *pieces)
{
    themis_collective_domain_extents_t extents;
    themis_collective_extent_t extent;
    uint64_t from, to;
    themis_status_t status = THEMIS_OK;
    *pieces = 0;
    themis_collective_domain_extents_begin(&extents, &buffer->round);
    while (status == THEMIS_OK && themis_collective_domain_extents_next(&extents, &extent)) {
        if (!requested_range(buffer, &extent, &from, &to))
            continue;
        char *place = buffer->bytes + extent.place + (from - extent.offset);
        status = themis_util_runs_add(&buffer->runs, from, to - from);
        if (!themis_util_iov_extend(memory, *pieces, place, to - from))
            memory[(*pieces)++] = (struct iovec){place, to - from};
    }
    return status;
}

static size_t count_extents(const themis_collective_buffer_t *buffer)
{
    themis_collective_domain_extents_t extents;
    themis_collective_extent_t extent;
    size_t count = 0;
    themis_collective_domain_extents_begin(&extents, &buffer->round);
    while (themis_collective_domain_extents_next(&extents, &extent))
        count++;
    return count;
}

static themis_status_t start_request(themis_collective_buffer_t *buffer, const themis_collective_file_ops_t *ops,
                                     themis_direction_t direction, const struct iovec *memory, size_t pieces)
{
    buffer->requested = buffer->runs.bytes;
    if (!buffer->requested)
        return THEMIS_OK;
    themis_list_t list = {memory, pieces, buffer->runs.run, buffer->runs.count};
    return ops->start(ops->arg, direction, &list, &buffer->request);
}

themis_status_t themis_collective_buffer_start(themis_collective_buffer_t *buffer,
                                               const themis_collective_file_ops_t *ops, themis_direction_t direction)
{
    themis_util_runs_clear(&buffer->runs);
    if (direction == THEMIS_WRITE) {
        themis_status_t status = collect_written(buffer);
        struct iovec memory = {buffer->bytes, buffer->runs.bytes};
        return status == THEMIS_OK ? start_request(buffer, ops, direction, &memory, 1) : status;
    }
    size_t pieces;
    struct iovec *memory = malloc((count_extents(buffer) + 1) * sizeof *memory);
    if (!memory)
        return THEMIS_NO_MEMORY;
    themis_status_t status = collect_requested(buffer, memory, &pieces);
    if (status == THEMIS_OK)
        status = start_request(buffer, ops, direction, memory, pieces);
    free(memory);
    return status;
}

themis_status_t themis_collective_buffer_test(themis_collective_buffer_t *buffer,
                                              const themis_collective_file_ops_t *ops, uint64_t *eof)
{
    if (!buffer->request)
        return THEMIS_OK;
    size_t done = 0;
    themis_status_t status = ops->test(ops->arg, buffer->request, &done);
    if (status == THEMIS_IN_PROGRESS)
        return status;
    buffer->request = NULL;
    if (status == THEMIS_OK && done < buffer->requested) {
        uint64_t end = themis_util_runs_offset(&buffer->runs, done);
        *eof = end < *eof ? end : *eof;
    }
    return status;
}
