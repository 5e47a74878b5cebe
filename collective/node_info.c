/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every step that can fail on one rank alone is done before the messages, and all ranks learn the worst status, so that
 * no rank waits for one that gave up.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "collective/node_info.h"
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>
#include "themis/topology.h"

/* What a leader needs while it gathers. */
typedef struct scratch {
    int *cpu;           /* [local_size] */
    uint32_t (*row)[2]; /* [local_size] node and preference of its ranks */
} scratch_t;

/* The first of the processors that this process is bound to; -1 when it may use them all. */
static int bound_cpu(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) >= sysconf(_SC_NPROCESSORS_ONLN))
        return -1;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &set))
            return cpu;
    return -1;
}

/* Puts hwloc's order into the rows and returns the mean distance. Whatever fails leaves the order of ranks. */
static uint32_t order_ranks(const scratch_t *scratch, uint32_t count)
{
    uint16_t *distance = malloc((size_t)count * count * sizeof *distance), mean = THEMIS_AGGREGATION_HOP;
    uint32_t *order = malloc(count * sizeof *order);
    if (distance && order && themis_aggregation_local_distances(NULL, scratch->cpu, count, distance) == THEMIS_OK &&
        themis_aggregation_local_order(distance, count, order, &mean) == THEMIS_OK)
        for (uint32_t i = 0; i < count; i++)
            scratch->row[order[i]][1] = i;
    free(distance);
    free(order);
    return mean ? mean : 1;
}

static themis_status_t allocate_info(const themis_collective_group_t *group, themis_collective_node_info_t *info,
                                     scratch_t *scratch)
{
    if (!info)
        return THEMIS_NO_MEMORY;
    if (!group->local) {
        scratch->cpu = malloc((size_t)group->local_size * sizeof *scratch->cpu);
        scratch->row = malloc((size_t)group->local_size * sizeof *scratch->row);
        if (!scratch->cpu || !scratch->row)
            return THEMIS_NO_MEMORY;
    }
    if (group->rank != 0)
        return THEMIS_OK;
    info->node_of_rank = malloc((size_t)group->size * sizeof(uint32_t));
    info->preference = malloc((size_t)group->size * sizeof(uint32_t));
    info->node = calloc(group->nodes, sizeof *info->node);
    return info->node_of_rank && info->preference && info->node ? THEMIS_OK : THEMIS_NO_MEMORY;
}

/* A leader fills in the rows of its node and describes it. */
static void describe_node(const themis_collective_group_t *group, const scratch_t *scratch,
                          themis_collective_node_t *node)
{
    int length, any_bound = 0;
    for (int i = 0; i < group->local_size; i++) {
        scratch->row[i][0] = group->node_index;
        scratch->row[i][1] = (uint32_t)i;
        any_bound |= scratch->cpu[i] >= 0;
    }
    node->local = THEMIS_AGGREGATION_HOP;
    MPI_Get_processor_name(node->name, &length);
    if (group->nodes == 1)
        return;
    if (group->local_size > 1 && any_bound)
        node->local = order_ranks(scratch, (uint32_t)group->local_size);
    if (themis_aggregation_adapter_guid(&node->guid) != THEMIS_OK)
        node->guid = 0;
}

static themis_status_t exchange_info(const themis_collective_group_t *group, const scratch_t *scratch,
                                     themis_collective_node_info_t *info)
{
    themis_collective_node_t node = {.name = ""};
    uint32_t own[2];
    int cpu = bound_cpu();
    int code = MPI_Gather(&cpu, 1, MPI_INT, scratch->cpu, 1, MPI_INT, 0, group->node);
    if (!group->local)
        describe_node(group, scratch, &node);
    if (code == MPI_SUCCESS)
        code = MPI_Scatter(scratch->row, 2, MPI_UINT32_T, own, 2, MPI_UINT32_T, 0, group->node);
    if (code == MPI_SUCCESS)
        code = MPI_Gather(&own[0], 1, MPI_UINT32_T, info->node_of_rank, 1, MPI_UINT32_T, 0, group->comm);
    if (code == MPI_SUCCESS)
        code = MPI_Gather(&own[1], 1, MPI_UINT32_T, info->preference, 1, MPI_UINT32_T, 0, group->comm);
    if (code == MPI_SUCCESS && !group->local)
        code = MPI_Gather(&node, sizeof node, MPI_BYTE, info->node, sizeof node, MPI_BYTE, 0, group->leaders);
    return code == MPI_SUCCESS ? THEMIS_OK : THEMIS_INTERNAL;
}

static void info_free(themis_collective_node_info_t *info)
{
    if (!info)
        return;
    free(info->node_of_rank);
    free(info->preference);
    free(info->node);
    free(info);
}

void themis_collective_node_info_free(themis_collective_group_t *group)
{
    info_free(group->node_info);
    group->node_info = NULL;
}

themis_status_t themis_collective_node_info_gather(themis_collective_group_t *group)
{
    if (group->node_info)
        return THEMIS_OK;
    themis_collective_node_info_t *info = calloc(1, sizeof *info);
    scratch_t scratch = {NULL, NULL};
    themis_status_t status = themis_collective_group_worst_status(group, allocate_info(group, info, &scratch));
    if (status == THEMIS_OK)
        status = exchange_info(group, &scratch, info);
    free(scratch.cpu);
    free(scratch.row);
    if (status == THEMIS_OK)
        group->node_info = info;
    else
        info_free(info);
    return status;
}
