/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A planner is a row of stages; each starts what the next one waits for. All communication is non-blocking, and a rank
 * that failed goes on taking part with empty contributions, so nobody waits in vain.
 */
#include "collective/plan.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include "collective/lists.h"

/* Window sizes that are considered: cb_buffer_size, its half, and so on. */
enum { WINDOWS = 24 };
/* The cell by which a leader tells its window. */
#define WINDOW_CELL UINT32_MAX

typedef struct answer {
    int64_t status;
    uint64_t window, moved_bytes;
    uint32_t placement, reserved;
    themis_collective_cost_t cost, default_cost;
    uint32_t aggregator[];
} answer_t;

struct themis_collective_planner {
    themis_collective_group_t *group;
    const themis_collective_config_t *config;
    const themis_collective_topology_t *topology;
    const themis_util_runs_t *runs;
    const uint32_t *keep;
    themis_collective_plan_t *plan;
    themis_status_t status;
    int stage;
    MPI_Request request;
    uint64_t *count; /* [domains + WINDOWS]: bytes per domain; bytes of the node's fullest round per window size */
    themis_aggregation_cell_t *cell; /* leaders: this node's row */
    int cells;
    int *cells_of, *place;          /* rank 0: [nodes] */
    int room;                       /* leaders: THEMIS_OK if rank 0 has room for all cells */
    themis_aggregation_cell_t *all; /* rank 0: [gathered] */
    int gathered;
    answer_t *answer;
    size_t answer_bytes;
    themis_collective_lists_t *lists;
};

void themis_collective_plan_destroy(themis_collective_plan_t *plan)
{
    if (!plan)
        return;
    themis_collective_lists_free_parts(plan->part, plan->parts);
    free(plan->aggregator);
    free(plan->slot);
    free(plan);
}

themis_aggregation_domains_t themis_collective_plan_move(const themis_collective_plan_t *plan, uint64_t first)
{
    themis_aggregation_domains_t moved;
    const themis_aggregation_domains_t *was = &plan->domains;
    uint64_t last = first + (was->last - was->first);
    if (themis_aggregation_domains_init(was->method, &was->layout, first, last, was->requested, &moved) != THEMIS_OK)
        moved = *was; /* cannot happen: the same arguments were good before */
    return moved;
}

static void fail(themis_collective_planner_t *planner, themis_status_t status)
{
    if (planner->status == THEMIS_OK)
        planner->status = status;
}

/* Rank 0: room for the number of cells of each node. */
static themis_status_t make_root_room(themis_collective_planner_t *planner)
{
    size_t nodes = planner->group->nodes;
    planner->cells_of = calloc(nodes, sizeof(int));
    planner->place = calloc(nodes, sizeof(int));
    return planner->cells_of && planner->place ? THEMIS_OK : THEMIS_NO_MEMORY;
}

themis_status_t
themis_collective_planner_create(themis_collective_group_t *group, const themis_collective_config_t *config,
                                 const themis_collective_topology_t *topology, const themis_util_runs_t *runs,
                                 const themis_aggregation_domains_t *domains, themis_collective_planner_t **result)
{
    themis_collective_planner_t *planner = calloc(1, sizeof *planner);
    if (!planner)
        return THEMIS_NO_MEMORY;
    *planner = (themis_collective_planner_t){.group = group,
                                             .config = config,
                                             .topology = topology,
                                             .runs = runs,
                                             .request = MPI_REQUEST_NULL,
                                             .answer_bytes = sizeof(answer_t) + domains->count * sizeof(uint32_t)};
    planner->plan = calloc(1, sizeof *planner->plan);
    planner->count = calloc(domains->count + WINDOWS, sizeof(uint64_t));
    planner->cell = calloc(domains->count + 1, sizeof *planner->cell);
    planner->answer = calloc(1, planner->answer_bytes);
    if (planner->plan)
        planner->plan->aggregator = calloc(domains->count, sizeof(uint32_t));
    if (!planner->plan || !planner->plan->aggregator || !planner->count || !planner->cell || !planner->answer) {
        themis_collective_planner_destroy(planner);
        return THEMIS_NO_MEMORY;
    }
    planner->plan->domains = *domains;
    themis_status_t status = themis_collective_lists_create(group, runs, planner->plan, &planner->lists);
    if (status == THEMIS_OK && group->rank == 0)
        status = make_root_room(planner);
    if (status != THEMIS_OK) {
        themis_collective_planner_destroy(planner);
        return status;
    }
    *result = planner;
    return THEMIS_OK;
}

