/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Access patterns of whole jobs: what each rank would access in one collective call. For `themis plan`, tests and
 * benchmarks. Sources: Liu, Zhou, Guo 2018, section 5.2 and figure 8; NAS BTIO 2.4.
 */
#pragma once

#include "themis/aggregation.h"

/* What a rank accesses: `rows` pieces of `length` bytes, `stride` bytes apart. */
typedef struct themis_tools_block {
    uint64_t offset, length, stride, rows;
    uint32_t rank;
} themis_tools_block_t;

typedef struct themis_tools_pattern {
    uint32_t ranks;
    size_t blocks;
    themis_tools_block_t *block; /* sorted by rank */
    uint64_t first, last;        /* bytes accessed by any rank */
    uint64_t bytes;              /* of all ranks */
} themis_tools_pattern_t;

/*
 * A three-dimensional array of edge^3 elements, row-major. cube: ranks = p^3, each has one block. btio: ranks = q^2,
 * the array is cut into q slices of q x q blocks, and rank r = q * i + j has block (i - s mod q, j + s mod q) of slice
 * s. INVALID: ranks is not a cube or square, or there are more ranks along an edge than elements.
 */
themis_status_t themis_tools_pattern_cube(uint32_t ranks, uint64_t edge, uint64_t element,
                                          themis_tools_pattern_t **pattern);
themis_status_t themis_tools_pattern_btio(uint32_t ranks, uint64_t edge, uint64_t element,
                                          themis_tools_pattern_t **pattern);

/* From a file with lines "RANK OFFSET LENGTH [ROWS STRIDE]" in bytes, in any order; '#' begins a comment. */
themis_status_t themis_tools_pattern_load(const char *path, uint32_t ranks, themis_tools_pattern_t **pattern);
void themis_tools_pattern_destroy(themis_tools_pattern_t *pattern);

/* Like themis_aggregation_count, for a block; one that lies in a single run of a domain costs O(1). */
void themis_tools_pattern_count(const themis_aggregation_domains_t *domains, const themis_tools_block_t *block,
                                uint64_t *bytes);

/* C of a job: node_of_rank[ranks] below nodes. */
themis_status_t themis_tools_pattern_matrix(const themis_tools_pattern_t *pattern,
                                            const themis_aggregation_domains_t *domains, const uint32_t *node_of_rank,
                                            uint32_t nodes, themis_aggregation_matrix_t **matrix);
