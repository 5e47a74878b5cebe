/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/fabric_levels.h"
#include <stdlib.h>
#include "tools/command.h"

/* Hosts, and the switches that they are on. */
static void hosts_and_leaves_set(const themis_aggregation_fabric_t *f, themis_tools_fabric_levels_t *l)
{
    for (uint32_t v = 0; v < f->vertices; v++) {
        l->parent[v] = l->level[v] = UINT32_MAX;
        if (!f->vertex[v].is_switch)
            l->level[v] = 0;
    }
    for (uint32_t v = 0; v < f->vertices; v++) {
        for (uint32_t k = f->start[v]; l->level[v] == 0 && k < f->start[v + 1]; k++) {
            uint32_t w = f->neighbor[k];

            if (!f->vertex[w].is_switch)
                continue;
            l->level[w] = 1;
            l->parent[v] = l->parent[v] == UINT32_MAX ? w : l->parent[v];
        }
    }
}

/* A switch that connects more leaves than hosts stands above the leaves, though it has hosts (I/O nodes at the root).
 */
static void roots_raise(const themis_aggregation_fabric_t *f, themis_tools_fabric_levels_t *l)
{
    for (uint32_t v = 0; v < f->vertices; v++) {
        uint32_t leaves = 0, hosts = 0;

        for (uint32_t k = f->start[v]; l->level[v] == 1 && k < f->start[v + 1]; k++) {
            leaves += l->level[f->neighbor[k]] == 1;
            hosts += l->level[f->neighbor[k]] == 0;
        }
        if (leaves > hosts)
            l->level[v] = 2;
    }
}

/* Switches next to a level and in none yet are the level above. Returns whether there are any. */
static int level_set(const themis_aggregation_fabric_t *f, themis_tools_fabric_levels_t *l, uint32_t level)
{
    int any = 0;

    for (uint32_t v = 0; v < f->vertices; v++) {
        for (uint32_t k = f->start[v]; l->level[v] == level && k < f->start[v + 1]; k++)
            if (l->level[f->neighbor[k]] == UINT32_MAX)
                l->level[f->neighbor[k]] = level + 1;
    }
    for (uint32_t v = 0; v < f->vertices; v++)
        any |= l->level[v] == level + 1;
    return any;
}

int themis_tools_fabric_levels_make(const themis_aggregation_fabric_t *fabric, themis_tools_fabric_levels_t *levels)
{
    levels->level = malloc(((size_t)fabric->vertices + 1) * sizeof *levels->level);
    levels->parent = malloc(((size_t)fabric->vertices + 1) * sizeof *levels->parent);
    if (!levels->level || !levels->parent) {
        themis_tools_fabric_levels_free(levels);
        return themis_tools_error("out of memory");
    }
    hosts_and_leaves_set(fabric, levels);
    roots_raise(fabric, levels);
    levels->levels = 2;
    while (level_set(fabric, levels, levels->levels - 1))
        levels->levels++;
    return THEMIS_TOOLS_OK;
}

void themis_tools_fabric_levels_free(themis_tools_fabric_levels_t *levels)
{
    free(levels->level);
    free(levels->parent);
}
