/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one part of aggregation/ that knows MPI: it learns at open which rank is on which node and how far the nodes are
 * apart, and in a collective call it gathers the communication matrix on one rank and broadcasts the plan. A rank sends
 * its own counts, a node's first rank those of its node; only rank 0 sees the whole matrix (sparse, nodes x domains),
 * the rest only the plan.
 */
#ifndef THEMIS_AGGREGATION_GATHER_MPI_H
#define THEMIS_AGGREGATION_GATHER_MPI_H

#include <mpi.h>

#include "themis/aggregation.h"

/* All strings and arrays are borrowed for the call and need to be given on rank 0 only. */
typedef struct themis_aggregation_group_options {
    const char *config_list; /* cb_config_list; NULL: "*:1" */
    const char *topology;    /* NULL or "auto": discover the fabric, else flat; "flat"; or a path of a recorded fabric
                                or hop file. What cannot be read is warned about once and taken as flat. */
    const char *const *server_name; /* [servers] host names, to find them in the fabric; NULL: not known */
    uint32_t servers;
} themis_aggregation_group_options_t;

/* Everything but node_comm, comm, node, nodes and rank is known on rank 0 only and NULL or 0 elsewhere. */
typedef struct themis_aggregation_group {
    MPI_Comm comm;        /* a duplicate of the communicator given */
    MPI_Comm node_comm;   /* the ranks of this node, in rank order */
    MPI_Comm leader_comm; /* the first rank of each node, in node order; MPI_COMM_NULL on others */
    int rank, ranks;
    uint32_t node, nodes; /* nodes are numbered by their lowest rank */
    themis_aggregation_slots_t *slots;
    themis_aggregation_distances_t *distances;
    themis_aggregation_fabric_t *fabric; /* NULL when not known */
    uint32_t *vertex;                    /* [nodes] with fabric */
    uint32_t *server_vertex;             /* [servers] with fabric, or NULL */
    uint16_t *server_distance;           /* [nodes * servers], or NULL */
    uint32_t *kept;                      /* slots of the first static-cyclic plan */
    uint32_t kept_count;
    uint32_t slot_count; /* on all ranks: how many ranks may aggregate */
} themis_aggregation_group_t;

/* Collective over comm. All ranks return the same status. Owned by the caller. */
themis_status_t themis_aggregation_group_create(MPI_Comm comm, const themis_aggregation_group_options_t *options,
                                                themis_aggregation_group_t **group);
/* Collective, since communicators are freed. Takes NULL (on all ranks). */
void themis_aggregation_group_destroy(themis_aggregation_group_t *group);

/*
 * Collective over group->comm: plans one call. bytes[domains->count] are this rank's (themis_aggregation_count);
 * domains and placement are the same on all ranks. Every rank gets the same plan and the same status, also when one of
 * them ran out of memory. Static-cyclic domains keep the aggregators of the first plan with as many domains. Cache the
 * result by themis_aggregation_key.
 */
themis_status_t themis_aggregation_group_plan(themis_aggregation_group_t *group,
                                              themis_aggregation_placement_t placement,
                                              const themis_aggregation_domains_t *domains, const uint64_t *bytes,
                                              themis_aggregation_plan_t **plan);
#endif
