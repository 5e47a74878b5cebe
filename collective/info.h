/* SPDX-License-Identifier: BSD-3-Clause */
/* What the last call of a file did, for MPI_File_get_info. */
#pragma once
#include "collective/call_plan.h"
#include "collective/options.h"

/* aggregator is borrowed until the next call. */
typedef struct themis_collective_info {
    themis_collective_mode_t mode; /* of the last call; AUTO when there was none */
    themis_aggregation_method_t method;
    themis_aggregation_placement_t placement;
    uint32_t aggregators;
    const uint32_t *aggregator;                  /* [aggregators] ranks; NULL before the first two-phase call */
    uint32_t possible;                           /* that the options allow; 0 where no call can need them */
    themis_collective_cost_t cost, default_cost; /* of the plan, and of the default placement */
    uint64_t moved_bytes;                        /* that leave their node in the shuffle */
    uint64_t plans_made, plans_reused;
    const char *topology; /* source of the distances (node_distances.h); NULL where no call can need them */
} themis_collective_info_t;
