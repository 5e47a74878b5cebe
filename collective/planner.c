/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A planner is a sequence of stages; each starts what the next one waits for. All communication is non-blocking, and a
 * rank that failed goes on taking part with empty contributions, so that no rank waits for it for ever.
 */
#include "collective/planner.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "collective/domain_extents.h"
#include "collective/list_messages.h"

/* Bytes per round that are considered: cb_buffer_size, its half, and so on. */
enum { ROUND_SIZES = 24 };
/* The cell by which a leader reports the bytes per round that its node has room for. */
#define ROUND_CELL UINT32_MAX

/* What rank 0 broadcasts. */
typedef struct answer {
    int64_t status;
    uint64_t round_bytes, moved_bytes;
    uint32_t placement, reserved;
    themis_collective_cost_t cost, default_cost;
    uint32_t aggregator[];
} answer_t;

struct themis_collective_planner {
    themis_collective_group_t *group;
    const themis_collective_options_t *options;
    const themis_collective_candidates_t *candidates;
    const themis_util_runs_t *runs;
    const uint32_t *keep;
    themis_collective_call_plan_t *plan;
    themis_status_t status;
    int stage;
    MPI_Request request;
    uint64_t *count; /* [domains + ROUND_SIZES]: bytes per domain; bytes of the node's fullest round per round size */
    themis_aggregation_cell_t *cell; /* leaders: this node's row */
    int cells;
    int *cells_of, *place;          /* rank 0: [nodes] */
    int room;                       /* leaders: THEMIS_OK if rank 0 has room for all cells */
    themis_aggregation_cell_t *all; /* rank 0: [gathered] */
    int gathered;
    answer_t *answer;
    size_t answer_bytes;
    themis_collective_list_messages_t *lists;
};

static themis_status_t allocate_planner(themis_collective_planner_t *planner,
                                        const themis_aggregation_domains_t *domains)
{
    size_t nodes = planner->group->nodes;
    themis_collective_call_plan_t *plan = planner->plan = calloc(1, sizeof *plan);
    planner->count = calloc(domains->count + ROUND_SIZES, sizeof(uint64_t));
    planner->cell = calloc(domains->count + 1, sizeof *planner->cell);
    planner->answer_bytes = sizeof(answer_t) + domains->count * sizeof(uint32_t);
    planner->answer = calloc(1, planner->answer_bytes);
    if (!plan || !planner->count || !planner->cell || !planner->answer)
        return THEMIS_NO_MEMORY;
    plan->domains = *domains;
    plan->aggregator = calloc(domains->count, sizeof(uint32_t));
    if (planner->group->rank == 0) {
        planner->cells_of = calloc(nodes, sizeof(int));
        planner->place = calloc(nodes, sizeof(int));
        if (!planner->cells_of || !planner->place)
            return THEMIS_NO_MEMORY;
    }
    if (!plan->aggregator)
        return THEMIS_NO_MEMORY;
    return themis_collective_list_messages_create(planner->group, planner->runs, plan, &planner->lists);
}

themis_status_t
themis_collective_planner_create(themis_collective_group_t *group, const themis_collective_options_t *options,
                                 const themis_collective_candidates_t *candidates, const themis_util_runs_t *runs,
                                 const themis_aggregation_domains_t *domains, themis_collective_planner_t **result)
{
    themis_collective_planner_t *planner = calloc(1, sizeof *planner);
    if (!planner)
        return THEMIS_NO_MEMORY;
    *planner = (themis_collective_planner_t){
        .group = group, .options = options, .candidates = candidates, .runs = runs, .request = MPI_REQUEST_NULL};
    themis_status_t status = allocate_planner(planner, domains);
    if (status == THEMIS_OK)
        *result = planner;
    else
        themis_collective_planner_destroy(planner);
    return status;
}

void themis_collective_planner_keep(themis_collective_planner_t *planner, const uint32_t *candidate)
{
    planner->keep = candidate;
}

void themis_collective_planner_destroy(themis_collective_planner_t *planner)
{
    if (!planner)
        return;
    themis_collective_call_plan_destroy(planner->plan);
    themis_collective_list_messages_destroy(planner->lists);
    free(planner->count);
    free(planner->cell);
    free(planner->cells_of);
    free(planner->place);
    free(planner->all);
    free(planner->answer);
    free(planner);
}

static void set_failed(themis_collective_planner_t *planner, themis_status_t status)
{
    if (planner->status == THEMIS_OK)
        planner->status = status;
}

/* --- bytes per node and domain go to rank 0 --- */

