/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which slot aggregates which domain. The workload matrix W (domains x slots) is what a domain costs at a slot: for
 * topology the hop-bytes D.C plus those to the I/O servers, for locality the bytes that are there already, negated. The
 * assignment with the least sum is the placement; its certificate is checked every time.
 */
#include <stdlib.h>
#include <string.h>

#include "aggregation/link_loads.h"
#include "themis/lap.h"
#include "util/log.h"

typedef themis_aggregation_request_t request_t;

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

static themis_status_t request_check(const request_t *r)
{
    if (r->matrix->domains == r->domains->count && r->slots->count >= r->domains->count &&
        (!r->distances || r->distances->nodes == r->matrix->nodes) && r->slots->nodes == r->matrix->nodes &&
        r->placement <= THEMIS_AGGREGATION_AUTO && (!r->fabric || r->vertex))
        return THEMIS_OK;
    themis_error("plan: %u domains, matrix %u x %u, %u slots on %u nodes, distances of %u do not fit together",
                 r->domains->count, r->matrix->nodes, r->matrix->domains, r->slots->count, r->slots->nodes,
                 r->distances ? r->distances->nodes : r->matrix->nodes);
    return THEMIS_INVALID;
}

themis_status_t themis_aggregation_server_bytes(const request_t *r, uint64_t *bytes)
{
    uint32_t servers = r->domains->layout.servers;
    uint64_t *total = calloc((size_t)r->domains->count + 1, sizeof *total);
    uint64_t *share = calloc(servers, sizeof *share);

    for (size_t c = 0; total && c < r->matrix->cells; c++)
        total[r->matrix->cell[c].domain] += r->matrix->cell[c].bytes;
    for (uint32_t k = 0; total && share && k < r->domains->count; k++) {
        unsigned __int128 sum = 0;

        memset(share, 0, servers * sizeof *share);
        r->domains->ops->shares(r->domains, k, share);
        for (uint32_t s = 0; s < servers; s++)
            sum += share[s];
        for (uint32_t s = 0; s < servers; s++)
            bytes[(size_t)k * servers + s] = sum ? (uint64_t)((unsigned __int128)total[k] * share[s] / sum) : 0;
    }
    free(total);
    free(share);
    return total && share ? THEMIS_OK : THEMIS_NO_MEMORY;
}

/* The first slot of every node: slots of node n are first[n] .. first[n + 1] - 1. first has nodes + 1 entries. */
static void slots_index(const themis_aggregation_slots_t *slots, uint32_t *first)
{
    uint32_t at = 0;

    for (uint32_t n = 0; n <= slots->nodes; n++) {
        while (at < slots->count && slots->node[at] < n)
            at++;
        first[n] = at;
    }
}

/* ---- W ---- */

typedef struct workload {
    const request_t *request;
    const themis_aggregation_distances_t *distances;
    uint32_t *first;        /* slots of each node */
    uint64_t *server_bytes; /* [domains * servers], or NULL */
    int64_t *by_group;      /* [domains * groups] hop-bytes of a domain at a node that holds none of it */
    int64_t *cost;          /* [domains * slots] */
} workload_t;

/* Hop-bytes of every domain at every group of nodes. Cells come sorted by node, so a group's row stays in cache. */
static void workload_groups(workload_t *w)
{
    const themis_aggregation_matrix_t *matrix = w->request->matrix;
    const themis_aggregation_distances_t *d = w->distances;
    uint32_t domains = matrix->domains, groups = d->groups;
    uint64_t *held = calloc((size_t)domains * groups, sizeof *held); /* bytes of a domain in each group */

    if (!held) { /* works without, cell by cell */
        for (size_t c = 0; c < matrix->cells; c++) {
            const uint16_t *hop = d->hop + (size_t)d->group[matrix->cell[c].node] * groups;
            int64_t *out = w->by_group + (size_t)matrix->cell[c].domain * groups,
                    bytes = (int64_t)matrix->cell[c].bytes;

            for (uint32_t g = 0; g < groups; g++)
                out[g] += bytes * hop[g];
        }
        return;
    }
    for (size_t c = 0; c < matrix->cells; c++)
        held[(size_t)matrix->cell[c].domain * groups + d->group[matrix->cell[c].node]] += matrix->cell[c].bytes;
    for (uint32_t k = 0; k < domains; k++) {
        for (uint32_t from = 0; from < groups; from++) {
            int64_t *out = w->by_group + (size_t)k * groups, bytes = (int64_t)held[(size_t)k * groups + from];
            const uint16_t *hop = d->hop + (size_t)from * groups;

            for (uint32_t g = 0; bytes != 0 && g < groups; g++)
                out[g] += bytes * hop[g];
        }
    }
    free(held);
}

