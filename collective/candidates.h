/* SPDX-License-Identifier: BSD-3-Clause */
/* The processes that may become aggregators of a file, and how far apart their nodes and the servers are. */
#pragma once
#include "collective/node_distances.h"
#include "themis/aggregation.h"

/* Known to rank 0, which plans; the others know the count and distances.source only. */
typedef struct themis_collective_candidates {
    uint32_t count;
    themis_aggregation_candidates_t *processes;
    themis_collective_node_distances_t distances;
} themis_collective_candidates_t;

/*
 * Collective. A hint that cannot be used is warned about and ignored, so only lack of memory fails; all ranks get the
 * same status. Gathers the group's node info first if that has not been done.
 */
themis_status_t themis_collective_candidates_create(themis_collective_group_t *group,
                                                    const themis_collective_options_t *options,
                                                    themis_collective_candidates_t **candidates);
/* NULL is allowed. */
void themis_collective_candidates_destroy(themis_collective_candidates_t *candidates);
