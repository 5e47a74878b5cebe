/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The draw "statistical": a random number over the segments of non-empty queues (Karrels et al., section 3). So that
 * jobs share bytes and not requests, a segment is as long as share / bytes of the slice that would be served: a job of
 * 4 KiB requests is drawn 256 times as often as one of 1 MiB slices of the same share.
 *
 * The segments are the leaves of a tree with eight children a node, in one cache line. A node holds where each of its
 * children begins, counted from its own beginning. Lengths are integers, so that nothing is lost to rounding.
 */
#include <stdlib.h>
#include <string.h>
#include "sched/draw.h"

enum { WAYS = 8 };
/* Length of the segment of the share 1 with slices of one byte. The sum of all shares is 1, and with the estimates of N
 * newcomers below 2 + ln N. */
static const double unit = 0x1p56;

typedef struct node {
    uint64_t begin[WAYS];
} node_t;

typedef struct statistical {
    node_t *nodes;    /* 0: root; children of i: 8 i + 1 and on; owned */
    uint64_t *length; /* of each slot; owned */
    uint64_t total;
    uint32_t leaves, first; /* slots; the number that slot 0 has as a node */
    uint64_t random;        /* the next draw, made in advance, so that its entry comes out of memory meanwhile */
    uint32_t drawn;         /* the slot that it means, if that is known: no segment has changed since */
    int known;
} statistical_t;

static themis_status_t statistical_create(themis_sched_t *sched, uint64_t now)
{
    statistical_t *state = calloc(1, sizeof *state);

    if (state == NULL)
        return THEMIS_NO_MEMORY;
    state->random = themis_sched_random(sched);
    sched->state = state;
    return THEMIS_OK;
}

static void statistical_destroy(themis_sched_t *sched)
{
    statistical_t *state = sched->state;

    free(state->nodes);
    free(state->length);
    free(state);
}

/* All that begins behind the segment is shifted; sums of unsigned integers are right modulo 2^64, also downwards. */
static void set_segment(statistical_t *state, uint32_t slot, uint64_t length)
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

static themis_status_t statistical_reserve(themis_sched_t *sched, uint32_t entries)
{
    statistical_t *state = sched->state, larger = {.leaves = WAYS, .first = 1};

    if (entries <= state->leaves)
        return THEMIS_OK;
    for (; larger.leaves < entries; larger.leaves *= WAYS)
        larger.first = WAYS * larger.first + 1;
    larger.nodes = aligned_alloc(64, larger.first * sizeof *larger.nodes);
    larger.length = calloc(larger.leaves, sizeof *larger.length);
    if (larger.nodes == NULL || larger.length == NULL) {
        free(larger.nodes);
        free(larger.length);
        return THEMIS_NO_MEMORY;
    }
    memset(larger.nodes, 0, larger.first * sizeof *larger.nodes);
    for (uint32_t slot = 0; slot < state->leaves; slot++)
        set_segment(&larger, slot, state->length[slot]);
    free(state->nodes);
    free(state->length);
    larger.random = state->random;
    *state = larger;
    return THEMIS_OK;
}

/* The child in which `at` lies: the last that begins there or before. No branches, since nobody can predict them. */
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

static void measure(themis_sched_t *sched, themis_sched_entry_t *entry)
{
    double length = 0;

    if (themis_sched_waits(entry))
        length = unit * entry->share / themis_sched_head_cost(sched, entry) + 1;
    set_segment(sched->state, entry->slot, (uint64_t)length);
}

static void statistical_update(themis_sched_t *sched, themis_sched_entry_t *entry, uint64_t now)
{
    measure(sched, entry);
    find_drawn(sched, sched->state);
}

static void statistical_rename(themis_sched_t *sched, themis_sched_entry_t *entry, uint32_t from)
{
    set_segment(sched->state, from, 0);
    measure(sched, entry);
}

static void statistical_reshare(themis_sched_t *sched, themis_sched_entry_t *entry, double old)
{
    if (themis_sched_waits(entry) && entry->share != old)
        measure(sched, entry);
}

static themis_sched_entry_t *statistical_pick(themis_sched_t *sched, uint64_t now, uint64_t *wake)
{
    statistical_t *state = sched->state;

    if (state->total == 0)
        return NULL;
    find_drawn(sched, state);
    state->random = themis_sched_random(sched);
    state->known = 0;
    return sched->entries[state->drawn];
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
