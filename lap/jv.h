/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The Jonker-Volgenant algorithm for one scalar type. Included by lap_i64.c and lap_f64.c, which define lap_scalar_t,
 * lap_wide_t (for sums), LAP_INFINITY (a distance beyond all others) and LAP_DONE_V (a dual that makes row - v exceed
 * it).
 *
 * Invariants between the phases: a column that once has a row always has one; v only falls, and only at columns that
 * have a row; an assigned column has the least reduced cost in its row. The magnitude of the duals therefore stays
 * within a small multiple of the largest cost, whatever the size of the matrix.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lap/lap_internal.h"
#include "lap/scan.h"

enum {
    LAP_FREE = -1,
    LAP_ROW_PASSES = 6 /* of augmenting row reduction; a row costs far less there than in a shortest path */
};

typedef struct lap_solver {
    const lap_scans_t *scan;
    int64_t rows, columns;
    const lap_scalar_t *cost;
    lap_scalar_t *v;        /* [columns] */
    lap_scalar_t *distance; /* [columns] length of the shortest path to each column not yet done */
    lap_scalar_t *done_v;   /* [columns] v of the done columns, in the order of done */
    lap_scalar_t *done_d;   /* [columns] their distances */
    int64_t *from;          /* [columns] row before the column on its shortest path */
    int64_t *done;          /* [columns] columns whose distance is final */
    int64_t *column_of;     /* [rows] LAP_FREE or the row's column */
    int64_t *row_of;        /* [columns] LAP_FREE or the column's row */
    int64_t *free_rows;     /* [rows] */
    int64_t free_count;
    int64_t *free_columns; /* [columns] those without a row, in no order; for the augmentation */
    int64_t free_column_count;
} lap_solver_t;

static const lap_scalar_t *lap_row(const lap_solver_t *s, int64_t i)
{
    return s->cost + i * s->columns;
}

/* All arrays in one block; those with an entry for each column begin on cache lines, for the vectors' sake. */
static themis_status_t lap_solver_init(lap_solver_t *s, void **memory)
{
    size_t n = ((size_t)s->columns + 7) / 8 * 8, words = 8 * n + 2 * (size_t)s->rows;
    int64_t *at = aligned_alloc(64, (words * sizeof(*at) + 63) / 64 * 64);

    _Static_assert(sizeof(lap_scalar_t) == sizeof(int64_t), "one block of memory serves both");
    if (!at)
        return THEMIS_NO_MEMORY;
    *memory = at;
    s->scan = lap_scans();
    s->v = (lap_scalar_t *)(void *)at;
    s->distance = s->v + n;
    s->done_v = s->distance + n;
    s->done_d = s->done_v + n;
    s->from = at + 4 * n;
    s->done = s->from + n;
    s->row_of = s->done + n;
    s->free_columns = s->row_of + n;
    s->column_of = s->free_columns + n;
    s->free_rows = s->column_of + s->rows;
    for (int64_t j = 0; j < s->columns; j++)
        s->row_of[j] = LAP_FREE;
    for (int64_t i = 0; i < s->rows; i++)
        s->column_of[i] = LAP_FREE;
    return THEMIS_OK;
}

static void lap_assign(lap_solver_t *s, int64_t i, int64_t j)
{
    s->column_of[i] = j;
    s->row_of[j] = i;
}

/* v becomes the column minima; each row takes the last column whose minimum it has. matches counts a row's minima. */
static void lap_reduce_columns(lap_solver_t *s, int64_t *matches)
{
    int64_t *who = s->from;

    for (int64_t i = 0; i < s->rows; i++)
        matches[i] = 0;
    for (int64_t j = 0; j < s->columns; j++) {
        s->v[j] = s->cost[j];
        who[j] = 0;
    }
    for (int64_t i = 1; i < s->rows; i++)
        s->scan->minima(lap_row(s, i), s->columns, i, s->v, who);
    for (int64_t j = s->columns - 1; j >= 0; j--)
        if (matches[who[j]]++ == 0)
            lap_assign(s, who[j], j);
}

/* A row with one minimum passes the slack to its second choice on to its column. */
static void lap_transfer_reduction(lap_solver_t *s, const int64_t *matches)
{
    for (int64_t i = 0; i < s->rows; i++) {
        int64_t j = s->column_of[i];

        if (matches[i] == 1 && s->columns > 1) {
            lap_pair_t pair = s->scan->pair(lap_row(s, i), s->v, s->columns);

            s->v[j] -= pair.first_column == j ? pair.second : pair.first;
        }
    }
}

static void lap_collect_free(lap_solver_t *s)
{
    s->free_count = 0;
    for (int64_t i = 0; i < s->rows; i++)
        if (s->column_of[i] == LAP_FREE)
            s->free_rows[s->free_count++] = i;
}

/*
 * One step of augmenting row reduction: row i takes its best column and lowers that column's v until its second choice
 * is as good. Returns the row that lost the column, or LAP_FREE.
 */
static int64_t lap_reduce_row(lap_solver_t *s, int64_t i)
{
    lap_pair_t pair = s->scan->pair(lap_row(s, i), s->v, s->columns);
    int64_t j = pair.first_column, loser = s->row_of[j];
    lap_scalar_t lowered = s->v[j];

    if (pair.second < LAP_INFINITY)
        lowered -= pair.second - pair.first;
    if (lowered < s->v[j]) {
        s->v[j] = lowered;
    } else if (loser != LAP_FREE && pair.second < LAP_INFINITY) {
        j = pair.second_column;
        loser = s->row_of[j];
    }
    if (loser != LAP_FREE)
        s->column_of[loser] = LAP_FREE;
    lap_assign(s, i, j);
    return loser;
}

