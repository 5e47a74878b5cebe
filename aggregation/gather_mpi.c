/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gathering over MPI. Every step that can fail on one rank alone (memory, files) is done before or after the messages,
 * and its status is agreed on, so that no rank waits for one that gave up.
 */
#include "config.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aggregation/gather_mpi.h"
#include "util/log.h"

typedef themis_aggregation_group_t group_t;
typedef themis_aggregation_group_options_t options_t;

/* What a node's first rank tells rank 0. */
typedef struct node_card {
    char name[64];
    uint64_t guid;  /* 0: no adapter */
    uint32_t local; /* mean distance inside the node */
} node_card_t;

/* What a plan is besides its aggregators, as it travels. */
typedef struct plan_head {
    int32_t status, placement, certified;
    themis_aggregation_choice_t chosen, otp; /* slots are not valid */
} plan_head_t;

static themis_status_t from_mpi(int code)
{
    if (code == MPI_SUCCESS)
        return THEMIS_OK;
    themis_error("collective planning: an MPI call failed with error %d", code);
    return THEMIS_INTERNAL;
}

/* The worst status of all ranks. */
static themis_status_t agree(MPI_Comm comm, themis_status_t status)
{
    int mine = status, worst = status;
    themis_status_t sent = from_mpi(MPI_Allreduce(&mine, &worst, 1, MPI_INT, MPI_MIN, comm));

    return sent != THEMIS_OK ? sent : (themis_status_t)worst;
}

/* ---- Who is where ---- */

static themis_status_t group_split(group_t *g, MPI_Comm comm)
{
    int local = 0, place[2] = {0, 0};
    int code = MPI_Comm_dup(comm, &g->comm);

    if (code == MPI_SUCCESS)
        code = MPI_Comm_set_errhandler(g->comm, MPI_ERRORS_RETURN);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_rank(g->comm, &g->rank);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_size(g->comm, &g->ranks);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_split_type(g->comm, MPI_COMM_TYPE_SHARED, g->rank, MPI_INFO_NULL, &g->node_comm);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_rank(g->node_comm, &local);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_split(g->comm, local == 0 ? 0 : MPI_UNDEFINED, g->rank, &g->leader_comm);
    if (code == MPI_SUCCESS && g->leader_comm != MPI_COMM_NULL) {
        MPI_Comm_rank(g->leader_comm, &place[0]);
        MPI_Comm_size(g->leader_comm, &place[1]);
    }
    if (code == MPI_SUCCESS)
        code = MPI_Bcast(place, 2, MPI_INT, 0, g->node_comm);
    g->node = (uint32_t)place[0];
    g->nodes = (uint32_t)place[1];
    return from_mpi(code);
}

/* The first CPU of those this process is bound to; -1 when it may use them all. */
static int bound_cpu(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) >= sysconf(_SC_NPROCESSORS_ONLN))
        return -1;
    for (int c = 0; c < CPU_SETSIZE; c++)
        if (CPU_ISSET(c, &set))
            return c;
    return -1;
}

/* On a node's first rank: preference[count] of its ranks, and their mean distance. */
static void local_preference(const int *cpu, uint32_t count, uint32_t *preference, uint32_t *mean)
{
    uint16_t *distance = malloc((size_t)count * count * sizeof *distance + 1), between = THEMIS_AGGREGATION_HOP;
    uint32_t *order = malloc(((size_t)count + 1) * sizeof *order);
    bool bound = false;

    for (uint32_t i = 0; i < count; i++) {
        preference[i] = i;
        bound |= cpu[i] >= 0;
    }
    if (bound && distance && order && themis_aggregation_local_distances(NULL, cpu, count, distance) == THEMIS_OK &&
        themis_aggregation_local_order(distance, count, order, &between) == THEMIS_OK)
        for (uint32_t i = 0; i < count; i++)
            preference[order[i]] = i;
    *mean = between > 0 ? between : 1;
    free(distance);
    free(order);
}

