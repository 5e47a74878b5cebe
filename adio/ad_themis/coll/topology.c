/* SPDX-License-Identifier: BSD-3-Clause */
#include "adio/ad_themis/coll/topology.h"
#include <stdlib.h>
#include <string.h>
#include "util/log.h"

static const char *node_name(const themis_coll_group_t *group, uint32_t node)
{
    return group->names + (size_t)node * MPI_MAX_PROCESSOR_NAME;
}

static themis_status_t make_slots(const themis_coll_group_t *group, const themis_coll_config_t *config,
                                  themis_coll_topology_t *topology)
{
    const char **name = malloc(group->nodes * sizeof *name);
    uint32_t *limit = malloc(group->nodes * sizeof *limit);
    themis_status_t status = name && limit ? THEMIS_OK : THEMIS_NO_MEMORY;
    for (uint32_t i = 0; status == THEMIS_OK && i < group->nodes; i++) {
        name[i] = node_name(group, i);
        limit[i] = 1;
    }
    if (status == THEMIS_OK && config->config_list &&
        themis_aggregation_config_list(config->config_list, name, group->nodes, limit) != THEMIS_OK)
        themis_warn("cb_config_list \"%s\" is not understood; one aggregator for each node", config->config_list);
    if (status == THEMIS_OK)
        status = themis_aggregation_slots_create(group->node_of_rank, (uint32_t)group->size, group->nodes, limit, NULL,
                                                 &topology->slots);
    if (status == THEMIS_OK && !topology->slots->count) {
        themis_warn("cb_config_list \"%s\" allows no aggregator; one for each node", config->config_list);
        themis_aggregation_slots_destroy(topology->slots);
        topology->slots = NULL;
        status = themis_aggregation_slots_create(group->node_of_rank, (uint32_t)group->size, group->nodes, NULL, NULL,
                                                 &topology->slots);
    }
    free(name);
    free(limit);
    return status;
}

/* Host name of server `index` of "host:port,host:port", counted round and round; 0 if it is too long. */
static int server_host(const char *list, uint32_t index, char *host, size_t size)
{
    uint32_t servers = 1;
    for (const char *comma = list; (comma = strchr(comma, ',')); comma++)
        servers++;
    for (index %= servers; index; index--)
        list = strchr(list, ',') + 1;
    size_t length = strcspn(list, ":,");
    if (length >= size)
        return 0;
    memcpy(host, list, length);
    host[length] = 0;
    return 1;
}

static void find_servers(const themis_coll_config_t *config, themis_coll_topology_t *topology)
{
    uint32_t servers = config->layout.servers;
    if (!config->server_list || !(topology->server_vertex = malloc(servers * sizeof(uint32_t))))
        return;
    char host[256];
    for (uint32_t i = 0; i < servers; i++) {
        if (!server_host(config->server_list, config->first_server + i, host, sizeof host) ||
            themis_aggregation_fabric_find(topology->fabric, 0, host, &topology->server_vertex[i]) != THEMIS_OK) {
            free(topology->server_vertex);
            topology->server_vertex = NULL;
            return;
        }
    }
}

static themis_status_t measure_servers(const themis_coll_group_t *group, uint32_t servers,
                                       themis_coll_topology_t *topology)
{
    const themis_aggregation_fabric_t *fabric = topology->fabric;
    uint16_t *hops = malloc(fabric->vertices * sizeof *hops);
    uint16_t *distance = malloc((size_t)group->nodes * servers * sizeof *distance);
    themis_status_t status = hops && distance ? THEMIS_OK : THEMIS_NO_MEMORY;
    for (uint32_t s = 0; s < servers && status == THEMIS_OK; s++) {
        status = themis_aggregation_fabric_hops(fabric, topology->server_vertex[s], hops);
        for (uint32_t n = 0; n < group->nodes && status == THEMIS_OK; n++)
            distance[(size_t)n * servers + s] = (uint16_t)(hops[topology->vertex[n]] * THEMIS_AGGREGATION_HOP);
    }
    free(hops);
    if (status == THEMIS_OK)
        topology->server_distance = distance;
    else
        free(distance);
    return status;
}

