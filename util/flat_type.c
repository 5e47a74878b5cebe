/* SPDX-License-Identifier: BSD-3-Clause */
#include "util/flat_type.h"
#include <string.h>

const themis_util_flat_type_t themis_util_flat_type_bytes = {.extent = 1, .size = 1, .contiguous = 1};

themis_status_t themis_util_flat_type_create(const int64_t *offsets, const int64_t *lengths, size_t count,
                                             int64_t extent, themis_util_flat_type_t *type)
{
    themis_util_flat_type_t made = {.extent = extent};
    for (size_t i = 0; i < count; i++) {
        themis_status_t status = themis_util_runs_add(&made.tile, (uint64_t)offsets[i], (uint64_t)lengths[i]);
        if (status != THEMIS_OK) {
            themis_util_runs_free(&made.tile);
            return status;
        }
    }
    made.size = made.tile.bytes;
    made.contiguous =
        made.tile.count == 1 && made.tile.run[0].count == 1 && !made.tile.run[0].offset && (int64_t)made.size == extent;
    *type = made;
    return THEMIS_OK;
}

void themis_util_flat_type_destroy(themis_util_flat_type_t *type)
{
    themis_util_runs_free(&type->tile);
    memset(type, 0, sizeof *type);
}

/* Appends bytes [skip, skip + bytes) of one run's stream. */
static themis_status_t expand_run(const themis_run_t *run, uint64_t origin, uint64_t skip, uint64_t bytes,
                                  themis_util_runs_t *runs)
{
    if (run->count == 1)
        return themis_util_runs_add(runs, origin + run->offset + skip, bytes);
    uint64_t start = origin + run->offset + skip / run->length * run->stride;
    uint64_t head = skip % run->length;
    themis_status_t status = THEMIS_OK;
    if (head) {
        uint64_t part = run->length - head < bytes ? run->length - head : bytes;
        status = themis_util_runs_add(runs, start + head, part);
        start += run->stride;
        bytes -= part;
    }
    themis_run_t whole = {start, run->length, run->stride, bytes / run->length};
    if (status == THEMIS_OK)
        status = themis_util_runs_add_run(runs, &whole);
    if (status == THEMIS_OK)
        status = themis_util_runs_add(runs, start + whole.count * run->stride, bytes % run->length);
    return status;
}

themis_status_t themis_util_flat_type_expand(const themis_util_flat_type_t *type, uint64_t origin, uint64_t position,
                                             uint64_t bytes, size_t max_runs, themis_util_runs_t *runs)
{
    const themis_util_runs_t *tile = &type->tile;
    if (!bytes)
        return THEMIS_OK;
    if (!type->size)
        return THEMIS_INVALID;
    if (type->contiguous)
        return themis_util_runs_add(runs, origin + position, bytes);
    const themis_run_t *only = &tile->run[0];
    if (tile->count == 1 && only->count == 1 && type->extent > 0 && (uint64_t)type->extent >= only->length) {
        themis_run_t all = {only->offset, only->length, (uint64_t)type->extent, UINT64_MAX};
        return expand_run(&all, origin, position, bytes, runs);
    }
    uint64_t skip = position % type->size;
    size_t i = themis_util_runs_find(tile, skip);
    themis_status_t status = THEMIS_OK;
    origin += position / type->size * (uint64_t)type->extent;
    skip -= tile->start[i];
    while (bytes && status == THEMIS_OK && runs->count < max_runs) {
        uint64_t length = tile->run[i].length * tile->run[i].count - skip, part = length < bytes ? length : bytes;
        status = expand_run(&tile->run[i], origin, skip, part, runs);
        bytes -= part;
        skip = 0;
        if (++i == tile->count) {
            i = 0;
            origin += (uint64_t)type->extent;
        }
    }
    return status;
}

/* Stream position in one instance of its first byte at or above `offset`; its size if there is none. */
static uint64_t position_in_tile(const themis_util_flat_type_t *type, int64_t offset)
{
    for (size_t i = 0; i < type->tile.count; i++) {
        const themis_run_t *run = &type->tile.run[i];
        int64_t from = offset - (int64_t)run->offset;
        if (from <= 0)
            return type->tile.start[i];
        uint64_t piece = run->count > 1 ? (uint64_t)from / run->stride : 0;
        uint64_t within = (uint64_t)from - piece * run->stride;
        if (within >= run->length) {
            piece++;
            within = 0;
        }
        if (piece < run->count)
            return type->tile.start[i] + piece * run->length + within;
    }
    return type->size;
}

uint64_t themis_util_flat_type_position(const themis_util_flat_type_t *type, uint64_t offset)
{
    if (type->contiguous)
        return (int64_t)offset > 0 ? offset : 0;
    if (!type->size || type->extent <= 0)
        return 0;
    int64_t beyond = (int64_t)(offset - type->tile.run[0].offset);
    if (beyond <= 0)
        return 0;
    uint64_t instance = (uint64_t)beyond / (uint64_t)type->extent;
    /* Instances that are longer than their extent overlap: the byte may belong to an earlier one. */
    uint64_t span = type->tile.end - type->tile.run[0].offset;
    uint64_t back = type->tile.unordered ? 0 : (span - 1) / (uint64_t)type->extent;
    for (uint64_t i = instance - (back < instance ? back : instance); i <= instance; i++) {
        uint64_t position = position_in_tile(type, (int64_t)offset - (int64_t)i * type->extent);
        if (position < type->size)
            return i * type->size + position;
    }
    return (instance + 1) * type->size;
}

uint64_t themis_util_flat_type_offset(const themis_util_flat_type_t *type, uint64_t position)
{
    if (type->contiguous || !type->size)
        return type->contiguous ? position : 0;
    return position / type->size * (uint64_t)type->extent + themis_util_runs_offset(&type->tile, position % type->size);
}

void themis_util_flat_type_range(const themis_util_flat_type_t *type, uint64_t position, uint64_t bytes,
                                 uint64_t *first, uint64_t *end)
{
    const themis_util_runs_t *tile = &type->tile;
    *first = themis_util_flat_type_offset(type, position);
    *end = themis_util_flat_type_offset(type, position + bytes - 1) + 1;
    if (type->contiguous || (!tile->unordered && type->extent >= (int64_t)(tile->end - tile->run[0].offset)))
        return;
    /* of the first and the last instance, all; those in the middle lie between these */
    int64_t lowest = INT64_MAX, highest = INT64_MIN;
    for (size_t i = 0; i < tile->count; i++) {
        const themis_run_t *run = &tile->run[i];
        int64_t low = (int64_t)run->offset;
        int64_t high = (int64_t)(run->offset + (run->count - 1) * run->stride + run->length);
        lowest = low < lowest ? low : lowest;
        highest = high > highest ? high : highest;
    }
    int64_t one = (int64_t)(position / type->size) * type->extent;
    int64_t other = (int64_t)((position + bytes - 1) / type->size) * type->extent;
    *first = (uint64_t)((one < other ? one : other) + lowest);
    *end = (uint64_t)((one > other ? one : other) + highest);
}
