/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sources of distances, each giving OK only if it describes every node of the group. Distances to servers are counted
 * if all servers can be placed, and left out otherwise: half of them would draw aggregators to those that are known.
 */
#include "collective/node_distances.h"
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include "collective/fabric_discovery.h"
#include "collective/node_info.h"
#include "util/log.h"

enum { WAIT_AUTO_MS = 2000, WAIT_DISCOVER_MS = 60000, HOST_BYTES = 256 };

/* Whose distances are asked for. */
typedef struct job {
    const char *topology; /* as in options */
    const themis_collective_node_t *node;
    char (*host)[HOST_BYTES]; /* of the file's servers in the order of its stripes; NULL if they are not known */
    uint32_t nodes, servers;
} job_t;

const char *themis_collective_distance_source_name(themis_collective_distance_source_t source)
{
    static const char *const names[] = {[THEMIS_COLLECTIVE_FLAT] = "flat",
                                        [THEMIS_COLLECTIVE_HOP_FILE] = "hop file",
                                        [THEMIS_COLLECTIVE_RECORDED_FABRIC] = "recorded fabric",
                                        [THEMIS_COLLECTIVE_DISCOVERED_FABRIC] = "discovered fabric"};
    return names[source];
}

/* --- servers --- */

/* Host name of server `index` of "host:port,host:port", which wraps to the first; empty if it is too long. */
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

static int is_address(const char *host)
{
    struct in_addr address;
    return inet_pton(AF_INET, host, &address) == 1;
}

/* The same host, with or without its domain. Addresses are not looked up: a name service can take long. */
static int is_same_host(const char *a, const char *b)
{
    if (!strcmp(a, b))
        return 1;
    size_t length = strcspn(a, ".");
    return !is_address(a) && !is_address(b) && length == strcspn(b, ".") && !strncmp(a, b, length);
}

/* The first node on that host; `nodes` if there is none. */
static uint32_t find_host(const job_t *job, const char *host)
{
    uint32_t n = 0;
    while (n < job->nodes && !is_same_host(job->node[n].name, host))
        n++;
    return n;
}

static int any_server_on_node(const job_t *job)
{
    for (uint32_t s = 0; s < job->servers; s++)
        if (find_host(job, job->host[s]) < job->nodes)
            return 1;
    return 0;
}

/*
 * Distances to servers where there is no fabric. `all`: distances between the nodes followed by the servers' hosts.
 * A server on a node is as near to it as the node's own processes are to one another, and as far from the other nodes
 * as that node is.
 */
static void place_servers(const job_t *job, const themis_aggregation_distances_t *all, uint16_t *distance)
{
    for (uint32_t s = 0; s < job->servers; s++) {
        uint32_t at = find_host(job, job->host[s]);
        if (at == job->nodes)
            at += s;
        for (uint32_t n = 0; n < job->nodes; n++)
            distance[(size_t)n * job->servers + s] = is_same_host(job->node[n].name, job->host[s])
                                                         ? (uint16_t)job->node[n].local
                                                         : themis_aggregation_distance(all, n, at);
    }
}

/* --- hop files, and nothing known --- */

static themis_status_t make_table(const job_t *job, int from_file, const char *const *name, uint32_t count,
                                  themis_aggregation_distances_t **table)
{
    return from_file ? themis_aggregation_distances_file(job->topology, name, count, table)
                     : themis_aggregation_distances_flat(count, table);
}

/* A table for nodes and servers together gives the distances to servers. Where all hosts are equally far apart it is
 * useful only if a server is on a node. */
static themis_status_t use_table(const job_t *job, int from_file, themis_collective_node_distances_t *distances)
{
    uint32_t nodes = job->nodes;
    uint32_t servers = job->host && nodes > 1 && (from_file || any_server_on_node(job)) ? job->servers : 0;
    const char **name = malloc(((size_t)nodes + servers) * sizeof *name);
    themis_aggregation_distances_t *all = NULL;
    if (!name)
        return THEMIS_NO_MEMORY;
    for (uint32_t i = 0; i < nodes + servers; i++)
        name[i] = i < nodes ? job->node[i].name : job->host[i - nodes];
    distances->source = from_file ? THEMIS_COLLECTIVE_HOP_FILE : THEMIS_COLLECTIVE_FLAT;
    themis_status_t status = make_table(job, from_file, name, nodes, &distances->nodes);
    if (status == THEMIS_OK && servers) {
        distances->servers = malloc((size_t)nodes * servers * sizeof(uint16_t));
        status = distances->servers ? make_table(job, from_file, name, nodes + servers, &all) : THEMIS_NO_MEMORY;
        if (status == THEMIS_OK)
            place_servers(job, all, distances->servers);
    }
    themis_aggregation_distances_destroy(all);
    free(name);
    return status;
}

/* --- fabrics --- */

static themis_status_t measure_nodes(const job_t *job, themis_collective_node_distances_t *distances)
{
    distances->vertex = malloc(job->nodes * sizeof(uint32_t));
    if (!distances->vertex)
        return THEMIS_NO_MEMORY;
    for (uint32_t n = 0; n < job->nodes; n++) {
        const themis_collective_node_t *node = &job->node[n];
        themis_status_t status =
            themis_aggregation_fabric_find(distances->fabric, node->guid, node->name, &distances->vertex[n]);
        if (status != THEMIS_OK) {
            themis_info("host %s is not in the fabric", node->name);
            return status;
        }
    }
    return themis_aggregation_distances_fabric(distances->fabric, distances->vertex, job->nodes, &distances->nodes);
}

