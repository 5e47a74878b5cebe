/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The workload matrix W (domains x candidates): what a domain costs at a candidate. For the topology placement the
 * hop-bytes of its shuffle, and those to the I/O servers where their distances are known; for locality the bytes that
 * are on the candidate's node already, negated.
 */
#pragma once

#include "themis/aggregation.h"

/* problem->distances is not NULL, placement LOCALITY or TOPOLOGY. *cost is row-major; free it. RANGE: hop-bytes beyond
 * 2^63. */
themis_status_t themis_aggregation_workload_create(const themis_aggregation_problem_t *problem,
                                                   themis_aggregation_placement_t placement, int64_t **cost);