/* This rank's bytes per domain, and for each round size the bytes that it could have in one round. */
static void sum_counts(themis_collective_planner_t *planner)
{
    uint32_t domains = planner->plan->domains.count;
    themis_collective_domain_count(planner->runs, &planner->plan->domains, planner->count);
    for (int i = 0; i < ROUND_SIZES; i++) {
        uint64_t size = planner->options->buffer_size >> i;
        for (uint32_t d = 0; d < domains; d++)
            planner->count[domains + i] += planner->count[d] < size ? planner->count[d] : size;
    }
    const void *from = planner->group->local ? planner->count : MPI_IN_PLACE;
    MPI_Ireduce(from, planner->count, (int)domains + ROUND_SIZES, MPI_UINT64_T, MPI_SUM, 0, planner->group->node,
                &planner->request);
}

/* The largest round size whose rounds fit into the node's staging; 0: none does. */
static uint64_t choose_round_bytes(const themis_collective_planner_t *planner)
{
    uint32_t domains = planner->plan->domains.count;
    uint64_t room = themis_collective_group_round_bytes(planner->group, domains);
    for (int i = 0; i < ROUND_SIZES; i++)
        if (planner->count[domains + i] <= room && planner->options->buffer_size >> i)
            return planner->options->buffer_size >> i;
    return 0;
}

static void gather_cell_counts(themis_collective_planner_t *planner)
{
    themis_collective_group_t *group = planner->group;
    if (group->local)
        return;
    planner->cell[planner->cells++] =
        (themis_aggregation_cell_t){group->node_index, ROUND_CELL, choose_round_bytes(planner)};
    for (uint32_t d = 0; d < planner->plan->domains.count; d++)
        if (planner->count[d])
            planner->cell[planner->cells++] = (themis_aggregation_cell_t){group->node_index, d, planner->count[d]};
    MPI_Igather(&planner->cells, 1, MPI_INT, planner->cells_of, 1, MPI_INT, 0, group->leaders, &planner->request);
}

/* Rank 0: where each node's cells go, and room for them; of most domains most nodes have nothing. */
static themis_status_t place_cells(themis_collective_planner_t *planner)
{
    int64_t total = 0;
    for (uint32_t i = 0; i < planner->group->nodes; i++) {
        planner->place[i] = (int)total;
        total += planner->cells_of[i];
        if (total > INT_MAX)
            return THEMIS_NO_MEMORY;
    }
    planner->all = malloc((size_t)total * sizeof *planner->all);
    planner->gathered = (int)total;
    return planner->all ? THEMIS_OK : THEMIS_NO_MEMORY;
}

/* The leaders send their cells only if rank 0 has room. */
static void broadcast_room(themis_collective_planner_t *planner)
{
    themis_collective_group_t *group = planner->group;
    if (group->local)
        return;
    if (group->rank == 0) {
        planner->room = place_cells(planner);
        set_failed(planner, (themis_status_t)planner->room);
    }
    MPI_Ibcast(&planner->room, 1, MPI_INT, 0, group->leaders, &planner->request);
}

