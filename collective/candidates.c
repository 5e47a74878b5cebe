/* SPDX-License-Identifier: BSD-3-Clause */
#include "collective/candidates.h"
#include <stdlib.h>
#include "collective/node_distances.h"
#include "util/log.h"

static const char *const names[] = {[THEMIS_COLLECTIVE_FLAT] = "flat",
                                    [THEMIS_COLLECTIVE_HOPS] = "hop file",
                                    [THEMIS_COLLECTIVE_FABRIC] = "recorded fabric",
                                    [THEMIS_COLLECTIVE_FOUND] = "discovered fabric"};

const char *themis_collective_source_name(themis_collective_source_t source)
{
    return names[source];
}

static themis_status_t slots_within(const themis_collective_group_t *group, const uint32_t *limit,
                                    themis_aggregation_slots_t **slots)
{
    const themis_collective_census_t *census = group->census;
    return themis_aggregation_slots_create(census->node_of_rank, (uint32_t)group->size, group->nodes, limit,
                                           census->preference, slots);
}

static themis_status_t make_slots(const themis_collective_group_t *group, const themis_collective_options_t *config,
                                  themis_collective_topology_t *topology)
{
    const char **name = malloc(group->nodes * sizeof *name);
    uint32_t *limit = malloc(group->nodes * sizeof *limit);
    themis_status_t status = name && limit ? THEMIS_OK : THEMIS_NO_MEMORY;
    for (uint32_t i = 0; status == THEMIS_OK && i < group->nodes; i++) {
        name[i] = group->census->card[i].name;
        limit[i] = 1;
    }
    if (status == THEMIS_OK && config->config_list &&
        themis_aggregation_config_list(config->config_list, name, group->nodes, limit) != THEMIS_OK)
        themis_warn("cb_config_list \"%s\" is not understood; one aggregator for each node", config->config_list);
    if (status == THEMIS_OK)
        status = slots_within(group, limit, &topology->slots);
    if (status == THEMIS_OK && !topology->slots->count) {
        themis_warn("cb_config_list \"%s\" allows no aggregator; one for each node", config->config_list);
        themis_aggregation_slots_destroy(topology->slots);
        topology->slots = NULL;
        status = slots_within(group, NULL, &topology->slots);
    }
    free(name);
    free(limit);
    return status;
}

static themis_status_t fill_in(const themis_collective_group_t *group, const themis_collective_options_t *config,
                               themis_collective_topology_t *topology)
{
    themis_status_t status = make_slots(group, config, topology);
    if (status == THEMIS_OK)
        status = themis_collective_measure(group, config, topology);
    if (status == THEMIS_OK)
        topology->slot_count = topology->slots->count;
    return status;
}

/* What all ranks are to know of rank 0's topology; or the least status of any of them. */
static themis_status_t share(const themis_collective_group_t *group, themis_status_t status,
                             themis_collective_topology_t *topology)
{
    int64_t said[3] = {status, topology ? topology->slot_count : 0, topology ? (int64_t)topology->source : 0};
    MPI_Bcast(said, 3, MPI_INT64_T, 0, group->comm);
    int64_t all = THEMIS_INTERNAL, own = status < said[0] ? status : said[0];
    MPI_Allreduce(&own, &all, 1, MPI_INT64_T, MPI_MIN, group->comm);
    if (all == THEMIS_OK) {
        topology->slot_count = (uint32_t)said[1];
        topology->source = (themis_collective_source_t)said[2];
    }
    return (themis_status_t)all;
}

themis_status_t themis_collective_topology_create(themis_collective_group_t *group,
                                                  const themis_collective_options_t *config,
                                                  themis_collective_topology_t **result)
{
    themis_collective_topology_t *topology = calloc(1, sizeof *topology);
    themis_status_t status = group->census ? THEMIS_OK : themis_collective_census_take(group, &group->census);
    if (status == THEMIS_OK && !topology)
        status = THEMIS_NO_MEMORY;
    if (group->rank == 0 && status == THEMIS_OK)
        status = fill_in(group, config, topology);
    status = share(group, status, topology);
    if (status == THEMIS_OK)
        *result = topology;
    else
        themis_collective_topology_destroy(topology);
    return status;
}

void themis_collective_topology_destroy(themis_collective_topology_t *topology)
{
    if (!topology)
        return;
    themis_collective_measure_drop(topology);
    themis_aggregation_slots_destroy(topology->slots);
    free(topology);
}
