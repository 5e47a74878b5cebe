/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* qsort_r */
#include "sched/shares.h"
#include <stdlib.h>
#include <string.h>
#include "sched/lanes.h"
#include "util/clock.h"

/* ns without requests after which an entry is taken out of the policy's tree. */
#define IDLE_LIMIT THEMIS_NS_PER_S
/* Above this many jobs shares are computed at most once a millisecond; a new entry has an estimate until then. */
enum { MANY_JOBS = 256 };

themis_status_t themis_sched_shares_reserve(themis_sched_t *sched, uint32_t jobs)
{
    uint32_t capacity = sched->capacity == 0 ? 64 : sched->capacity;

    while (capacity < jobs)
        capacity *= 2;
    if (capacity != sched->capacity) {
        void *entries = realloc(sched->entries, capacity * sizeof *sched->entries);
        sched->entries = entries == NULL ? sched->entries : entries;
        void *sorted = realloc(sched->sorted, capacity * sizeof *sched->sorted);
        sched->sorted = sorted == NULL ? sched->sorted : sorted;
        void *identities = realloc(sched->identities, capacity * sizeof *sched->identities);
        sched->identities = identities == NULL ? sched->identities : identities;
        void *matching = realloc(sched->matching, capacity * sizeof *sched->matching);
        sched->matching = matching == NULL ? sched->matching : matching;
        if (entries == NULL || sorted == NULL || identities == NULL || matching == NULL)
            return THEMIS_NO_MEMORY;
        sched->capacity = capacity;
    }
    return themis_sched_policy_tree_reserve(&sched->tree, jobs);
}

void themis_sched_shares_release(themis_sched_t *sched)
{
    free(sched->entries);
    free(sched->sorted);
    free(sched->identities);
    free(sched->matching);
    themis_sched_policy_tree_release(&sched->tree);
}

static int compare_entries(const themis_sched_t *sched, const themis_sched_entry_t *a, const themis_sched_entry_t *b)
{
    return themis_sched_policy_tree_compare(&sched->policy, &a->job->identity, &b->job->identity);
}

void themis_sched_shares_insert(themis_sched_t *sched, themis_sched_entry_t *entry)
{
    uint32_t low = 0, high = sched->count - 1;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (compare_entries(sched, sched->sorted[middle], entry) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    memmove(sched->sorted + low + 1, sched->sorted + low, (sched->count - 1 - low) * sizeof *sched->sorted);
    sched->sorted[low] = entry;
}

void themis_sched_shares_remove(themis_sched_t *sched, const themis_sched_entry_t *entry)
{
    uint32_t at = 0;

    while (sched->sorted[at] != entry)
        at++;
    memmove(sched->sorted + at, sched->sorted + at + 1, (sched->count - at - 1) * sizeof *sched->sorted);
    sched->stale |= entry->in_tree;
}

static int compare_sorted(const void *a, const void *b, void *arg)
{
    return compare_entries(arg, *(themis_sched_entry_t *const *)a, *(themis_sched_entry_t *const *)b);
}

void themis_sched_shares_sort(themis_sched_t *sched)
{
    if (sched->count > 0)
        qsort_r(sched->sorted, sched->count, sizeof *sched->sorted, compare_sorted, sched);
    sched->stale = 1;
}

void themis_sched_shares_activate(themis_sched_t *sched, themis_sched_entry_t *entry)
{
    entry->in_tree = 2;
    entry->share = 1.0 / sched->count;
    sched->stale = 1;
}

static int is_idle(const themis_sched_entry_t *entry, uint64_t now)
{
    return !themis_sched_entry_is_busy(entry) && (!entry->job->active || now - entry->idle_since >= IDLE_LIMIT);
}

static void remove_idle(themis_sched_t *sched, uint64_t now)
{
    for (uint32_t i = 0; i < sched->count; i++) {
        themis_sched_entry_t *entry = sched->entries[i];
        if (!entry->in_tree || !is_idle(entry, now))
            continue;
        entry->in_tree = 0;
        entry->share = 0;
        sched->stale = 1;
    }
    sched->idle_checked = now;
}

static void set_share(themis_sched_t *sched, themis_sched_entry_t *entry, double share)
{
    double old = entry->in_tree == 2 ? 0 : entry->share;

    entry->in_tree = 1;
    entry->share = share;
    if (sched->ops->reshare != NULL)
        sched->ops->reshare(sched, entry, old);
    if (themis_sched_heap_has(&sched->order, entry->slot))
        themis_sched_heap_set(&sched->order, entry->slot, sched->ops->key(entry));
}

/* What the lambda exchange makes of the local shares: its weights distribute among the jobs that have one what the
 * policy gives them together here. */
typedef struct global {
    double local, weights; /* sums over the jobs that have a weight */
} global_t;

/* New jobs, which have no weight yet, have what the policy gives them. */
static double policy_share(const global_t *global, const themis_sched_entry_t *entry, double share)
{
    if (entry->weight < 0 || global->weights <= 0)
        return share;
    double weighted = global->local * entry->weight / global->weights;
    /* Never below a hundredth of the local share, so that no job starves because of an outdated table. */
    return weighted > share / 100 ? weighted : share / 100;
}

/* Builds the tree of the active jobs; their shares are leaves of it, in order. */
static const themis_sched_policy_node_t *tree_build(themis_sched_t *sched, global_t *global)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < sched->count; i++)
        if (sched->sorted[i]->in_tree)
            sched->identities[count++] = &sched->sorted[i]->job->identity;
    themis_sched_policy_tree_build(&sched->tree, &sched->policy, sched->identities, count);
    const themis_sched_policy_node_t *leaf = sched->tree.node[sched->policy.levels - 1];
    for (uint32_t i = 0, k = 0; i < sched->count; i++) {
        const themis_sched_entry_t *entry = sched->sorted[i];
        if (entry->in_tree && entry->weight >= 0) {
            global->local += leaf[k].share;
            global->weights += entry->weight;
        }
        k += entry->in_tree != 0;
    }
    return leaf;
}