void themis_collective_planner_keep(themis_collective_planner_t *planner, const uint32_t *slots)
{
    planner->keep = slots;
}

void themis_collective_planner_destroy(themis_collective_planner_t *planner)
{
    if (!planner)
        return;
    themis_collective_plan_destroy(planner->plan);
    themis_collective_lists_destroy(planner->lists);
    free(planner->count);
    free(planner->cell);
    free(planner->cells_of);
    free(planner->place);
    free(planner->all);
    free(planner->answer);
    free(planner);
}

/* This rank's bytes per domain, and for each window size the bytes that it could have in one round. */
static void start_counting(themis_collective_planner_t *planner)
{
    const themis_aggregation_domains_t *domains = &planner->plan->domains;
    themis_collective_lists_count(planner->runs, domains, planner->count);
    for (int i = 0; i < WINDOWS; i++) {
        uint64_t window = planner->config->buffer_size >> i;
        for (uint32_t d = 0; d < domains->count; d++)
            planner->count[domains->count + i] += planner->count[d] < window ? planner->count[d] : window;
    }
    const void *from = planner->group->local ? planner->count : MPI_IN_PLACE;
    MPI_Ireduce(from, planner->count, (int)domains->count + WINDOWS, MPI_UINT64_T, MPI_SUM, 0, planner->group->node,
                &planner->request);
}

/* The largest window whose rounds fit into half of what the node shares, less the tables of sizes. */
static uint64_t choose_window(const themis_collective_planner_t *planner)
{
    uint32_t domains = planner->plan->domains.count;
    uint64_t room = themis_collective_lists_room(planner->group, domains);
    for (int i = 0; i < WINDOWS; i++)
        if (planner->count[domains + i] <= room && planner->config->buffer_size >> i)
            return planner->config->buffer_size >> i;
    return 0;
}

