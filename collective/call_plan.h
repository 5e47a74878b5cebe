/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a two-phase call needs to know: the file domains, who aggregates which, how much of a domain one round moves,
 * and at each aggregator who accesses what in its domain. Made by planner.h, and kept for calls of the same pattern.
 */
#pragma once
#include "util/runs.h"
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

typedef struct themis_collective_call_plan {
    themis_aggregation_plan_key_t key;
    themis_aggregation_domains_t domains; /* of the call it was made for; moved on reuse */
    themis_aggregation_placement_t placement;
    uint32_t *aggregator; /* [domains.count] rank */
    uint32_t *candidate;  /* [domains.count], rank 0 only: index of the aggregator among the candidates */
    uint32_t mine;        /* the domain of this rank, or NO_DOMAIN */
    uint64_t round_bytes; /* of a domain per round */
    uint64_t rounds;
    themis_collective_cost_t cost, default_cost; /* of the plan, and of the default placement */
    uint64_t moved_bytes;                        /* that leave their node */
    uint32_t parts;                              /* aggregators: nodes with bytes in the domain */
    themis_collective_part_t *part;
    uint64_t max_round_bytes; /* aggregators: of the fullest round, all nodes */
    uint64_t bytes;           /* memory of the lists here */
    int kept;                 /* by the file, for later calls */
} themis_collective_call_plan_t;

/* NULL is allowed. */
void themis_collective_call_plan_destroy(themis_collective_call_plan_t *plan);

/* The plan's domains for a call whose first byte is `first`. */
themis_aggregation_domains_t themis_collective_call_plan_move(const themis_collective_call_plan_t *plan,
                                                              uint64_t first);

/* Aggregators: bytes of one part in a round of this rank's domain, which is the length of its message. `domains`: of
 * this call. */
uint64_t themis_collective_call_plan_part_bytes(const themis_collective_call_plan_t *plan,
                                                const themis_aggregation_domains_t *domains, uint64_t round,
                                                const themis_collective_part_t *part);
