/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which candidate aggregates which domain: the assignment with the smallest sum of workloads, whose certificate is
 * checked every time; and what a plan may be reused for.
 */
#include <stdlib.h>
#include <string.h>

#include "aggregation/link_loads.h"
#include "aggregation/workload.h"
#include "themis/lap.h"
#include "util/log.h"

typedef themis_aggregation_problem_t problem_t;

static const char *const names[] = {"default", "locality", "topology", "auto"};

const char *themis_aggregation_placement_name(themis_aggregation_placement_t placement)
{
    return names[placement <= THEMIS_AGGREGATION_AUTO ? placement : THEMIS_AGGREGATION_AUTO];
}

themis_status_t themis_aggregation_placement_parse(const char *name, themis_aggregation_placement_t *placement)
{
    for (int p = 0; p <= THEMIS_AGGREGATION_AUTO; p++) {
        if (strcmp(name, names[p]) == 0) {
            *placement = (themis_aggregation_placement_t)p;
            return THEMIS_OK;
        }
    }
    return THEMIS_INVALID;
}

static themis_status_t problem_check(const problem_t *p)
{
    if (p->matrix->domains == p->domains->count && p->candidates->count >= p->domains->count &&
        (!p->distances || p->distances->nodes == p->matrix->nodes) && p->candidates->nodes == p->matrix->nodes &&
        p->placement <= THEMIS_AGGREGATION_AUTO && (!p->fabric || p->vertex))
        return THEMIS_OK;
    themis_error("plan: %u domains, matrix %u x %u, %u candidates on %u nodes, distances of %u do not fit together",
                 p->domains->count, p->matrix->nodes, p->matrix->domains, p->candidates->count, p->candidates->nodes,
                 p->distances ? p->distances->nodes : p->matrix->nodes);
    return THEMIS_INVALID;
}

/* The assignment with the smallest sum of W, proved by its certificate. */
static themis_status_t candidates_assign(const problem_t *p, themis_aggregation_placement_t placement,
                                         uint32_t *candidate, bool *certified)
{
    size_t domains = p->domains->count, candidates = p->candidates->count;
    themis_lap_i64_t solution = {
        .column = candidate, .u = malloc(domains * sizeof(int64_t)), .v = malloc(candidates * sizeof(int64_t))};
    int64_t *cost = NULL;
    const char *reason = "";
    themis_status_t status = THEMIS_NO_MEMORY;

    if (solution.u && solution.v)
        status = themis_aggregation_workload_create(p, placement, &cost);
    if (status == THEMIS_OK)
        status = themis_lap_i64_solve(domains, candidates, cost, &solution);
    if (status == THEMIS_OK) {
        *certified = themis_lap_i64_certify(domains, candidates, cost, &solution, &reason) == THEMIS_OK;
        if (!*certified)
            themis_warn("plan: the assignment is not proved optimal: %s", reason);
    }
    free(solution.u);
    free(solution.v);
    free(cost);
    return status;
}

/* Computes the costs of a choice from C and D. */
static themis_status_t choice_measure(const problem_t *p, themis_aggregation_choice_t *choice)
{
    unsigned __int128 sum = 0;
    uint32_t servers = p->domains->layout.servers;
    themis_status_t status = THEMIS_OK;

    choice->moved_bytes = 0;
    for (size_t c = 0; c < p->matrix->cells; c++) {
        const themis_aggregation_cell_t *cell = &p->matrix->cell[c];
        uint32_t node = p->candidates->node[choice->candidate[cell->domain]];

        sum += (unsigned __int128)cell->bytes * themis_aggregation_distance(p->distances, cell->node, node);
        choice->moved_bytes += cell->node == node ? 0 : cell->bytes;
    }
    choice->hop_bytes = (double)sum / THEMIS_AGGREGATION_HOP;
    if (p->server_distance) {
        uint64_t *bytes = malloc((size_t)p->domains->count * servers * sizeof *bytes);

        status = bytes ? themis_aggregation_matrix_server_bytes(p->matrix, p->domains, bytes) : THEMIS_NO_MEMORY;
        sum = 0;
        for (size_t i = 0; status == THEMIS_OK && i < (size_t)p->domains->count * servers; i++) {
            uint32_t node = p->candidates->node[choice->candidate[i / servers]];

            sum += (unsigned __int128)bytes[i] * p->server_distance[(size_t)node * servers + i % servers];
        }
        choice->server_hop_bytes = (double)sum / THEMIS_AGGREGATION_HOP;
        free(bytes);
    }
    if (status == THEMIS_OK)
        status = themis_aggregation_link_loads_max(p, choice->candidate, &choice->max_link_load);
    return status;
}

