/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shares that a policy gives to a set of jobs.
 *
 * Shares are the product of the levels' transition matrices (Karrels et al., section 3, equation 1): T[j][k] is the
 * part of its parent j's share that entity k of a level gets. Rows sum to one and a column has one non-zero, so a level
 * is stored as parent and fraction of each entity, and the product costs one multiplication per entity.
 *
 * Pure computation; no locks, no logging.
 */
#pragma once
#include "sched/policy.h"

/* An entity of a level: its column of the level's transition matrix, and its share of the whole. */
typedef struct themis_sched_policy_node {
    uint32_t parent; /* index in the level above; 0 in the first level */
    uint32_t job;    /* index of the entity's first job */
    double weight;   /* before normalising */
    double sum;      /* of the children's weights */
    double share;    /* of the whole: the product down to this level */
} themis_sched_policy_node_t;

typedef struct themis_sched_policy_tree {
    unsigned levels;
    uint32_t jobs, capacity;                 /* capacity: jobs that fit without allocation */
    uint32_t count[THEMIS_SCHED_LEVELS + 1]; /* entities of each level; the last level has one for each job */
    themis_sched_policy_node_t *node[THEMIS_SCHED_LEVELS + 1]; /* owned; count[l] entities, in the order of the jobs */
} themis_sched_policy_tree_t;

/* Orders jobs so that those with common entities are adjacent: negative, 0 or positive, as for qsort. Jobs that no
 * level but the last distinguishes compare equal. */
int themis_sched_policy_tree_compare(const themis_sched_policy_t *policy, const themis_sched_job_identity_t *a,
                                     const themis_sched_job_identity_t *b);

/* Makes room for `jobs`; never shrinks. A tree of zeros is empty. */
themis_status_t themis_sched_policy_tree_reserve(themis_sched_policy_tree_t *tree, uint32_t jobs);
void themis_sched_policy_tree_release(themis_sched_policy_tree_t *tree);

/* Computes the tree of `count` jobs, at most tree->capacity, sorted by themis_sched_policy_tree_compare. No allocation,
 * O(count). The shares of the jobs are then tree->node[tree->levels - 1][0..count-1].share, in the same order. */
void themis_sched_policy_tree_build(themis_sched_policy_tree_t *tree, const themis_sched_policy_t *policy,
                                    const themis_sched_job_identity_t *const *jobs, uint32_t count);

/* The tree as text for people, one line for each entity with its share of the whole in percent; `jobs` as for the
 * build. Owned by the caller (free); NULL when memory is short. */
char *themis_sched_policy_tree_explain(const themis_sched_policy_tree_t *tree, const themis_sched_policy_t *policy,
                                       const themis_sched_job_identity_t *const *jobs);
