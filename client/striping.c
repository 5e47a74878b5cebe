/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/striping.h"
#include "util/min.h"

/* Splits one contiguous piece. */
static themis_status_t place_piece(const themis_layout_t *layout, uint64_t offset, uint64_t length, uint64_t position,
                                   themis_client_striping_fn place, void *arg)
{
    while (length > 0) {
        uint64_t stripe = offset / layout->stripe_size;
        uint64_t within = offset % layout->stripe_size;
        uint64_t part = themis_util_min(length, layout->stripe_size - within);
        themis_run_t run = {stripe / layout->count * layout->stripe_size + within, part, part, 1};
        themis_status_t status = place(arg, (uint32_t)(stripe % layout->count), &run, position);

        if (status != THEMIS_OK)
            return status;
        offset += part;
        position += part;
        length -= part;
    }
    return THEMIS_OK;
}

/* How many of the `left` pieces of a run fit into `room` bytes, if one does. */
static uint64_t pieces_in(const themis_run_t *run, uint64_t room, uint64_t left)
{
    if (left == 1 || run->stride == 0)
        return left;
    return themis_util_min(left, 1 + (room - run->length) / run->stride);
}

themis_status_t themis_client_striping_run(const themis_layout_t *layout, const themis_run_t *run, uint64_t position,
                                           themis_client_striping_fn place, void *arg)
{
    themis_status_t status = THEMIS_OK;
    uint64_t pieces;

    if (layout->count == 1)
        return place(arg, 0, run, position);
    for (uint64_t i = 0; i < run->count && status == THEMIS_OK; i += pieces) {
        uint64_t offset = run->offset + i * run->stride;
        uint64_t stripe = offset / layout->stripe_size;
        uint64_t within = offset % layout->stripe_size;
        uint64_t room = layout->stripe_size - within;

        if (run->length > room) {
            pieces = 1;
            status = place_piece(layout, offset, run->length, position + i * run->length, place, arg);
        } else {
            pieces = pieces_in(run, room, run->count - i);
            themis_run_t part = {stripe / layout->count * layout->stripe_size + within, run->length, run->stride,
                                 pieces};
            status = place(arg, (uint32_t)(stripe % layout->count), &part, position + i * run->length);
        }
    }
    return status;
}

uint64_t themis_client_striping_file_end(const themis_layout_t *layout, uint32_t index, uint64_t end)
{
    if (end == 0 || layout->count == 1)
        return end;
    uint64_t stripe = (end - 1) / layout->stripe_size * layout->count + index;
    return stripe * layout->stripe_size + (end - 1) % layout->stripe_size + 1;
}

uint64_t themis_client_striping_object_end(const themis_layout_t *layout, uint32_t index, uint64_t size)
{
    if (layout->count == 1)
        return size;
    uint64_t full = size / layout->stripe_size;
    uint64_t last = full % layout->count;
    uint64_t end = (full / layout->count + (index < last)) * layout->stripe_size;

    return index == last ? end + size % layout->stripe_size : end;
}

/* As themis_client_striping_bytes_before, for one run. */
static uint64_t run_bytes_before(const themis_run_t *run, uint64_t size)
{
    if (run->count == 0 || run->offset >= size)
        return 0;
    uint64_t starts = run->count; /* pieces that begin before `size` */
    if (run->count > 1 && run->stride > 0)
        starts = themis_util_min(starts, 1 + (size - 1 - run->offset) / run->stride);
    /* with a stride below the length several pieces may extend past `size`; the first of them counts */
    uint64_t whole = run->offset + run->length <= size ? starts : 0;
    if (whole > 1 && run->stride > 0)
        whole = themis_util_min(starts, 1 + (size - run->length - run->offset) / run->stride);
    if (whole == starts)
        return whole * run->length;
    return whole * run->length + (size - run->offset - whole * run->stride);
}

uint64_t themis_client_striping_bytes_before(const themis_run_t *runs, size_t count, uint64_t size)
{
    uint64_t before = 0;

    for (size_t i = 0; i < count; i++) {
        uint64_t bytes = run_bytes_before(&runs[i], size);
        before += bytes;
        if (bytes < runs[i].length * runs[i].count)
            break;
    }
    return before;
}

themis_status_t themis_client_striping_bytes(const themis_run_t *runs, size_t count, uint64_t *bytes)
{
    const uint64_t limit = INT64_MAX;
    uint64_t sum = 0, all, last, end;

    for (size_t i = 0; i < count; i++) {
        const themis_run_t *run = &runs[i];
        if (run->count == 0 || run->length == 0)
            continue;
        if (__builtin_mul_overflow(run->length, run->count, &all) || __builtin_add_overflow(sum, all, &sum) ||
            __builtin_mul_overflow(run->count > 1 ? run->stride : 0, run->count - 1, &last) ||
            __builtin_add_overflow(last, run->offset, &end) || __builtin_add_overflow(end, run->length, &end) ||
            end > limit || sum > limit)
            return THEMIS_RANGE;
    }
    *bytes = sum;
    return THEMIS_OK;
}
