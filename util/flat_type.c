/* SPDX-License-Identifier: BSD-3-Clause */
#include "util/flat_type.h"
#include <string.h>

themis_status_t themis_util_flat_type_create(const int64_t *offsets, const int64_t *lengths, size_t count,
                                             int64_t extent, themis_util_flat_type_t *type)
{
    themis_util_flat_type_t built = {.extent = extent};
    themis_util_runs_init(&built.tile);
    for (size_t i = 0; i < count; i++) {
        themis_status_t status =
            themis_util_runs_push(&built.tile, (uint64_t)offsets[i], (uint64_t)lengths[i], (uint64_t)lengths[i], 1);
        if (status != THEMIS_OK) {
            themis_util_runs_free(&built.tile);
            return status;
        }
    }
    built.size = built.tile.bytes;
    built.contiguous = built.tile.count == 1 && built.tile.run[0].count == 1 && !built.tile.run[0].offset &&
                       (int64_t)built.size == extent;
    *type = built;
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
    uint64_t start = origin + run->offset + skip / run->length * run->stride;
    uint64_t head = skip % run->length;
    themis_status_t status = THEMIS_OK;
    if (head) {
        uint64_t part = run->length - head < bytes ? run->length - head : bytes;
        status = themis_util_runs_push(runs, start + head, part, part, 1);
        start += run->stride;
        bytes -= part;
    }
    uint64_t whole = bytes / run->length, tail = bytes % run->length;
    if (status == THEMIS_OK)
        status = themis_util_runs_push(runs, start, run->length, run->stride, whole);
    if (status == THEMIS_OK)
        status = themis_util_runs_push(runs, start + whole * run->stride, tail, tail, 1);
    return status;
}

/* Appends bytes [skip, skip + bytes) of one instance. */
static themis_status_t expand_tile(const themis_util_flat_type_t *type, uint64_t origin, uint64_t skip, uint64_t bytes,
                                   themis_util_runs_t *runs)
{
    const themis_util_runs_t *tile = &type->tile;
    themis_status_t status = THEMIS_OK;
    for (size_t i = 0; i < tile->count && bytes && status == THEMIS_OK; i++) {
        uint64_t length = tile->run[i].length * tile->run[i].count;
        if (skip >= length) {
            skip -= length;
            continue;
        }
        uint64_t part = length - skip < bytes ? length - skip : bytes;
        status = expand_run(&tile->run[i], origin, skip, part, runs);
        bytes -= part;
        skip = 0;
    }
    return status;
}

themis_status_t themis_util_flat_type_expand(const themis_util_flat_type_t *type, uint64_t origin, uint64_t position,
                                             uint64_t bytes, themis_util_runs_t *runs)
{
    if (!bytes)
        return THEMIS_OK;
    if (!type->size)
        return THEMIS_INVALID;
    if (type->contiguous)
        return themis_util_runs_push(runs, origin + position, bytes, bytes, 1);
    const themis_run_t *only = &type->tile.run[0];
    if (type->tile.count == 1 && only->count == 1 && type->extent > 0 && (uint64_t)type->extent >= only->length) {
        themis_run_t all = {only->offset, only->length, (uint64_t)type->extent, UINT64_MAX};
        return expand_run(&all, origin, position, bytes, runs);
    }
    uint64_t instance = position / type->size, skip = position % type->size;
    themis_status_t status = THEMIS_OK;
    for (; bytes && status == THEMIS_OK; instance++, skip = 0) {
        uint64_t part = type->size - skip < bytes ? type->size - skip : bytes;
        status = expand_tile(type, origin + instance * (uint64_t)type->extent, skip, part, runs);
        bytes -= part;
    }
    return status;
}

/* Stream position in one instance of its first byte at or behind `offset`; its size if there is none. */
static uint64_t position_in_tile(const themis_util_flat_type_t *type, int64_t offset)
{
    for (size_t i = 0; i < type->tile.count; i++) {
        const themis_run_t *run = &type->tile.run[i];
        int64_t from = offset - (int64_t)run->offset;
        if (from <= 0)
            return type->tile.start[i];
        uint64_t piece = run->count > 1 ? (uint64_t)from / run->stride : 0;
        uint64_t within = (uint64_t)from - piece * run->stride;
        if (run->count == 1)
            within = (uint64_t)from;
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
    if (!type->size || type->extent <= 0)
        return 0;
    int64_t first = (int64_t)type->tile.run[0].offset;
    int64_t beyond = (int64_t)offset - first;
    if (beyond <= 0)
        return 0;
    uint64_t instance = (uint64_t)beyond / (uint64_t)type->extent;
    /* Instances that are longer than their extent overlap: the byte may belong to an earlier one. */
    uint64_t span = type->tile.end - type->tile.run[0].offset;
    uint64_t back = type->tile.ordered ? (span - 1) / (uint64_t)type->extent : 0;
    for (uint64_t i = instance - (back < instance ? back : instance); i <= instance; i++) {
        uint64_t position = position_in_tile(type, (int64_t)offset - (int64_t)i * type->extent);
        if (position < type->size)
            return i * type->size + position;
    }
    return (instance + 1) * type->size;
}

uint64_t themis_util_flat_type_offset(const themis_util_flat_type_t *type, uint64_t position)
{
    if (!type->size)
        return 0;
    uint64_t instance = position / type->size, skip = position % type->size;
    const themis_util_runs_t *tile = &type->tile;
    size_t i = 0;
    while (i + 1 < tile->count && tile->start[i + 1] <= skip)
        i++;
    skip -= tile->start[i];
    const themis_run_t *run = &tile->run[i];
    return instance * (uint64_t)type->extent + run->offset + skip / run->length * run->stride + skip % run->length;
}
