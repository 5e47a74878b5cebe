/* SPDX-License-Identifier: BSD-3-Clause */
/* The fabric as a graph: creation, regular fabrics, search for hosts and shortest paths. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregation/fabric.h"
#include "util/log.h"

typedef themis_aggregation_fabric_t fabric_t;
typedef themis_aggregation_link_t link_t;

static int link_compare(const void *a, const void *b)
{
    const link_t *x = a, *y = b;

    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return (x->second > y->second) - (x->second < y->second);
}

static themis_status_t links_copy(fabric_t *f, const link_t *link, uint32_t links)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < links; i++) {
        uint32_t a = link[i].first, b = link[i].second;

        if (a == b || a >= f->vertices || b >= f->vertices) {
            themis_error("fabric: invalid link from vertex %u to %u of %u", a, b, f->vertices);
            return THEMIS_INVALID;
        }
        f->link[i] = (link_t){a < b ? a : b, a < b ? b : a, link[i].width};
    }
    qsort(f->link, links, sizeof *f->link, link_compare);
    for (uint32_t i = 0; i < links; i++) {
        if (kept > 0 && link_compare(&f->link[kept - 1], &f->link[i]) == 0)
            f->link[kept - 1].width += f->link[i].width;
        else
            f->link[kept++] = f->link[i];
    }
    f->links = kept;
    return THEMIS_OK;
}

static void neighbor_add(fabric_t *f, uint32_t from, uint32_t to, uint32_t link)
{
    uint32_t at = f->start[from]++;

    f->neighbor[at] = to;
    f->neighbor_link[at] = link;
}

/* Counting sort of the links' ends by vertex. */
static void neighbors_fill(fabric_t *f)
{
    for (uint32_t i = 0; i < f->links; i++) {
        f->start[f->link[i].first + 1]++;
        f->start[f->link[i].second + 1]++;
    }
    for (uint32_t v = 0; v < f->vertices; v++)
        f->start[v + 1] += f->start[v];
    for (uint32_t i = 0; i < f->links; i++) {
        neighbor_add(f, f->link[i].first, f->link[i].second, i);
        neighbor_add(f, f->link[i].second, f->link[i].first, i);
    }
    for (uint32_t v = f->vertices; v > 0; v--)
        f->start[v] = f->start[v - 1];
    f->start[0] = 0;
}

themis_status_t themis_aggregation_fabric_create(const themis_aggregation_vertex_t *vertex, uint32_t vertices,
                                                 const link_t *link, uint32_t links, fabric_t **fabric)
{
    fabric_t *f = calloc(1, sizeof *f);
    themis_status_t status = THEMIS_NO_MEMORY;

    if (!f)
        return status;
    f->vertices = vertices;
    f->vertex = calloc((size_t)vertices + 1, sizeof *f->vertex);
    f->link = calloc((size_t)links + 1, sizeof *f->link);
    f->start = calloc((size_t)vertices + 2, sizeof *f->start);
    f->neighbor = calloc(2 * (size_t)links + 1, sizeof *f->neighbor);
    f->neighbor_link = calloc(2 * (size_t)links + 1, sizeof *f->neighbor_link);
    if (f->vertex && f->link && f->start && f->neighbor && f->neighbor_link)
        status = links_copy(f, link, links);
    if (status != THEMIS_OK) {
        themis_aggregation_fabric_destroy(f);
        return status;
    }
    memcpy(f->vertex, vertex, (size_t)vertices * sizeof *vertex);
    neighbors_fill(f);
    *fabric = f;
    return THEMIS_OK;
}

void themis_aggregation_fabric_destroy(fabric_t *fabric)
{
    if (!fabric)
        return;
    free(fabric->vertex);
    free(fabric->link);
    free(fabric->start);
    free(fabric->neighbor);
    free(fabric->neighbor_link);
    free(fabric);
}

/* ---- draft ---- */

/* Room for one more element of `size` bytes; NULL if out of memory, and the array is unchanged. */
static void *array_grow(void *array, uint32_t *capacity, uint32_t used, size_t size)
{
    uint32_t wanted = *capacity ? 2 * *capacity : 64;
    void *larger;

    if (used < *capacity)
        return array;
    larger = realloc(array, wanted * size);
    if (larger)
        *capacity = wanted;
    return larger;
}

themis_status_t themis_aggregation_draft_vertex(themis_aggregation_draft_t *draft,
                                                const themis_aggregation_vertex_t *vertex)
{
    void *array = array_grow(draft->vertex, &draft->vertex_capacity, draft->vertices, sizeof *vertex);

    if (!array)
        return THEMIS_NO_MEMORY;
    draft->vertex = array;
    draft->vertex[draft->vertices++] = *vertex;
    return THEMIS_OK;
}

themis_status_t themis_aggregation_draft_link(themis_aggregation_draft_t *draft, uint32_t first, uint32_t second)
{
    void *array = array_grow(draft->link, &draft->link_capacity, draft->links, sizeof *draft->link);

    if (!array)
        return THEMIS_NO_MEMORY;
    draft->link = array;
    draft->link[draft->links++] = (link_t){first, second, 1};
    return THEMIS_OK;
}

