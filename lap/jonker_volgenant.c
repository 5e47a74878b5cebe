/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The Jonker-Volgenant algorithm (see themis/lap.h): column reduction and reduction transfer, augmenting row reduction,
 * then shortest augmenting paths.
 *
 * Invariants between the phases: a column that once has a row always has one; v only decreases, and only at columns
 * that have a row; an assigned column has the smallest reduced cost in its row. The magnitude of the duals therefore
 * stays within a small multiple of the largest cost, whatever the size of the matrix.
 */
#include <stdlib.h>
#include <string.h>

#include "lap/jonker_volgenant.h"
#include "lap/scan.h"
#include "util/log.h"

/* A dual that makes row - v exceed every distance. */
#define LAP_DONE_V (-(INT64_C(1) << 62))

enum {
    LAP_FREE = -1,
    LAP_ROW_PASSES = 6 /* of augmenting row reduction; a row costs far less there than in a shortest path */
};

typedef struct lap_solver {
    const themis_lap_scan_t *scan;
    int64_t rows, columns;
    const int64_t *cost;
    int64_t *v;         /* [columns] */
    int64_t *distance;  /* [columns] length of the shortest path to each column not yet done */
    int64_t *done_v;    /* [columns] v of the done columns, in the order of done */
    int64_t *done_d;    /* [columns] their distances */
    int64_t *from;      /* [columns] row before the column on its shortest path */
    int64_t *done;      /* [columns] columns whose distance is final */
    int64_t *column_of; /* [rows] LAP_FREE or the row's column */
    int64_t *row_of;    /* [columns] LAP_FREE or the column's row */
    int64_t *free_rows; /* [rows] */
    int64_t free_count;
    int64_t *free_columns; /* [columns] those without a row, in no order; for the augmentation */
    int64_t free_column_count;
} lap_solver_t;

static const int64_t *lap_row(const lap_solver_t *s, int64_t i)
{
    return s->cost + i * s->columns;
}

/* All arrays in one block; those with an entry for each column are aligned to cache lines for vector loads. */
static themis_status_t lap_solver_init(lap_solver_t *s, void **memory)
{
    size_t n = ((size_t)s->columns + 7) / 8 * 8, words = 8 * n + 2 * (size_t)s->rows;
    int64_t *at = aligned_alloc(64, (words * sizeof(*at) + 63) / 64 * 64);

    if (!at)
        return THEMIS_NO_MEMORY;
    *memory = at;
    s->scan = themis_lap_scan_select();
    s->v = at;
    s->distance = s->v + n;
    s->done_v = s->distance + n;
    s->done_d = s->done_v + n;
    s->from = s->done_d + n;
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
            themis_lap_pair_t pair = s->scan->pair(lap_row(s, i), s->v, s->columns);

            s->v[j] -= pair.first_column == j ? pair.second : pair.first;
        }
    }
}

/* Lists the rows (or columns) without a partner; returns their number. */
static int64_t lap_collect_free(const int64_t *partner, int64_t count, int64_t *list)
{
    int64_t found = 0;

    for (int64_t i = 0; i < count; i++)
        if (partner[i] == LAP_FREE)
            list[found++] = i;
    return found;
}

/*
 * One step of augmenting row reduction: row i takes its best column and lowers that column's v until its second choice
 * is as good. Returns the row that lost the column, or LAP_FREE.
 */
