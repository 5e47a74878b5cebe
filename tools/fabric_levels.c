/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/fabric_levels.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "themis/status.h"

/* "tree:A:B:C" or "fat:A:B:C" with numbers from 1; *numbers is 0 if the name is neither. */
static themis_status_t make_up(const char *name, int *numbers, themis_aggregation_fabric_t **fabric)
{
    uint32_t n[3];
    char rest;
    int tree = sscanf(name, "tree:%u:%u:%u%c", &n[0], &n[1], &n[2], &rest) == 3;

    *numbers = tree || sscanf(name, "fat:%u:%u:%u%c", &n[0], &n[1], &n[2], &rest) == 3;
    if (!*numbers)
        return THEMIS_OK;
    if (n[0] == 0 || n[1] == 0 || n[2] == 0)
        return THEMIS_RANGE;
    return tree ? themis_aggregation_fabric_tree(n[0], n[1], n[2], fabric)
                : themis_aggregation_fabric_fat(n[0], n[1], n[2], fabric);
}

int themis_tools_fabric_open(const themis_tools_command_t *self, const char *name, themis_aggregation_fabric_t **fabric)
{
    themis_status_t status;
    int made_up;

    if (!name) {
        if (themis_aggregation_fabric_discover(fabric) == THEMIS_OK)
            return THEMIS_TOOLS_OK;
        return themis_tools_complain(self, "this host is on no InfiniBand fabric; name one with --fabric");
    }
    status = make_up(name, &made_up, fabric);
    if (status == THEMIS_RANGE)
        return themis_tools_misused(self, "%s: expected three numbers from 1", name);
    if (!made_up)
        status = themis_aggregation_fabric_load(name, fabric);
    return status == THEMIS_OK ? THEMIS_TOOLS_OK
                               : themis_tools_complain(self, "%s: %s", name, themis_status_string(status));
}

/* Hosts, and the switches that they are on. */
static void first_levels(const themis_aggregation_fabric_t *f, themis_tools_levels_t *l)
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
static void raise_roots(const themis_aggregation_fabric_t *f, themis_tools_levels_t *l)
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

/* Switches that are next to a level and in none yet make the level above. Tells whether there is such a level. */
static int next_level(const themis_aggregation_fabric_t *f, themis_tools_levels_t *l, uint32_t level)
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

int themis_tools_levels_make(const themis_tools_command_t *self, const themis_aggregation_fabric_t *fabric,
                             themis_tools_levels_t *levels)
{
    levels->level = malloc(((size_t)fabric->vertices + 1) * sizeof *levels->level);
    levels->parent = malloc(((size_t)fabric->vertices + 1) * sizeof *levels->parent);
    if (!levels->level || !levels->parent) {
        themis_tools_levels_drop(levels);
        return themis_tools_complain(self, "out of memory");
    }
    first_levels(fabric, levels);
    raise_roots(fabric, levels);
    levels->levels = 2;
    while (next_level(fabric, levels, levels->levels - 1))
        levels->levels++;
    return THEMIS_TOOLS_OK;
}

void themis_tools_levels_drop(themis_tools_levels_t *levels)
{
    free(levels->level);
    free(levels->parent);
}

int themis_tools_next_host(const char **list, char *name, size_t size)
{
    const char *at = *list;
    size_t length;

    if (!at || !*at)
        return 0;
    length = strcspn(at, ":,");
    snprintf(name, size, "%.*s", (int)length, at);
    at += strcspn(at, ",");
    *list = *at ? at + 1 : at;
    return 1;
}
