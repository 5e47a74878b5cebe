/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The policy language, and the shares that a policy gives to a set of jobs.
 *
 *   policy  = "fifo" | "gift" | "tbf" | chain
 *   chain   = level *( "-then-" level ) "-fair"
 *   level   = "group" | "user" | "priority" | "size" | "job"
 *
 * Each level splits what it got from the level above: among groups and users evenly, among priorities in proportion to
 * the priority, among jobs evenly ("job"), by nodes ("size") or by priority ("priority"). The last level splits among
 * jobs; where it names groups or users, their jobs share evenly. "priority" and "size" before the last level make one
 * class of all jobs of equal priority or node count, weighted by that number. "job" can only be last, and no level
 * comes twice.
 *
 * Shares are the product of the levels' transition matrices (Karrels et al., section 3, equation 1): T[j][k] is the
 * part that entity k of a level gets of its parent j's share. Rows sum to one and a column has one non-zero, so a level
 * is stored as parent and fraction of each entity, and the product costs one multiplication an entity.
 *
 * Pure computation; no locks, no logging.
 */
#ifndef THEMIS_SCHED_POLICY_H
#define THEMIS_SCHED_POLICY_H
#include <stddef.h>
#include <stdint.h>
#include "sched/job_table.h"
#include "themis/status.h"

typedef enum themis_sched_policy_kind {
    THEMIS_SCHED_POLICY_FIFO,
    THEMIS_SCHED_POLICY_SHARES,
    THEMIS_SCHED_POLICY_GIFT,
    THEMIS_SCHED_POLICY_TBF
} themis_sched_policy_kind_t;

typedef enum themis_sched_policy_level {
    THEMIS_SCHED_LEVEL_GROUP,
    THEMIS_SCHED_LEVEL_USER,
    THEMIS_SCHED_LEVEL_PRIORITY,
    THEMIS_SCHED_LEVEL_SIZE,
    THEMIS_SCHED_LEVEL_JOB,
    THEMIS_SCHED_LEVELS
} themis_sched_policy_level_t;

enum { THEMIS_SCHED_POLICY_TEXT_BYTES = 80 };

typedef struct themis_sched_policy {
    themis_sched_policy_kind_t kind;
    char text[THEMIS_SCHED_POLICY_TEXT_BYTES]; /* as it was given */
    /* Of kind SHARES: at least one level; the last one splits among jobs. */
    unsigned levels;
    themis_sched_policy_level_t level[THEMIS_SCHED_LEVELS + 1];
} themis_sched_policy_t;

/* THEMIS_PARSE: `error` (`size` bytes) says what is wrong and at which character, counted from 1. */
themis_status_t themis_sched_policy_parse(const char *text, themis_sched_policy_t *policy, char *error, size_t size);

/* Orders jobs so that those with common entities stand together: negative, 0 or positive, as of qsort. Jobs that no
 * level but the last tells apart compare equal. */
int themis_sched_policy_compare(const themis_sched_policy_t *policy, const themis_sched_job_identity_t *a,
                                const themis_sched_job_identity_t *b);

/* An entity of a level: its column of the level's transition matrix, and its share of the whole. */
typedef struct themis_sched_policy_node {
    uint32_t parent;   /* index in the level above; 0 in the first level */
    uint32_t job;      /* index of the entity's first job */
    uint32_t children; /* entities of the next level, 0 in the last one */
    double weight;     /* before normalising */
    double sum;        /* of the children's weights */
    double fraction;   /* of the parent's share: T[parent][this] */
    double share;      /* of the whole: the product down to this level */
} themis_sched_policy_node_t;

typedef struct themis_sched_policy_tree {
    unsigned levels;
    uint32_t jobs, capacity;                 /* capacity: jobs that fit without allocation */
    uint32_t count[THEMIS_SCHED_LEVELS + 1]; /* entities of each level; the last level has one for each job */
    themis_sched_policy_node_t *node[THEMIS_SCHED_LEVELS + 1]; /* owned; count[l] entities, in the order of the jobs */
} themis_sched_policy_tree_t;

/* Makes room for `jobs`; never shrinks. A tree of zeros is empty. */
themis_status_t themis_sched_policy_tree_reserve(themis_sched_policy_tree_t *tree, uint32_t jobs);
void themis_sched_policy_tree_release(themis_sched_policy_tree_t *tree);

/* Computes the tree of `count` jobs, at most tree->capacity, sorted by themis_sched_policy_compare. No allocation,
 * O(count). The shares of the jobs are then tree->node[tree->levels - 1][0..count-1].share, in the same order. */
void themis_sched_policy_tree_build(themis_sched_policy_tree_t *tree, const themis_sched_policy_t *policy,
                                    const themis_sched_job_identity_t *const *jobs, uint32_t count);

/* The tree for people, one line for each entity with its share of the whole in percent; `jobs` as for the build. Owned
 * by the caller (free); NULL when memory is short. */
char *themis_sched_policy_explain(const themis_sched_policy_t *policy, const themis_sched_policy_tree_t *tree,
                                  const themis_sched_job_identity_t *const *jobs);
#endif
