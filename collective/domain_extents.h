/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the bytes of a file domain's round are in the file, and how much of a list lies in which domain and round. */
#ifndef THEMIS_COLLECTIVE_DOMAIN_EXTENTS_H
#define THEMIS_COLLECTIVE_DOMAIN_EXTENTS_H
#include "collective/runs.h"
#include "themis/aggregation.h"

/* A walk over the extents of one round, in the order of the file. */
typedef struct themis_collective_domain_extents {
    themis_aggregation_iterator_t iterator;
    uint64_t passed, left; /* bytes */
} themis_collective_domain_extents_t;

typedef struct themis_collective_extent {
    uint64_t offset, length; /* in the file */
    uint64_t place;          /* of its first byte in the round */
} themis_collective_extent_t;

/* A round is `round_bytes` of each domain; the last one stops at the domain's end. The domains are borrowed. */
void themis_collective_domain_extents_begin(themis_collective_domain_extents_t *extents,
                                            const themis_aggregation_domains_t *domains, uint32_t domain,
                                            uint64_t round, uint64_t round_bytes);
/* 0 at the end. */
int themis_collective_domain_extents_next(themis_collective_domain_extents_t *extents,
                                          themis_collective_extent_t *extent);

/* Bytes of an ordered list, whose offsets count from `base`, in one round of a domain. */
uint64_t themis_collective_domain_extents_bytes(const themis_aggregation_domains_t *domains, uint32_t domain,
                                                uint64_t round, uint64_t round_bytes,
                                                const themis_collective_runs_t *runs, uint64_t base);

/* Calls `visit` for the pieces of an ordered list, cut at the borders of domains. */
typedef void (*themis_collective_domain_visit_fn)(void *arg, uint32_t domain, const themis_collective_row_t *row);
void themis_collective_domain_extents_split(const themis_collective_runs_t *runs,
                                            const themis_aggregation_domains_t *domains,
                                            themis_collective_domain_visit_fn visit, void *arg);
/* Adds the bytes of an ordered list in each domain to count[domains->count]. */
void themis_collective_domain_extents_count(const themis_collective_runs_t *runs,
                                            const themis_aggregation_domains_t *domains, uint64_t *count);
#endif