/*
 * One pass over the free rows. A row that loses its column waits for the next pass: to try it again at once, as in the
 * paper, lets two rows outbid each other by tiny amounts, and measured slower on matrices of hop-bytes.
 */
static void lap_reduce_rows(lap_solver_t *s)
{
    int64_t count = s->free_count;

    s->free_count = 0;
    for (int64_t k = 0; k < count; k++) {
        int64_t loser = lap_reduce_row(s, s->free_rows[k]);

        if (loser != LAP_FREE)
            s->free_rows[s->free_count++] = loser;
    }
}

static void lap_collect_free_columns(lap_solver_t *s)
{
    s->free_column_count = 0;
    for (int64_t j = 0; j < s->columns; j++)
        if (s->row_of[j] == LAP_FREE)
            s->free_columns[s->free_column_count++] = j;
}

/* Of the columns at the least distance, one without a row ends the path at once: the lowest, whatever the list's order.
 */
static int64_t lap_prefer_free(const lap_solver_t *s, lap_least_t least)
{
    int64_t best = INT64_MAX;

    if (!least.tied || s->row_of[least.column] == LAP_FREE)
        return least.column;
    for (int64_t k = 0; k < s->free_column_count; k++) {
        int64_t j = s->free_columns[k];

        if (s->distance[j] == least.value && j < best)
            best = j;
    }
    return best < INT64_MAX ? best : least.column;
}

static void lap_take_column(lap_solver_t *s, int64_t j)
{
    int64_t k = 0;

    while (s->free_columns[k] != j)
        k++;
    s->free_columns[k] = s->free_columns[--s->free_column_count];
}

/* Marks column j as done: it keeps out of all further passes until v is restored. */
static void lap_close_column(lap_solver_t *s, int64_t j, int64_t done_count)
{
    s->done[done_count] = j;
    s->done_v[done_count] = s->v[j];
    s->done_d[done_count] = s->distance[j];
    s->v[j] = LAP_DONE_V;
    s->distance[j] = LAP_INFINITY;
}

/* Finds the shortest path from a free row to a column without a row, mends v on the way, and flips the path. */
static void lap_augment(lap_solver_t *s, int64_t start)
{
    int64_t done_count = 0, j, i;
    lap_least_t least;

    for (j = 0; j < s->columns; j++)
        s->distance[j] = LAP_INFINITY;
    least = s->scan->relax(lap_row(s, start), s->v, s->columns, 0, start, s->distance, s->from);
    while (s->row_of[j = lap_prefer_free(s, least)] != LAP_FREE) {
        lap_scalar_t offset;

        i = s->row_of[j];
        offset = lap_row(s, i)[j] - s->v[j] - least.value;
        lap_close_column(s, j, done_count++);
        least = s->scan->relax(lap_row(s, i), s->v, s->columns, offset, i, s->distance, s->from);
    }
    for (int64_t k = 0; k < done_count; k++)
        s->v[s->done[k]] = s->done_v[k] + (s->done_d[k] - least.value);
    lap_take_column(s, j);
    do {
        int64_t next;

        i = s->from[j];
        next = s->column_of[i];
        lap_assign(s, i, j);
        j = next;
    } while (i != start);
}

static void lap_run(lap_solver_t *s)
{
    if (s->rows == s->columns) {
        lap_reduce_columns(s, s->free_rows);
        lap_transfer_reduction(s, s->free_rows);
    } else {
        for (int64_t j = 0; j < s->columns; j++)
            s->v[j] = 0;
    }
    lap_collect_free(s);
    for (int pass = 0; pass < LAP_ROW_PASSES && s->free_count > 0; pass++)
        lap_reduce_rows(s);
    lap_collect_free_columns(s);
    for (int64_t k = 0; k < s->free_count; k++)
        lap_augment(s, s->free_rows[k]);
}

/* What the caller gets; see themis/lap.h. */
typedef struct lap_result {
    uint32_t *column;
    lap_scalar_t *u, *v;
    lap_wide_t total; /* may be too large for the scalar type */
} lap_result_t;

static void lap_finish(const lap_solver_t *s, lap_result_t *result)
{
    memcpy(result->v, s->v, (size_t)s->columns * sizeof *s->v);
    result->total = 0;
    for (int64_t i = 0; i < s->rows; i++) {
        int64_t j = s->column_of[i];

        result->column[i] = (uint32_t)j;
        result->u[i] = lap_row(s, i)[j] - s->v[j];
        result->total += lap_row(s, i)[j];
    }
}

static themis_status_t lap_solve(size_t rows, size_t columns, const lap_scalar_t *cost, lap_result_t *result)
{
    lap_solver_t solver = {.rows = (int64_t)rows, .columns = (int64_t)columns, .cost = cost};
    void *memory;
    themis_status_t status = lap_solver_init(&solver, &memory);

    if (status != THEMIS_OK)
        return status;
    lap_run(&solver);
    lap_finish(&solver, result);
    free(memory);
    return THEMIS_OK;
}