static int64_t server_cost(const workload_t *w, uint32_t domain, uint32_t node)
{
    uint32_t servers = w->request->domains->layout.servers;
    const uint16_t *hop = w->request->server_distance + (size_t)node * servers;
    const uint64_t *bytes = w->server_bytes + (size_t)domain * servers;
    int64_t sum = 0;

    for (uint32_t s = 0; s < servers; s++)
        sum += (int64_t)(bytes[s] * hop[s]);
    return sum;
}

/* What a domain costs at a node of its own: bytes held there move `local` instead of the way within the group. */
static void workload_topology(workload_t *w)
{
    const request_t *r = w->request;
    const themis_aggregation_distances_t *d = w->distances;
    uint32_t slots = r->slots->count;

    workload_groups(w);
    for (uint32_t k = 0; k < r->matrix->domains; k++) {
        int64_t *row = w->cost + (size_t)k * slots;

        int64_t to_servers = 0;

        for (uint32_t s = 0; s < slots; s++) {
            if (w->server_bytes && (s == 0 || r->slots->node[s] != r->slots->node[s - 1]))
                to_servers = server_cost(w, k, r->slots->node[s]);
            row[s] = w->by_group[(size_t)k * d->groups + d->group[r->slots->node[s]]] + to_servers;
        }
    }
    for (size_t c = 0; c < r->matrix->cells; c++) {
        const themis_aggregation_cell_t *cell = &r->matrix->cell[c];
        uint32_t g = d->group[cell->node];
        int64_t own = (int64_t)d->local[cell->node] - d->hop[(size_t)g * d->groups + g];

        for (uint32_t s = w->first[cell->node]; s < w->first[cell->node + 1]; s++)
            w->cost[(size_t)cell->domain * slots + s] += (int64_t)cell->bytes * own;
    }
}

static void workload_locality(workload_t *w)
{
    const request_t *r = w->request;

    for (size_t c = 0; c < r->matrix->cells; c++) {
        const themis_aggregation_cell_t *cell = &r->matrix->cell[c];

        for (uint32_t s = w->first[cell->node]; s < w->first[cell->node + 1]; s++)
            w->cost[(size_t)cell->domain * r->slots->count + s] = -(int64_t)cell->bytes;
    }
}

static void workload_drop(workload_t *w)
{
    free(w->first);
    free(w->server_bytes);
    free(w->by_group);
    free(w->cost);
}

/* W must fit into 64 bits before the assignment can say whether it admits it. */
static themis_status_t range_check(const request_t *r, const themis_aggregation_distances_t *d)
{
    uint64_t farthest = THEMIS_AGGREGATION_HOP, servers = r->server_distance ? r->domains->layout.servers : 0;
    unsigned __int128 bytes = 0;

    for (size_t i = 0; i < (size_t)d->groups * d->groups; i++)
        farthest = d->hop[i] > farthest ? d->hop[i] : farthest;
    for (size_t i = 0; i < (size_t)r->matrix->nodes * servers; i++)
        farthest = r->server_distance[i] > farthest ? r->server_distance[i] : farthest;
    for (size_t c = 0; c < r->matrix->cells; c++)
        bytes += r->matrix->cell[c].bytes;
    if (bytes * farthest * 2 < (unsigned __int128)INT64_MAX)
        return THEMIS_OK;
    themis_error("plan: bytes times hops do not fit into 64 bits");
    return THEMIS_RANGE;
}

