/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/fabric_option.h"
#include <stdio.h>
#include <string.h>
#include "tools/command.h"

/* "tree:A:B:C" or "fat:A:B:C" with numbers from 1; *is_regular is 0 if the name is neither. */
static themis_status_t regular_create(const char *name, int *is_regular, themis_aggregation_fabric_t **fabric)
{
    uint32_t n[3];
    char rest;
    int tree = sscanf(name, "tree:%u:%u:%u%c", &n[0], &n[1], &n[2], &rest) == 3;

    *is_regular = tree || sscanf(name, "fat:%u:%u:%u%c", &n[0], &n[1], &n[2], &rest) == 3;
    if (!*is_regular)
        return THEMIS_OK;
    if (n[0] == 0 || n[1] == 0 || n[2] == 0)
        return THEMIS_RANGE;
    return tree ? themis_aggregation_fabric_tree(n[0], n[1], n[2], fabric)
                : themis_aggregation_fabric_fat(n[0], n[1], n[2], fabric);
}

int themis_tools_fabric_open(const char *name, themis_aggregation_fabric_t **fabric)
{
    themis_status_t status;
    int is_regular;

    if (!name) {
        if (themis_aggregation_fabric_discover(fabric) == THEMIS_OK)
            return THEMIS_TOOLS_OK;
        return themis_tools_error("this host is on no InfiniBand fabric; give one with --fabric");
    }
    status = regular_create(name, &is_regular, fabric);
    if (status == THEMIS_RANGE)
        return themis_tools_misuse("%s: expected three numbers from 1", name);
    if (!is_regular)
        status = themis_aggregation_fabric_load(name, fabric);
    return status == THEMIS_OK ? THEMIS_TOOLS_OK : themis_tools_error("%s: %s", name, themis_status_string(status));
}

int themis_tools_fabric_next_host(const char **list, char *name, size_t size)
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

int themis_tools_fabric_host(const themis_aggregation_fabric_t *fabric, const char *name, uint32_t *vertex)
{
    if (themis_aggregation_fabric_find(fabric, 0, name, vertex) == THEMIS_OK)
        return THEMIS_TOOLS_OK;
    return themis_tools_error("there is no host %s in the fabric", name);
}