themis_status_t themis_aggregation_draft_finish(themis_aggregation_draft_t *draft, themis_status_t status,
                                                fabric_t **fabric)
{
    if (status == THEMIS_OK)
        status = themis_aggregation_fabric_create(draft->vertex, draft->vertices, draft->link, draft->links, fabric);
    free(draft->vertex);
    free(draft->link);
    return status;
}

/* ---- regular fabrics ---- */

/* Two levels: hosts under `leaves` switches, each leaf with `cables` cables to each of `tops` switches. */
static themis_status_t fabric_two_levels(uint32_t leaves, uint32_t nodes, uint32_t tops, uint32_t cables,
                                         fabric_t **fabric)
{
    uint32_t hosts = leaves * nodes, vertices = hosts + leaves + tops, links = hosts + leaves * tops;
    themis_aggregation_vertex_t *vertex = calloc((size_t)vertices + 1, sizeof *vertex);
    link_t *link = calloc((size_t)links + 1, sizeof *link);
    themis_status_t status = THEMIS_NO_MEMORY;

    if (vertex && link) {
        for (uint32_t h = 0; h < hosts; h++) {
            snprintf(vertex[h].name, sizeof vertex[h].name, "r%un%u", h / nodes, h % nodes);
            link[h] = (link_t){h, hosts + h / nodes, 1};
        }
        for (uint32_t s = 0; s < leaves + tops; s++) {
            vertex[hosts + s].is_switch = 1;
            snprintf(vertex[hosts + s].name, sizeof vertex[0].name, s < leaves ? "leaf%u" : "top%u",
                     s < leaves ? s : s - leaves);
        }
        for (uint32_t u = 0; u < leaves * tops; u++)
            link[hosts + u] = (link_t){hosts + u / tops, hosts + leaves + u % tops, cables};
        status = themis_aggregation_fabric_create(vertex, vertices, link, links, fabric);
    }
    free(vertex);
    free(link);
    return status;
}

themis_status_t themis_aggregation_fabric_tree(uint32_t racks, uint32_t nodes, uint32_t uplinks, fabric_t **fabric)
{
    return fabric_two_levels(racks, nodes, 1, uplinks, fabric);
}

themis_status_t themis_aggregation_fabric_fat(uint32_t leaves, uint32_t nodes, uint32_t spines, fabric_t **fabric)
{
    return fabric_two_levels(leaves, nodes, spines, 1, fabric);
}

/* ---- search ---- */

/* Whether a node description is that of a host: "node7", or "node7 mlx5_0" as the adapters of that host describe
 * themselves. */
static bool description_fits(const char *description, const char *name)
{
    size_t length = strcspn(name, ".");

    return length > 0 && strncmp(description, name, length) == 0 &&
           (description[length] == '\0' || description[length] == ' ' || description[length] == '.');
}

themis_status_t themis_aggregation_fabric_find(const fabric_t *fabric, uint64_t guid, const char *name,
                                               uint32_t *vertex)
{
    for (uint32_t v = 0; guid != 0 && v < fabric->vertices; v++) {
        if (fabric->vertex[v].guid == guid && !fabric->vertex[v].is_switch) {
            *vertex = v;
            return THEMIS_OK;
        }
    }
    for (uint32_t v = 0; name && v < fabric->vertices; v++) {
        if (!fabric->vertex[v].is_switch && description_fits(fabric->vertex[v].name, name)) {
            *vertex = v;
            return THEMIS_OK;
        }
    }
    return THEMIS_NO_ENTRY;
}

uint32_t themis_aggregation_fabric_search(const fabric_t *fabric, uint32_t from, uint16_t *hops, uint32_t *order)
{
    uint32_t read = 0, written = 0;

    for (uint32_t v = 0; v < fabric->vertices; v++)
        hops[v] = THEMIS_AGGREGATION_UNREACHABLE;
    hops[from] = 0;
    order[written++] = from;
    while (read < written) {
        uint32_t v = order[read++];

        if (v != from && !fabric->vertex[v].is_switch)
            continue;
        for (uint32_t k = fabric->start[v]; k < fabric->start[v + 1]; k++) {
            uint32_t w = fabric->neighbor[k];

            if (hops[w] == THEMIS_AGGREGATION_UNREACHABLE) {
                hops[w] = (uint16_t)(hops[v] + 1);
                order[written++] = w;
            }
        }
    }
    return written;
}

themis_status_t themis_aggregation_fabric_hops(const fabric_t *fabric, uint32_t vertex, uint16_t *hops)
{
    uint32_t *order;

    if (vertex >= fabric->vertices)
        return THEMIS_INVALID;
    order = malloc(((size_t)fabric->vertices + 1) * sizeof *order);
    if (!order)
        return THEMIS_NO_MEMORY;
    themis_aggregation_fabric_search(fabric, vertex, hops, order);
    free(order);
    return THEMIS_OK;
}
