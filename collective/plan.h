/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a two-phase call needs to know: the file domains, who aggregates which, how much of a domain one round moves,
 * and at each aggregator who accesses what in its domain. Made by all ranks together, step by step without blocking,
 * and kept for calls of the same pattern.
 *
 * How much travels: counts per domain are added up within a node, one sparse row per node goes to rank 0, the
 * aggregators' ranks come back to all. Lists of runs go from each rank straight to the aggregators whose domains they
 * touch. With R ranks on N nodes, L of them on one, and K domains that n nodes touch, a rank holds O(K) for the plan,
 * an aggregator the lists of its domain besides, a leader O(K) cells and O(L x K) sizes, rank 0 O(R) for who is where,
 * the sparse matrix (at most N x K cells) and the assignment's K x slots costs. Nothing is R x R.
 */
#ifndef THEMIS_COLLECTIVE_PLAN_H
#define THEMIS_COLLECTIVE_PLAN_H
#include "collective/config.h"
#include "collective/group.h"
#include "util/runs.h"
#include "collective/topology.h"
#include "themis/aggregation.h"

/* What the ranks of one node access in an aggregator's domain; offsets count from the call's first byte. */
typedef struct themis_collective_part {
    int leader;     /* rank of the node's leader */
    uint32_t ranks; /* of the node, in its order */
    themis_util_runs_t *runs;
} themis_collective_part_t;

#define THEMIS_COLLECTIVE_NO_DOMAIN UINT32_MAX

/* What a placement costs on the network, as in themis_aggregation_choice_t. */
typedef struct themis_collective_cost {
    double hop_bytes, server_hop_bytes;
    uint64_t link_bytes; /* over the busiest link */
} themis_collective_cost_t;

typedef struct themis_collective_plan {
    themis_aggregation_key_t key;
    themis_aggregation_domains_t domains; /* of the call it was made for; moved on reuse */
    themis_aggregation_placement_t placement;
    uint32_t *aggregator; /* [domains.count] rank */
    uint32_t *slot;       /* [domains.count], rank 0 only: index of the aggregator's slot */
    uint32_t mine;        /* the domain of this rank, or NO_DOMAIN */
    uint64_t window;      /* bytes of a domain per round */
    uint64_t rounds;
    themis_collective_cost_t cost, default_cost; /* of the plan, and of the default placement */
    uint64_t moved_bytes;                        /* that leave their node */
    uint32_t parts;                              /* aggregators: nodes with bytes in the domain */
    themis_collective_part_t *part;
    uint64_t most;  /* aggregators: bytes of the fullest round, all nodes */
    uint64_t bytes; /* memory of the plan here */
    int ready;      /* complete and agreed on */
} themis_collective_plan_t;

void themis_collective_plan_destroy(themis_collective_plan_t *plan);

/* The plan's domains for a call whose first byte is `first`. */
themis_aggregation_domains_t themis_collective_plan_move(const themis_collective_plan_t *plan, uint64_t first);

/*
 * Making a plan. `domains` has been cut by each rank from what was agreed on; `runs` (borrowed until the end) is what
 * this rank accesses; keep: rank 0 may hand over the slots of the last static-cyclic plan, else NULL. step returns
 * THEMIS_IN_PROGRESS until it is done on this rank; the status then is this rank's own and still to be agreed on, and
 * *plan is the caller's whatever it is. Every rank has to step to the end, also after a failure; create
 * does not communicate, so whether all ranks have a planner is to be agreed on before the first step.
 */
typedef struct themis_collective_planner themis_collective_planner_t;
themis_status_t
themis_collective_planner_create(themis_collective_group_t *group, const themis_collective_config_t *config,
                                 const themis_collective_topology_t *topology, const themis_util_runs_t *runs,
                                 const themis_aggregation_domains_t *domains, themis_collective_planner_t **planner);
void themis_collective_planner_keep(themis_collective_planner_t *planner, const uint32_t *slots);
themis_status_t themis_collective_planner_step(themis_collective_planner_t *planner, themis_collective_plan_t **plan);
void themis_collective_planner_destroy(themis_collective_planner_t *planner);
#endif
