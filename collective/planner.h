/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes the plan of a two-phase call, by all ranks together, step by step without blocking.
 *
 * How much travels: counts per domain are added up within a node, one sparse row per node goes to rank 0, the
 * aggregators' ranks come back to all. Lists of runs go from each rank straight to the aggregators whose domains they
 * touch. With R ranks on N nodes, L of them on one, and K domains that n nodes touch, a rank holds O(K) for the plan,
 * an aggregator the lists of its domain besides, a leader O(K) cells and O(L x K) sizes, rank 0 O(R) for who is where,
 * the sparse matrix (at most N x K cells) and the costs of the assignment, K x candidates. Nothing is R x R.
 */
#pragma once
#include "collective/call_plan.h"
#include "collective/candidates.h"

typedef struct themis_collective_planner themis_collective_planner_t;

/*
 * Does not communicate; that all ranks have a planner is to be made sure before the first step. `domains` is the same
 * on all ranks and is copied; `runs`, ordered, is what this rank accesses; the rest is borrowed.
 */
themis_status_t
themis_collective_planner_create(themis_collective_group_t *group, const themis_collective_options_t *options,
                                 const themis_collective_candidates_t *candidates, const themis_util_runs_t *runs,
                                 const themis_aggregation_domains_t *domains, themis_collective_planner_t **planner);
/* Rank 0, before the first step: keep the aggregators of an earlier static-cyclic plan; candidate[domains->count] is
 * borrowed, NULL for none. */
void themis_collective_planner_keep(themis_collective_planner_t *planner, const uint32_t *candidate);
/*
 * THEMIS_IN_PROGRESS until it is done on this rank; the status then is this rank's own, and *plan is the caller's
 * whatever it is. Every rank has to step to the end, also after a failure.
 */
themis_status_t themis_collective_planner_step(themis_collective_planner_t *planner,
                                               themis_collective_call_plan_t **plan);
/* NULL is allowed. */
void themis_collective_planner_destroy(themis_collective_planner_t *planner);
