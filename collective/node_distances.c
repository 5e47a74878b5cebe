/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sources of distances, each giving OK only if it describes every node of the group. Distances to servers are counted
 * if all servers can be placed, and left out else: half of them would draw aggregators to those that are known.
 */
#include "collective/node_distances.h"
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include "collective/fabric_discovery.h"
#include "util/log.h"

enum { WAIT_AUTO_MS = 2000, WAIT_ASKED_MS = 60000, HOST_BYTES = 256 };

static const char *node_name(const themis_collective_group_t *group, uint32_t node)
{
    return group->census->card[node].name;
}

/* --- servers --- */

/* Host name of server `index` of "host:port,host:port", counted round and round; empty if it is too long. */
static void server_host(const char *list, uint32_t index, char host[HOST_BYTES])
{
    uint32_t servers = 1;
    for (const char *comma = list; (comma = strchr(comma, ',')); comma++)
        servers++;
    for (index %= servers; index; index--)
        list = strchr(list, ',') + 1;
    size_t length = strcspn(list, ":,");
    length = length < HOST_BYTES ? length : 0;
    memcpy(host, list, length);
    host[length] = 0;
}

/* Host names of the file's servers in the order of its stripes; NULL if they are not known. */
static char (*server_hosts(const themis_collective_options_t *config))[HOST_BYTES]
{
    char(*host)[HOST_BYTES] = config->server_list ? malloc(config->layout.servers * sizeof *host) : NULL;
    for (uint32_t s = 0; host && s < config->layout.servers; s++)
        server_host(config->server_list, config->first_server + s, host[s]);
    return host;
}

static int is_address(const char *host)
{
    struct in_addr address;
    return inet_pton(AF_INET, host, &address) == 1;
}

/* The same host, with or without its domain. Addresses are not looked up: a name service can take long. */
static int same_host(const char *a, const char *b)
{
    if (!strcmp(a, b))
        return 1;
    size_t length = strcspn(a, ".");
    return !is_address(a) && !is_address(b) && length == strcspn(b, ".") && !strncmp(a, b, length);
}

/* Whether any server is on a node of the group. */
static int shares_host(const themis_collective_group_t *group, char (*host)[HOST_BYTES], uint32_t servers)
{
    for (uint32_t n = 0; n < group->nodes; n++)
        for (uint32_t s = 0; s < servers; s++)
            if (same_host(node_name(group, n), host[s]))
                return 1;
    return 0;
}

/*
 * Distances to servers where there is no fabric. `all`: distances between the nodes followed by the servers' hosts.
 * A server on a node is as near to it as the node's own processes are to one another, and as far from the other nodes
 * as that node is.
 */
static void place_servers(const themis_collective_group_t *group, char (*host)[HOST_BYTES], uint32_t servers,
                          const themis_aggregation_distances_t *all, uint16_t *distance)
{
    for (uint32_t s = 0; s < servers; s++) {
        uint32_t at = 0;
        while (at < group->nodes && !same_host(node_name(group, at), host[s]))
            at++;
        if (at == group->nodes)
            at += s;
        for (uint32_t n = 0; n < group->nodes; n++)
            distance[(size_t)n * servers + s] = same_host(node_name(group, n), host[s])
                                                    ? (uint16_t)group->census->card[n].local
                                                    : themis_aggregation_distance(all, n, at);
    }
}

/* --- nothing known, and hop files --- */

/* Without servers on nodes they are equally far from all, which says nothing. */
static themis_status_t use_nothing(const themis_collective_group_t *group, const themis_collective_options_t *config,
                                   themis_collective_topology_t *topology)
{
    uint32_t servers = config->layout.servers;
    char(*host)[HOST_BYTES] = server_hosts(config);
    themis_aggregation_distances_t *all = NULL;
    themis_status_t status = themis_aggregation_distances_flat(group->nodes, &topology->distances);
    if (status == THEMIS_OK && group->nodes > 1 && host && shares_host(group, host, servers)) {
        status = themis_aggregation_distances_flat(group->nodes + servers, &all);
        topology->server_distance = malloc((size_t)group->nodes * servers * sizeof(uint16_t));
        if (status == THEMIS_OK && topology->server_distance)
            place_servers(group, host, servers, all, topology->server_distance);
        else
            status = THEMIS_NO_MEMORY;
    }
    themis_aggregation_distances_destroy(all);
    free(host);
    return status;
}

