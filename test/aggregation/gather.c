/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gather [TOPOLOGY]: an MPI program that plans a call over all ranks and checks the plan on each of them: the same
 * everywhere, one rank for every domain, and the hop-bytes that the counts give. For test/topology.sh.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregation/gather_mpi.h"

enum { STRIPE = 1024, SERVERS = 2 };

static int failures;

#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                                                    \
            failures++;                                                                                                \
        }                                                                                                              \
    } while (0)

/* Every rank has the same copy of a number. */
static int same(uint64_t value)
{
    uint64_t mine[2] = {value, ~value}, most[2];

    MPI_Allreduce(mine, most, 2, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    return most[0] == ~most[1];
}

/* Rank r holds only bytes of the domain ranks - 1 - r: the assignment should turn the default round. */
static void reversed(themis_aggregation_group_t *group, themis_aggregation_placement_t placement, bool local)
{
    themis_aggregation_layout_t layout = {STRIPE, SERVERS, 0};
    themis_aggregation_domains_t domains;
    themis_aggregation_plan_t *plan;
    uint64_t *bytes = calloc(group->slot_count, sizeof *bytes);
    uint32_t count = group->slot_count, used = 0;

    EXPECT(themis_aggregation_domains_init(THEMIS_AGGREGATION_ALIGNED, &layout, 0, (uint64_t)count * STRIPE - 1, count,
                                           &domains) == THEMIS_OK);
    bytes[count - 1 - group->node % count] = STRIPE;
    EXPECT(themis_aggregation_group_plan(group, placement, &domains, bytes, &plan) == THEMIS_OK);
    EXPECT(plan->domains == count);
    for (uint32_t k = 0; k < count; k++) {
        EXPECT(same(plan->aggregator[k]));
        EXPECT(plan->aggregator[k] < (uint32_t)group->ranks);
        used += plan->aggregator[k] == (uint32_t)group->rank;
    }
    EXPECT(used <= 1);
    EXPECT(same(plan->chosen.moved_bytes));
    EXPECT(same((uint64_t)plan->chosen.hop_bytes));
    EXPECT(plan->chosen.hop_bytes <= plan->otp.hop_bytes);
    if (local)
        EXPECT(plan->chosen.moved_bytes == 0);
    themis_aggregation_plan_destroy(plan);
    free(bytes);
}

/* A second static-cyclic plan keeps the aggregators of the first, though the data moved. */
static void kept(themis_aggregation_group_t *group)
{
    themis_aggregation_layout_t layout = {STRIPE, SERVERS, 0};
    uint32_t count = group->slot_count;
    uint32_t *first = calloc(count, sizeof *first);

    for (uint32_t turn = 0; turn < 2; turn++) {
        themis_aggregation_domains_t domains;
        themis_aggregation_plan_t *plan;
        uint64_t *bytes = calloc(count, sizeof *bytes);

        EXPECT(themis_aggregation_domains_init(THEMIS_AGGREGATION_STATIC_CYCLIC, &layout, turn * STRIPE,
                                               (uint64_t)(count + turn) * STRIPE - 1, count, &domains) == THEMIS_OK);
        bytes[(group->node + turn) % count] = STRIPE;
        EXPECT(themis_aggregation_group_plan(group, THEMIS_AGGREGATION_TOPOLOGY, &domains, bytes, &plan) == THEMIS_OK);
        if (turn == 0)
            memcpy(first, plan->aggregator, count * sizeof *first);
        EXPECT(memcmp(first, plan->aggregator, count * sizeof *first) == 0);
        themis_aggregation_plan_destroy(plan);
        free(bytes);
    }
    free(first);
}

/* More domains than processes that may aggregate: every rank is told. */
static void refused(themis_aggregation_group_t *group)
{
    themis_aggregation_layout_t layout = {STRIPE, SERVERS, 0};
    uint32_t count = group->slot_count + 1;
    uint64_t *bytes = calloc(count, sizeof *bytes);
    themis_aggregation_domains_t domains;
    themis_aggregation_plan_t *plan;

    EXPECT(themis_aggregation_domains_init(THEMIS_AGGREGATION_EVEN, &layout, 0, 9999, count, &domains) == THEMIS_OK);
    EXPECT(themis_aggregation_group_plan(group, THEMIS_AGGREGATION_AUTO, &domains, bytes, &plan) == THEMIS_INVALID);
    free(bytes);
}

int main(int argc, char **argv)
{
    themis_aggregation_group_options_t options = {.topology = argc > 1 ? argv[1] : NULL};
    themis_aggregation_group_t *group;
    int all;

    MPI_Init(&argc, &argv);
    EXPECT(themis_aggregation_group_create(MPI_COMM_WORLD, &options, &group) == THEMIS_OK);
    EXPECT(same(group->nodes));
    EXPECT(group->slot_count == group->nodes);
    if (group->rank == 0)
        printf("%d ranks on %u nodes\n", group->ranks, group->nodes);
    reversed(group, THEMIS_AGGREGATION_TOPOLOGY, true);
    reversed(group, THEMIS_AGGREGATION_LOCALITY, true);
    reversed(group, THEMIS_AGGREGATION_AUTO, false);
    reversed(group, THEMIS_AGGREGATION_DEFAULT, false);
    kept(group);
    refused(group);
    themis_aggregation_group_destroy(group);
    options.config_list = "*:2";
    EXPECT(themis_aggregation_group_create(MPI_COMM_WORLD, &options, &group) == THEMIS_OK);
    EXPECT(group->slot_count <= 2 * group->nodes && group->slot_count >= group->nodes);
    themis_aggregation_group_destroy(group);
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all ? EXIT_FAILURE : EXIT_SUCCESS;
}