static void start_cell_counts(themis_collective_planner_t *planner)
{
    themis_collective_group_t *group = planner->group;
    if (group->local)
        return;
    planner->cell[planner->cells++] =
        (themis_aggregation_cell_t){group->node_index, WINDOW_CELL, choose_window(planner)};
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
static void start_room(themis_collective_planner_t *planner)
{
    themis_collective_group_t *group = planner->group;
    if (group->local)
        return;
    if (group->rank == 0) {
        planner->room = place_cells(planner);
        fail(planner, (themis_status_t)planner->room);
    }
    MPI_Ibcast(&planner->room, 1, MPI_INT, 0, group->leaders, &planner->request);
}

/* Counted in cells, as their bytes can be more than an int holds. */
static void start_cells(themis_collective_planner_t *planner)
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

/* Takes the leaders' windows out of the cells; returns the least of them. */
static uint64_t take_windows(themis_collective_planner_t *planner)
{
    uint64_t least = planner->config->buffer_size;
    int kept = 0;
    for (int i = 0; i < planner->gathered; i++) {
        if (planner->all[i].domain != WINDOW_CELL)
            planner->all[kept++] = planner->all[i];
        else if (planner->all[i].bytes < least)
            least = planner->all[i].bytes;
    }
    planner->gathered = kept;
    return least;
}

static themis_collective_cost_t cost_of(const themis_aggregation_choice_t *choice)
{
    return (themis_collective_cost_t){choice->hop_bytes, choice->server_hop_bytes, choice->max_link_load};
}

static themis_status_t assign(themis_collective_planner_t *planner, const themis_aggregation_matrix_t *matrix)
{
    const themis_collective_topology_t *topology = planner->topology;
    const themis_aggregation_domains_t *domains = &planner->plan->domains;
    themis_aggregation_request_t request = {.placement = planner->config->placement,
                                            .domains = domains,
                                            .matrix = matrix,
                                            .slots = topology->slots,
                                            .distances = topology->distances,
                                            .server_distance = topology->server_distance,
                                            .keep = planner->keep,
                                            .fabric = topology->fabric,
                                            .vertex = topology->vertex,
                                            .server_vertex = topology->server_vertex};
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
    planner->plan->slot = malloc(domains->count * sizeof(uint32_t));
    if (planner->plan->slot)
        memcpy(planner->plan->slot, made->chosen.slot, domains->count * sizeof(uint32_t));
    themis_aggregation_plan_destroy(made);
    return planner->plan->slot ? THEMIS_OK : THEMIS_NO_MEMORY;
}

/* Rank 0 plans; all get its answer. */
static void start_answer(themis_collective_planner_t *planner)
{
    themis_collective_group_t *group = planner->group;
    if (group->rank == 0 && planner->status == THEMIS_OK) {
        planner->answer->window = take_windows(planner);
        themis_aggregation_matrix_t *matrix;
        themis_status_t status = themis_aggregation_matrix_create(group->nodes, planner->plan->domains.count,
                                                                  planner->all, (size_t)planner->gathered, &matrix);
        if (status == THEMIS_OK) {
            status = assign(planner, matrix);
            themis_aggregation_matrix_destroy(matrix);
        }
        if (status == THEMIS_OK && !planner->answer->window)
            status = THEMIS_NO_MEMORY;
        fail(planner, status);
    }
    planner->answer->status = planner->status;
    MPI_Ibcast(planner->answer, (int)planner->answer_bytes, MPI_BYTE, 0, group->comm, &planner->request);
}

static void take_answer(themis_collective_planner_t *planner)
{
    const answer_t *answer = planner->answer;
    themis_collective_plan_t *plan = planner->plan;
    plan->mine = THEMIS_COLLECTIVE_NO_DOMAIN;
    if (answer->status != THEMIS_OK) {
        /* Nobody goes on: all ranks see the same answer. */
        planner->status = (themis_status_t)answer->status;
        return;
    }
    plan->placement = (themis_aggregation_placement_t)answer->placement;
    plan->cost = answer->cost;
    plan->default_cost = answer->default_cost;
    plan->moved_bytes = answer->moved_bytes;
    plan->window = answer->window;
    memcpy(plan->aggregator, answer->aggregator, plan->domains.count * sizeof(uint32_t));
    uint64_t largest = 0;
    for (uint32_t d = 0; d < plan->domains.count; d++) {
        uint64_t size = themis_aggregation_domains_size(&plan->domains, d);
        largest = size > largest ? size : largest;
        if (plan->aggregator[d] == (uint32_t)planner->group->rank)
            plan->mine = d;
    }
    plan->rounds = (largest + plan->window - 1) / plan->window;
}

static int request_done(themis_collective_planner_t *planner)
{
    int done = 1;
    if (planner->request != MPI_REQUEST_NULL)
        MPI_Test(&planner->request, &done, MPI_STATUS_IGNORE);
    return done;
}

enum { COUNT, CELL_COUNTS, ROOM, CELLS, ANSWER, LISTS, LISTS_UNDER_WAY, DONE };

static themis_status_t end(themis_collective_planner_t *planner, themis_collective_plan_t **plan)
{
    planner->stage = DONE;
    *plan = planner->plan;
    planner->plan = NULL;
    return planner->status;
}

static void advance(themis_collective_planner_t *planner)
{
    switch (planner->stage++) {
    case COUNT:
        start_counting(planner);
        break;
    case CELL_COUNTS:
        start_cell_counts(planner);
        break;
    case ROOM:
        start_room(planner);
        break;
    case CELLS:
        start_cells(planner);
        break;
    case ANSWER:
        start_answer(planner);
        break;
    case LISTS:
        take_answer(planner);
        break;
    }
}

themis_status_t themis_collective_planner_step(themis_collective_planner_t *planner, themis_collective_plan_t **plan)
{
    while (planner->stage < LISTS_UNDER_WAY) {
        if (!request_done(planner))
            return THEMIS_IN_PROGRESS;
        advance(planner);
    }
    if (planner->answer->status != THEMIS_OK)
        return end(planner, plan);
    themis_status_t status = themis_collective_lists_step(planner->lists);
    if (status == THEMIS_IN_PROGRESS)
        return status;
    fail(planner, status);
    return end(planner, plan);
}
