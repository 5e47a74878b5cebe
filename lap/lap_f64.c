/* SPDX-License-Identifier: BSD-3-Clause */
/* Assignment with costs in double precision. */
#include <math.h>
typedef double lap_scalar_t;
typedef double lap_wide_t;
#define LAP_INFINITY ((double)INFINITY)
#define LAP_DONE_V (-(double)INFINITY)

#include "lap/jv.h"
#include "lap/certify.h"
#include "util/log.h"

static themis_status_t lap_f64_admit(size_t rows, size_t columns, const double *cost)
{
    themis_status_t status = themis_lap_shape_check(rows, columns);

    if (status != THEMIS_OK)
        return status;
    if (!lap_scans()->outside(cost, rows * columns, THEMIS_LAP_MAX_F64))
        return THEMIS_OK;
    for (size_t k = 0; k < rows * columns; k++) {
        if (!(fabs(cost[k]) <= THEMIS_LAP_MAX_F64)) {
            themis_error("assignment: cost %g of row %zu, column %zu is not a number up to 1e300", cost[k], k / columns,
                         k % columns);
            return isnan(cost[k]) ? THEMIS_INVALID : THEMIS_RANGE;
        }
    }
    return THEMIS_OK;
}

themis_status_t themis_lap_f64_solve(size_t rows, size_t columns, const double *cost, themis_lap_f64_t *solution)
{
    lap_result_t result = {.column = solution->column, .u = solution->u, .v = solution->v};
    themis_status_t status = lap_f64_admit(rows, columns, cost);

    if (status == THEMIS_OK)
        status = lap_solve(rows, columns, cost, &result);
    if (status == THEMIS_OK)
        solution->total = result.total;
    return status;
}

themis_status_t themis_lap_f64_certify(size_t rows, size_t columns, const double *cost,
                                       const themis_lap_f64_t *solution, const char **reason)
{
    lap_claim_t claim = {.rows = rows,
                         .columns = columns,
                         .cost = cost,
                         .u = solution->u,
                         .v = solution->v,
                         .column = solution->column,
                         .total = solution->total};
    themis_status_t status = themis_lap_shape_check(rows, columns);
    double largest = 0;

    if (status != THEMIS_OK)
        return status;
    for (size_t k = 0; k < rows * columns; k++)
        largest = fmax(largest, fabs(cost[k]));
    claim.tolerance = 1e-14 * largest * 10;
    claim.sum_tolerance = 1e-14 * largest * ((double)(rows + columns) + 8);
    return lap_certify(&claim, reason);
}
