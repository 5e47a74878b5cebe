/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the ranks of a group are, and what tells nodes and processes apart: host names, adapters, and how the processes
 * of a node lie to one another. Taken once for each group, when the first file wants aggregators.
 */
#ifndef THEMIS_COLLECTIVE_NODE_INFO_H
#define THEMIS_COLLECTIVE_NODE_INFO_H
#include <mpi.h>
#include <stdint.h>
#include "themis/status.h"

typedef struct themis_collective_group themis_collective_group_t;

/* What a node's leader tells rank 0. */
typedef struct themis_collective_card {
    char name[MPI_MAX_PROCESSOR_NAME]; /* of the host */
    uint64_t guid;                     /* of its first InfiniBand adapter; 0: it has none */
    uint32_t local;                    /* mean distance between two of its ranks, in 1/16 hop, 1 to 16 */
    uint32_t reserved;
} themis_collective_card_t;

/* O(ranks) on rank 0; the arrays are NULL elsewhere. */
typedef struct themis_collective_census {
    uint32_t *node_of_rank;         /* [ranks] */
    uint32_t *preference;           /* [ranks] within its node; the lowest aggregates first */
    themis_collective_card_t *card; /* [nodes] */
} themis_collective_census_t;

/*
 * Collective, blocking; all ranks get the same status. With the processes of a node bound to processors, the order of
 * preference is hwloc's (themis_aggregation_local_order); else, and where there is one node only, it is rank order.
 */
themis_status_t themis_collective_census_take(const themis_collective_group_t *group,
                                              themis_collective_census_t **census);
/* Local. NULL is allowed. */
void themis_collective_census_destroy(themis_collective_census_t *census);
#endif