/* hops: room for the distances of all vertices. */
static themis_status_t measure_server(const job_t *job, uint32_t server, uint16_t *hops,
                                      themis_collective_node_distances_t *distances)
{
    uint32_t *vertex = &distances->server_vertex[server];
    themis_status_t status = themis_aggregation_fabric_find(distances->fabric, 0, job->host[server], vertex);
    if (status == THEMIS_OK)
        status = themis_aggregation_fabric_hops(distances->fabric, *vertex, hops);
    for (uint32_t n = 0; status == THEMIS_OK && n < job->nodes; n++) {
        uint16_t h = hops[distances->vertex[n]];
        if (h >= UINT16_MAX / THEMIS_AGGREGATION_HOP)
            return THEMIS_UNREACHABLE;
        distances->servers[(size_t)n * job->servers + server] =
            (uint16_t)(h ? h * THEMIS_AGGREGATION_HOP : job->node[n].local);
    }
    return status;
}

static themis_status_t measure_servers(const job_t *job, themis_collective_node_distances_t *distances)
{
    uint16_t *hops = malloc(distances->fabric->vertices * sizeof *hops);
    distances->server_vertex = malloc(job->servers * sizeof(uint32_t));
    distances->servers = malloc((size_t)job->nodes * job->servers * sizeof(uint16_t));
    themis_status_t status = hops && distances->server_vertex && distances->servers ? THEMIS_OK : THEMIS_NO_MEMORY;
    for (uint32_t s = 0; status == THEMIS_OK && s < job->servers; s++)
        status = measure_server(job, s, hops, distances);
    free(hops);
    return status;
}

static themis_status_t use_fabric(const job_t *job, themis_collective_node_distances_t *distances)
{
    themis_status_t status = measure_nodes(job, distances);
    if (status != THEMIS_OK || !job->host)
        return status;
    if (measure_servers(job, distances) != THEMIS_OK) {
        themis_info("not all servers are in the fabric; distances to servers are left out");
        free(distances->server_vertex);
        free(distances->servers);
        distances->server_vertex = NULL;
        distances->servers = NULL;
    }
    return THEMIS_OK;
}

/* --- which one --- */

static themis_status_t use_source(const job_t *job, int is_auto, themis_collective_node_distances_t *distances)
{
    themis_status_t status;
    if (is_auto && !job->node[0].guid)
        return THEMIS_NO_ENTRY;
    if (is_auto || !strcmp(job->topology, "discover")) {
        distances->source = THEMIS_COLLECTIVE_DISCOVERED_FABRIC;
        status = themis_collective_fabric_discover(is_auto ? WAIT_AUTO_MS : WAIT_DISCOVER_MS, &distances->fabric);
    } else if (themis_aggregation_distances_is_hop_file(job->topology)) {
        return use_table(job, 1, distances);
    } else {
        distances->source = THEMIS_COLLECTIVE_RECORDED_FABRIC;
        status = themis_aggregation_fabric_load(job->topology, &distances->recorded);
        distances->fabric = distances->recorded;
    }
    return status == THEMIS_OK ? use_fabric(job, distances) : status;
}

static themis_status_t use_best(const job_t *job, themis_collective_node_distances_t *distances)
{
    int is_auto = !job->topology || !strcmp(job->topology, "auto");
    if (job->nodes == 1 || (!is_auto && !strcmp(job->topology, "flat")))
        return use_table(job, 0, distances);
    themis_status_t status = use_source(job, is_auto, distances);
    if (status == THEMIS_OK)
        return THEMIS_OK;
    if (!is_auto)
        themis_warn("topology \"%s\" does not describe the nodes of this job (%s); all count as equally far apart",
                    job->topology, themis_status_string(status));
    themis_collective_node_distances_free(distances);
    return use_table(job, 0, distances);
}

themis_status_t themis_collective_node_distances_fill(const themis_collective_group_t *group,
                                                      const themis_collective_options_t *options,
                                                      themis_collective_node_distances_t *distances)
{
    job_t job = {.topology = options->topology,
                 .node = group->node_info->node,
                 .nodes = group->nodes,
                 .servers = options->layout.servers};
    if (options->server_list)
        job.host = malloc(job.servers * sizeof *job.host);
    for (uint32_t s = 0; job.host && s < job.servers; s++)
        server_host(options->server_list, options->first_server + s, job.host[s]);
    themis_status_t status = use_best(&job, distances);
    for (uint32_t n = 0; status == THEMIS_OK && n < job.nodes; n++)
        distances->nodes->local[n] = (uint16_t)job.node[n].local;
    free(job.host);
    return status;
}

void themis_collective_node_distances_free(themis_collective_node_distances_t *distances)
{
    themis_aggregation_fabric_destroy(distances->recorded);
    themis_aggregation_distances_destroy(distances->nodes);
    free(distances->vertex);
    free(distances->server_vertex);
    free(distances->servers);
    *distances = (themis_collective_node_distances_t){.source = THEMIS_COLLECTIVE_FLAT};
}