static themis_status_t workload_make(const request_t *r, const themis_aggregation_distances_t *distances,
                                     themis_aggregation_placement_t placement, workload_t *w)
{
    size_t domains = r->domains->count;
    themis_status_t status = THEMIS_OK;

    *w = (workload_t){.request = r,
                      .distances = distances,
                      .first = malloc(((size_t)r->slots->nodes + 1) * sizeof(uint32_t)),
                      .by_group = calloc(domains * distances->groups, sizeof(int64_t)),
                      .cost = calloc(domains * r->slots->count, sizeof(int64_t))};
    if (placement == THEMIS_AGGREGATION_TOPOLOGY && r->server_distance)
        w->server_bytes = malloc(domains * r->domains->layout.servers * sizeof(uint64_t));
    if (!w->first || !w->by_group || !w->cost ||
        (placement == THEMIS_AGGREGATION_TOPOLOGY && r->server_distance && !w->server_bytes))
        status = THEMIS_NO_MEMORY;
    if (status == THEMIS_OK && w->server_bytes)
        status = themis_aggregation_server_bytes(r, w->server_bytes);
    if (status != THEMIS_OK) {
        workload_drop(w);
        return status;
    }
    slots_index(r->slots, w->first);
    if (placement == THEMIS_AGGREGATION_TOPOLOGY)
        workload_topology(w);
    else
        workload_locality(w);
    return THEMIS_OK;
}

/* ---- choice ---- */

/* Least sum of W; proved by the certificate. */
static themis_status_t assign(const workload_t *w, uint32_t *slot, bool *certified)
{
    size_t domains = w->request->domains->count, slots = w->request->slots->count;
    themis_lap_i64_t solution = {
        .column = slot, .u = malloc(domains * sizeof(int64_t)), .v = malloc(slots * sizeof(int64_t))};
    const char *reason = "";
    themis_status_t status = THEMIS_NO_MEMORY;

    if (solution.u && solution.v)
        status = themis_lap_i64_solve(domains, slots, w->cost, &solution);
    if (status == THEMIS_OK) {
        *certified = themis_lap_i64_certify(domains, slots, w->cost, &solution, &reason) == THEMIS_OK;
        if (!*certified)
            themis_warn("plan: the assignment is not proved optimal: %s", reason);
    }
    free(solution.u);
    free(solution.v);
    return status;
}

static themis_status_t choose(const request_t *r, const themis_aggregation_distances_t *distances,
                              themis_aggregation_placement_t placement, uint32_t *slot, bool *certified)
{
    workload_t w;
    themis_status_t status;

    *certified = false;
    if (r->keep || placement == THEMIS_AGGREGATION_DEFAULT) {
        for (uint32_t k = 0; k < r->domains->count; k++)
            slot[k] = r->keep ? r->keep[k] : k;
        return THEMIS_OK;
    }
    status = range_check(r, distances);
    if (status == THEMIS_OK)
        status = workload_make(r, distances, placement, &w);
    if (status != THEMIS_OK)
        return status;
    status = assign(&w, slot, certified);
    workload_drop(&w);
    return status;
}

/* Shuffle and server hop-bytes of a choice, straight from C and D. */
static themis_status_t choice_measure(const request_t *r, const themis_aggregation_distances_t *d,
                                      themis_aggregation_choice_t *choice)
{
    unsigned __int128 sum = 0;
    uint32_t servers = r->domains->layout.servers;
    themis_status_t status = THEMIS_OK;

    choice->moved_bytes = 0;
    for (size_t c = 0; c < r->matrix->cells; c++) {
        const themis_aggregation_cell_t *cell = &r->matrix->cell[c];
        uint32_t node = r->slots->node[choice->slot[cell->domain]];

        sum += (unsigned __int128)cell->bytes * themis_aggregation_distance(d, cell->node, node);
        choice->moved_bytes += cell->node == node ? 0 : cell->bytes;
    }
    choice->hop_bytes = (double)sum / THEMIS_AGGREGATION_HOP;
    if (r->server_distance) {
        uint64_t *bytes = malloc((size_t)r->domains->count * servers * sizeof *bytes);

        status = bytes ? themis_aggregation_server_bytes(r, bytes) : THEMIS_NO_MEMORY;
        sum = 0;
        for (size_t i = 0; status == THEMIS_OK && i < (size_t)r->domains->count * servers; i++) {
            uint32_t node = r->slots->node[choice->slot[i / servers]];

            sum += (unsigned __int128)bytes[i] * r->server_distance[(size_t)node * servers + i % servers];
        }
        choice->server_hop_bytes = (double)sum / THEMIS_AGGREGATION_HOP;
        free(bytes);
    }
    if (status == THEMIS_OK)
        status = themis_aggregation_load_most(r, choice->slot, &choice->max_link_load);
    return status;
}