/* Each rank learns how much its node prefers it as an aggregator. With one node there is nothing to prefer. */
static themis_status_t node_preference(const group_t *g, uint32_t *mine, uint32_t *mean)
{
    int count = 0, local = 0, cpu = bound_cpu(), code;
    int *cpus = NULL;
    uint32_t *preference = NULL;
    themis_status_t status = THEMIS_OK;

    MPI_Comm_size(g->node_comm, &count);
    MPI_Comm_rank(g->node_comm, &local);
    *mine = (uint32_t)local;
    *mean = THEMIS_AGGREGATION_HOP;
    if (local == 0) {
        cpus = malloc((size_t)count * sizeof *cpus);
        preference = malloc((size_t)count * sizeof *preference);
        status = cpus && preference ? THEMIS_OK : THEMIS_NO_MEMORY;
    }
    status = agree(g->comm, status);
    if (status == THEMIS_OK && g->nodes > 1) {
        code = MPI_Gather(&cpu, 1, MPI_INT, cpus, 1, MPI_INT, 0, g->node_comm);
        if (local == 0)
            local_preference(cpus, (uint32_t)count, preference, mean);
        if (code == MPI_SUCCESS)
            code = MPI_Scatter(preference, 1, MPI_UINT32_T, mine, 1, MPI_UINT32_T, 0, g->node_comm);
        status = from_mpi(code);
    }
    free(cpus);
    free(preference);
    return status;
}

/* What rank 0 gathers at open; freed before group_create returns. */
typedef struct census {
    uint32_t *node_of_rank, *preference; /* [ranks] */
    node_card_t *card;                   /* [nodes] */
    const char **name;                   /* [nodes] into the cards */
} census_t;

static void census_drop(census_t *c)
{
    free(c->node_of_rank);
    free(c->preference);
    free(c->card);
    free(c->name);
}

static themis_status_t census_take(const group_t *g, census_t *c)
{
    node_card_t own = {.name = ""};
    char host[MPI_MAX_PROCESSOR_NAME] = "";
    uint32_t preference, node = g->node;
    int length = 0, code;
    themis_status_t status = node_preference(g, &preference, &own.local);

    if (status != THEMIS_OK)
        return status;
    if (g->rank == 0) {
        c->node_of_rank = malloc((size_t)g->ranks * sizeof *c->node_of_rank);
        c->preference = malloc((size_t)g->ranks * sizeof *c->preference);
        c->card = calloc(g->nodes, sizeof *c->card);
        c->name = calloc(g->nodes, sizeof *c->name);
        status = c->node_of_rank && c->preference && c->card && c->name ? THEMIS_OK : THEMIS_NO_MEMORY;
    }
    status = agree(g->comm, status);
    if (status != THEMIS_OK)
        return status;
    code = MPI_Gather(&node, 1, MPI_UINT32_T, c->node_of_rank, 1, MPI_UINT32_T, 0, g->comm);
    if (code == MPI_SUCCESS)
        code = MPI_Gather(&preference, 1, MPI_UINT32_T, c->preference, 1, MPI_UINT32_T, 0, g->comm);
    if (code == MPI_SUCCESS && g->leader_comm != MPI_COMM_NULL) {
        MPI_Get_processor_name(host, &length);
        memcpy(own.name, host, sizeof own.name - 1);
        if (g->nodes > 1 && themis_aggregation_adapter_guid(&own.guid) != THEMIS_OK)
            own.guid = 0;
        code = MPI_Gather(&own, sizeof own, MPI_BYTE, c->card, sizeof own, MPI_BYTE, 0, g->leader_comm);
    }
    for (uint32_t n = 0; g->rank == 0 && n < g->nodes; n++)
        c->name[n] = c->card[n].name;
    return from_mpi(code);
}

/* ---- Distances, on rank 0 ---- */

static themis_status_t group_slots(group_t *g, const options_t *options, const census_t *c)
{
    uint32_t *limit = malloc(((size_t)g->nodes + 1) * sizeof *limit);
    const char *list = options->config_list ? options->config_list : "*:1";
    themis_status_t status = limit ? THEMIS_OK : THEMIS_NO_MEMORY;

    if (status == THEMIS_OK && themis_aggregation_config_list(list, c->name, g->nodes, limit) != THEMIS_OK) {
        themis_warn("cb_config_list \"%s\" is not understood; one aggregator on each node is used", list);
        status = themis_aggregation_config_list("*:1", c->name, g->nodes, limit);
    }
    if (status == THEMIS_OK)
        status = themis_aggregation_slots_create(c->node_of_rank, (uint32_t)g->ranks, g->nodes, limit, c->preference,
                                                 &g->slots);
    free(limit);
    if (status == THEMIS_OK)
        g->slot_count = g->slots->count;
    return status;
}

