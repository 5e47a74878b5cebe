/* SPDX-License-Identifier: BSD-3-Clause */
/* The smallest range of a file around something, for quick tests of what may overlap. */
#ifndef THEMIS_CLIENT_EXTENT_H
#define THEMIS_CLIENT_EXTENT_H
#include "themis/themis.h"

typedef struct themis_client_extent {
    uint64_t first, end; /* end: one behind the last byte; first >= end: empty */
} themis_client_extent_t;

static inline int themis_client_extent_overlap(const themis_client_extent_t *a, const themis_client_extent_t *b)
{
    return a->first < b->end && b->first < a->end;
}

static inline void themis_client_extent_grow(themis_client_extent_t *span, const themis_client_extent_t *more)
{
    if (more->first >= more->end)
        return;
    if (span->first >= span->end) {
        *span = *more;
        return;
    }
    span->first = more->first < span->first ? more->first : span->first;
    span->end = more->end > span->end ? more->end : span->end;
}

static inline themis_client_extent_t themis_client_extent_of_run(const themis_run_t *run)
{
    if (run->count == 0 || run->length == 0)
        return (themis_client_extent_t){0, 0};
    return (themis_client_extent_t){run->offset,
                                    run->offset + (run->count > 1 ? (run->count - 1) * run->stride : 0) + run->length};
}

static inline themis_client_extent_t themis_client_extent_of(const themis_list_t *list)
{
    themis_client_extent_t span = {0, 0};

    for (size_t i = 0; i < list->run_count; i++) {
        themis_client_extent_t run = themis_client_extent_of_run(&list->runs[i]);
        themis_client_extent_grow(&span, &run);
    }
    return span;
}
#endif
