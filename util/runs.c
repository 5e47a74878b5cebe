/* SPDX-License-Identifier: BSD-3-Clause */
#include "util/runs.h"
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { FIRST_CAPACITY = 8 };

void themis_util_runs_free(themis_util_runs_t *runs)
{
    free(runs->run);
    free(runs->start);
    *runs = (themis_util_runs_t){0};
}

void themis_util_runs_clear(themis_util_runs_t *runs)
{
    runs->count = 0;
    runs->bytes = runs->end = 0;
    runs->unordered = 0;
}

/* --- adding ------------------------------------------------------------------------------------------------------- */

static themis_status_t reserve(themis_util_runs_t *runs, size_t more)
{
    if (runs->count + more <= runs->capacity)
        return THEMIS_OK;
    size_t capacity = runs->capacity ? 2 * runs->capacity : FIRST_CAPACITY;
    themis_run_t *run = realloc(runs->run, capacity * sizeof *run);
    if (!run)
        return THEMIS_NO_MEMORY;
    runs->run = run;
    uint64_t *start = realloc(runs->start, capacity * sizeof *start);
    if (!start)
        return THEMIS_NO_MEMORY;
    runs->start = start;
    runs->capacity = capacity;
    return THEMIS_OK;
}

static uint64_t last_piece(const themis_run_t *run)
{
    return run->offset + (run->count - 1) * run->stride;
}

/* Makes `more` part of the last run if the two are one run; 0 if they are not. */
static int run_fold(themis_run_t *last, const themis_run_t *more)
{
    uint64_t tail = last_piece(last), step = more->offset - tail;
    if (last->length != more->length || more->offset < tail + last->length)
        return 0;
    if ((last->count > 1 && last->stride != step) || (more->count > 1 && more->stride != step))
        return 0;
    last->stride = step;
    last->count += more->count;
    return 1;
}

/* Appends pieces that do not touch the last one. There is room. */
static void run_append(themis_util_runs_t *runs, const themis_run_t *more)
{
    if (runs->count && more->offset < runs->end)
        runs->unordered = 1;
    if (!runs->count || !run_fold(&runs->run[runs->count - 1], more)) {
        runs->start[runs->count] = runs->bytes;
        runs->run[runs->count++] = *more;
    }
    runs->bytes += more->length * more->count;
    runs->end = last_piece(more) + more->length;
}

/* Takes the last piece off the list, which becomes what it was without it. */
static themis_run_t piece_take(themis_util_runs_t *runs)
{
    themis_run_t *last = &runs->run[runs->count - 1];
    themis_run_t piece = {last_piece(last), last->length, last->length, 1};
    if (--last->count == 0)
        runs->count--;
    else if (last->count == 1)
        last->stride = last->length;
    runs->bytes -= piece.length;
    runs->end = piece.offset; /* no more than that is known, and enough to put it back */
    return piece;
}

/* Appends an extent, which may continue the last piece: a longer piece belongs to another run. There is room. */
static void extent_append(themis_util_runs_t *runs, uint64_t offset, uint64_t length)
{
    themis_run_t extent = {offset, length, length, 1};
    if (runs->count && runs->end == offset) {
        extent = piece_take(runs);
        extent.length = extent.stride = extent.length + length;
    }
    run_append(runs, &extent);
}

themis_status_t themis_util_runs_add(themis_util_runs_t *runs, uint64_t offset, uint64_t length)
{
    if (!length)
        return THEMIS_OK;
    themis_status_t status = reserve(runs, 1);
    if (status == THEMIS_OK)
        extent_append(runs, offset, length);
    return status;
}

static themis_status_t add_pieces(themis_util_runs_t *runs, const themis_run_t *run)
{
    themis_status_t status = THEMIS_OK;
    for (uint64_t i = 0; i < run->count && status == THEMIS_OK; i++)
        status = themis_util_runs_add(runs, run->offset + i * run->stride, run->length);
    return status;
}

/* The first piece may continue what is there; the others touch nothing. */
themis_status_t themis_util_runs_add_run(themis_util_runs_t *runs, const themis_run_t *run)
{
    if (!run->length || !run->count)
        return THEMIS_OK;
    if (run->count == 1 || run->stride == run->length)
        return themis_util_runs_add(runs, run->offset, run->length * run->count);
    if (run->count == 2 || run->stride < run->length)
        return add_pieces(runs, run);
    themis_status_t status = reserve(runs, 2);
    if (status != THEMIS_OK)
        return status;
    extent_append(runs, run->offset, run->length);
    run_append(runs, &(themis_run_t){run->offset + run->stride, run->length, run->stride, run->count - 1});
    return THEMIS_OK;
}

/* --- the stream --------------------------------------------------------------------------------------------------- */

uint64_t themis_util_runs_first(const themis_util_runs_t *runs)
{
    return runs->count ? runs->run[0].offset : 0;
}

uint64_t themis_util_runs_pieces(const themis_util_runs_t *runs)
{
    uint64_t pieces = 0;
    for (size_t i = 0; i < runs->count; i++)
        pieces += runs->run[i].count;
    return pieces;
}

uint64_t themis_util_runs_hash(const themis_util_runs_t *runs)
{
    uint64_t hash = runs->bytes;
    for (size_t i = 0; i < runs->count; i++) {
        themis_run_t run = runs->run[i];
        run.offset -= themis_util_runs_first(runs);
        hash = XXH64(&run, sizeof run, hash);
    }
    return hash;
}