/* Every node must be found in the fabric, or it is of no use. */
static themis_status_t find_nodes(group_t *g, const census_t *c)
{
    g->vertex = malloc(((size_t)g->nodes + 1) * sizeof *g->vertex);
    if (!g->vertex)
        return THEMIS_NO_MEMORY;
    for (uint32_t n = 0; n < g->nodes; n++) {
        if (themis_aggregation_fabric_find(g->fabric, c->card[n].guid, c->card[n].name, &g->vertex[n]) != THEMIS_OK) {
            themis_warn("host %s is not in the fabric; distances are taken as flat", c->card[n].name);
            return THEMIS_NO_ENTRY;
        }
    }
    return themis_aggregation_distances_fabric(g->fabric, g->vertex, g->nodes, &g->distances);
}

/* Distances to the servers count only if all of them are found. */
static themis_status_t find_servers(group_t *g, const options_t *options)
{
    uint16_t *hops = malloc(((size_t)g->fabric->vertices + 1) * sizeof *hops);
    size_t servers = options->servers;
    themis_status_t status = THEMIS_OK;

    g->server_vertex = malloc((servers + 1) * sizeof *g->server_vertex);
    g->server_distance = malloc((g->nodes * servers + 1) * sizeof *g->server_distance);
    if (!hops || !g->server_vertex || !g->server_distance)
        status = THEMIS_NO_MEMORY;
    for (uint32_t s = 0; status == THEMIS_OK && s < servers; s++) {
        status = themis_aggregation_fabric_find(g->fabric, 0, options->server_name[s], &g->server_vertex[s]);
        if (status == THEMIS_OK)
            status = themis_aggregation_fabric_hops(g->fabric, g->server_vertex[s], hops);
        for (uint32_t n = 0; status == THEMIS_OK && n < g->nodes; n++) {
            uint16_t h = hops[g->vertex[n]];

            g->server_distance[n * servers + s] =
                (uint16_t)(h == 0 ? g->distances->local[n] : (h < 1024 ? h : 1024) * THEMIS_AGGREGATION_HOP);
        }
    }
    free(hops);
    return status;
}

static void forget_servers(group_t *g)
{
    free(g->server_vertex);
    free(g->server_distance);
    g->server_vertex = NULL;
    g->server_distance = NULL;
}

static void forget_fabric(group_t *g)
{
    themis_aggregation_fabric_destroy(g->fabric);
    free(g->vertex);
    g->fabric = NULL;
    g->vertex = NULL;
}

static themis_status_t group_fabric(group_t *g, const options_t *options, const census_t *c, bool discover)
{
    themis_status_t status = discover ? themis_aggregation_fabric_discover(&g->fabric)
                                      : themis_aggregation_fabric_load(options->topology, &g->fabric);

    if (status == THEMIS_OK)
        status = find_nodes(g, c);
    if (status != THEMIS_OK) {
        forget_fabric(g);
        return status;
    }
    if (options->server_name && options->servers > 0 && find_servers(g, options) != THEMIS_OK)
        forget_servers(g);
    return THEMIS_OK;
}

/* Whatever cannot be known is taken as flat: planning must not fail an open. */
static themis_status_t group_distances(group_t *g, const options_t *options, const census_t *c)
{
    const char *topology = options->topology ? options->topology : "auto";
    bool discover = strcmp(topology, "auto") == 0, flat = strcmp(topology, "flat") == 0 || (discover && g->nodes < 2);
    themis_status_t status = THEMIS_NO_ENTRY;

    if (!flat && !discover && themis_aggregation_distances_fits(topology))
        status = themis_aggregation_distances_file(topology, c->name, g->nodes, &g->distances);
    else if (!flat)
        status = group_fabric(g, options, c, discover);
    if (status != THEMIS_OK && !flat && !discover)
        themis_warn("topology %s cannot be used; distances are taken as flat", topology);
    if (status != THEMIS_OK)
        status = themis_aggregation_distances_flat(g->nodes, &g->distances);
    for (uint32_t n = 0; status == THEMIS_OK && n < g->nodes; n++)
        g->distances->local[n] = (uint16_t)c->card[n].local;
    return status;
}

themis_status_t themis_aggregation_group_create(MPI_Comm comm, const options_t *options, group_t **group)
{
    group_t *g = calloc(1, sizeof *g);
    census_t census = {0};
    int slots = 0;
    themis_status_t status = agree(comm, g ? THEMIS_OK : THEMIS_NO_MEMORY);

    if (status != THEMIS_OK) {
        free(g);
        return status;
    }
    g->comm = g->node_comm = g->leader_comm = MPI_COMM_NULL;
    status = group_split(g, comm);
    if (status == THEMIS_OK)
        status = census_take(g, &census);
    if (status == THEMIS_OK && g->rank == 0) {
        status = group_slots(g, options, &census);
        if (status == THEMIS_OK)
            status = group_distances(g, options, &census);
    }
    census_drop(&census);
    status = agree(comm, status);
    slots = (int)g->slot_count;
    if (status == THEMIS_OK)
        status = from_mpi(MPI_Bcast(&slots, 1, MPI_INT, 0, g->comm));
    g->slot_count = (uint32_t)slots;
    if (status == THEMIS_OK)
        *group = g;
    else
        themis_aggregation_group_destroy(g);
    return status;
}

