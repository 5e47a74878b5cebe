/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who may aggregate and how far apart nodes and servers are. Known to rank 0, which makes the plans; the others know
 * only how many slots there are.
 */
#ifndef THEMIS_COLL_TOPOLOGY_H
#define THEMIS_COLL_TOPOLOGY_H
#include "adio/ad_themis/coll/config.h"
#include "adio/ad_themis/coll/group.h"
#include "themis/aggregation.h"
#include "themis/topology.h"

typedef struct themis_coll_topology {
    uint32_t slot_count; /* on all ranks */
    themis_aggregation_slots_t *slots;
    themis_aggregation_distances_t *distances;
    themis_aggregation_fabric_t *fabric; /* NULL unless one was read or discovered */
    uint32_t *vertex;                    /* [nodes] with fabric */
    uint32_t *server_vertex;             /* [servers] with fabric, when all were found */
    uint16_t *server_distance;           /* [nodes * servers] or NULL */
} themis_coll_topology_t;

/*
 * Collective. A topology that cannot be read is warned about and counts as unknown, so only lack of memory fails; all
 * ranks get the same status.
 */
themis_status_t themis_coll_topology_create(const themis_coll_group_t *group, const themis_coll_config_t *config,
                                            themis_coll_topology_t **topology);
void themis_coll_topology_destroy(themis_coll_topology_t *topology);
#endif
