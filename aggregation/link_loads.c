/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads of the fabric's links. For each destination the flows of all sources are pushed together along the shortest
 * paths towards it, farthest vertices first, and divided among the next hops in proportion to their cables.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aggregation/fabric.h"
#include "aggregation/link_loads.h"

typedef struct router {
    const themis_aggregation_problem_t *problem;
    const uint32_t *candidate;
    uint16_t *hops;         /* [vertices] */
    uint32_t *order;        /* [vertices] */
    double *flow;           /* [vertices] bytes not yet passed on */
    uint64_t *server_bytes; /* [domains * servers], with servers in the fabric */
    uint32_t *cell;         /* cells sorted by the node that aggregates them */
    uint32_t *cell_start;   /* [nodes + 1] */
    double *load;
} router_t;

static uint32_t aggregator_node(const router_t *r, uint32_t domain)
{
    return r->problem->candidates->node[r->candidate[domain]];
}

/* A vertex passes its flow on to the next hops. */
static void flow_push(router_t *r, uint32_t v, uint32_t to)
{
    const themis_aggregation_fabric_t *f = r->problem->fabric;
    double width = 0;

    for (uint32_t k = f->start[v]; k < f->start[v + 1]; k++) {
        uint32_t w = f->neighbor[k];

        if (r->hops[w] + 1 == r->hops[v] && (w == to || f->vertex[w].is_switch))
            width += f->link[f->neighbor_link[k]].width;
    }
    for (uint32_t k = f->start[v]; k < f->start[v + 1]; k++) {
        uint32_t w = f->neighbor[k], link = f->neighbor_link[k];

        if (r->hops[w] + 1 != r->hops[v] || (w != to && !f->vertex[w].is_switch))
            continue;
        r->load[2 * (size_t)link + (v > w)] += r->flow[v] / width;
        r->flow[w] += r->flow[v] * f->link[link].width / width;
    }
    r->flow[v] = 0;
}

static void flows_route(router_t *r, uint32_t to)
{
    uint32_t reached = themis_aggregation_fabric_search(r->problem->fabric, to, r->hops, r->order);

    for (uint32_t k = reached; k-- > 1;)
        if (r->flow[r->order[k]] > 0)
            flow_push(r, r->order[k], to);
    r->flow[to] = 0;
}

/* Shuffle: all bytes of the domains that `node` aggregates come to it. */
static void route_to_node(router_t *r, uint32_t node)
{
    const uint32_t *vertex = r->problem->vertex;
    bool any = false;

    for (uint32_t i = r->cell_start[node]; i < r->cell_start[node + 1]; i++) {
        const themis_aggregation_cell_t *cell = &r->problem->matrix->cell[r->cell[i]];

        if (cell->node != node) {
            r->flow[vertex[cell->node]] += (double)cell->bytes;
            any = true;
        }
    }
    if (any)
        flows_route(r, vertex[node]);
}

static void route_to_server(router_t *r, uint32_t server)
{
    uint32_t servers = r->problem->domains->layout.servers;

    for (uint32_t k = 0; k < r->problem->domains->count; k++)
        r->flow[r->problem->vertex[aggregator_node(r, k)]] += (double)r->server_bytes[(size_t)k * servers + server];
    flows_route(r, r->problem->server_vertex[server]);
}

/* Counting sort of the cells by the node that aggregates their domain. */
static void cells_sort(router_t *r)
{
    const themis_aggregation_matrix_t *m = r->problem->matrix;

    for (size_t c = 0; c < m->cells; c++)
        r->cell_start[aggregator_node(r, m->cell[c].domain) + 1]++;
    for (uint32_t n = 0; n < m->nodes; n++)
        r->cell_start[n + 1] += r->cell_start[n];
    for (size_t c = 0; c < m->cells; c++)
        r->cell[r->cell_start[aggregator_node(r, m->cell[c].domain)]++] = (uint32_t)c;
    for (uint32_t n = m->nodes; n > 0; n--)
        r->cell_start[n] = r->cell_start[n - 1];
    r->cell_start[0] = 0;
}

