/* SPDX-License-Identifier: BSD-3-Clause */
/* Assignment with integer costs: exact. */
typedef __INT64_TYPE__ lap_scalar_t;
typedef __int128 lap_wide_t;
#define LAP_INFINITY (INT64_C(1) << 61)
#define LAP_DONE_V (-(INT64_C(1) << 62))

#include "lap/jv.h"
#include "lap/certify.h"
#include "util/log.h"

static themis_status_t lap_i64_admit(size_t rows, size_t columns, const int64_t *cost)
{
    themis_status_t status = themis_lap_shape_check(rows, columns);

    if (status != THEMIS_OK)
        return status;
    if (!lap_scans()->outside(cost, rows * columns, THEMIS_LAP_MAX_I64))
        return THEMIS_OK;
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
    lap_result_t result = {.column = solution->column, .u = solution->u, .v = solution->v};
    themis_status_t status = lap_i64_admit(rows, columns, cost);

    if (status == THEMIS_OK)
        status = lap_solve(rows, columns, cost, &result);
    if (status != THEMIS_OK)
        return status;
    if (result.total > INT64_MAX || result.total < INT64_MIN) {
        themis_error("assignment: the total does not fit into 64 bits");
        return THEMIS_RANGE;
    }
    solution->total = (int64_t)result.total;
    return THEMIS_OK;
}

themis_status_t themis_lap_i64_certify(size_t rows, size_t columns, const int64_t *cost,
                                       const themis_lap_i64_t *solution, const char **reason)
{
    lap_claim_t claim = {.rows = rows,
                         .columns = columns,
                         .cost = cost,
                         .u = solution->u,
                         .v = solution->v,
                         .column = solution->column,
                         .total = solution->total};
    themis_status_t status = themis_lap_shape_check(rows, columns);

    return status == THEMIS_OK ? lap_certify(&claim, reason) : status;
}
