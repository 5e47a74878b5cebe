/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The draw "statistical": a random number over the segments of non-empty queues (Karrels et al., section 3). So that
 * jobs share bytes and not requests, the length of a segment is share / bytes of the slice that would be served: a job
 * with 4 KiB requests is drawn 256 times as often as one with 1 MiB slices and the same share.
 *
 * The segments are the leaves of a tree whose nodes have eight children and fill one cache line. A node holds where
 * each of its children begins, relative to its own beginning. Lengths are integers, so that nothing is lost to
 * rounding.
 */
#include <stdlib.h>
#include <string.h>
#include "sched/random.h"
#include "sched/state.h"

enum { WAYS = 8 };
/* Length of the segment of an entry of share 1 with slices of one byte. All shares add up to 1, and together with the
 * estimates for N new entries to less than 2 + ln N. */
static const double unit = 0x1p56;

typedef struct node {
    uint64_t begin[WAYS];
} node_t;

typedef struct statistical {
    node_t *nodes;    /* 0: root; children of i: 8 i + 1 and on; owned */
    uint64_t *length; /* of each slot; owned */
    uint64_t total;
    uint32_t leaves, first; /* slots; the number of slot 0 as a node */
    uint64_t random;        /* for the next pick, drawn in advance, so that its entry can be prefetched */
    uint32_t drawn;         /* the slot that it selects */
    int known;              /* `drawn` is valid: no segment has changed since */
} statistical_t;

static void statistical_init(themis_sched_t *sched, uint64_t now)
{
    ((statistical_t *)sched->state)->random = themis_sched_random(&sched->random);
}

static void statistical_release(void *state)
{
    free(((statistical_t *)state)->nodes);
    free(((statistical_t *)state)->length);
}

/* Shifts all segments after this one; sums of unsigned integers are right modulo 2^64, also downwards. */
static void segment_set(statistical_t *state, uint32_t slot, uint64_t length)
{
    uint64_t shift = length - state->length[slot];
    uint32_t i = state->first + slot;

    if (shift == 0)
        return;
    state->length[slot] = length;
    state->total += shift;
    state->known = 0;
    for (; i > 0; i = (i - 1) / WAYS) {
        node_t *parent = &state->nodes[(i - 1) / WAYS];
        for (uint32_t k = (i - 1) % WAYS + 1; k < WAYS; k++)
            parent->begin[k] += shift;
    }
}

static themis_status_t statistical_reserve(void *arg, uint32_t entries)
{
    statistical_t *state = arg, larger = {.leaves = WAYS, .first = 1};

    if (entries <= state->leaves)
        return THEMIS_OK;
    for (; larger.leaves < entries; larger.leaves *= WAYS)
        larger.first = WAYS * larger.first + 1;
    larger.nodes = aligned_alloc(64, larger.first * sizeof *larger.nodes);
    larger.length = calloc(larger.leaves, sizeof *larger.length);
    if (larger.nodes == NULL || larger.length == NULL) {
        statistical_release(&larger);
        return THEMIS_NO_MEMORY;
    }
    memset(larger.nodes, 0, larger.first * sizeof *larger.nodes);
    for (uint32_t slot = 0; slot < state->leaves; slot++)
        segment_set(&larger, slot, state->length[slot]);
    statistical_release(state);
    larger.random = state->random;
    *state = larger;
    return THEMIS_OK;
}

/* The child in which `at` lies: the last that begins there or before. Without branches, as they cannot be predicted. */
static uint32_t find_child(const node_t *node, uint64_t at)
{
    uint32_t found = 0;

    for (uint32_t k = 1; k < WAYS; k++)
        found += at >= node->begin[k];
    return found;
}

static uint32_t find_slot(const statistical_t *state, uint64_t at)
{
    uint32_t i = 0;

    while (i < state->first) {
        const node_t *node = &state->nodes[i];
        uint32_t child = find_child(node, at);
        at -= node->begin[child];
        i = WAYS * i + 1 + child;
    }
    return i - state->first;
}

static void find_drawn(const themis_sched_t *sched, statistical_t *state)
{
    if (state->known || state->total == 0)
        return;
    state->drawn = find_slot(state, (uint64_t)((unsigned __int128)state->random * state->total >> 64));
    state->known = 1;
    __builtin_prefetch(sched->entries[state->drawn], 1);
}

static void statistical_leave(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    segment_set(sched->state, entry->slot, 0);
}

static void segment_update(themis_sched_t *sched, themis_sched_entry_t *entry)
{
    double length = 0;

    if (themis_sched_entry_is_ready(entry))
        length = unit * entry->share / themis_sched_entry_head_cost(entry, sched->options.quantum) + 1;
    segment_set(sched->state, entry->slot, (uint64_t)length);
}

static void statistical_update(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    segment_update(sched, entry);
    find_drawn(sched, sched->state);
}

static void statistical_move(themis_sched_t *sched, themis_sched_entry_t *entry, uint32_t from)
{
    segment_set(sched->state, from, 0);
    segment_update(sched, entry);
}

static void statistical_reshare(themis_sched_t *sched, themis_sched_entry_t *entry, double old)
{
    if (themis_sched_entry_is_ready(entry) && entry->share != old)
        segment_update(sched, entry);
}

static themis_sched_entry_t *statistical_pick(themis_sched_t *sched, uint64_t now, uint64_t *wake)
{
    statistical_t *state = sched->state;

    if (state->total == 0)
        return NULL;
    find_drawn(sched, state);
    state->random = themis_sched_random(&sched->random);
    state->known = 0;
    return sched->entries[state->drawn];
}

const themis_sched_draw_ops_t themis_sched_draw_statistical = {
    .state_bytes = sizeof(statistical_t),
    .init = statistical_init,
    .release = statistical_release,
    .reserve = statistical_reserve,
    .join = statistical_leave,
    .leave = statistical_leave,
    .move = statistical_move,
    .update = statistical_update,
    .reshare = statistical_reshare,
    .pick = statistical_pick,
};
