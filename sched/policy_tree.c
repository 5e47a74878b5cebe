/* SPDX-License-Identifier: BSD-3-Clause */
#include "sched/policy_tree.h"
#include <stdio.h>
#include <stdlib.h>

/* What distinguishes the entities of a level, and how they are called. A job stands for itself. */
static const struct {
    size_t field;  /* of the identity */
    int is_weight; /* shares are in proportion to that field */
    const char *before, *after;
} levels[THEMIS_SCHED_LEVELS] = {
    [THEMIS_SCHED_LEVEL_GROUP] = {offsetof(themis_sched_job_identity_t, gid), 0, "group ", ""},
    [THEMIS_SCHED_LEVEL_USER] = {offsetof(themis_sched_job_identity_t, uid), 0, "user ", ""},
    [THEMIS_SCHED_LEVEL_PRIORITY] = {offsetof(themis_sched_job_identity_t, priority), 1, "priority ", ""},
    [THEMIS_SCHED_LEVEL_SIZE] = {offsetof(themis_sched_job_identity_t, nodes), 1, "jobs of ", " nodes"},
};

static uint32_t level_key(themis_sched_policy_level_t level, const themis_sched_job_identity_t *job)
{
    if (level == THEMIS_SCHED_LEVEL_JOB)
        return 0;
    return *(const uint32_t *)(const void *)((const char *)job + levels[level].field);
}

static double level_weight(themis_sched_policy_level_t level, const themis_sched_job_identity_t *job)
{
    uint32_t weight = levels[level].is_weight ? level_key(level, job) : 1;

    return weight == 0 ? 1 : weight;
}

/* The first level at which two jobs belong to different entities. */
static unsigned first_difference(const themis_sched_policy_t *policy, const themis_sched_job_identity_t *a,
                                 const themis_sched_job_identity_t *b)
{
    unsigned last = policy->levels - 1;

    for (unsigned i = 0; i < last; i++)
        if (level_key(policy->level[i], a) != level_key(policy->level[i], b))
            return i;
    return last;
}

int themis_sched_policy_tree_compare(const themis_sched_policy_t *policy, const themis_sched_job_identity_t *a,
                                     const themis_sched_job_identity_t *b)
{
    for (unsigned i = 0; i + 1 < policy->levels; i++) {
        uint32_t x = level_key(policy->level[i], a), y = level_key(policy->level[i], b);
        if (x != y)
            return x < y ? -1 : 1;
    }
    return 0;
}

themis_status_t themis_sched_policy_tree_reserve(themis_sched_policy_tree_t *tree, uint32_t jobs)
{
    uint32_t capacity = tree->capacity == 0 ? 16 : tree->capacity;

    if (jobs <= tree->capacity)
        return THEMIS_OK;
    while (capacity < jobs)
        capacity *= 2;
    for (unsigned i = 0; i <= THEMIS_SCHED_LEVELS; i++) {
        themis_sched_policy_node_t *grown = realloc(tree->node[i], capacity * sizeof *grown);
        if (grown == NULL)
            return THEMIS_NO_MEMORY;
        tree->node[i] = grown;
    }
    tree->capacity = capacity;
    return THEMIS_OK;
}

void themis_sched_policy_tree_release(themis_sched_policy_tree_t *tree)
{
    for (unsigned i = 0; i <= THEMIS_SCHED_LEVELS; i++)
        free(tree->node[i]);
    *tree = (themis_sched_policy_tree_t){0};
}

/* Appends the entities that begin with this job, from level `from` down. */
static void entities_append(themis_sched_policy_tree_t *tree, const themis_sched_policy_t *policy, unsigned from,
                            const themis_sched_job_identity_t *job, uint32_t index)
{
    for (unsigned l = from; l < policy->levels; l++) {
        themis_sched_policy_node_t *node = &tree->node[l][tree->count[l]++];
        *node = (themis_sched_policy_node_t){.job = index, .weight = level_weight(policy->level[l], job)};
        if (l == 0)
            continue;
        node->parent = tree->count[l - 1] - 1;
        tree->node[l - 1][node->parent].sum += node->weight;
    }
}

void themis_sched_policy_tree_build(themis_sched_policy_tree_t *tree, const themis_sched_policy_t *policy,
                                    const themis_sched_job_identity_t *const *jobs, uint32_t count)
{
    double total = 0;

    tree->levels = policy->levels;
    tree->jobs = count;
    if (policy->levels == 0)
        return;
    for (unsigned l = 0; l < policy->levels; l++)
        tree->count[l] = 0;
    for (uint32_t i = 0; i < count; i++)
        entities_append(tree, policy, i == 0 ? 0 : first_difference(policy, jobs[i - 1], jobs[i]), jobs[i], i);
    for (uint32_t k = 0; k < tree->count[0]; k++)
        total += tree->node[0][k].weight;
    for (unsigned l = 0; l < policy->levels; l++)
        for (uint32_t k = 0; k < tree->count[l]; k++) {
            themis_sched_policy_node_t *node = &tree->node[l][k];
            const themis_sched_policy_node_t *parent = l == 0 ? NULL : &tree->node[l - 1][node->parent];
            double fraction = node->weight / (parent == NULL ? total : parent->sum);
            node->share = fraction * (parent == NULL ? 1 : parent->share);
        }
}

static void explain_name(FILE *out, const themis_sched_policy_t *policy, unsigned level,
                         const themis_sched_job_identity_t *job)
{
    themis_sched_policy_level_t kind = policy->level[level];

    if (level + 1 == policy->levels)
        fprintf(out, "job %s (user %u, group %u, %u node%s, priority %u)", job->id, job->uid, job->gid, job->nodes,
                job->nodes == 1 ? "" : "s", job->priority);
    else
        fprintf(out, "%s%u%s", levels[kind].before, level_key(kind, job), levels[kind].after);
}

/* Prints the entities of `level` below `parent`, from *cursor[level] on, each with its subtree. */
static void explain_level(FILE *out, const themis_sched_policy_t *policy, const themis_sched_policy_tree_t *tree,
                          const themis_sched_job_identity_t *const *jobs, unsigned level, uint32_t parent,
                          uint32_t *cursor)
{
    while (cursor[level] < tree->count[level]) {
        uint32_t index = cursor[level];
        const themis_sched_policy_node_t *node = &tree->node[level][index];
        if (level > 0 && node->parent != parent)
            return;
        cursor[level]++;
        fprintf(out, "%*s%6.2f %%  ", (int)(2 * level + 2), "", 100 * node->share);
        explain_name(out, policy, level, jobs[node->job]);
        fputc('\n', out);
        if (level + 1 < tree->levels)
            explain_level(out, policy, tree, jobs, level + 1, index, cursor);
    }
}

char *themis_sched_policy_tree_explain(const themis_sched_policy_tree_t *tree, const themis_sched_policy_t *policy,
                                       const themis_sched_job_identity_t *const *jobs)
{
    uint32_t cursor[THEMIS_SCHED_LEVELS + 1] = {0};
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (out == NULL)
        return NULL;
    fprintf(out, "%s\n", policy->text);
    if (policy->levels == 0)
        fprintf(out, "  (no shares)\n");
    else if (tree->jobs == 0)
        fprintf(out, "  (no jobs)\n");
    else
        explain_level(out, policy, tree, jobs, 0, 0, cursor);
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