size_t themis_util_runs_find(const themis_util_runs_t *runs, uint64_t position)
{
    size_t from = 0, to = runs->count;
    while (to - from > 1) {
        size_t middle = from + (to - from) / 2;
        if (runs->start[middle] <= position)
            from = middle;
        else
            to = middle;
    }
    return from;
}

uint64_t themis_util_runs_offset(const themis_util_runs_t *runs, uint64_t position)
{
    size_t i = themis_util_runs_find(runs, position);
    uint64_t within = position - runs->start[i];
    const themis_run_t *run = &runs->run[i];
    return run->offset + within / run->length * run->stride + within % run->length;
}

static void bytes_move(void *memory, void *packed, uint64_t bytes, themis_direction_t direction)
{
    if (direction == THEMIS_WRITE)
        memcpy(packed, memory, bytes);
    else
        memcpy(memory, packed, bytes);
}

void themis_util_runs_copy(const themis_util_runs_t *memory, void *base, uint64_t position, void *packed,
                           uint64_t bytes, themis_direction_t direction)
{
    if (!bytes)
        return;
    size_t i = themis_util_runs_find(memory, position);
    uint64_t within = position - memory->start[i];
    char *place = packed;
    for (; bytes; i++, within = 0) {
        const themis_run_t *run = &memory->run[i];
        uint64_t piece = within / run->length, skip = within % run->length;
        for (; bytes && piece < run->count; piece++, skip = 0) {
            uint64_t part = run->length - skip < bytes ? run->length - skip : bytes;
            bytes_move((char *)base + (run->offset + piece * run->stride + skip), place, part, direction);
            place += part;
            bytes -= part;
        }
    }
}

/* --- ordered lists: what lies in a range ---------------------------------------------------------------------------
 */

/* Index of the first run whose last piece ends above `low`. */
static size_t run_after(const themis_util_runs_t *runs, uint64_t low)
{
    size_t from = 0, to = runs->count;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (last_piece(&runs->run[middle]) + runs->run[middle].length > low)
            to = middle;
        else
            from = middle + 1;
    }
    return from;
}

/* Index of the first piece of the run that ends above `low`. */
static uint64_t piece_after(const themis_run_t *run, uint64_t low)
{
    if (run->count == 1 || low < run->offset + run->length)
        return 0;
    return (low - run->offset - run->length) / run->stride + 1;
}

void themis_util_runs_clip_begin(themis_util_runs_clip_t *clip, const themis_util_runs_t *runs, uint64_t low,
                                 uint64_t high)
{
    *clip = (themis_util_runs_clip_t){.runs = runs, .low = low, .high = high, .run = run_after(runs, low)};
    if (clip->run < runs->count)
        clip->piece = piece_after(&runs->run[clip->run], low);
}

/* A piece that extends beyond [low, high), cut to it. */
static void cut_piece(const themis_util_runs_clip_t *clip, uint64_t begin, uint64_t end, uint64_t position,
                      themis_util_runs_row_t *row)
{
    uint64_t from = begin < clip->low ? clip->low : begin;
    uint64_t to = end > clip->high ? clip->high : end;
    *row = (themis_util_runs_row_t){from, to - from, to - from, 1, position + (from - begin)};
}

/* Number of pieces from `begin` on that lie wholly below `high`. */
static uint64_t whole_pieces(const themis_run_t *run, uint64_t begin, uint64_t left, uint64_t high)
{
    uint64_t room = high - begin - run->length;
    uint64_t fit = left > 1 ? room / run->stride + 1 : 1;
    return fit < left ? fit : left;
}

int themis_util_runs_clip_next(themis_util_runs_clip_t *clip, themis_util_runs_row_t *row)
{
    if (clip->run >= clip->runs->count || clip->low >= clip->high)
        return 0;
    const themis_run_t *run = &clip->runs->run[clip->run];
    uint64_t begin = run->offset + clip->piece * run->stride;
    if (begin >= clip->high)
        return 0;
    uint64_t end = begin + run->length;
    uint64_t position = clip->runs->start[clip->run] + clip->piece * run->length;
    uint64_t taken = 1;
    if (begin < clip->low || end > clip->high) {
        cut_piece(clip, begin, end, position, row);
    } else {
        taken = whole_pieces(run, begin, run->count - clip->piece, clip->high);
        *row = (themis_util_runs_row_t){begin, run->length, run->stride, taken, position};
    }
    clip->piece += taken;
    if (clip->piece == run->count) {
        clip->run++;
        clip->piece = 0;
    }
    return 1;
}

uint64_t themis_util_runs_bytes_in(const themis_util_runs_t *runs, uint64_t low, uint64_t high)
{
    themis_util_runs_clip_t clip;
    themis_util_runs_row_t row;
    uint64_t bytes = 0;
    themis_util_runs_clip_begin(&clip, runs, low, high);
    while (themis_util_runs_clip_next(&clip, &row))
        bytes += row.length * row.count;
    return bytes;
}

uint64_t themis_util_runs_last_before(const themis_util_runs_t *runs, uint64_t high)
{
    size_t i = run_after(runs, high);
    /* Run i is the first that ends above `high`: the wanted byte is in it or in the one before. */
    if (i < runs->count && runs->run[i].offset < high) {
        const themis_run_t *run = &runs->run[i];
        uint64_t piece = run->count > 1 ? (high - 1 - run->offset) / run->stride : 0;
        uint64_t end = run->offset + piece * run->stride + run->length;
        return end < high ? end : high;
    }
    if (!i)
        return 0;
    return last_piece(&runs->run[i - 1]) + runs->run[i - 1].length;
}