static themis_status_t choice_make(const problem_t *p, themis_aggregation_placement_t placement,
                                   themis_aggregation_choice_t *choice, bool *certified)
{
    themis_status_t status = THEMIS_OK;

    if (!choice->candidate)
        choice->candidate = malloc(((size_t)p->domains->count + 1) * sizeof *choice->candidate);
    if (!choice->candidate)
        return THEMIS_NO_MEMORY;
    *certified = false;
    if (!p->keep && placement != THEMIS_AGGREGATION_DEFAULT)
        status = candidates_assign(p, placement, choice->candidate, certified);
    else
        for (uint32_t k = 0; k < p->domains->count; k++)
            choice->candidate[k] = p->keep ? p->keep[k] : k;
    return status == THEMIS_OK ? choice_measure(p, choice) : status;
}

static double choice_cost(const themis_aggregation_choice_t *choice)
{
    return choice->hop_bytes + choice->server_hop_bytes;
}

/*
 * Whether the topology placement is worth it: hop-bytes do not show where the bytes meet, and for patterns in which
 * every node accesses every domain alike, the smallest sum can put all aggregators behind one cable.
 */
static bool choice_pays(const themis_aggregation_choice_t *chosen, const themis_aggregation_choice_t *otp)
{
    double saved = 1 - choice_cost(chosen) / choice_cost(otp);
    double raised = (double)chosen->max_link_load / (double)otp->max_link_load - 1;

    return choice_cost(otp) > 0 && saved >= 0.01 && !(otp->max_link_load > 0 && raised > saved);
}

static themis_status_t plan_fill(const problem_t *p, themis_aggregation_plan_t *plan)
{
    bool automatic = p->placement == THEMIS_AGGREGATION_AUTO, unused;
    problem_t without_keep = *p;
    themis_status_t status;

    without_keep.keep = NULL;
    plan->placement = automatic ? THEMIS_AGGREGATION_TOPOLOGY : p->placement;
    status = choice_make(&without_keep, THEMIS_AGGREGATION_DEFAULT, &plan->otp, &unused);
    if (status == THEMIS_OK)
        status = choice_make(p, plan->placement, &plan->chosen, &plan->certified);
    if (status == THEMIS_OK && automatic && !p->keep && !choice_pays(&plan->chosen, &plan->otp)) {
        plan->placement = THEMIS_AGGREGATION_DEFAULT;
        status = choice_make(p, THEMIS_AGGREGATION_DEFAULT, &plan->chosen, &plan->certified);
    }
    for (uint32_t k = 0; status == THEMIS_OK && k < plan->domains; k++)
        plan->aggregator[k] = p->candidates->rank[plan->chosen.candidate[k]];
    return status;
}

themis_status_t themis_aggregation_plan_create(const problem_t *problem, themis_aggregation_plan_t **plan)
{
    problem_t p = *problem;
    themis_aggregation_distances_t *flat = NULL;
    themis_aggregation_plan_t *made;
    themis_status_t status = problem_check(problem);

    if (status != THEMIS_OK)
        return status;
    made = calloc(1, sizeof *made);
    if (made) {
        made->domains = p.domains->count;
        made->aggregator = malloc((size_t)made->domains * sizeof *made->aggregator + 1);
    }
    status = made && made->aggregator ? THEMIS_OK : THEMIS_NO_MEMORY;
    if (status == THEMIS_OK && !p.distances) {
        status = themis_aggregation_distances_flat(p.matrix->nodes, &flat);
        p.distances = flat;
    }
    if (status == THEMIS_OK)
        status = plan_fill(&p, made);
    themis_aggregation_distances_destroy(flat);
    if (status == THEMIS_OK)
        *plan = made;
    else
        themis_aggregation_plan_destroy(made);
    return status;
}

void themis_aggregation_plan_destroy(themis_aggregation_plan_t *plan)
{
    if (!plan)
        return;
    free(plan->aggregator);
    free(plan->chosen.candidate);
    free(plan->otp.candidate);
    free(plan);
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

themis_aggregation_plan_key_t themis_aggregation_plan_key(const themis_aggregation_domains_t *domains,
                                                          themis_aggregation_placement_t placement, uint64_t pattern)
{
    uint64_t row = domains->layout.servers, period;

    if (domains->method == THEMIS_AGGREGATION_STATIC_CYCLIC)
        row = row / common_divisor(row, domains->count) * domains->count;
    period = row * domains->layout.stripe_size;
    return (themis_aggregation_plan_key_t){.pattern = pattern,
                                           .length = domains->last - domains->first,
                                           .phase = domains->first % period,
                                           .count = domains->count,
                                           .method = domains->method,
                                           .placement = placement};
}