/* Distances from a fabric; anything but OK means that it does not describe these nodes. */
static themis_status_t use_fabric(const themis_coll_group_t *group, const themis_coll_config_t *config,
                                  themis_coll_topology_t *topology)
{
    topology->vertex = malloc(group->nodes * sizeof(uint32_t));
    if (!topology->vertex)
        return THEMIS_NO_MEMORY;
    for (uint32_t i = 0; i < group->nodes; i++) {
        themis_status_t status =
            themis_aggregation_fabric_find(topology->fabric, 0, node_name(group, i), &topology->vertex[i]);
        if (status != THEMIS_OK)
            return status;
    }
    themis_status_t status =
        themis_aggregation_distances_fabric(topology->fabric, topology->vertex, group->nodes, &topology->distances);
    if (status != THEMIS_OK)
        return status;
    find_servers(config, topology);
    return topology->server_vertex ? measure_servers(group, config->layout.servers, topology) : THEMIS_OK;
}

static void drop_fabric(themis_coll_topology_t *topology)
{
    themis_aggregation_fabric_destroy(topology->fabric);
    themis_aggregation_distances_destroy(topology->distances);
    free(topology->vertex);
    free(topology->server_vertex);
    free(topology->server_distance);
    topology->fabric = NULL;
    topology->distances = NULL;
    topology->vertex = topology->server_vertex = NULL;
    topology->server_distance = NULL;
}

static themis_status_t read_hops(const themis_coll_group_t *group, const char *path, themis_coll_topology_t *topology)
{
    const char **name = malloc(group->nodes * sizeof *name);
    if (!name)
        return THEMIS_NO_MEMORY;
    for (uint32_t i = 0; i < group->nodes; i++)
        name[i] = node_name(group, i);
    themis_status_t status = themis_aggregation_distances_file(path, name, group->nodes, &topology->distances);
    free(name);
    return status;
}

static themis_status_t measure(const themis_coll_group_t *group, const themis_coll_config_t *config,
                               themis_coll_topology_t *topology)
{
    const char *source = config->topology;
    themis_status_t status = THEMIS_NO_ENTRY;
    if (source && group->nodes > 1) {
        status = !strcmp(source, "discover") ? themis_aggregation_fabric_discover(&topology->fabric)
                                             : themis_aggregation_fabric_load(source, &topology->fabric);
        if (status == THEMIS_OK)
            status = use_fabric(group, config, topology);
        if (status != THEMIS_OK) {
            drop_fabric(topology);
            status = read_hops(group, source, topology);
        }
        if (status != THEMIS_OK)
            themis_warn("topology \"%s\" does not describe the nodes of this job (%s); all count as equally far",
                        source, themis_status_string(status));
    }
    if (status == THEMIS_OK)
        return THEMIS_OK;
    return themis_aggregation_distances_flat(group->nodes, &topology->distances);
}

themis_status_t themis_coll_topology_create(const themis_coll_group_t *group, const themis_coll_config_t *config,
                                            themis_coll_topology_t **result)
{
    themis_coll_topology_t *topology = calloc(1, sizeof *topology);
    themis_status_t status = topology ? THEMIS_OK : THEMIS_NO_MEMORY;
    if (group->rank == 0 && status == THEMIS_OK) {
        status = make_slots(group, config, topology);
        if (status == THEMIS_OK)
            status = measure(group, config, topology);
    }
    int64_t said[2] = {status, status == THEMIS_OK && topology->slots ? topology->slots->count : 0};
    MPI_Bcast(said, 2, MPI_INT64_T, 0, group->comm);
    int64_t all, own = status < said[0] ? status : said[0];
    MPI_Allreduce(&own, &all, 1, MPI_INT64_T, MPI_MIN, group->comm);
    if (all != THEMIS_OK) {
        themis_coll_topology_destroy(topology);
        return (themis_status_t)all;
    }
    topology->slot_count = (uint32_t)said[1];
    *result = topology;
    return THEMIS_OK;
}

void themis_coll_topology_destroy(themis_coll_topology_t *topology)
{
    if (!topology)
        return;
    drop_fabric(topology);
    themis_aggregation_slots_destroy(topology->slots);
    free(topology);
}
