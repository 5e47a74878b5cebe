/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The draw "statistical": a random number over the segments of non-empty queues (Karrels et al., section 3). So that
 * jobs share bytes and not requests, a segment is as long as share / bytes of the slice that would be served: a job of
 * 4 KiB requests is drawn 256 times as often as one of 1 MiB slices of the same share.
 *
 * The segments are the leaves of a binary tree of sums. Each inner node is the exact sum of its children, so that no
 * error piles up.
 */
#include <stdlib.h>
#include <string.h>
#include "server/sched_ops.h"

typedef struct statistical {
    double *sum;     /* 1: root; leaves from `leaves` on; 2 * leaves of them */
    uint32_t leaves; /* a power of two */
} statistical_t;

static themis_status_t statistical_create(themis_sched_t *sched, uint64_t now)
{
    sched->state = calloc(1, sizeof(statistical_t));
    return sched->state == NULL ? THEMIS_NO_MEMORY : THEMIS_OK;
}

static void statistical_destroy(themis_sched_t *sched)
{
    statistical_t *state = sched->state;

    free(state->sum);
    free(state);
}

static themis_status_t statistical_reserve(themis_sched_t *sched, uint32_t entries)
{
    statistical_t *state = sched->state;
    uint32_t leaves = state->leaves == 0 ? 64 : state->leaves;

    if (entries <= state->leaves)
        return THEMIS_OK;
    while (leaves < entries)
        leaves *= 2;
    double *sum = calloc(2 * (size_t)leaves, sizeof *sum);
    if (sum == NULL)
        return THEMIS_NO_MEMORY;
    if (state->leaves > 0)
        memcpy(sum + leaves, state->sum + state->leaves, state->leaves * sizeof *sum);
    for (uint32_t i = leaves - 1; i > 0; i--)
        sum[i] = sum[2 * i] + sum[2 * i + 1];
    free(state->sum);
    state->sum = sum;
    state->leaves = leaves;
    return THEMIS_OK;
}

static void set_segment(statistical_t *state, uint32_t slot, double length)
{
    uint32_t i = state->leaves + slot;

    if (state->sum[i] == length)
        return;
    state->sum[i] = length;
    for (i /= 2; i > 0; i /= 2)
        state->sum[i] = state->sum[2 * i] + state->sum[2 * i + 1];
}

static void statistical_join(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    set_segment(sched->state, entry->slot, 0);
}

static void statistical_leave(themis_sched_t *sched, themis_sched_entry_t *entry)
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
    double length = entry->head == NULL ? 0 : entry->share / themis_sched_head_cost(sched, entry);

    set_segment(sched->state, entry->slot, length);
}

static void statistical_reshare(themis_sched_t *sched, themis_sched_entry_t *entry, double old)
{
    if (entry->head != NULL && entry->share != old)
        statistical_update(sched, entry, 0);
}

static themis_sched_entry_t *statistical_pick(themis_sched_t *sched, uint64_t now, uint64_t *wake)
{
    statistical_t *state = sched->state;
    uint32_t i = 1;

    if (state->leaves == 0 || !(state->sum[1] > 0))
        return NULL;
    double at = themis_sched_uniform(sched) * state->sum[1];
    while (i < state->leaves) {
        i *= 2;
        /* Rounding must not lead into an empty half. */
        if ((at >= state->sum[i] || !(state->sum[i] > 0)) && state->sum[i + 1] > 0) {
            at -= state->sum[i];
            i++;
        }
    }
    return sched->entries[i - state->leaves];
}

const themis_sched_ops_t themis_sched_statistical = {
    .name = "statistical",
    .create = statistical_create,
    .destroy = statistical_destroy,
    .reserve = statistical_reserve,
    .join = statistical_join,
    .leave = statistical_leave,
    .wake = statistical_wake,
    .charge = statistical_charge,
    .update = statistical_update,
    .reshare = statistical_reshare,
    .pick = statistical_pick,
};
