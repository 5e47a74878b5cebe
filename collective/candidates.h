/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who may aggregate and how far apart nodes and servers are. Known to rank 0, which makes the plans; the others know
 * only how many slots there are and where the distances come from.
 */
#ifndef THEMIS_COLLECTIVE_CANDIDATES_H
#define THEMIS_COLLECTIVE_CANDIDATES_H
#include "collective/options.h"
#include "collective/group.h"
#include "themis/aggregation.h"
#include "themis/topology.h"

typedef enum themis_collective_source {
    THEMIS_COLLECTIVE_FLAT,   /* nothing is known: all nodes are equally far */
    THEMIS_COLLECTIVE_HOPS,   /* a hop file */
    THEMIS_COLLECTIVE_FABRIC, /* a recorded fabric */
    THEMIS_COLLECTIVE_FOUND   /* the fabric that rank 0 is on */
} themis_collective_source_t;

/* "flat", "hop file", "recorded fabric", "discovered fabric". */
const char *themis_collective_source_name(themis_collective_source_t source);

typedef struct themis_collective_topology {
    uint32_t slot_count;               /* on all ranks */
    themis_collective_source_t source; /* on all ranks */
    themis_aggregation_slots_t *slots;
    themis_aggregation_distances_t *distances;
    const themis_aggregation_fabric_t *fabric; /* NULL without one; `recorded`, or borrowed from the process */
    themis_aggregation_fabric_t *recorded;     /* NULL unless read from a file */
    uint32_t *vertex;                          /* [nodes] with fabric */
    uint32_t *server_vertex;                   /* [servers] with fabric, when all were found */
    uint16_t *server_distance;                 /* [nodes * servers]; NULL where it says nothing */
} themis_collective_topology_t;

/*
 * Collective. A topology that cannot be read is warned about and counts as unknown, so only lack of memory fails; all
 * ranks get the same status. Takes the group's census if that has not been done.
 */
themis_status_t themis_collective_topology_create(themis_collective_group_t *group,
                                                  const themis_collective_options_t *config,
                                                  themis_collective_topology_t **topology);
void themis_collective_topology_destroy(themis_collective_topology_t *topology);
#endif
