/* SPDX-License-Identifier: BSD-3-Clause */
#include "persched/timeline.h"
#include <math.h>
#include <stdlib.h>

/* Fractions of bandwidth and volume, and of the period, that rounding may leave: less is taken for nothing. */
static const double NOTHING = 1e-11, INSTANT = 1e-13;

static themis_status_t pieces_reserve(themis_persched_timeline_t *t, uint32_t count)
{
    themis_persched_piece_t *grown;

    if (count <= t->capacity)
        return THEMIS_OK;
    count = count < 64 ? 64 : 2 * count;
    grown = realloc(t->piece, count * sizeof *grown);
    if (!grown)
        return THEMIS_NO_MEMORY;
    t->piece = grown;
    t->capacity = count;
    return THEMIS_OK;
}

themis_status_t themis_persched_timeline_reset(themis_persched_timeline_t *t, double period, double bandwidth)
{
    if (pieces_reserve(t, 1) != THEMIS_OK)
        return THEMIS_NO_MEMORY;
    t->period = period;
    t->bandwidth = bandwidth;
    t->piece[0] = (themis_persched_piece_t){.end = period, .free = bandwidth};
    t->count = 1;
    return THEMIS_OK;
}

void themis_persched_timeline_release(themis_persched_timeline_t *t)
{
    free(t->piece);
}

void themis_persched_takes_release(themis_persched_takes_t *takes)
{
    free(takes->take);
}

/* The last piece of a level that begins no later than `time`, from `at` on, which is one. */
static uint32_t level_pass(themis_persched_timeline_t *t, uint32_t at, int level, double time)
{
    uint32_t next;

    while ((next = t->piece[at].express[level]) != 0 && t->piece[next].begin <= time) {
        at = next;
        t->steps++;
    }
    return at;
}

/* The piece that a time in [0, period) is in. */
static uint32_t piece_at(themis_persched_timeline_t *t, double time)
{
    uint32_t at = 0;

    for (int level = THEMIS_PERSCHED_LEVELS; level-- > 0;)
        at = level_pass(t, at, level, time);
    while (t->piece[at].end <= time && t->piece[at].next != 0) {
        at = t->piece[at].next;
        t->steps++;
    }
    return at;
}

/* Puts a new piece into the levels: a quarter of all into the first, a quarter of these into the second, and so on. */
static void piece_link(themis_persched_timeline_t *t, uint32_t piece)
{
    uint32_t mixed = (piece ^ piece >> 16) * UINT32_C(0x45d9f3b), at = 0;
    int levels = 0;

    for (mixed ^= mixed >> 16; levels < THEMIS_PERSCHED_LEVELS && (mixed >> 2 * levels) % 4 == 0;)
        levels++;
    for (int level = THEMIS_PERSCHED_LEVELS; levels > 0 && level-- > 0;) {
        at = level_pass(t, at, level, t->piece[piece].begin);
        if (level < levels) {
            t->piece[piece].express[level] = t->piece[at].express[level];
            t->piece[at].express[level] = piece;
        }
    }
}

static int piece_is_used(const themis_persched_timeline_t *t, uint32_t at)
{
    return t->piece[at].free <= NOTHING * t->bandwidth;
}

/* The first piece from `at` on that has free bandwidth, or 0 at the end of the period. */
static uint32_t piece_free(themis_persched_timeline_t *t, uint32_t at)
{
    uint32_t found = at;

    while (piece_is_used(t, found) && t->piece[found].skip != 0) {
        found = t->piece[found].skip;
        t->steps++;
    }
    if (piece_is_used(t, found))
        found = 0;
    while (at != found && at != 0 && piece_is_used(t, at)) {
        uint32_t next = t->piece[at].skip;

        t->piece[at].skip = found;
        at = next;
    }
    return found;
}

/* The same after `at`. */
static uint32_t piece_free_after(themis_persched_timeline_t *t, uint32_t at)
{
    return t->piece[at].next == 0 ? 0 : piece_free(t, t->piece[at].next);
}

static themis_status_t takes_add(themis_persched_takes_t *takes, themis_persched_take_t take)
{
    if (takes->count == takes->capacity) {
        uint32_t capacity = takes->capacity ? 2 * takes->capacity : 16;
        themis_persched_take_t *grown = realloc(takes->take, capacity * sizeof *grown);

        if (!grown)
            return THEMIS_NO_MEMORY;
        takes->take = grown;
        takes->capacity = capacity;
    }
    takes->take[takes->count++] = take;
    return THEMIS_OK;
}

/* Takes what a piece gives from `begin` (with `lap` added) on until `end` or until nothing is left to do. */
static themis_status_t piece_take(themis_persched_timeline_t *t, uint32_t at, double lap, double begin, double end,
                                  double rate, double *left, themis_persched_takes_t *takes)
{
    const themis_persched_piece_t *p = &t->piece[at];
    double from = fmax(begin, p->begin + lap), to = fmin(end, p->end + lap), bandwidth = fmin(rate, p->free);

    t->steps++;
    if (to - from <= INSTANT * t->period || bandwidth <= NOTHING * t->bandwidth)
        return THEMIS_OK;
    if (*left <= (to - from) * bandwidth) {
        to = from + *left / bandwidth;
        *left = 0;
    } else {
        *left -= (to - from) * bandwidth;
    }
    return takes_add(takes, (themis_persched_take_t){at, lap, from, to, bandwidth});
}