/* Names of nodes, then of servers; what is read for both at once gives the distances to servers. */
static themis_status_t read_hops(const themis_collective_group_t *group, const themis_collective_options_t *config,
                                 char (*host)[HOST_BYTES], themis_collective_topology_t *topology)
{
    uint32_t servers = host ? config->layout.servers : 0, nodes = group->nodes;
    const char **name = malloc(((size_t)nodes + servers) * sizeof *name);
    themis_aggregation_distances_t *all = NULL;
    if (!name)
        return THEMIS_NO_MEMORY;
    for (uint32_t i = 0; i < nodes + servers; i++)
        name[i] = i < nodes ? node_name(group, i) : host[i - nodes];
    themis_status_t status = themis_aggregation_distances_file(config->topology, name, nodes, &topology->distances);
    if (status == THEMIS_OK && servers) {
        topology->server_distance = malloc((size_t)nodes * servers * sizeof(uint16_t));
        status = topology->server_distance ? THEMIS_OK : THEMIS_NO_MEMORY;
        if (status == THEMIS_OK)
            status = themis_aggregation_distances_file(config->topology, name, nodes + servers, &all);
        if (status == THEMIS_OK)
            place_servers(group, host, servers, all, topology->server_distance);
    }
    themis_aggregation_distances_destroy(all);
    free(name);
    return status;
}

static themis_status_t use_hops(const themis_collective_group_t *group, const themis_collective_options_t *config,
                                themis_collective_topology_t *topology)
{
    char(*host)[HOST_BYTES] = server_hosts(config);
    themis_status_t status = read_hops(group, config, host, topology);
    free(host);
    topology->source = THEMIS_COLLECTIVE_HOPS;
    return status;
}

/* --- fabrics --- */

static themis_status_t find_nodes(const themis_collective_group_t *group, themis_collective_topology_t *topology)
{
    topology->vertex = malloc(group->nodes * sizeof(uint32_t));
    if (!topology->vertex)
        return THEMIS_NO_MEMORY;
    for (uint32_t n = 0; n < group->nodes; n++) {
        const themis_collective_card_t *card = &group->census->card[n];
        themis_status_t status =
            themis_aggregation_fabric_find(topology->fabric, card->guid, card->name, &topology->vertex[n]);
        if (status != THEMIS_OK) {
            themis_info("host %s is not in the fabric", card->name);
            return status;
        }
    }
    return themis_aggregation_distances_fabric(topology->fabric, topology->vertex, group->nodes, &topology->distances);
}

static themis_status_t find_servers(const themis_collective_options_t *config, themis_collective_topology_t *topology)
{
    char host[HOST_BYTES];
    for (uint32_t s = 0; s < config->layout.servers; s++) {
        server_host(config->server_list, config->first_server + s, host);
        themis_status_t status = themis_aggregation_fabric_find(topology->fabric, 0, host, &topology->server_vertex[s]);
        if (status != THEMIS_OK)
            return status;
    }
    return THEMIS_OK;
}

static themis_status_t server_column(const themis_collective_group_t *group, uint32_t server, uint32_t servers,
                                     const uint16_t *hops, const themis_collective_topology_t *topology)
{
    for (uint32_t n = 0; n < group->nodes; n++) {
        uint16_t h = hops[topology->vertex[n]];
        if (h >= UINT16_MAX / THEMIS_AGGREGATION_HOP)
            return THEMIS_UNREACHABLE;
        topology->server_distance[(size_t)n * servers + server] =
            (uint16_t)(h ? h * THEMIS_AGGREGATION_HOP : group->census->card[n].local);
    }
    return THEMIS_OK;
}

