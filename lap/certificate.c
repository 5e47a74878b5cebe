/* SPDX-License-Identifier: BSD-3-Clause */
/* The optimality certificate; see themis/lap.h for the conditions. */
#include <stdlib.h>

#include "lap/jonker_volgenant.h"

typedef struct claim {
    size_t rows, columns;
    const int64_t *cost;
    const themis_lap_i64_t *solution;
} claim_t;

/* used[columns] are zero at first. */
static const char *columns_fault(const claim_t *c, unsigned char *used)
{
    for (size_t i = 0; i < c->rows; i++) {
        if (c->solution->column[i] >= c->columns)
            return "a row has no column";
        if (used[c->solution->column[i]]++)
            return "a column has two rows";
    }
    return NULL;
}

static const char *feasibility_fault(const claim_t *c)
{
    for (size_t i = 0; i < c->rows; i++)
        for (size_t j = 0; j < c->columns; j++)
            if ((__int128)c->solution->u[i] + c->solution->v[j] > c->cost[i * c->columns + j])
                return "the dual variables are not feasible";
    return NULL;
}

static const char *slackness_fault(const claim_t *c, const unsigned char *used)
{
    const int64_t *v = c->solution->v;

    for (size_t i = 0; i < c->rows; i++) {
        size_t j = c->solution->column[i];

        if ((__int128)c->solution->u[i] + v[j] < c->cost[i * c->columns + j])
            return "complementary slackness fails for a row";
    }
    for (size_t j = 0; j < c->columns && c->rows < c->columns; j++)
        if (v[j] > 0 || (!used[j] && v[j] < 0))
            return "complementary slackness fails for a column";
    return NULL;
}

static const char *sum_fault(const claim_t *c)
{
    __int128 primal = 0, dual = 0;

    for (size_t i = 0; i < c->rows; i++) {
        primal += c->cost[i * c->columns + c->solution->column[i]];
        dual += c->solution->u[i];
    }
    for (size_t j = 0; j < c->columns; j++)
        dual += c->solution->v[j];
    if (primal != c->solution->total)
        return "the total is not the sum of the chosen costs";
    return primal != dual ? "primal and dual values differ" : NULL;
}

themis_status_t themis_lap_i64_certify(size_t rows, size_t columns, const int64_t *cost,
                                       const themis_lap_i64_t *solution, const char **reason)
{
    claim_t claim = {rows, columns, cost, solution};
    themis_status_t status = themis_lap_shape_check(rows, columns);
    const char *fault;
    unsigned char *used;

    if (status != THEMIS_OK)
        return status;
    used = calloc(columns, 1);
    if (!used)
        return THEMIS_NO_MEMORY;
    fault = columns_fault(&claim, used);
    fault = fault ? fault : feasibility_fault(&claim);
    fault = fault ? fault : slackness_fault(&claim, used);
    fault = fault ? fault : sum_fault(&claim);
    free(used);
    if (reason)
        *reason = fault;
    return fault ? THEMIS_INVALID : THEMIS_OK;
}
