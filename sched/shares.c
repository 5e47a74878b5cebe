/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* qsort_r */
#include "sched/shares.h"
#include <stdlib.h>
#include <string.h>
#include "util/clock.h"

/* Above this many jobs shares are computed at most once a millisecond; a newcomer has an estimate until then. */
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
        void *counted = realloc(sched->counted, capacity * sizeof *sched->counted);
        sched->counted = counted == NULL ? sched->counted : counted;
        if (entries == NULL || sorted == NULL || counted == NULL)
            return THEMIS_NO_MEMORY;
        sched->capacity = capacity;
    }
    return themis_sched_policy_tree_reserve(&sched->tree, jobs);
}

void themis_sched_shares_release(themis_sched_t *sched)
{
    free(sched->entries);
    free(sched->sorted);
    free(sched->counted);
    themis_sched_policy_tree_release(&sched->tree);
}

static int compare(const themis_sched_t *sched, const themis_sched_entry_t *a, const themis_sched_entry_t *b)
{
    return themis_sched_policy_compare(&sched->policy, &a->job->identity, &b->job->identity);
}

void themis_sched_shares_insert(themis_sched_t *sched, themis_sched_entry_t *entry)
{
    uint32_t low = 0, high = sched->count - 1; /* the entry itself is counted already */

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (compare(sched, sched->sorted[middle], entry) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    memmove(sched->sorted + low + 1, sched->sorted + low, (sched->count - 1 - low) * sizeof *sched->sorted);
    sched->sorted[low] = entry;
}

void themis_sched_shares_remove(themis_sched_t *sched, themis_sched_entry_t *entry)
{
    uint32_t at = 0;

    while (sched->sorted[at] != entry)
        at++;
    memmove(sched->sorted + at, sched->sorted + at + 1, (sched->count - at - 1) * sizeof *sched->sorted);
    sched->dirty |= entry->counted;
}

static int compare_slots(const void *a, const void *b, void *arg)
{
    return compare(arg, *(themis_sched_entry_t *const *)a, *(themis_sched_entry_t *const *)b);
}

void themis_sched_shares_sort(themis_sched_t *sched)
{
    if (sched->count > 0)
        qsort_r(sched->sorted, sched->count, sizeof *sched->sorted, compare_slots, sched);
    sched->dirty = 1;
}

void themis_sched_shares_count(themis_sched_t *sched, themis_sched_entry_t *entry)
{
    entry->counted = 2;
    entry->share = 1.0 / sched->count;
    sched->dirty = 1;
}

static int is_quiet(const themis_sched_entry_t *entry, uint64_t now)
{
    if (themis_sched_asks(entry))
        return 0;
    return !entry->job->active || now - entry->quiet_since >= THEMIS_SCHED_QUIET;
}

static void leave_quiet_out(themis_sched_t *sched, uint64_t now)
{
    for (uint32_t i = 0; i < sched->count; i++) {
        themis_sched_entry_t *entry = sched->entries[i];
        if (!entry->counted || !is_quiet(entry, now))
            continue;
        entry->counted = 0;
        entry->share = 0;
        sched->dirty = 1;
    }
    sched->scanned = now;
}

/*
 * The weights of the exchange say how the jobs that have one share among them; together they keep what the policy gives
 * them here, and so do newcomers.
 */
static void shares_compute(themis_sched_t *sched, uint64_t now)
{
    double local = 0, weights = 0;
    uint32_t count = 0;

    for (uint32_t i = 0; i < sched->count; i++)
        if (sched->sorted[i]->counted)
            sched->counted[count++] = &sched->sorted[i]->job->identity;
    themis_sched_policy_tree_build(&sched->tree, &sched->policy, sched->counted, count);
    const themis_sched_policy_node_t *leaf = sched->tree.node[sched->policy.levels - 1];
    for (uint32_t i = 0, k = 0; i < sched->count; i++) {
        const themis_sched_entry_t *entry = sched->sorted[i];
        if (!entry->counted)
            continue;
        if (entry->weight >= 0) {
            local += leaf[k].share;
            weights += entry->weight;
        }
        k++;
    }
    for (uint32_t i = 0, k = 0; i < sched->count; i++) {
        themis_sched_entry_t *entry = sched->sorted[i];
        if (!entry->counted)
            continue;
        double old = entry->counted == 2 ? 0 : entry->share, share = leaf[k++].share;
        /* Never less than a hundredth of the local share: nobody starves for what a table of last round says. */
        if (entry->weight >= 0 && weights > 0) {
            double global = local * entry->weight / weights;
            share = global > share / 100 ? global : share / 100;
        }
        entry->counted = 1;
        entry->share = share;
        if (sched->ops->reshare != NULL)
            sched->ops->reshare(sched, entry, old);
    }
    sched->dirty = 0;
    sched->computed = now;
}

void themis_sched_shares_refresh(themis_sched_t *sched, uint64_t now)
{
    if (now - sched->scanned >= THEMIS_SCHED_QUIET / 4)
        leave_quiet_out(sched, now);
    if (!sched->dirty)
        return;
    if (sched->policy.kind != THEMIS_SCHED_POLICY_SHARES)
        sched->dirty = 0;
    else if (sched->count <= MANY_JOBS || now - sched->computed >= THEMIS_NS_PER_MS)
        shares_compute(sched, now);
}
