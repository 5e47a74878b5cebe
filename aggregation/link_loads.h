/* SPDX-License-Identifier: BSD-3-Clause */
/* The busiest link; themis_aggregation_link_loads gives the loads of all. */
#pragma once

#include "themis/aggregation.h"

/* Bytes over the busiest link in one direction, or without a fabric over the busiest node's port. candidate[domains]:
 * the aggregators. */
themis_status_t themis_aggregation_link_loads_max(const themis_aggregation_problem_t *problem,
                                                  const uint32_t *candidate, uint64_t *max);