static themis_status_t measure_servers(const themis_collective_group_t *group,
                                       const themis_collective_options_t *config,
                                       themis_collective_topology_t *topology)
{
    uint32_t servers = config->layout.servers;
    uint16_t *hops = malloc(topology->fabric->vertices * sizeof *hops);
    topology->server_vertex = malloc(servers * sizeof(uint32_t));
    topology->server_distance = malloc((size_t)group->nodes * servers * sizeof(uint16_t));
    themis_status_t status =
        hops && topology->server_vertex && topology->server_distance ? THEMIS_OK : THEMIS_NO_MEMORY;
    if (status == THEMIS_OK)
        status = find_servers(config, topology);
    for (uint32_t s = 0; s < servers && status == THEMIS_OK; s++) {
        status = themis_aggregation_fabric_hops(topology->fabric, topology->server_vertex[s], hops);
        if (status == THEMIS_OK)
            status = server_column(group, s, servers, hops, topology);
    }
    free(hops);
    return status;
}

static themis_status_t use_fabric(const themis_collective_group_t *group, const themis_collective_options_t *config,
                                  themis_collective_topology_t *topology)
{
    themis_status_t status = find_nodes(group, topology);
    if (status != THEMIS_OK || !config->server_list)
        return status;
    if (measure_servers(group, config, topology) != THEMIS_OK) {
        themis_info("not all servers are in the fabric; distances to servers do not count");
        free(topology->server_vertex);
        free(topology->server_distance);
        topology->server_vertex = NULL;
        topology->server_distance = NULL;
    }
    return THEMIS_OK;
}

static themis_status_t use_recorded(const themis_collective_group_t *group, const themis_collective_options_t *config,
                                    themis_collective_topology_t *topology)
{
    themis_status_t status = themis_aggregation_fabric_load(config->topology, &topology->recorded);
    topology->fabric = topology->recorded;
    topology->source = THEMIS_COLLECTIVE_FABRIC;
    return status == THEMIS_OK ? use_fabric(group, config, topology) : status;
}

static themis_status_t use_discovered(const themis_collective_group_t *group, const themis_collective_options_t *config,
                                      unsigned wait_ms, themis_collective_topology_t *topology)
{
    themis_status_t status = themis_collective_discovery(wait_ms, &topology->fabric);
    topology->source = THEMIS_COLLECTIVE_FOUND;
    return status == THEMIS_OK ? use_fabric(group, config, topology) : status;
}

/* --- which one --- */

static themis_status_t use_source(const themis_collective_group_t *group, const themis_collective_options_t *config,
                                  themis_collective_topology_t *topology)
{
    const char *source = config->topology;
    if (!source || !strcmp(source, "auto"))
        return group->census->card[0].guid ? use_discovered(group, config, WAIT_AUTO_MS, topology) : THEMIS_NO_ENTRY;
    if (!strcmp(source, "discover"))
        return use_discovered(group, config, WAIT_ASKED_MS, topology);
    return themis_aggregation_distances_fits(source) ? use_hops(group, config, topology)
                                                     : use_recorded(group, config, topology);
}

static themis_status_t use_best(const themis_collective_group_t *group, const themis_collective_options_t *config,
                                themis_collective_topology_t *topology)
{
    const char *source = config->topology;
    if (group->nodes == 1 || (source && !strcmp(source, "flat")))
        return use_nothing(group, config, topology);
    themis_status_t status = use_source(group, config, topology);
    if (status == THEMIS_OK)
        return THEMIS_OK;
    if (source && strcmp(source, "auto"))
        themis_warn("topology \"%s\" does not describe the nodes of this job (%s); all count as equally far", source,
                    themis_status_string(status));
    themis_collective_measure_drop(topology);
    return use_nothing(group, config, topology);
}

themis_status_t themis_collective_measure(const themis_collective_group_t *group,
                                          const themis_collective_options_t *config,
                                          themis_collective_topology_t *topology)
{
    themis_status_t status = use_best(group, config, topology);
    for (uint32_t n = 0; status == THEMIS_OK && n < group->nodes; n++)
        topology->distances->local[n] = (uint16_t)group->census->card[n].local;
    return status;
}

void themis_collective_measure_drop(themis_collective_topology_t *topology)
{
    themis_aggregation_fabric_destroy(topology->recorded);
    themis_aggregation_distances_destroy(topology->distances);
    free(topology->vertex);
    free(topology->server_vertex);
    free(topology->server_distance);
    topology->source = THEMIS_COLLECTIVE_FLAT;
    topology->fabric = NULL;
    topology->recorded = NULL;
    topology->distances = NULL;
    topology->vertex = topology->server_vertex = NULL;
    topology->server_distance = NULL;
}
