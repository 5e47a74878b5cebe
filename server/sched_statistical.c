/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The draw "statistical": a random number over the segments of non-empty queues (Karrels et al., section 3). So that
 * jobs share bytes and not requests, a segment is as long as share / bytes of the slice that would be served: a job of
 * 4 KiB requests is drawn 256 times as often as one of 1 MiB slices of the same share.
 *
 * The segments are the leaves of a tree of sums, with eight children a node, in one cache line. Each inner node is the
 * sum of its children, computed anew, so that no error piles up.
 */
#include <stdlib.h>
#include <string.h>
#include "server/sched_ops.h"

enum {
    WAYS = 8,
    LEAD = 7 /* sums left free before the root, so that children (8 i + 1 and on) begin a cache line */
};

typedef struct statistical {
    double *sum;   /* 0: root; leaves from `first` on; inside `block` */
    double *block; /* owned */
    uint32_t leaves, first;
} statistical_t;

static themis_status_t statistical_create(themis_sched_t *sched, uint64_t now)
{
    sched->state = calloc(1, sizeof(statistical_t));
    return sched->state == NULL ? THEMIS_NO_MEMORY : THEMIS_OK;
}

static void statistical_destroy(themis_sched_t *sched)
{
    statistical_t *state = sched->state;

    free(state->block);
    free(state);
}

static double add_children(const double *child)
{
    return ((child[0] + child[1]) + (child[2] + child[3])) + ((child[4] + child[5]) + (child[6] + child[7]));
}

static themis_status_t statistical_reserve(themis_sched_t *sched, uint32_t entries)
{
    statistical_t *state = sched->state;
    uint32_t leaves = WAYS, first = 1;

    if (entries <= state->leaves)
        return THEMIS_OK;
    for (; leaves < entries; leaves *= WAYS)
        first = WAYS * first + 1;
    size_t bytes = (LEAD + (size_t)first + leaves) * sizeof(double);
    double *block = aligned_alloc(64, bytes), *sum = block + LEAD;
    if (block == NULL)
        return THEMIS_NO_MEMORY;
    memset(block, 0, bytes);
    if (state->leaves > 0)
        memcpy(sum + first, state->sum + state->first, state->leaves * sizeof *sum);
    for (uint32_t i = first; i-- > 0;)
        sum[i] = add_children(&sum[WAYS * i + 1]);
    free(state->block);
    *state = (statistical_t){sum, block, leaves, first};
    return THEMIS_OK;
}

static void set_segment(statistical_t *state, uint32_t slot, double length)
{
    uint32_t i = state->first + slot;

    if (state->sum[i] == length)
        return;
    state->sum[i] = length;
    while (i > 0) {
        i = (i - 1) / WAYS;
        state->sum[i] = add_children(&state->sum[WAYS * i + 1]);
    }
}

static void statistical_join(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    set_segment(sched->state, entry->slot, 0);
}

static void statistical_leave(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    set_segment(sched->state, entry->slot, 0);
}

static void statistical_wake(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
}

static void statistical_charge(themis_sched_t *sched, themis_sched_entry_t *entry, double bytes)
{
}

static void statistical_update(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    double length = !themis_sched_waits(entry) ? 0 : entry->share / themis_sched_head_cost(sched, entry);

    set_segment(sched->state, entry->slot, length);
}

static void statistical_rename(themis_sched_t *sched, themis_sched_entry_t *entry, uint32_t from)
{
    set_segment(sched->state, from, 0);
    statistical_update(sched, entry, 0);
}

static void statistical_reshare(themis_sched_t *sched, themis_sched_entry_t *entry, double old)
{
    if (themis_sched_waits(entry) && entry->share != old)
        statistical_update(sched, entry, 0);
}

/* The child in which *at lies, which is then counted from the child's beginning. Without branches on the sums, since
 * nobody can predict them. */
static uint32_t find_child(const double *child, double *at)
{
    double end = 0, begin = 0;
    uint32_t found = 0;

    for (uint32_t k = 0; k + 1 < WAYS; k++) {
        end += child[k];
        found += *at >= end;
        begin = *at >= end ? end : begin;
    }
    while (!(child[found] > 0)) /* rounding must not lead into an empty one */
        found--;
    *at -= begin;
    return found;
}

static themis_sched_entry_t *statistical_pick(themis_sched_t *sched, uint64_t now, uint64_t *wake)
{
    statistical_t *state = sched->state;
    uint32_t i = 0;

    if (state->leaves == 0 || !(state->sum[0] > 0))
        return NULL;
    double at = themis_sched_uniform(sched) * state->sum[0];
    while (i < state->first)
        i = WAYS * i + 1 + find_child(&state->sum[WAYS * i + 1], &at);
    return sched->entries[i - state->first];
}

const themis_sched_ops_t themis_sched_statistical = {
    .name = "statistical",
    .create = statistical_create,
    .destroy = statistical_destroy,
    .reserve = statistical_reserve,
    .join = statistical_join,
    .leave = statistical_leave,
    .rename = statistical_rename,
    .wake = statistical_wake,
    .charge = statistical_charge,
    .update = statistical_update,
    .reshare = statistical_reshare,
    .pick = statistical_pick,
};
