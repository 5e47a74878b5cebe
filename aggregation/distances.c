/* SPDX-License-Identifier: BSD-3-Clause */
/* The distance matrix between nodes: flat, from a fabric, or from a hop file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define HASH_NONFATAL_OOM 1 /* an element without memory has no table then */
#include <uthash.h>

#include "aggregation/fabric.h"
#include "util/log.h"

typedef themis_aggregation_distances_t distances_t;

static distances_t *distances_allocate(uint32_t nodes, uint32_t groups)
{
    distances_t *d = calloc(1, sizeof *d);

    if (!d)
        return NULL;
    d->nodes = nodes;
    d->groups = groups;
    d->group = calloc((size_t)nodes + 1, sizeof *d->group);
    d->local = calloc((size_t)nodes + 1, sizeof *d->local);
    d->hop = calloc((size_t)groups * groups + 1, sizeof *d->hop);
    if (!d->group || !d->local || !d->hop) {
        themis_aggregation_distances_destroy(d);
        return NULL;
    }
    for (uint32_t n = 0; n < nodes; n++)
        d->local[n] = THEMIS_AGGREGATION_HOP;
    for (size_t i = 0; i < (size_t)groups * groups; i++)
        d->hop[i] = THEMIS_AGGREGATION_FLAT_HOPS * THEMIS_AGGREGATION_HOP;
    return d;
}

void themis_aggregation_distances_destroy(distances_t *distances)
{
    if (!distances)
        return;
    free(distances->group);
    free(distances->local);
    free(distances->hop);
    free(distances);
}

themis_status_t themis_aggregation_distances_flat(uint32_t nodes, distances_t **distances)
{
    distances_t *d = distances_allocate(nodes, 1);

    if (!d)
        return THEMIS_NO_MEMORY;
    *distances = d;
    return THEMIS_OK;
}

/* ---- from a fabric ---- */

/* Nodes behind the same switches; found by their neighbours in the fabric. */
typedef struct group {
    uint32_t number, first, second; /* its first two nodes, second == first if there is one */
    UT_hash_handle hh;
} group_t;

typedef struct groups {
    group_t *by_neighbors;
    group_t **group; /* by number */
    uint32_t count;
} groups_t;

static void groups_free(groups_t *g)
{
    HASH_CLEAR(hh, g->by_neighbors);
    for (uint32_t i = 0; i < g->count; i++)
        free(g->group[i]);
    free(g->group);
}

/* Links are sorted, so equal sets of neighbours are equal arrays: a host's neighbours are the key. */
static themis_status_t groups_add(groups_t *g, const themis_aggregation_fabric_t *fabric, const uint32_t *vertex,
                                  uint32_t node, uint32_t *number)
{
    const uint32_t *neighbor = fabric->neighbor + fabric->start[vertex[node]];
    size_t bytes = (fabric->start[vertex[node] + 1] - fabric->start[vertex[node]]) * sizeof *neighbor;
    group_t *found;

    HASH_FIND(hh, g->by_neighbors, neighbor, bytes, found);
    if (!found) {
        found = calloc(1, sizeof *found);
        if (!found)
            return THEMIS_NO_MEMORY;
        found->number = g->count;
        found->first = found->second = node;
        g->group[g->count++] = found;
        HASH_ADD_KEYPTR(hh, g->by_neighbors, neighbor, bytes, found);
        if (!found->hh.tbl)
            return THEMIS_NO_MEMORY;
    } else if (found->second == found->first) {
        found->second = node;
    }
    *number = found->number;
    return THEMIS_OK;
}

static themis_status_t hop_units(uint16_t hops, uint16_t *units)
{
    if (hops >= UINT16_MAX / THEMIS_AGGREGATION_HOP)
        return THEMIS_UNREACHABLE;
    *units = (uint16_t)(hops * THEMIS_AGGREGATION_HOP);
    return THEMIS_OK;
}

/* One row of the matrix of groups, from the hops of its first node. */
static themis_status_t groups_row(const groups_t *g, uint32_t row, const uint32_t *vertex, const uint16_t *hops,
                                  uint16_t *out)
{
    for (uint32_t c = 0; c < g->count; c++) {
        uint32_t node = c == row ? g->group[c]->second : g->group[c]->first;
        themis_status_t status = hop_units(hops[vertex[node]], &out[c]);

        if (status != THEMIS_OK) {
            themis_error("fabric: no path between nodes %u and %u", g->group[row]->first, node);
            return status;
        }
    }
    return THEMIS_OK;
}

static themis_status_t groups_search(const groups_t *g, const themis_aggregation_fabric_t *fabric,
                                     const uint32_t *vertex, distances_t *d)
{
    uint16_t *hops = malloc(((size_t)fabric->vertices + 1) * sizeof *hops);
    uint32_t *order = malloc(((size_t)fabric->vertices + 1) * sizeof *order);
    themis_status_t status = hops && order ? THEMIS_OK : THEMIS_NO_MEMORY;

    for (uint32_t r = 0; status == THEMIS_OK && r < g->count; r++) {
        themis_aggregation_fabric_search(fabric, vertex[g->group[r]->first], hops, order);
        status = groups_row(g, r, vertex, hops, d->hop + (size_t)r * g->count);
    }
    free(hops);
    free(order);
    return status;
}