/* In their windows jobs have the plan's share; what that leaves is divided among the others as the policy would divide
 * all. They keep a hundredth, whatever is planned. */
typedef struct planned {
    double scale; /* of the planned shares */
    double rest;  /* of the others' shares */
} planned_t;

static planned_t planned_parts(const themis_sched_t *sched, const global_t *global,
                               const themis_sched_policy_node_t *leaf)
{
    planned_t parts = {1, 1};
    double planned = 0, others = 0;

    if (!themis_sched_lanes_are_in_force(sched))
        return parts;
    for (uint32_t i = 0, k = 0; i < sched->count; i++) {
        const themis_sched_entry_t *entry = sched->sorted[i];
        if (!entry->in_tree)
            continue;
        planned += entry->plan.share;
        if (entry->plan.share <= 0)
            others += policy_share(global, entry, leaf[k].share);
        k++;
    }
    double max = others > 0 ? 0.99 : 1;
    if (planned > max)
        parts.scale = max / planned;
    if (planned > 0 && others > 0)
        parts.rest = (1 - planned * parts.scale) / others;
    return parts;
}

static void shares_compute(themis_sched_t *sched, uint64_t now)
{
    global_t global = {0, 0};
    const themis_sched_policy_node_t *leaf = tree_build(sched, &global);
    planned_t parts = planned_parts(sched, &global, leaf);

    for (uint32_t i = 0, k = 0; i < sched->count; i++) {
        themis_sched_entry_t *entry = sched->sorted[i];
        if (!entry->in_tree)
            continue;
        double share = policy_share(&global, entry, leaf[k++].share) * parts.rest;
        set_share(sched, entry, entry->plan.share > 0 ? entry->plan.share * parts.scale : share);
    }
    sched->stale = 0;
    sched->computed = now;
}

void themis_sched_shares_refresh(themis_sched_t *sched, uint64_t now)
{
    if (now - sched->idle_checked >= IDLE_LIMIT / 4)
        remove_idle(sched, now);
    if (themis_sched_lanes_are_in_force(sched) && themis_sched_lanes_refresh(sched, now))
        sched->stale = 1;
    if (!sched->stale)
        return;
    if (sched->policy.levels == 0)
        sched->stale = 0;
    else if (sched->count <= MANY_JOBS || now - sched->computed >= THEMIS_NS_PER_MS)
        shares_compute(sched, now);
}
