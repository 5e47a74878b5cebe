/* SPDX-License-Identifier: BSD-3-Clause */
#include "collective/domain_extents.h"

void themis_collective_domain_extents_begin(themis_collective_domain_extents_t *extents,
                                            const themis_collective_round_t *round)
{
    uint64_t size = themis_aggregation_domains_size(round->domains, round->domain);
    uint64_t position = round->number * round->bytes;
    extents->passed = 0;
    extents->left = position >= size ? 0 : size - position < round->bytes ? size - position : round->bytes;
    if (extents->left)
        themis_aggregation_iterator_init(round->domains, round->domain,
                                         themis_aggregation_domains_seek(round->domains, round->domain, position),
                                         &extents->iterator);
}

int themis_collective_domain_extents_next(themis_collective_domain_extents_t *extents,
                                          themis_collective_extent_t *extent)
{
    themis_aggregation_extent_t found;
    if (!extents->left || !themis_aggregation_iterator_next(&extents->iterator, &found))
        return 0;
    uint64_t length = found.length < extents->left ? found.length : extents->left;
    *extent = (themis_collective_extent_t){found.offset, length, extents->passed};
    extents->passed += length;
    extents->left -= length;
    return 1;
}

void themis_collective_domain_rows_begin(themis_collective_domain_rows_t *rows, const themis_collective_round_t *round,
                                         const themis_util_runs_t *runs, uint64_t base)
{
    rows->runs = runs;
    rows->base = base;
    rows->extent = (themis_collective_extent_t){0};
    themis_util_runs_clip_begin(&rows->clip, runs, 0, 0);
    if (runs->bytes)
        themis_collective_domain_extents_begin(&rows->extents, round);
    else
        rows->extents.left = 0;
}

int themis_collective_domain_rows_next(themis_collective_domain_rows_t *rows, themis_util_runs_row_t *row,
                                       uint64_t *place)
{
    while (!themis_util_runs_clip_next(&rows->clip, row)) {
        if (!themis_collective_domain_extents_next(&rows->extents, &rows->extent))
            return 0;
        uint64_t low = rows->extent.offset - rows->base;
        themis_util_runs_clip_begin(&rows->clip, rows->runs, low, low + rows->extent.length);
    }
    *place = rows->extent.place + (row->offset + rows->base - rows->extent.offset);
    return 1;
}

uint64_t themis_collective_domain_rows_bytes(const themis_collective_round_t *round, const themis_util_runs_t *runs,
                                             uint64_t base)
{
    themis_collective_domain_rows_t rows;
    themis_util_runs_row_t row;
    uint64_t bytes = 0, place;
    themis_collective_domain_rows_begin(&rows, round, runs, base);
    while (themis_collective_domain_rows_next(&rows, &row, &place))
        bytes += row.length * row.count;
    return bytes;
}

void themis_collective_domain_split(const themis_util_runs_t *runs, const themis_aggregation_domains_t *domains,
                                    themis_collective_domain_visit_fn visit, void *arg)
{
    themis_util_runs_clip_t clip;
    themis_util_runs_row_t row;
    uint64_t at = themis_util_runs_first(runs), end;
    while (at < runs->end) {
        uint32_t domain = themis_aggregation_domains_locate(domains, at, &end);
        themis_util_runs_clip_begin(&clip, runs, at, end);
        while (themis_util_runs_clip_next(&clip, &row))
            visit(arg, domain, &row);
        themis_util_runs_clip_begin(&clip, runs, end, UINT64_MAX);
        if (!themis_util_runs_clip_next(&clip, &row))
            return;
        at = row.offset;
    }
}

static void add_bytes(void *arg, uint32_t domain, const themis_util_runs_row_t *row)
{
    ((uint64_t *)arg)[domain] += row->length * row->count;
}

void themis_collective_domain_count(const themis_util_runs_t *runs, const themis_aggregation_domains_t *domains,
                                    uint64_t *count)
{
    themis_collective_domain_split(runs, domains, add_bytes, count);
}
