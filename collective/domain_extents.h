/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the bytes of a file domain are in the file, round by round, and which parts of a list lie in them. */
#pragma once
#include "util/runs.h"
#include "themis/aggregation.h"

/* A round is `bytes` of a domain; the last one stops at the domain's end. */
typedef struct themis_collective_round {
    const themis_aggregation_domains_t *domains; /* borrowed */
    uint32_t domain;
    uint64_t number, bytes;
} themis_collective_round_t;

typedef struct themis_collective_extent {
    uint64_t offset, length; /* in the file */
    uint64_t place;          /* of its first byte in the round */
} themis_collective_extent_t;

/* A walk over the extents of a round, in the order of the file. next returns 0 at the end. */
typedef struct themis_collective_domain_extents {
    themis_aggregation_iterator_t iterator;
    uint64_t passed, left; /* bytes */
} themis_collective_domain_extents_t;
void themis_collective_domain_extents_begin(themis_collective_domain_extents_t *extents,
                                            const themis_collective_round_t *round);
int themis_collective_domain_extents_next(themis_collective_domain_extents_t *extents,
                                          themis_collective_extent_t *extent);

/*
 * A walk over what an ordered list has in a round, in the order of the file. The list's offsets count from `base`.
 * *place is where the row's first byte is in the round; its other pieces are at the row's stride from there.
 */
typedef struct themis_collective_domain_rows {
    themis_collective_domain_extents_t extents;
    themis_collective_extent_t extent;
    const themis_util_runs_t *runs;
    uint64_t base;
    themis_util_runs_clip_t clip;
} themis_collective_domain_rows_t;
void themis_collective_domain_rows_begin(themis_collective_domain_rows_t *rows, const themis_collective_round_t *round,
                                         const themis_util_runs_t *runs, uint64_t base);
int themis_collective_domain_rows_next(themis_collective_domain_rows_t *rows, themis_util_runs_row_t *row,
                                       uint64_t *place);
/* Bytes of all rows. */
uint64_t themis_collective_domain_rows_bytes(const themis_collective_round_t *round, const themis_util_runs_t *runs,
                                             uint64_t base);

/* Calls `visit` for the pieces of an ordered list, cut at the borders of domains. */
typedef void (*themis_collective_domain_visit_fn)(void *arg, uint32_t domain, const themis_util_runs_row_t *row);
void themis_collective_domain_split(const themis_util_runs_t *runs, const themis_aggregation_domains_t *domains,
                                    themis_collective_domain_visit_fn visit, void *arg);
/* Adds the bytes of an ordered list in each domain to count[domains->count]. */
void themis_collective_domain_count(const themis_util_runs_t *runs, const themis_aggregation_domains_t *domains,
                                    uint64_t *count);
