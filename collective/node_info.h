/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the ranks of a group are, and what tells nodes and processes apart: host names, adapters, and how the processes
 * of a node lie to one another. Gathered once for each group, when the first file needs candidates.
 */
#pragma once
#include "collective/group.h"

/* What a node's leader reports to rank 0. */
typedef struct themis_collective_node {
    char name[MPI_MAX_PROCESSOR_NAME]; /* of the host */
    uint64_t guid;                     /* of its first InfiniBand adapter; 0: it has none */
    uint32_t local;                    /* mean distance between two of its ranks, in 1/16 hop, 1 to 16 */
    uint32_t reserved;
} themis_collective_node_t;

/* O(ranks) on rank 0; the arrays are NULL elsewhere. */
typedef struct themis_collective_node_info {
    uint32_t *node_of_rank;         /* [ranks] */
    uint32_t *preference;           /* [ranks] within its node; the lowest aggregates first */
    themis_collective_node_t *node; /* [nodes] */
} themis_collective_node_info_t;

/*
 * Fills in group->node_info unless it is there. Collective, blocking; all ranks get the same status. With the processes
 * of a node bound to processors, the order of preference is hwloc's (themis_aggregation_local_order); otherwise, and
 * where there is one node only, it is rank order.
 */
themis_status_t themis_collective_node_info_gather(themis_collective_group_t *group);
/* Local; there may be none. */
void themis_collective_node_info_free(themis_collective_group_t *group);