static void comm_free(MPI_Comm *comm)
{
    if (*comm != MPI_COMM_NULL)
        MPI_Comm_free(comm);
}

void themis_aggregation_group_destroy(group_t *group)
{
    if (!group)
        return;
    comm_free(&group->leader_comm);
    comm_free(&group->node_comm);
    comm_free(&group->comm);
    themis_aggregation_slots_destroy(group->slots);
    themis_aggregation_distances_destroy(group->distances);
    forget_fabric(group);
    forget_servers(group);
    free(group->kept);
    free(group);
}

/* ---- A plan ---- */

/* Buffers of one planning, made before the first message. */
typedef struct gather {
    group_t *group;
    const themis_aggregation_domains_t *domains;
    uint64_t *node_bytes;            /* [domains] on a node's first rank */
    themis_aggregation_cell_t *cell; /* [domains] there too */
    int *count, *start;              /* [nodes] on rank 0: cells of each node, in cells */
    themis_aggregation_cell_t *cells;
    themis_aggregation_plan_t *plan;
} gather_t;

static void gather_drop(gather_t *x)
{
    free(x->node_bytes);
    free(x->cell);
    free(x->count);
    free(x->start);
    free(x->cells);
}

static themis_status_t gather_init(gather_t *x)
{
    size_t domains = x->domains->count, nodes = x->group->nodes;
    bool leader = x->group->leader_comm != MPI_COMM_NULL, root = x->group->rank == 0;

    x->plan = calloc(1, sizeof *x->plan);
    if (!x->plan)
        return THEMIS_NO_MEMORY;
    x->plan->domains = (uint32_t)domains;
    x->plan->aggregator = malloc(domains * sizeof *x->plan->aggregator);
    if (leader) {
        x->node_bytes = calloc(domains, sizeof *x->node_bytes);
        x->cell = malloc(domains * sizeof *x->cell);
    }
    if (root) {
        x->count = malloc(nodes * sizeof *x->count);
        x->start = malloc((nodes + 1) * sizeof *x->start);
    }
    if (!x->plan->aggregator || (leader && (!x->node_bytes || !x->cell)) || (root && (!x->count || !x->start)))
        return THEMIS_NO_MEMORY;
    if (x->group->slot_count < domains) {
        themis_error("plan: %zu domains, but only %u processes may aggregate", domains, x->group->slot_count);
        return THEMIS_INVALID;
    }
    return THEMIS_OK;
}

static int cells_make(const gather_t *x)
{
    int used = 0;

    for (uint32_t k = 0; k < x->domains->count; k++)
        if (x->node_bytes[k] > 0)
            x->cell[used++] = (themis_aggregation_cell_t){x->group->node, k, x->node_bytes[k]};
    return used;
}

/* On rank 0, once it knows how much will come. */
static themis_status_t cells_prepare(gather_t *x)
{
    int64_t total = 0;

    for (uint32_t n = 0; n < x->group->nodes; n++) {
        x->start[n] = (int)total;
        total += x->count[n];
        if (total > INT32_MAX)
            return THEMIS_RANGE;
    }
    x->start[x->group->nodes] = (int)total;
    x->cells = malloc(((size_t)total + 1) * sizeof *x->cells);
    return x->cells ? THEMIS_OK : THEMIS_NO_MEMORY;
}

/* Node leaders send their cells to rank 0, which may have to decline. */
static themis_status_t cells_gather(gather_t *x)
{
    MPI_Comm comm = x->group->leader_comm;
    MPI_Datatype type;
    int used = cells_make(x), go = THEMIS_OK, code;

    code = MPI_Gather(&used, 1, MPI_INT, x->count, 1, MPI_INT, 0, comm);
    if (code == MPI_SUCCESS && x->group->rank == 0)
        go = cells_prepare(x);
    if (code == MPI_SUCCESS)
        code = MPI_Bcast(&go, 1, MPI_INT, 0, comm);
    if (code != MPI_SUCCESS || go != THEMIS_OK)
        return code != MPI_SUCCESS ? from_mpi(code) : (themis_status_t)go;
    code = MPI_Type_contiguous(sizeof *x->cell, MPI_BYTE, &type);
    if (code != MPI_SUCCESS || (code = MPI_Type_commit(&type)) != MPI_SUCCESS)
        return from_mpi(code);
    code = MPI_Gatherv(x->cell, used, type, x->cells, x->count, x->start, type, 0, comm);
    MPI_Type_free(&type);
    return from_mpi(code);
}

