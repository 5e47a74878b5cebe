/* SPDX-License-Identifier: BSD-3-Clause */
/* How far apart nodes and servers are, from what the hint themis_topology names. Known to rank 0, which plans. */
#pragma once
#include "collective/group.h"
#include "collective/options.h"
#include "themis/topology.h"

typedef enum themis_collective_distance_source {
    THEMIS_COLLECTIVE_FLAT,            /* nothing is known: all nodes are equally far apart */
    THEMIS_COLLECTIVE_HOP_FILE,        /* a hop file */
    THEMIS_COLLECTIVE_RECORDED_FABRIC, /* a fabric file */
    THEMIS_COLLECTIVE_DISCOVERED_FABRIC
} themis_collective_distance_source_t;

/* "flat", "hop file", "recorded fabric", "discovered fabric". */
const char *themis_collective_distance_source_name(themis_collective_distance_source_t source);

typedef struct themis_collective_node_distances {
    themis_collective_distance_source_t source;
    themis_aggregation_distances_t *nodes;     /* between nodes */
    const themis_aggregation_fabric_t *fabric; /* NULL without one; `recorded`, or borrowed from the process */
    themis_aggregation_fabric_t *recorded;     /* NULL unless read from a file */
    uint32_t *vertex;                          /* [nodes] with fabric */
    uint32_t *server_vertex;                   /* [servers] with fabric, when all were found */
    uint16_t *servers;                         /* [nodes * servers] from node to server; NULL: not counted */
} themis_collective_node_distances_t;

/*
 * Rank 0, with group->node_info: fills in all of zeroed `distances`. A topology that was asked for and cannot be used
 * is warned about and counts as unknown; without a hint ("auto") nothing is logged. NO_MEMORY only. Blocks for 2 s at
 * most with "auto" and 60 s with "discover", once in a process; both need nodes > 1.
 */
themis_status_t themis_collective_node_distances_fill(const themis_collective_group_t *group,
                                                      const themis_collective_options_t *options,
                                                      themis_collective_node_distances_t *distances);
/* Frees what is in it and leaves it empty. */
void themis_collective_node_distances_free(themis_collective_node_distances_t *distances);