static int64_t lap_reduce_row(lap_solver_t *s, int64_t i)
{
    themis_lap_pair_t pair = s->scan->pair(lap_row(s, i), s->v, s->columns);
    int64_t j = pair.first_column, loser = s->row_of[j];
    int64_t lowered = s->v[j];

    if (pair.second < THEMIS_LAP_INFINITY)
        lowered -= pair.second - pair.first;
    if (lowered < s->v[j]) {
        s->v[j] = lowered;
    } else if (loser != LAP_FREE && pair.second < THEMIS_LAP_INFINITY) {
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
 * paper, lets two rows outbid each other by tiny amounts, and was slower on matrices of hop-bytes.
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

/* Among the columns at the smallest distance, one without a row ends the path at once: the lowest, whatever the list's
 * order.
 */
static int64_t lap_prefer_free(const lap_solver_t *s, themis_lap_min_t nearest)
{
    int64_t best = INT64_MAX;

    if (!nearest.tied || s->row_of[nearest.column] == LAP_FREE)
        return nearest.column;
    for (int64_t k = 0; k < s->free_column_count; k++) {
        int64_t j = s->free_columns[k];

        if (s->distance[j] == nearest.value && j < best)
            best = j;
    }
    return best < INT64_MAX ? best : nearest.column;
}

static void lap_take_column(lap_solver_t *s, int64_t j)
{
    int64_t k = 0;

    while (s->free_columns[k] != j)
        k++;
    s->free_columns[k] = s->free_columns[--s->free_column_count];
}

/* Marks column j as done: later passes ignore it until v is restored. */
static void lap_close_column(lap_solver_t *s, int64_t j, int64_t done_count)
{
    s->done[done_count] = j;
    s->done_v[done_count] = s->v[j];
    s->done_d[done_count] = s->distance[j];
    s->v[j] = LAP_DONE_V;
    s->distance[j] = THEMIS_LAP_INFINITY;
}

/* Finds the shortest path from a free row to a column without a row, updates v along it, and flips the path. */
static void lap_augment(lap_solver_t *s, int64_t start)
{
    int64_t done_count = 0, j, i;
    themis_lap_min_t nearest;

    for (j = 0; j < s->columns; j++)
        s->distance[j] = THEMIS_LAP_INFINITY;
    nearest = s->scan->relax(lap_row(s, start), s->v, s->columns, 0, start, s->distance, s->from);
    while (s->row_of[j = lap_prefer_free(s, nearest)] != LAP_FREE) {
        int64_t offset;

        i = s->row_of[j];
        offset = lap_row(s, i)[j] - s->v[j] - nearest.value;
        lap_close_column(s, j, done_count++);
        nearest = s->scan->relax(lap_row(s, i), s->v, s->columns, offset, i, s->distance, s->from);
    }
    for (int64_t k = 0; k < done_count; k++)
        s->v[s->done[k]] = s->done_v[k] + (s->done_d[k] - nearest.value);
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
    s->free_count = lap_collect_free(s->column_of, s->rows, s->free_rows);
    for (int pass = 0; pass < LAP_ROW_PASSES && s->free_count > 0; pass++)
        lap_reduce_rows(s);
    s->free_column_count = lap_collect_free(s->row_of, s->columns, s->free_columns);
    for (int64_t k = 0; k < s->free_count; k++)
        lap_augment(s, s->free_rows[k]);
}

/* Writes columns and duals; the total may be too large for int64_t. */
static __int128 lap_finish(const lap_solver_t *s, themis_lap_i64_t *solution)
{
    __int128 total = 0;

    memcpy(solution->v, s->v, (size_t)s->columns * sizeof *s->v);
    for (int64_t i = 0; i < s->rows; i++) {
        int64_t j = s->column_of[i];

        solution->column[i] = (uint32_t)j;
        solution->u[i] = lap_row(s, i)[j] - s->v[j];
        total += lap_row(s, i)[j];
    }
    return total;
}

themis_status_t themis_lap_shape_check(size_t rows, size_t columns)
{
    if (rows > 0 && rows <= columns && columns < (size_t)INT32_MAX)
        return THEMIS_OK;
    themis_error("assignment: %zu rows and %zu columns, where 1 <= rows <= columns < 2^31 is needed", rows, columns);
    return THEMIS_INVALID;
}

static themis_status_t lap_cost_check(size_t rows, size_t columns, const int64_t *cost)
{
    for (size_t k = 0; k < rows * columns; k++) {
        if (cost[k] > THEMIS_LAP_MAX_I64 || cost[k] < -THEMIS_LAP_MAX_I64) {
            themis_error("assignment: cost %lld of row %zu, column %zu is beyond 2^56", (long long)cost[k], k / columns,
                         k % columns);
            return THEMIS_RANGE;
        }
    }
    return THEMIS_OK;
}

themis_status_t themis_lap_i64_solve(size_t rows, size_t columns, const int64_t *cost, themis_lap_i64_t *solution)
{
    lap_solver_t solver = {.rows = (int64_t)rows, .columns = (int64_t)columns, .cost = cost};
    themis_status_t status = themis_lap_shape_check(rows, columns);
    void *memory;
    __int128 total;

    if (status == THEMIS_OK)
        status = lap_cost_check(rows, columns, cost);
    if (status == THEMIS_OK)
        status = lap_solver_init(&solver, &memory);
    if (status != THEMIS_OK)
        return status;
    lap_run(&solver);
    total = lap_finish(&solver, solution);
    free(memory);
    if (total > INT64_MAX || total < INT64_MIN) {
        themis_error("assignment: the total does not fit into 64 bits");
        return THEMIS_RANGE;
    }
    solution->total = (int64_t)total;
    return THEMIS_OK;
}
