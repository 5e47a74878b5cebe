/* SPDX-License-Identifier: BSD-3-Clause */
#include "collective/candidates.h"
#include <stdlib.h>
#include "collective/node_info.h"
#include "util/log.h"

/* limit: [nodes] candidates of each node; NULL: one each. */
static themis_status_t make_processes(const themis_collective_group_t *group, const uint32_t *limit,
                                      themis_aggregation_candidates_t **processes)
{
    const themis_collective_node_info_t *info = group->node_info;
    return themis_aggregation_candidates_create(info->node_of_rank, (uint32_t)group->size, group->nodes, limit,
                                                info->preference, processes);
}

/* As many of each node as cb_config_list allows. */
static themis_status_t choose_candidates(const themis_collective_group_t *group, const char *config_list,
                                         themis_aggregation_candidates_t **processes)
{
    const char **name = malloc(group->nodes * sizeof *name);
    uint32_t *limit = malloc(group->nodes * sizeof *limit);
    themis_status_t status = name && limit ? THEMIS_OK : THEMIS_NO_MEMORY;
    for (uint32_t i = 0; status == THEMIS_OK && i < group->nodes; i++) {
        name[i] = group->node_info->node[i].name;
        limit[i] = 1;
    }
    if (status == THEMIS_OK && config_list) {
        themis_status_t parsed = themis_aggregation_config_list(config_list, name, group->nodes, limit);
        if (parsed != THEMIS_OK)
            themis_warn("cb_config_list \"%s\" cannot be used (%s); using one aggregator for each node", config_list,
                        themis_status_string(parsed));
    }
    if (status == THEMIS_OK)
        status = make_processes(group, limit, processes);
    if (status == THEMIS_OK && !(*processes)->count) {
        themis_warn("cb_config_list \"%s\" allows no aggregator; using one for each node", config_list);
        themis_aggregation_candidates_destroy(*processes);
        *processes = NULL;
        status = make_processes(group, NULL, processes);
    }
    free(name);
    free(limit);
    return status;
}

/* All ranks learn what they need of rank 0's candidates, or get the worst status of any. */
static themis_status_t share_candidates(const themis_collective_group_t *group, themis_status_t status,
                                        themis_collective_candidates_t *candidates)
{
    int64_t shared[3] = {status};
    if (group->rank == 0 && status == THEMIS_OK) {
        shared[1] = candidates->processes->count;
        shared[2] = candidates->distances.source;
    }
    MPI_Bcast(shared, 3, MPI_INT64_T, 0, group->comm);
    status = themis_collective_group_worst_status(group, status < shared[0] ? status : (themis_status_t)shared[0]);
    if (status == THEMIS_OK) {
        candidates->count = (uint32_t)shared[1];
        candidates->distances.source = (themis_collective_distance_source_t)shared[2];
    }
    return status;
}

themis_status_t themis_collective_candidates_create(themis_collective_group_t *group,
                                                    const themis_collective_options_t *options,
                                                    themis_collective_candidates_t **result)
{
    themis_collective_candidates_t *candidates = calloc(1, sizeof *candidates);
    themis_status_t status = themis_collective_node_info_gather(group);
    if (status == THEMIS_OK && !candidates)
        status = THEMIS_NO_MEMORY;
    if (group->rank == 0 && status == THEMIS_OK)
        status = choose_candidates(group, options->config_list, &candidates->processes);
    if (group->rank == 0 && status == THEMIS_OK)
        status = themis_collective_node_distances_fill(group, options, &candidates->distances);
    status = share_candidates(group, status, candidates);
    if (status == THEMIS_OK)
        *result = candidates;
    else
        themis_collective_candidates_destroy(candidates);
    return status;
}

void themis_collective_candidates_destroy(themis_collective_candidates_t *candidates)
{
    if (!candidates)
        return;
    themis_collective_node_distances_free(&candidates->distances);
    themis_aggregation_candidates_destroy(candidates->processes);
    free(candidates);
}