themis_status_t themis_aggregation_distances_fabric(const themis_aggregation_fabric_t *fabric, const uint32_t *vertex,
                                                    uint32_t nodes, distances_t **distances)
{
    groups_t g = {.group = calloc((size_t)nodes + 1, sizeof *g.group)};
    uint32_t *number = malloc(((size_t)nodes + 1) * sizeof *number);
    distances_t *d = NULL;
    themis_status_t status = g.group && number ? THEMIS_OK : THEMIS_NO_MEMORY;

    for (uint32_t n = 0; status == THEMIS_OK && n < nodes; n++)
        status = vertex[n] < fabric->vertices ? groups_add(&g, fabric, vertex, n, &number[n]) : THEMIS_INVALID;
    if (status == THEMIS_OK && !(d = distances_allocate(nodes, g.count)))
        status = THEMIS_NO_MEMORY;
    if (status == THEMIS_OK) {
        memcpy(d->group, number, nodes * sizeof *number);
        status = groups_search(&g, fabric, vertex, d);
    }
    groups_free(&g);
    free(number);
    if (status == THEMIS_OK)
        *distances = d;
    else
        themis_aggregation_distances_destroy(d);
    return status;
}

/* ---- from a hop file ---- */

typedef struct host {
    uint32_t node;
    UT_hash_handle hh;
} host_t;

static themis_status_t hop_line(const char *line, host_t *hosts, distances_t *d)
{
    char a[256], b[256], rest;
    unsigned hops;
    host_t *x, *y;
    int fields = sscanf(line, "%255s %255s %u %c", a, b, &hops, &rest);

    if (fields < 1 || a[0] == '#')
        return THEMIS_OK;
    if (fields != 3 && !(fields == 4 && rest == '#'))
        return THEMIS_PARSE;
    if (hops == 0 || hops >= UINT16_MAX / THEMIS_AGGREGATION_HOP)
        return THEMIS_PARSE;
    if (strcmp(a, "*") == 0 && strcmp(b, "*") == 0) {
        for (size_t i = 0; i < (size_t)d->groups * d->groups; i++)
            d->hop[i] = (uint16_t)(hops * THEMIS_AGGREGATION_HOP);
        return THEMIS_OK;
    }
    HASH_FIND_STR(hosts, a, x);
    HASH_FIND_STR(hosts, b, y);
    if (x && y && x != y) {
        d->hop[(size_t)x->node * d->groups + y->node] = (uint16_t)(hops * THEMIS_AGGREGATION_HOP);
        d->hop[(size_t)y->node * d->groups + x->node] = (uint16_t)(hops * THEMIS_AGGREGATION_HOP);
    }
    return THEMIS_OK;
}

static themis_status_t hop_read(const char *path, host_t *hosts, distances_t *d)
{
    FILE *file = fopen(path, "r");
    char line[1024];
    int number = 0;
    themis_status_t status = THEMIS_OK;

    if (!file) {
        themis_error("%s: no such hop file", path);
        return THEMIS_NO_ENTRY;
    }
    while (status == THEMIS_OK && fgets(line, sizeof line, file)) {
        number++;
        status = hop_line(line, hosts, d);
    }
    if (status != THEMIS_OK)
        themis_error("%s:%d: expected HOST HOST HOPS", path, number);
    fclose(file);
    return status;
}

bool themis_aggregation_distances_is_hop_file(const char *path)
{
    FILE *file = fopen(path, "r");
    char line[1024], name[256];
    unsigned hops;
    bool fits = false;

    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "%255s", name) < 1 || name[0] == '#')
            continue;
        fits = sscanf(line, "%*s %*s %u", &hops) == 1;
        break;
    }
    if (file)
        fclose(file);
    return fits;
}

themis_status_t themis_aggregation_distances_file(const char *path, const char *const *name, uint32_t nodes,
                                                  distances_t **distances)
{
    distances_t *d = distances_allocate(nodes, nodes);
    host_t *hosts = NULL, *pool = calloc((size_t)nodes + 1, sizeof *pool);
    themis_status_t status = THEMIS_NO_MEMORY;

    if (d && pool) {
        status = THEMIS_OK;
        for (uint32_t n = 0; n < nodes && status == THEMIS_OK; n++) {
            d->group[n] = n;
            pool[n].node = n;
            HASH_ADD_KEYPTR(hh, hosts, name[n], strlen(name[n]), &pool[n]);
            status = pool[n].hh.tbl ? THEMIS_OK : THEMIS_NO_MEMORY;
        }
        if (status == THEMIS_OK)
            status = hop_read(path, hosts, d);
        HASH_CLEAR(hh, hosts);
    }
    free(pool);
    if (status == THEMIS_OK)
        *distances = d;
    else
        themis_aggregation_distances_destroy(d);
    return status;
}