static themis_status_t choice_make(const request_t *r, const themis_aggregation_distances_t *d,
                                   themis_aggregation_placement_t placement, themis_aggregation_choice_t *choice,
                                   bool *certified)
{
    themis_status_t status;

    if (!choice->slot)
        choice->slot = malloc(((size_t)r->domains->count + 1) * sizeof *choice->slot);
    if (!choice->slot)
        return THEMIS_NO_MEMORY;
    status = choose(r, d, placement, choice->slot, certified);
    return status == THEMIS_OK ? choice_measure(r, d, choice) : status;
}

static double choice_cost(const themis_aggregation_choice_t *choice)
{
    return choice->hop_bytes + choice->server_hop_bytes;
}

/*
 * Whether the placement by topology is worth it: hop-bytes say nothing about where the bytes meet, and for patterns
 * that touch everything alike the least sum can put all aggregators behind one cable.
 */
static bool choice_pays(const themis_aggregation_choice_t *chosen, const themis_aggregation_choice_t *otp)
{
    double saved = 1 - choice_cost(chosen) / choice_cost(otp);
    double raised = (double)chosen->max_link_load / (double)otp->max_link_load - 1;

    return choice_cost(otp) > 0 && saved >= 0.01 && !(otp->max_link_load > 0 && raised > saved);
}

static themis_status_t plan_fill(const request_t *r, const themis_aggregation_distances_t *d,
                                 themis_aggregation_plan_t *plan)
{
    bool automatic = r->placement == THEMIS_AGGREGATION_AUTO, unused;
    request_t free_request = *r;
    themis_status_t status;

    free_request.keep = NULL;
    plan->placement = automatic ? THEMIS_AGGREGATION_TOPOLOGY : r->placement;
    status = choice_make(&free_request, d, THEMIS_AGGREGATION_DEFAULT, &plan->otp, &unused);
    if (status == THEMIS_OK)
        status = choice_make(r, d, plan->placement, &plan->chosen, &plan->certified);
    if (status == THEMIS_OK && automatic && !r->keep && !choice_pays(&plan->chosen, &plan->otp)) {
        plan->placement = THEMIS_AGGREGATION_DEFAULT;
        status = choice_make(r, d, THEMIS_AGGREGATION_DEFAULT, &plan->chosen, &plan->certified);
    }
    for (uint32_t k = 0; status == THEMIS_OK && k < plan->domains; k++)
        plan->aggregator[k] = r->slots->rank[plan->chosen.slot[k]];
    return status;
}

themis_status_t themis_aggregation_plan_create(const request_t *request, themis_aggregation_plan_t **plan)
{
    themis_aggregation_distances_t *flat = NULL;
    themis_aggregation_plan_t *p;
    themis_status_t status = request_check(request);

    if (status != THEMIS_OK)
        return status;
    p = calloc(1, sizeof *p);
    if (p) {
        p->domains = request->domains->count;
        p->aggregator = malloc((size_t)p->domains * sizeof *p->aggregator + 1);
    }
    status = p && p->aggregator ? THEMIS_OK : THEMIS_NO_MEMORY;
    if (status == THEMIS_OK && !request->distances)
        status = themis_aggregation_distances_flat(request->matrix->nodes, &flat);
    if (status == THEMIS_OK)
        status = plan_fill(request, request->distances ? request->distances : flat, p);
    themis_aggregation_distances_destroy(flat);
    if (status == THEMIS_OK)
        *plan = p;
    else
        themis_aggregation_plan_destroy(p);
    return status;
}

void themis_aggregation_plan_destroy(themis_aggregation_plan_t *plan)
{
    if (!plan)
        return;
    free(plan->aggregator);
    free(plan->chosen.slot);
    free(plan->otp.slot);
    free(plan);
}
