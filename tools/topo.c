/* SPDX-License-Identifier: BSD-3-Clause */
/* themis topo: the fabric as a tree of racks and hosts, this host's packages, and the distance between two hosts. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "tools/command.h"
#include "tools/fabric_levels.h"
#include "tools/fabric_option.h"
#include "tools/json.h"
#include "tools/options.h"
#include "util/config.h"

typedef struct view {
    const themis_aggregation_fabric_t *fabric;
    themis_tools_fabric_levels_t levels;
    const char *servers; /* list, or NULL */
    uint32_t here;       /* this host's vertex, or UINT32_MAX */
} view_t;

static int is_server(const view_t *view, uint32_t v)
{
    const char *list = view->servers;
    char name[256];

    while (themis_tools_fabric_next_host(&list, name, sizeof name)) {
        uint32_t found;

        if (themis_aggregation_fabric_find(view->fabric, 0, name, &found) == THEMIS_OK && found == v)
            return 1;
    }
    return 0;
}

static uint32_t find_here(const themis_aggregation_fabric_t *fabric)
{
    char name[256] = "";
    uint64_t guid = 0;
    uint32_t here = UINT32_MAX;

    gethostname(name, sizeof name - 1);
    if (themis_aggregation_adapter_guid(&guid) != THEMIS_OK)
        guid = 0;
    if (themis_aggregation_fabric_find(fabric, guid, name, &here) != THEMIS_OK)
        return UINT32_MAX;
    return here;
}

/* [{"switch", "cables"}, ...]: the switches that a switch is connected to. */
static json_t *links_json(const view_t *view, uint32_t v)
{
    const themis_aggregation_fabric_t *f = view->fabric;
    json_t *list = json_array();

    for (uint32_t k = f->start[v]; k < f->start[v + 1]; k++) {
        uint32_t w = f->neighbor[k];

        if (f->vertex[w].is_switch)
            json_array_append_new(list, json_pack("{s:s, s:i}", "switch", f->vertex[w].name, "cables",
                                                  (int)f->link[f->neighbor_link[k]].width));
    }
    return list;
}

static json_t *hosts_json(const view_t *view, uint32_t v)
{
    json_t *list = json_array();

    for (uint32_t h = 0; h < view->fabric->vertices; h++) {
        if (view->levels.parent[h] != v)
            continue;
        json_array_append_new(list, json_pack("{s:s, s:b, s:b}", "name", view->fabric->vertex[h].name, "server",
                                              is_server(view, h), "here", h == view->here));
    }
    return list;
}

static json_t *switches_json(const view_t *view)
{
    json_t *list = json_array();

    for (uint32_t level = 1; level < view->levels.levels; level++)
        for (uint32_t v = 0; v < view->fabric->vertices; v++)
            if (view->levels.level[v] == level)
                json_array_append_new(list, json_pack("{s:s, s:i, s:o, s:o}", "name", view->fabric->vertex[v].name,
                                                      "level", (int)level, "links", links_json(view, v), "hosts",
                                                      hosts_json(view, v)));
    return list;
}

static json_t *packages_json(const char *xml)
{
    themis_aggregation_package_t *package;
    uint32_t packages;
    json_t *list = json_array();

    if (themis_aggregation_local_packages(xml, &package, &packages) != THEMIS_OK)
        return list;
    for (uint32_t p = 0; p < packages; p++)
        json_array_append_new(list, json_pack("{s:i, s:i, s:i, s:i}", "numa_nodes", (int)package[p].numa_nodes,
                                              "l3_caches", (int)package[p].l3_caches, "cores", (int)package[p].cores,
                                              "cpus", (int)package[p].cpus));
    free(package);
    return list;
}

/* Hops between two hosts, or -1 after an error message. */
static int hosts_distance(const view_t *view, const char *from, const char *to)
{
    const char *name[2] = {from, to};
    uint32_t vertex[2];
    uint16_t *hops;
    int result = -1;

    for (int i = 0; i < 2; i++)
        if (themis_tools_fabric_host(view->fabric, name[i], &vertex[i]) != THEMIS_TOOLS_OK)
            return -1;
    hops = malloc(((size_t)view->fabric->vertices + 1) * sizeof *hops);
    if (hops && themis_aggregation_fabric_hops(view->fabric, vertex[0], hops) == THEMIS_OK &&
        hops[vertex[1]] != THEMIS_AGGREGATION_UNREACHABLE)
        result = hops[vertex[1]];
    else
        themis_tools_error("there is no path from %s to %s", from, to);
    free(hops);
    return result;
}