static themis_status_t router_init(router_t *r)
{
    const themis_aggregation_problem_t *p = r->problem;
    size_t vertices = (size_t)p->fabric->vertices + 1;

    r->hops = malloc(vertices * sizeof *r->hops);
    r->order = malloc(vertices * sizeof *r->order);
    r->flow = calloc(vertices, sizeof *r->flow);
    r->cell = malloc((p->matrix->cells + 1) * sizeof *r->cell);
    r->cell_start = calloc((size_t)p->matrix->nodes + 2, sizeof *r->cell_start);
    if (!r->hops || !r->order || !r->flow || !r->cell || !r->cell_start)
        return THEMIS_NO_MEMORY;
    if (!p->server_vertex)
        return THEMIS_OK;
    r->server_bytes = malloc((size_t)p->domains->count * p->domains->layout.servers * sizeof *r->server_bytes);
    return r->server_bytes ? themis_aggregation_matrix_server_bytes(p->matrix, p->domains, r->server_bytes)
                           : THEMIS_NO_MEMORY;
}

themis_status_t themis_aggregation_link_loads(const themis_aggregation_problem_t *problem, const uint32_t *candidate,
                                              double *load)
{
    router_t r = {.problem = problem, .candidate = candidate, .load = load};
    themis_status_t status = router_init(&r);

    if (status == THEMIS_OK) {
        memset(load, 0, 2 * (size_t)problem->fabric->links * sizeof *load);
        cells_sort(&r);
        for (uint32_t n = 0; n < problem->matrix->nodes; n++)
            route_to_node(&r, n);
        for (uint32_t s = 0; problem->server_vertex && s < problem->domains->layout.servers; s++)
            route_to_server(&r, s);
    }
    free(r.hops);
    free(r.order);
    free(r.flow);
    free(r.cell);
    free(r.cell_start);
    free(r.server_bytes);
    return status;
}

/* Without a fabric only the nodes' own ports are known. */
static themis_status_t max_port_load(const themis_aggregation_problem_t *r, const uint32_t *candidate, uint64_t *max)
{
    uint64_t *in = calloc((size_t)r->matrix->nodes + 1, sizeof *in);
    uint64_t *out = calloc((size_t)r->matrix->nodes + 1, sizeof *out);

    *max = 0;
    for (size_t c = 0; in && out && c < r->matrix->cells; c++) {
        const themis_aggregation_cell_t *cell = &r->matrix->cell[c];
        uint32_t node = r->candidates->node[candidate[cell->domain]];

        in[node] += node == cell->node ? 0 : cell->bytes;
        out[cell->node] += node == cell->node ? 0 : cell->bytes;
        *max = in[node] > *max ? in[node] : *max;
        *max = out[cell->node] > *max ? out[cell->node] : *max;
    }
    free(in);
    free(out);
    return in && out ? THEMIS_OK : THEMIS_NO_MEMORY;
}

themis_status_t themis_aggregation_link_loads_max(const themis_aggregation_problem_t *problem,
                                                  const uint32_t *candidate, uint64_t *max)
{
    double *load, busiest = 0;
    themis_status_t status;

    if (!problem->fabric)
        return max_port_load(problem, candidate, max);
    load = malloc((2 * (size_t)problem->fabric->links + 1) * sizeof *load);
    if (!load)
        return THEMIS_NO_MEMORY;
    status = themis_aggregation_link_loads(problem, candidate, load);
    for (size_t i = 0; status == THEMIS_OK && i < 2 * (size_t)problem->fabric->links; i++)
        busiest = fmax(busiest, load[i]);
    if (status == THEMIS_OK)
        *max = (uint64_t)llround(busiest);
    free(load);
    return status;
}
