/* SPDX-License-Identifier: BSD-3-Clause */
#include "aggregation/workload.h"

#include <stdlib.h>
#include <string.h>

#include "util/log.h"

typedef themis_aggregation_problem_t problem_t;

/* W must fit into 64 bits. */
static themis_status_t range_check(const problem_t *p)
{
    const themis_aggregation_distances_t *d = p->distances;
    uint64_t farthest = THEMIS_AGGREGATION_HOP, servers = p->server_distance ? p->domains->layout.servers : 0;
    unsigned __int128 bytes = 0;

    for (size_t i = 0; i < (size_t)d->groups * d->groups; i++)
        farthest = d->hop[i] > farthest ? d->hop[i] : farthest;
    for (size_t i = 0; i < (size_t)p->matrix->nodes * servers; i++)
        farthest = p->server_distance[i] > farthest ? p->server_distance[i] : farthest;
    for (size_t c = 0; c < p->matrix->cells; c++)
        bytes += p->matrix->cell[c].bytes;
    if (bytes * farthest * 2 < (unsigned __int128)INT64_MAX)
        return THEMIS_OK;
    themis_error("plan: bytes times hops do not fit into 64 bits");
    return THEMIS_RANGE;
}

/* Hop-bytes of a domain at each group of nodes, were all its bytes on other nodes. held[groups]: its bytes. */
static void group_costs(const themis_aggregation_distances_t *d, const uint64_t *held, int64_t *cost)
{
    memset(cost, 0, d->groups * sizeof *cost);
    for (uint32_t from = 0; from < d->groups; from++) {
        const uint16_t *hop = d->hop + (size_t)from * d->groups;
        int64_t bytes = (int64_t)held[from];

        for (uint32_t g = 0; bytes != 0 && g < d->groups; g++)
            cost[g] += bytes * hop[g];
    }
}

static themis_status_t shuffle_add(const problem_t *p, int64_t *cost)
{
    const themis_aggregation_distances_t *d = p->distances;
    const themis_aggregation_matrix_t *m = p->matrix;
    uint32_t candidates = p->candidates->count;
    uint64_t *held = calloc((size_t)m->domains * d->groups, sizeof *held); /* bytes of a domain in each group */
    int64_t *by_group = malloc(d->groups * sizeof *by_group);

    if (held && by_group) {
        for (size_t c = 0; c < m->cells; c++)
            held[(size_t)m->cell[c].domain * d->groups + d->group[m->cell[c].node]] += m->cell[c].bytes;
        for (uint32_t k = 0; k < m->domains; k++) {
            group_costs(d, held + (size_t)k * d->groups, by_group);
            for (uint32_t s = 0; s < candidates; s++)
                cost[(size_t)k * candidates + s] += by_group[d->group[p->candidates->node[s]]];
        }
    }
    free(held);
    free(by_group);
    return held && by_group ? THEMIS_OK : THEMIS_NO_MEMORY;
}

static themis_status_t servers_add(const problem_t *p, int64_t *cost)
{
    uint32_t servers = p->domains->layout.servers, candidates = p->candidates->count;
    const uint32_t *node = p->candidates->node;
    uint64_t *bytes = malloc((size_t)p->domains->count * servers * sizeof *bytes);
    themis_status_t status =
        bytes ? themis_aggregation_matrix_server_bytes(p->matrix, p->domains, bytes) : THEMIS_NO_MEMORY;

    for (uint32_t k = 0; status == THEMIS_OK && k < p->domains->count; k++) {
        int64_t sum = 0;

        for (uint32_t s = 0; s < candidates; s++) {
            const uint16_t *hop = p->server_distance + (size_t)node[s] * servers;

            if (s == 0 || node[s] != node[s - 1]) {
                sum = 0;
                for (uint32_t v = 0; v < servers; v++)
                    sum += (int64_t)(bytes[(size_t)k * servers + v] * hop[v]);
            }
            cost[(size_t)k * candidates + s] += sum;
        }
    }
    free(bytes);
    return status;
}

/*
 * Bytes that are on the candidate's own node: for topology they move the node's local distance instead of that within
 * its group. Cells and candidates are both sorted by node.
 */
static void own_node_add(const problem_t *p, themis_aggregation_placement_t placement, int64_t *cost)
{
    const themis_aggregation_distances_t *d = p->distances;
    const themis_aggregation_candidates_t *candidates = p->candidates;
    uint32_t at = 0;

    for (size_t c = 0; c < p->matrix->cells; c++) {
        const themis_aggregation_cell_t *cell = &p->matrix->cell[c];
        uint32_t group = d->group[cell->node];
        int64_t weight = (int64_t)d->local[cell->node] - d->hop[(size_t)group * d->groups + group];

        if (placement == THEMIS_AGGREGATION_LOCALITY)
            weight = -1;
        while (at < candidates->count && candidates->node[at] < cell->node)
            at++;
        for (uint32_t s = at; s < candidates->count && candidates->node[s] == cell->node; s++)
            cost[(size_t)cell->domain * candidates->count + s] += (int64_t)cell->bytes * weight;
    }
}

themis_status_t themis_aggregation_workload_create(const problem_t *p, themis_aggregation_placement_t placement,
                                                   int64_t **cost)
{
    themis_status_t status = range_check(p);
    int64_t *w;

    if (status != THEMIS_OK)
        return status;
    w = calloc((size_t)p->domains->count * p->candidates->count, sizeof *w);
    if (!w)
        return THEMIS_NO_MEMORY;
    if (placement == THEMIS_AGGREGATION_TOPOLOGY)
        status = shuffle_add(p, w);
    if (status == THEMIS_OK && placement == THEMIS_AGGREGATION_TOPOLOGY && p->server_distance)
        status = servers_add(p, w);
    if (status != THEMIS_OK) {
        free(w);
        return status;
    }
    own_node_add(p, placement, w);
    *cost = w;
    return THEMIS_OK;
}