/* Counted in cells, as their bytes can be more than an int holds. */
static void gather_cells(themis_collective_planner_t *planner)
{
    themis_collective_group_t *group = planner->group;
    if (group->local || planner->room != THEMIS_OK)
        return;
    MPI_Datatype type;
    MPI_Type_contiguous(sizeof *planner->cell, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_Igatherv(planner->cell, planner->cells, type, planner->all, planner->cells_of, planner->place, type, 0,
                 group->leaders, &planner->request);
    MPI_Type_free(&type);
}

/* --- rank 0 plans --- */

/* Takes the leaders' round sizes out of the cells; returns the smallest. */
static uint64_t take_round_bytes(themis_collective_planner_t *planner)
{
    uint64_t min = planner->options->buffer_size;
    int left = 0;
    for (int i = 0; i < planner->gathered; i++) {
        if (planner->all[i].domain != ROUND_CELL)
            planner->all[left++] = planner->all[i];
        else if (planner->all[i].bytes < min)
            min = planner->all[i].bytes;
    }
    planner->gathered = left;
    return min;
}

static themis_collective_cost_t cost_of(const themis_aggregation_choice_t *choice)
{
    return (themis_collective_cost_t){choice->hop_bytes, choice->server_hop_bytes, choice->max_link_load};
}

static themis_status_t assign_domains(themis_collective_planner_t *planner, const themis_aggregation_matrix_t *matrix)
{
    const themis_collective_node_distances_t *distances = &planner->candidates->distances;
    const themis_aggregation_domains_t *domains = &planner->plan->domains;
    themis_aggregation_problem_t request = {.placement = planner->options->placement,
                                            .domains = domains,
                                            .matrix = matrix,
                                            .candidates = planner->candidates->processes,
                                            .distances = distances->nodes,
                                            .server_distance = distances->servers,
                                            .keep = planner->keep,
                                            .fabric = distances->fabric,
                                            .vertex = distances->vertex,
                                            .server_vertex = distances->server_vertex};
    themis_aggregation_plan_t *made;
    themis_status_t status = themis_aggregation_plan_create(&request, &made);
    if (status != THEMIS_OK)
        return status;
    answer_t *answer = planner->answer;
    answer->placement = made->placement;
    answer->cost = cost_of(&made->chosen);
    answer->default_cost = cost_of(&made->otp);
    answer->moved_bytes = made->chosen.moved_bytes;
    memcpy(answer->aggregator, made->aggregator, domains->count * sizeof(uint32_t));
    planner->plan->candidate = malloc(domains->count * sizeof(uint32_t));
    if (planner->plan->candidate)
        memcpy(planner->plan->candidate, made->chosen.candidate, domains->count * sizeof(uint32_t));
    themis_aggregation_plan_destroy(made);
    return planner->plan->candidate ? THEMIS_OK : THEMIS_NO_MEMORY;
}

static themis_status_t make_answer(themis_collective_planner_t *planner)
{
    planner->answer->round_bytes = take_round_bytes(planner);
    themis_aggregation_matrix_t *matrix;
    themis_status_t status = themis_aggregation_matrix_create(planner->group->nodes, planner->plan->domains.count,
                                                              planner->all, (size_t)planner->gathered, &matrix);
    if (status != THEMIS_OK)
        return status;
    status = assign_domains(planner, matrix);
    themis_aggregation_matrix_destroy(matrix);
    return status == THEMIS_OK && !planner->answer->round_bytes ? THEMIS_NO_MEMORY : status;
}

static void broadcast_answer(themis_collective_planner_t *planner)
{
    if (planner->group->rank == 0 && planner->status == THEMIS_OK)
        planner->status = make_answer(planner);
    planner->answer->status = planner->status;
    MPI_Ibcast(planner->answer, (int)planner->answer_bytes, MPI_BYTE, 0, planner->group->comm, &planner->request);
}

static void take_answer(themis_collective_planner_t *planner)
{
    const answer_t *answer = planner->answer;
    themis_collective_call_plan_t *plan = planner->plan;
    plan->mine = THEMIS_COLLECTIVE_NO_DOMAIN;
    if (answer->status != THEMIS_OK) {
        /* The planning ends here: all ranks see the same answer. */
        planner->status = (themis_status_t)answer->status;
        return;
    }
    plan->placement = (themis_aggregation_placement_t)answer->placement;
    plan->cost = answer->cost;
    plan->default_cost = answer->default_cost;
    plan->moved_bytes = answer->moved_bytes;
    plan->round_bytes = answer->round_bytes;
    memcpy(plan->aggregator, answer->aggregator, plan->domains.count * sizeof(uint32_t));
    uint64_t largest = 0;
    for (uint32_t d = 0; d < plan->domains.count; d++) {
        uint64_t size = themis_aggregation_domains_size(&plan->domains, d);
        largest = size > largest ? size : largest;
        if (plan->aggregator[d] == (uint32_t)planner->group->rank)
            plan->mine = d;
    }
    plan->rounds = (largest + plan->round_bytes - 1) / plan->round_bytes;
}

themis_status_t themis_collective_planner_step(themis_collective_planner_t *planner,
                                               themis_collective_call_plan_t **plan)
{
    static void (*const stages[])(themis_collective_planner_t *) = {sum_counts,   gather_cell_counts, broadcast_room,
                                                                    gather_cells, broadcast_answer,   take_answer};
    while (planner->stage < (int)(sizeof stages / sizeof *stages)) {
        if (!themis_collective_group_requests_done(&planner->request, 1))
            return THEMIS_IN_PROGRESS;
        stages[planner->stage++](planner);
    }
    if (planner->answer->status == THEMIS_OK) {
        themis_status_t status = themis_collective_list_messages_step(planner->lists);
        if (status == THEMIS_IN_PROGRESS)
            return status;
        set_failed(planner, status);
    }
    *plan = planner->plan;
    planner->plan = NULL;
    return planner->status;
}
