/* SPDX-License-Identifier: BSD-3-Clause */
/* Extents of a file, and the smallest one around a list, for quick tests of what may overlap. */
#pragma once
#include "themis/themis.h"

typedef struct themis_client_extent {
    uint64_t first, end; /* end: exclusive; first >= end: empty */
} themis_client_extent_t;

static inline int themis_client_extent_overlaps(const themis_client_extent_t *a, const themis_client_extent_t *b)
{
    return a->first < b->end && b->first < a->end;
}

/* Makes the extent cover `more` as well. */
static inline void themis_client_extent_add(themis_client_extent_t *extent, const themis_client_extent_t *more)
{
    if (more->first >= more->end)
        return;
    if (extent->first >= extent->end) {
        *extent = *more;
        return;
    }
    extent->first = more->first < extent->first ? more->first : extent->first;
    extent->end = more->end > extent->end ? more->end : extent->end;
}

static inline themis_client_extent_t themis_client_extent_of_run(const themis_run_t *run)
{
    if (run->count == 0 || run->length == 0)
        return (themis_client_extent_t){0, 0};
    return (themis_client_extent_t){run->offset,
                                    run->offset + (run->count > 1 ? (run->count - 1) * run->stride : 0) + run->length};
}

static inline themis_client_extent_t themis_client_extent_of_list(const themis_list_t *list)
{
    themis_client_extent_t extent = {0, 0};

    for (size_t i = 0; i < list->run_count; i++) {
        themis_client_extent_t run = themis_client_extent_of_run(&list->runs[i]);
        themis_client_extent_add(&extent, &run);
    }
    return extent;
}
