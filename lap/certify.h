/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The optimality certificate for one scalar type; see themis/lap.h for the conditions. Included by lap_i64.c and
 * lap_f64.c with lap_scalar_t and lap_wide_t defined. tolerance is the slack for one condition, sum_tolerance for sums.
 */
#include <stdlib.h>

typedef struct lap_claim {
    size_t rows, columns;
    const lap_scalar_t *cost, *u, *v;
    const uint32_t *column;
    lap_wide_t total, tolerance, sum_tolerance;
} lap_claim_t;

static const char *lap_certify_feasible(const lap_claim_t *c)
{
    for (size_t i = 0; i < c->rows; i++)
        for (size_t j = 0; j < c->columns; j++)
            if ((lap_wide_t)c->u[i] + c->v[j] > c->cost[i * c->columns + j] + c->tolerance)
                return "the dual variables are not feasible";
    return NULL;
}

static const char *lap_certify_slack(const lap_claim_t *c, const unsigned char *used)
{
    for (size_t i = 0; i < c->rows; i++) {
        size_t j = c->column[i];

        if ((lap_wide_t)c->u[i] + c->v[j] < c->cost[i * c->columns + j] - c->tolerance)
            return "complementary slackness fails for a row";
    }
    for (size_t j = 0; j < c->columns && c->rows < c->columns; j++)
        if (c->v[j] > c->tolerance || (!used[j] && c->v[j] < -c->tolerance))
            return "complementary slackness fails for a column";
    return NULL;
}

static const char *lap_certify_sums(const lap_claim_t *c)
{
    lap_wide_t primal = 0, dual = 0;

    for (size_t i = 0; i < c->rows; i++) {
        primal += c->cost[i * c->columns + c->column[i]];
        dual += c->u[i];
    }
    for (size_t j = 0; j < c->columns; j++)
        dual += c->v[j];
    if (primal > c->total + c->sum_tolerance || primal < c->total - c->sum_tolerance)
        return "the total is not the sum of the chosen costs";
    if (primal > dual + c->sum_tolerance || primal < dual - c->sum_tolerance)
        return "primal and dual values differ";
    return NULL;
}

static themis_status_t lap_certify(const lap_claim_t *c, const char **reason)
{
    const char *unwanted;
    unsigned char *used = calloc(c->columns, 1);
    themis_status_t status;

    if (!used)
        return THEMIS_NO_MEMORY;
    if (!reason)
        reason = &unwanted;
    *reason = NULL;
    status = themis_lap_columns_check(c->rows, c->columns, c->column, used, reason);
    if (status == THEMIS_OK && ((*reason = lap_certify_feasible(c)) || (*reason = lap_certify_slack(c, used)) ||
                                (*reason = lap_certify_sums(c))))
        status = THEMIS_INVALID;
    free(used);
    return status;
}
