/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every step that can fail on one rank alone is done before the messages, and its status is agreed on, so that no rank
 * waits for one that gave up.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* sched_getaffinity */
#endif
#include "collective/node_info.h"
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>
#include "collective/group.h"
#include "themis/topology.h"

/* What a leader needs beside the census; freed before take returns. */
typedef struct desk {
    int *cpu;           /* [local_size] */
    uint32_t (*row)[2]; /* [local_size] node and preference of its ranks */
} desk_t;

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
static uint32_t prefer(const desk_t *desk, uint32_t count)
{
    uint16_t *distance = malloc((size_t)count * count * sizeof *distance), mean = THEMIS_AGGREGATION_HOP;
    uint32_t *order = malloc(count * sizeof *order);
    if (distance && order && themis_aggregation_local_distances(NULL, desk->cpu, count, distance) == THEMIS_OK &&
        themis_aggregation_local_order(distance, count, order, &mean) == THEMIS_OK)
        for (uint32_t i = 0; i < count; i++)
            desk->row[order[i]][1] = i;
    free(distance);
    free(order);
    return mean ? mean : 1;
}

static int any_bound(const int *cpu, int count)
{
    for (int i = 0; i < count; i++)
        if (cpu[i] >= 0)
            return 1;
    return 0;
}

static themis_status_t make_room(const themis_collective_group_t *group, themis_collective_census_t *census,
                                 desk_t *desk)
{
    if (!census)
        return THEMIS_NO_MEMORY;
    if (!group->local) {
        desk->cpu = malloc((size_t)group->local_size * sizeof *desk->cpu);
        desk->row = malloc((size_t)group->local_size * sizeof *desk->row);
        if (!desk->cpu || !desk->row)
            return THEMIS_NO_MEMORY;
    }
    if (group->rank != 0)
        return THEMIS_OK;
    census->node_of_rank = malloc((size_t)group->size * sizeof(uint32_t));
    census->preference = malloc((size_t)group->size * sizeof(uint32_t));
    census->card = calloc(group->nodes, sizeof *census->card);
    return census->node_of_rank && census->preference && census->card ? THEMIS_OK : THEMIS_NO_MEMORY;
}

/* A leader fills in the rows of its node and describes it. */
static void describe(const themis_collective_group_t *group, const desk_t *desk, themis_collective_card_t *card)
{
    int length;
    for (int i = 0; i < group->local_size; i++) {
        desk->row[i][0] = group->node_index;
        desk->row[i][1] = (uint32_t)i;
    }
    card->local = THEMIS_AGGREGATION_HOP;
    MPI_Get_processor_name(card->name, &length);
    if (group->nodes == 1)
        return;
    if (group->local_size > 1 && any_bound(desk->cpu, group->local_size))
        card->local = prefer(desk, (uint32_t)group->local_size);
    if (themis_aggregation_adapter_guid(&card->guid) != THEMIS_OK)
        card->guid = 0;
}

/* The rows of all ranks, in their order, become the two arrays of rank 0. */
static int gather_rows(const themis_collective_group_t *group, const uint32_t own[2],
                       themis_collective_census_t *census)
{
    int code = MPI_Gather(&own[0], 1, MPI_UINT32_T, census->node_of_rank, 1, MPI_UINT32_T, 0, group->comm);
    if (code == MPI_SUCCESS)
        code = MPI_Gather(&own[1], 1, MPI_UINT32_T, census->preference, 1, MPI_UINT32_T, 0, group->comm);
    return code;
}

static themis_status_t gather(const themis_collective_group_t *group, const desk_t *desk,
                              themis_collective_census_t *census)
{
    themis_collective_card_t card = {.name = ""};
    uint32_t own[2];
    int cpu = bound_cpu();
    int code = MPI_Gather(&cpu, 1, MPI_INT, desk->cpu, 1, MPI_INT, 0, group->node);
    if (!group->local)
        describe(group, desk, &card);
    if (code == MPI_SUCCESS)
        code = MPI_Scatter(desk->row, 2, MPI_UINT32_T, own, 2, MPI_UINT32_T, 0, group->node);
    if (code == MPI_SUCCESS)
        code = gather_rows(group, own, census);
    if (code == MPI_SUCCESS && !group->local)
        code = MPI_Gather(&card, sizeof card, MPI_BYTE, census->card, sizeof card, MPI_BYTE, 0, group->leaders);
    return code == MPI_SUCCESS ? THEMIS_OK : THEMIS_INTERNAL;
}

themis_status_t themis_collective_census_take(const themis_collective_group_t *group,
                                              themis_collective_census_t **result)
{
    themis_collective_census_t *census = calloc(1, sizeof *census);
    desk_t desk = {NULL, NULL};
    int own = make_room(group, census, &desk), all = THEMIS_INTERNAL;
    MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MIN, group->comm);
    themis_status_t status = (themis_status_t)all;
    if (status == THEMIS_OK)
        status = gather(group, &desk, census);
    free(desk.cpu);
    free(desk.row);
    if (status == THEMIS_OK)
        *result = census;
    else
        themis_collective_census_destroy(census);
    return status;
}

void themis_collective_census_destroy(themis_collective_census_t *census)
{
    if (!census)
        return;
    free(census->node_of_rank);
    free(census->preference);
    free(census->card);
    free(census);
}
