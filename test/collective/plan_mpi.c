/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_mpi [-n NODES] [-s SERVERS] [-h BYTES] [-l LOCAL] [TOPOLOGY [SOURCE]]: an MPI program that plans calls over
 * all ranks and checks the plan on each of them: the same everywhere, one rank for every domain, and the hop-bytes that
 * the counts give. The ranks pretend to be on NODES nodes. SOURCE is where the distances must come from; BYTES are what
 * one byte from every node to the one after it costs; LOCAL the ranks that should aggregate with two for each node, in
 * their order ("1,0,3,2"). For test/topology.sh.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collective/backoff.h"
#include "collective/group_cache.h"
#include "collective/planner.h"

enum { STRIPE = 1024, SERVERS = 2 };

static int failures;

#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition);                                                    \
            failures++;                                                                                                \
        }                                                                                                              \
    } while (0)

static themis_collective_group_t *group;
static themis_collective_candidates_t *candidates;
static themis_collective_options_t config = {
    .aggregators = THEMIS_AGGREGATION_COUNT_AUTO, .buffer_size = 1 << 20, .layout = {STRIPE, SERVERS, 0}};

/* Every rank has the same copy of a number. */
static int same(uint64_t value)
{
    uint64_t mine[2] = {value, ~value}, most[2];

    MPI_Allreduce(mine, most, 2, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    return most[0] == ~most[1];
}

/* A plan for a call in which the first rank of every node accesses the stripe of file offset `offset`. */
static themis_status_t plan_call(themis_aggregation_placement_t placement, const themis_aggregation_domains_t *domains,
                                 uint64_t offset, const uint32_t *keep, themis_collective_call_plan_t **plan)
{
    themis_collective_planner_t *planner;
    themis_util_runs_t runs = {0};
    themis_status_t status;
    unsigned polls = 0;

    config.placement = placement;
    if (!group->local)
        EXPECT(themis_util_runs_add(&runs, offset, STRIPE) == THEMIS_OK);
    EXPECT(themis_collective_planner_create(group, &config, candidates, &runs, domains, &planner) == THEMIS_OK);
    themis_collective_planner_keep(planner, keep);
    while ((status = themis_collective_planner_step(planner, plan)) == THEMIS_IN_PROGRESS)
        themis_collective_backoff_wait(group, &polls);
    themis_collective_planner_destroy(planner);
    themis_util_runs_free(&runs);
    return status;
}

static void cut(themis_aggregation_method_t method, uint32_t from, uint32_t count,
                themis_aggregation_domains_t *domains)
{
    EXPECT(themis_aggregation_domains_init(method, &config.layout, (uint64_t)from * STRIPE,
                                           (uint64_t)(from + count) * STRIPE - 1, count, domains) == THEMIS_OK);
}

/* The first rank of each node holds the bytes of one domain, in reverse order: the assignment should reverse the
 * default placement. */
static void reversed(themis_aggregation_placement_t placement, int local)
{
    themis_aggregation_domains_t domains;
    themis_collective_call_plan_t *plan;
    uint32_t count = group->nodes, used = 0;

    cut(THEMIS_AGGREGATION_ALIGNED, 0, count, &domains);
    EXPECT(plan_call(placement, &domains, (uint64_t)(count - 1 - group->node_index) * STRIPE, NULL, &plan) ==
           THEMIS_OK);
    EXPECT(plan->domains.count == count);
    for (uint32_t k = 0; k < count; k++) {
        EXPECT(same(plan->aggregator[k]));
        EXPECT(plan->aggregator[k] < (uint32_t)group->size);
        used += plan->aggregator[k] == (uint32_t)group->rank;
    }
    EXPECT(used <= 1);
    EXPECT((used == 1) == (plan->mine != THEMIS_COLLECTIVE_NO_DOMAIN));
    EXPECT(plan->parts == used); /* only aggregators get lists */
    EXPECT((plan->candidate != NULL) == (group->rank == 0));
    EXPECT(same(plan->moved_bytes));
    EXPECT(same((uint64_t)plan->cost.hop_bytes));
    EXPECT(plan->cost.hop_bytes <= plan->default_cost.hop_bytes);
    if (local)
        EXPECT(plan->moved_bytes == 0);
    themis_collective_call_plan_destroy(plan);
}

/* Hop-bytes of the default, where node i sends a stripe to the aggregator of node i + 1, in hops. */
static void round_trip(double hops)
{
    themis_aggregation_domains_t domains;
    themis_collective_call_plan_t *plan;
    uint32_t count = group->nodes;

    cut(THEMIS_AGGREGATION_ALIGNED, 0, count, &domains);
    EXPECT(plan_call(THEMIS_AGGREGATION_DEFAULT, &domains, (uint64_t)((group->node_index + 1) % count) * STRIPE, NULL,
                     &plan) == THEMIS_OK);
    if (group->rank == 0)
        printf("one byte from every node to the next: %g hops\n", plan->cost.hop_bytes / STRIPE);
    EXPECT(hops < 0 || plan->cost.hop_bytes == hops * STRIPE);
    themis_collective_call_plan_destroy(plan);
}

/* A second static-cyclic plan keeps the aggregators of the first, though the data moved. */
static void kept(void)
{
    uint32_t count = group->nodes;
    uint32_t *first = calloc(count, sizeof *first), *kept_candidate = calloc(count, sizeof *kept_candidate);

    for (uint32_t turn = 0; turn < 2; turn++) {
        themis_aggregation_domains_t domains;
        themis_collective_call_plan_t *plan;

        cut(THEMIS_AGGREGATION_STATIC_CYCLIC, turn, count, &domains);
        EXPECT(plan_call(THEMIS_AGGREGATION_TOPOLOGY, &domains,
                         (uint64_t)(turn + (group->node_index + turn) % count) * STRIPE,
                         turn && group->rank == 0 ? kept_candidate : NULL, &plan) == THEMIS_OK);
        if (turn == 0 && plan->candidate)
            memcpy(kept_candidate, plan->candidate, count * sizeof *kept_candidate);
        if (turn == 0)
            memcpy(first, plan->aggregator, count * sizeof *first);
        EXPECT(memcmp(first, plan->aggregator, count * sizeof *first) == 0);
        themis_collective_call_plan_destroy(plan);
    }
    free(first);
    free(kept_candidate);
}

/* More domains than candidates: every rank gets the error. */
static void refused(void)
{
    themis_aggregation_domains_t domains;
    themis_collective_call_plan_t *plan;

    cut(THEMIS_AGGREGATION_EVEN, 0, candidates->count + 1, &domains);
    EXPECT(plan_call(THEMIS_AGGREGATION_AUTO, &domains, 0, NULL, &plan) == THEMIS_INVALID);
    themis_collective_call_plan_destroy(plan);
}

/* With two processes for each node, rank 0 has them in the order that hwloc prefers. */
static void preferred(const char *order)
{
    themis_collective_candidates_t *two;
    char text[256] = "";
    size_t used = 0;

    config.config_list = "*:2";
    EXPECT(themis_collective_candidates_create(group, &config, &two) == THEMIS_OK);
    EXPECT(same(two->count));
    EXPECT(two->count <= 2 * group->nodes && two->count >= group->nodes);
    for (uint32_t k = 0; two->processes && k < two->processes->count && used < sizeof text; k++)
        used += (size_t)snprintf(text + used, sizeof text - used, k ? ",%u" : "%u", two->processes->rank[k]);
    if (group->rank == 0)
        printf("candidates: %s\n", text);
    if (order && group->rank == 0)
        EXPECT(strcmp(text, order) == 0);
    themis_collective_candidates_destroy(two);
    config.config_list = NULL;
}

int main(int argc, char **argv)
{
    int all, nodes = 0, option;
    double hops = -1;
    const char *order = NULL;

    MPI_Init(&argc, &argv);
    while ((option = getopt(argc, argv, "n:s:h:l:")) != -1) {
        nodes = option == 'n' ? atoi(optarg) : nodes;
        config.server_list = option == 's' ? optarg : config.server_list;
        hops = option == 'h' ? atof(optarg) : hops;
        order = option == 'l' ? optarg : order;
    }
    config.topology = optind < argc ? argv[optind] : NULL;
    EXPECT(themis_collective_group_cache_acquire(MPI_COMM_WORLD, nodes, 1 << 20, THEMIS_OK, &group) == THEMIS_OK);
    EXPECT(themis_collective_candidates_create(group, &config, &candidates) == THEMIS_OK);
    EXPECT(same(candidates->count));
    EXPECT(candidates->count == group->nodes);
    if (group->rank == 0)
        printf("%d ranks on %u nodes, distances: %s%s\n", group->size, group->nodes,
               themis_collective_distance_source_name(candidates->distances.source),
               candidates->distances.servers ? ", servers too" : "");
    if (optind + 1 < argc)
        EXPECT(strcmp(themis_collective_distance_source_name(candidates->distances.source), argv[optind + 1]) == 0);
    reversed(THEMIS_AGGREGATION_TOPOLOGY, 1);
    reversed(THEMIS_AGGREGATION_LOCALITY, 1);
    reversed(THEMIS_AGGREGATION_AUTO, 0);
    reversed(THEMIS_AGGREGATION_DEFAULT, 0);
    round_trip(hops);
    kept();
    refused();
    preferred(order);
    themis_collective_candidates_destroy(candidates);
    themis_collective_group_cache_release(group);
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return all ? EXIT_FAILURE : EXIT_SUCCESS;
}
