/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Linear assignment: each row is assigned a column of its own so that the sum of the chosen costs is minimal. Dense
 * cost matrices, rows <= columns, row-major. Method: Jonker and Volgenant, "A shortest augmenting path algorithm for
 * dense and sparse linear assignment problems", Computing 38 (1987): column reduction and reduction transfer (square
 * matrices only, because they need every column to be assigned in the end), augmenting row reduction, then shortest
 * augmenting paths. O(rows^2 * columns) time, O(columns) memory beyond the matrix.
 *
 * The solution carries the dual variables u (rows) and v (columns), which prove that it is optimal:
 *     u[i] + v[j] <= cost[i][j] for all i, j;   v[j] <= 0 and v[j] == 0 where no row has column j, if rows < columns;
 *     u[i] + v[j] == cost[i][j] where row i has column j;   sum of u + sum of v == sum of the chosen costs.
 *
 * The result is a function of the matrix alone: the same on every machine and every run. Nothing is kept between calls;
 * calls from several threads are independent. Functions do not block.
 */
#ifndef THEMIS_LAP_H
#define THEMIS_LAP_H

#include <stddef.h>
#include <stdint.h>

#include "themis/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define THEMIS_LAP_EXPORT __attribute__((visibility("default")))

/* The largest accepted magnitude of a cost. Duals and path lengths then stay below 2^60 for any size of matrix.
 */
#define THEMIS_LAP_MAX_I64 (INT64_C(1) << 56)

/* The arrays belong to the caller and are written in full on success; total is the sum of the chosen costs. */
typedef struct themis_lap_i64 {
    uint32_t *column; /* [rows] the column of each row */
    int64_t *u;       /* [rows] dual variables */
    int64_t *v;       /* [columns] dual variables */
    int64_t total;
} themis_lap_i64_t;

/*
 * Solves the problem of cost[rows * columns]. Errors: INVALID (no rows, rows > columns, 2^31 - 1 columns or
 * more), RANGE (a cost beyond THEMIS_LAP_MAX_I64, or a total that int64_t cannot hold), NO_MEMORY. On an
 * error the solution's arrays may have been written, its total not.
 */
THEMIS_LAP_EXPORT themis_status_t themis_lap_i64_solve(size_t rows, size_t columns, const int64_t *cost,
                                                       themis_lap_i64_t *solution);

/*
 * Checks the four conditions above, and that no column is used twice. OK: the solution is optimal and *reason is
 * NULL. INVALID: it is not, and *reason (static text; pass NULL if not wanted) says which condition fails. NO_MEMORY is
 * possible. Time O(rows * columns).
 */
THEMIS_LAP_EXPORT themis_status_t themis_lap_i64_certify(size_t rows, size_t columns, const int64_t *cost,
                                                         const themis_lap_i64_t *solution, const char **reason);

#ifdef __cplusplus
}
#endif
#endif