static void print_switch(const json_t *row)
{
    size_t i;
    json_t *item;

    printf("%s", themis_tools_json_text(row, "name"));
    json_array_foreach(json_object_get(row, "links"), i, item)
    {
        printf("%s %s", i ? "," : "  --", themis_tools_json_text(item, "switch"));
        if (themis_tools_json_number(item, "cables") > 1)
            printf(" x%.0f", themis_tools_json_number(item, "cables"));
    }
    putchar('\n');
    json_array_foreach(json_object_get(row, "hosts"), i, item)
    {
        printf("    %s%s%s\n", themis_tools_json_text(item, "name"),
               json_is_true(json_object_get(item, "server")) ? "  (I/O server)" : "",
               json_is_true(json_object_get(item, "here")) ? "  (this host)" : "");
    }
}

static void print_all(const json_t *all)
{
    const json_t *to = json_object_get(all, "distance");
    size_t i;
    json_t *row;

    json_array_foreach(json_object_get(all, "switches"), i, row)
    {
        print_switch(row);
    }
    json_array_foreach(json_object_get(all, "packages"), i, row)
    {
        printf("this host, package %zu: %.0f NUMA nodes, %.0f level-3 caches, %.0f cores, %.0f CPUs\n", i,
               themis_tools_json_number(row, "numa_nodes"), themis_tools_json_number(row, "l3_caches"),
               themis_tools_json_number(row, "cores"), themis_tools_json_number(row, "cpus"));
    }
    if (to)
        printf("%s to %s: %.0f hops\n", themis_tools_json_text(to, "from"), themis_tools_json_text(to, "to"),
               themis_tools_json_number(to, "hops"));
}

/* Adds switches and the distance; argv has no operand or two hosts. */
static int add_fabric(view_t *view, int operands, char **argv, json_t *all)
{
    int hops;

    if (themis_tools_fabric_levels_make(view->fabric, &view->levels) != THEMIS_TOOLS_OK)
        return THEMIS_TOOLS_FAILED;
    view->here = find_here(view->fabric);
    json_object_set_new(all, "switches", switches_json(view));
    themis_tools_fabric_levels_free(&view->levels);
    if (operands == 0)
        return THEMIS_TOOLS_OK;
    hops = hosts_distance(view, argv[0], argv[1]);
    if (hops < 0)
        return THEMIS_TOOLS_FAILED;
    json_object_set_new(all, "distance", json_pack("{s:s, s:s, s:i}", "from", argv[0], "to", argv[1], "hops", hops));
    return THEMIS_TOOLS_OK;
}

static int run_topo(int argc, char **argv)
{
    int as_json = 0, result = THEMIS_TOOLS_OK, first;
    const char *name = NULL, *xml = NULL, *servers = themis_util_config_env("THEMIS_SERVERS");
    const themis_tools_option_t options[] = {{0, "json", &as_json, NULL},
                                             {'f', "fabric", NULL, &name},
                                             {0, "machine", NULL, &xml},
                                             {'s', "servers", NULL, &servers},
                                             {0}};
    themis_aggregation_fabric_t *fabric = NULL;

    first = themis_tools_options(argc, argv, options);
    if (first < 0 || (argc - first != 0 && argc - first != 2))
        return themis_tools_usage();
    json_t *all = json_pack("{s:o}", "packages", packages_json(xml));
    /* without a fabric the packages of this host are shown, but no distances */
    if (name || argc > first || themis_aggregation_fabric_discover(&fabric) == THEMIS_OK) {
        view_t view = {.servers = servers};

        if (!fabric)
            result = themis_tools_fabric_open(name, &fabric);
        view.fabric = fabric;
        if (result == THEMIS_TOOLS_OK)
            result = add_fabric(&view, argc - first, argv + first, all);
        themis_aggregation_fabric_destroy(fabric);
    } else if (!as_json) {
        puts("no InfiniBand fabric: all hosts are taken to be 2 hops apart");
    }
    if (result == THEMIS_TOOLS_OK && as_json)
        themis_tools_json_print(json_incref(all));
    else if (result == THEMIS_TOOLS_OK)
        print_all(all);
    json_decref(all);
    return result;
}

const themis_tools_command_t themis_tools_topo = {
    "topo", "[--json] [-f FABRIC] [--machine XML] [-s HOST:PORT,...] [HOST HOST]",
    "Shows racks, hosts and servers of the fabric, this host's packages, and the hops between two hosts.",
    "  -f FABRIC      a file recorded with ibnetdiscover (--cache or text), tree:RACKS:NODES:UPLINKS or\n"
    "                 fat:LEAVES:NODES:SPINES; without it, the InfiniBand fabric of this host\n"
    "  --machine XML  a machine recorded with lstopo instead of this one\n"
    "  -s LIST        hosts of I/O servers, to mark them; by default THEMIS_SERVERS\n"
    "  --json         as JSON\n",
    run_topo};