themis_status_t themis_persched_timeline_earliest(themis_persched_timeline_t *t, double begin, double end, double rate,
                                                  double volume, themis_persched_takes_t *takes)
{
    double lap = floor(begin / t->period) * t->period, left = volume;
    uint32_t at = piece_at(t, fmax(0, begin - lap));

    takes->count = 0;
    while (left > NOTHING * volume) {
        uint32_t from = at;

        at = piece_is_used(t, at) ? piece_free(t, at) : at;
        lap += at == 0 && from != 0 ? t->period : 0;
        if (t->piece[at].begin + lap >= end)
            return THEMIS_RANGE;
        if (piece_take(t, at, lap, begin, end, rate, &left, takes) != THEMIS_OK)
            return THEMIS_NO_MEMORY;
        at = t->piece[at].next;
        lap += at == 0 ? t->period : 0;
    }
    return THEMIS_OK;
}

static int take_compare_begin(const void *a, const void *b)
{
    const themis_persched_take_t *x = a, *y = b;

    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static int take_compare_bandwidth(const void *a, const void *b)
{
    const themis_persched_take_t *x = a, *y = b;

    return x->bandwidth > y->bandwidth ? -1 : x->bandwidth < y->bandwidth ? 1 : take_compare_begin(a, b);
}

/* Adds takes of whole pieces that give less than `rate`, and shortens the list to what `left` bytes need. */
static themis_status_t narrow_take(themis_persched_timeline_t *t, double rate, double left,
                                   themis_persched_takes_t *takes)
{
    uint32_t first = takes->count, at = piece_free(t, 0);
    double unlimited = INFINITY;

    do {
        if (t->piece[at].free < rate && piece_take(t, at, 0, 0, t->period, rate, &unlimited, takes) != THEMIS_OK)
            return THEMIS_NO_MEMORY;
        at = piece_free_after(t, at);
    } while (at != 0);
    if (takes->count > first)
        qsort(takes->take + first, takes->count - first, sizeof *takes->take, take_compare_bandwidth);
    for (uint32_t i = first; i < takes->count; i++) {
        themis_persched_take_t *take = &takes->take[i];

        if (left <= (take->end - take->begin) * take->bandwidth * (1 + NOTHING)) {
            take->end = fmin(take->end, take->begin + left / take->bandwidth);
            takes->count = i + 1;
            return THEMIS_OK;
        }
        left -= (take->end - take->begin) * take->bandwidth;
    }
    return THEMIS_RANGE;
}

themis_status_t themis_persched_timeline_widest(themis_persched_timeline_t *t, double rate, double volume,
                                                themis_persched_takes_t *takes)
{
    uint32_t at = piece_free(t, 0);
    double left = volume;
    themis_status_t status = THEMIS_OK;

    takes->count = 0;
    do {
        if (t->piece[at].free >= rate && piece_take(t, at, 0, 0, t->period, rate, &left, takes) != THEMIS_OK)
            return THEMIS_NO_MEMORY;
        at = piece_free_after(t, at);
    } while (at != 0 && left > NOTHING * volume);
    if (left > NOTHING * volume)
        status = narrow_take(t, rate, left, takes);
    if (status == THEMIS_OK)
        qsort(takes->take, takes->count, sizeof *takes->take, take_compare_begin);
    return status;
}

/* Splits a piece at a time inside it; *right begins there. */
static themis_status_t piece_split(themis_persched_timeline_t *t, uint32_t at, double time, uint32_t *right)
{
    themis_status_t status = pieces_reserve(t, t->count + 1);

    if (status != THEMIS_OK)
        return status;
    *right = t->count++;
    t->piece[*right] = t->piece[at];
    t->piece[*right].begin = time;
    t->piece[at].end = time;
    t->piece[at].next = *right;
    piece_link(t, *right);
    return THEMIS_OK;
}

static themis_status_t take_use(themis_persched_timeline_t *t, const themis_persched_take_t *take)
{
    double begin = take->begin - take->lap, end = take->end - take->lap, least = INSTANT * t->period;
    themis_status_t status = THEMIS_OK;
    uint32_t at = take->piece, rest;

    if (begin > t->piece[at].begin + least)
        status = piece_split(t, at, begin, &at);
    if (status == THEMIS_OK && end < t->piece[at].end - least)
        status = piece_split(t, at, end, &rest);
    if (status != THEMIS_OK)
        return status;
    t->piece[at].free = fmax(0, t->piece[at].free - take->bandwidth);
    t->piece[at].skip = t->piece[at].next;
    return THEMIS_OK;
}

themis_status_t themis_persched_timeline_use(themis_persched_timeline_t *t, const themis_persched_takes_t *takes)
{
    themis_status_t status = THEMIS_OK;

    for (uint32_t i = 0; i < takes->count && status == THEMIS_OK; i++)
        status = take_use(t, &takes->take[i]);
    return status;
}