/* Static-cyclic stripes stay with the aggregators of the first plan. */
static themis_status_t keep_slots(group_t *g, const gather_t *x)
{
    if (x->domains->method != THEMIS_AGGREGATION_STATIC_CYCLIC || g->kept)
        return THEMIS_OK;
    g->kept = malloc(((size_t)x->domains->count + 1) * sizeof *g->kept);
    if (!g->kept)
        return THEMIS_NO_MEMORY;
    memcpy(g->kept, x->plan->chosen.slot, x->domains->count * sizeof *g->kept);
    g->kept_count = x->domains->count;
    return THEMIS_OK;
}

static themis_status_t root_plan(gather_t *x, themis_aggregation_placement_t placement)
{
    group_t *g = x->group;
    bool keep = x->domains->method == THEMIS_AGGREGATION_STATIC_CYCLIC && g->kept_count == x->domains->count;
    themis_aggregation_matrix_t *matrix;
    themis_aggregation_plan_t *made;
    themis_aggregation_request_t request = {.placement = placement,
                                            .domains = x->domains,
                                            .slots = g->slots,
                                            .distances = g->distances,
                                            .server_distance = g->server_distance,
                                            .keep = keep ? g->kept : NULL,
                                            .fabric = g->fabric,
                                            .vertex = g->vertex,
                                            .server_vertex = g->server_vertex};
    themis_status_t status =
        themis_aggregation_matrix_create(g->nodes, x->domains->count, x->cells, (size_t)x->start[g->nodes], &matrix);

    if (status != THEMIS_OK)
        return status;
    request.matrix = matrix;
    status = themis_aggregation_plan_create(&request, &made);
    themis_aggregation_matrix_destroy(matrix);
    if (status != THEMIS_OK)
        return status;
    themis_aggregation_plan_destroy(x->plan);
    x->plan = made;
    return keep_slots(g, x);
}

static themis_status_t plan_broadcast(gather_t *x, themis_status_t status)
{
    plan_head_t head = {.status = status,
                        .placement = (int32_t)x->plan->placement,
                        .certified = x->plan->certified,
                        .chosen = x->plan->chosen,
                        .otp = x->plan->otp};
    int code = MPI_Bcast(&head, sizeof head, MPI_BYTE, 0, x->group->comm);

    if (code != MPI_SUCCESS || head.status != THEMIS_OK)
        return code != MPI_SUCCESS ? from_mpi(code) : (themis_status_t)head.status;
    if (x->group->rank != 0) {
        x->plan->placement = (themis_aggregation_placement_t)head.placement;
        x->plan->certified = head.certified;
        x->plan->chosen = head.chosen;
        x->plan->otp = head.otp;
        x->plan->chosen.slot = x->plan->otp.slot = NULL;
    }
    return from_mpi(MPI_Bcast(x->plan->aggregator, (int)x->domains->count, MPI_UINT32_T, 0, x->group->comm));
}

themis_status_t themis_aggregation_group_plan(group_t *group, themis_aggregation_placement_t placement,
                                              const themis_aggregation_domains_t *domains, const uint64_t *bytes,
                                              themis_aggregation_plan_t **plan)
{
    gather_t x = {.group = group, .domains = domains};
    themis_status_t status = agree(group->comm, gather_init(&x));

    if (status == THEMIS_OK)
        status =
            from_mpi(MPI_Reduce(bytes, x.node_bytes, (int)domains->count, MPI_UINT64_T, MPI_SUM, 0, group->node_comm));
    if (status == THEMIS_OK) {
        if (group->leader_comm != MPI_COMM_NULL)
            status = cells_gather(&x);
        if (status == THEMIS_OK && group->rank == 0)
            status = root_plan(&x, placement);
        status = plan_broadcast(&x, status);
    }
    gather_drop(&x);
    if (status == THEMIS_OK)
        *plan = x.plan;
    else
        themis_aggregation_plan_destroy(x.plan);
    return status;
}
