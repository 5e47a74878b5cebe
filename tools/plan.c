/* SPDX-License-Identifier: BSD-3-Clause */
/* themis plan: what collective I/O would choose for a job, without the job. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "aggregation/link_loads.h"
#include "tools/fabric_levels.h"
#include "tools/plan_report.h"
#include "util/config.h"

enum { PLACEMENTS = THEMIS_AGGREGATION_PLACEMENTS, MOST_RANKS = 10000000 };

typedef themis_tools_plan_wishes_t wishes_t;
typedef themis_tools_plan_job_t job_t;

static int read_number(const job_t *job, const char *name, const char *text, int64_t most, int64_t *value)
{
    if (!text || themis_util_config_integer(text, 1, most, value) == THEMIS_OK)
        return THEMIS_TOOLS_OK;
    return themis_tools_misused(job->self, "--%s %s: expected a number from 1 to %lld", name, text, (long long)most);
}

static int read_numbers(job_t *job)
{
    const wishes_t *w = job->wishes;

    if (read_number(job, "ranks", w->ranks, MOST_RANKS, &job->ranks) ||
        read_number(job, "per-node", w->per_node, 4096, &job->per_node) ||
        read_number(job, "edge", w->edge, 1 << 19, &job->edge) ||
        read_number(job, "element", w->element, 1 << 20, &job->element) ||
        read_number(job, "aggregators-per-node", w->aggregators_per_node, 4096, &job->limit))
        return THEMIS_TOOLS_USAGE;
    if (w->stripe && (themis_util_config_bytes(w->stripe, &job->stripe) != THEMIS_OK || job->stripe == 0))
        return themis_tools_misused(job->self, "--stripe %s: expected a size such as 64k, 1m or 2g", w->stripe);
    job->nodes = (uint32_t)((job->ranks + job->per_node - 1) / job->per_node);
    return THEMIS_TOOLS_OK;
}

/* ---- which hosts ---- */

static int open_fabric(job_t *job)
{
    if (job->wishes->fabric)
        return themis_tools_fabric_open(job->self, job->wishes->fabric, &job->fabric);
    if (themis_aggregation_fabric_discover(&job->fabric) == THEMIS_OK)
        return THEMIS_TOOLS_OK;
    themis_tools_complain(job->self, "no InfiniBand fabric: all hosts are taken to be %u hops apart (-f names another)",
                          THEMIS_AGGREGATION_FLAT_HOPS);
    return themis_tools_plan_check(job, themis_aggregation_fabric_tree(1, job->nodes, 1, &job->fabric));
}

/* The hosts of the fabric that are no servers, in their order; returns how many. */
static uint32_t free_hosts(const job_t *job, uint32_t *host)
{
    uint32_t count = 0;

    for (uint32_t v = 0; v < job->fabric->vertices; v++) {
        int taken = job->fabric->vertex[v].is_switch;

        for (uint32_t s = 0; job->server_vertex && s < job->servers; s++)
            taken |= job->server_vertex[s] == v;
        if (!taken)
            host[count++] = v;
    }
    return count;
}

/* A shuffle that is the same for the same seed (splitmix64). */
static void scatter(uint32_t *host, uint32_t count, uint64_t seed)
{
    for (uint32_t h = count; h > 1; h--) {
        uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);

        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        z = (z ^ (z >> 31)) % h;
        uint32_t kept = host[h - 1];
        host[h - 1] = host[z];
        host[z] = kept;
    }
}

static int find_host(const job_t *job, const char *name, uint32_t *vertex)
{
    if (themis_aggregation_fabric_find(job->fabric, 0, name, vertex) == THEMIS_OK)
        return THEMIS_TOOLS_OK;
    return themis_tools_complain(job->self, "there is no host %s in the fabric", name);
}

static int named_hosts(const job_t *job, const char *list, uint32_t *vertex, uint32_t room, uint32_t *count)
{
    char name[256];

    *count = 0;
    while (themis_tools_next_host(&list, name, sizeof name)) {
        if (*count == room)
            return THEMIS_TOOLS_OK;
        if (find_host(job, name, &vertex[(*count)++]) != THEMIS_TOOLS_OK)
            return THEMIS_TOOLS_FAILED;
    }
    return THEMIS_TOOLS_OK;
}

static int place_nodes(job_t *job)
{
    const char *how = job->wishes->nodes ? job->wishes->nodes : "packed";
    uint32_t count, *host = malloc(((size_t)job->fabric->vertices + 1) * sizeof *host);
    unsigned long long seed = 1;
    int result = THEMIS_TOOLS_OK;

    job->vertex = host;
    if (!host)
        return themis_tools_plan_check(job, THEMIS_NO_MEMORY);
    if (strcmp(how, "packed") == 0) {
        count = free_hosts(job, host);
    } else if (strcmp(how, "scattered") == 0 || sscanf(how, "scattered:%llu", &seed) == 1) {
        count = free_hosts(job, host);
        scatter(host, count, seed);
    } else {
        result = named_hosts(job, how, host, job->fabric->vertices, &count);
    }
    if (result == THEMIS_TOOLS_OK && count < job->nodes)
        result = themis_tools_complain(job->self, "%lld ranks at %lld a node need %u hosts, but there are %u",
                                       (long long)job->ranks, (long long)job->per_node, job->nodes, count);
    return result;
}

/* --servers is a number, or hosts in the fabric; distances count only for the latter. */
static int place_servers(job_t *job)
{
    int64_t number;

    if (!job->wishes->servers)
        return THEMIS_TOOLS_OK;
    if (themis_util_config_integer(job->wishes->servers, 1, 65536, &number) == THEMIS_OK) {
        job->servers = (uint32_t)number;
        return THEMIS_TOOLS_OK;
    }
    job->server_vertex = malloc(((size_t)job->fabric->vertices + 1) * sizeof *job->server_vertex);
    if (!job->server_vertex)
        return themis_tools_plan_check(job, THEMIS_NO_MEMORY);
    return named_hosts(job, job->wishes->servers, job->server_vertex, job->fabric->vertices, &job->servers);
}

static int server_distances(job_t *job)
{
    if (!job->server_vertex)
        return THEMIS_TOOLS_OK;
    uint16_t *hops = malloc(((size_t)job->fabric->vertices + 1) * sizeof *hops);
    int result = THEMIS_TOOLS_OK;

    job->server_distance = malloc((size_t)job->nodes * job->servers * sizeof *job->server_distance);
    if (!hops || !job->server_distance)
        result = themis_tools_plan_check(job, THEMIS_NO_MEMORY);
    for (uint32_t s = 0; result == THEMIS_TOOLS_OK && s < job->servers; s++) {
        result = themis_tools_plan_check(job, themis_aggregation_fabric_hops(job->fabric, job->server_vertex[s], hops));
        for (uint32_t n = 0; result == THEMIS_TOOLS_OK && n < job->nodes; n++)
            job->server_distance[(size_t)n * job->servers + s] =
                (uint16_t)(hops[job->vertex[n]] ? hops[job->vertex[n]] * THEMIS_AGGREGATION_HOP
                                                : THEMIS_AGGREGATION_HOP);
    }
    free(hops);
    return result;
}

/* ---- the call ---- */

static int64_t power_of(int64_t root, int power)
{
    return power == 3 ? root * root * root : root * root;
}

/* An array is cut alike along its edges, so that only powers of a number up to its edge fit. */
static int check_ranks(const job_t *job, const char *pattern, int power)
{
    int64_t below = 1;

    while (power_of(below + 1, power) <= job->ranks)
        below++;
    if (below > job->edge || (below == job->edge && power_of(below, power) < job->ranks))
        return themis_tools_misused(job->self, "-n %lld: %s with %lld elements along an edge is for at most %lld ranks",
                                    (long long)job->ranks, pattern, (long long)job->edge,
                                    (long long)power_of(job->edge, power));
    if (power_of(below, power) == job->ranks)
        return THEMIS_TOOLS_OK;
    return themis_tools_misused(job->self, "-n %lld: %s is for 1, %lld, %lld... ranks; the nearest are %lld and %lld",
                                (long long)job->ranks, pattern, (long long)power_of(2, power),
                                (long long)power_of(3, power), (long long)power_of(below, power),
                                (long long)power_of(below + 1, power));
}

static int open_pattern(job_t *job)
{
    const char *name = job->wishes->pattern ? job->wishes->pattern : "cube";
    int power = strcmp(name, "cube") == 0 ? 3 : strcmp(name, "btio") == 0 ? 2 : 0;
    uint32_t ranks = (uint32_t)job->ranks;
    themis_status_t status;

    if (power && check_ranks(job, name, power) != THEMIS_TOOLS_OK)
        return THEMIS_TOOLS_USAGE;
    if (power == 3)
        status = themis_tools_pattern_cube(ranks, (uint64_t)job->edge, (uint64_t)job->element, &job->pattern);
    else if (power == 2)
        status = themis_tools_pattern_btio(ranks, (uint64_t)job->edge, (uint64_t)job->element, &job->pattern);
    else
        status = themis_tools_pattern_load(name, ranks, &job->pattern);
    return themis_tools_plan_check(job, status);
}

static int make_candidates(job_t *job)
{
    uint32_t *limit = malloc(((size_t)job->nodes + 1) * sizeof *limit);
    themis_status_t status = THEMIS_NO_MEMORY;

    job->node_of_rank = malloc((size_t)job->ranks * sizeof *job->node_of_rank);
    if (limit && job->node_of_rank) {
        for (int64_t r = 0; r < job->ranks; r++)
            job->node_of_rank[r] = (uint32_t)(r / job->per_node);
        for (uint32_t n = 0; n < job->nodes; n++)
            limit[n] = (uint32_t)job->limit;
        status = themis_aggregation_candidates_create(job->node_of_rank, (uint32_t)job->ranks, job->nodes, limit, NULL,
                                                      &job->candidates);
    }
    free(limit);
    return themis_tools_plan_check(job, status);
}

/* How many aggregators: a number, per-server, auto, or all that the nodes may have. */
static int count_aggregators(const job_t *job, uint32_t *count)
{
    const char *text = job->wishes->aggregators;
    themis_aggregation_count_input_t load = {.bytes = job->pattern->bytes,
                                             .nodes = job->nodes,
                                             .candidates = job->candidates->count,
                                             .servers = job->servers,
                                             .stripe_size = job->stripe,
                                             .buffer_size = 16 << 20};
    int64_t wanted = job->candidates->count;

    if (text && strcmp(text, "per-server") == 0)
        wanted = THEMIS_AGGREGATION_PER_SERVER;
    else if (text && strcmp(text, "auto") == 0)
        wanted = THEMIS_AGGREGATION_COUNT_AUTO;
    else if (read_number(job, "aggregators", text, job->candidates->count, &wanted) != THEMIS_TOOLS_OK)
        return THEMIS_TOOLS_USAGE;
    *count = themis_aggregation_aggregator_count(wanted, &load);
    return THEMIS_TOOLS_OK;
}

static int cut_domains(job_t *job)
{
    themis_aggregation_layout_t layout = {job->stripe, job->servers, 0};
    themis_aggregation_method_t method = THEMIS_AGGREGATION_EVEN;
    uint32_t count;

    if (job->wishes->method && themis_aggregation_method_parse(job->wishes->method, &method) != THEMIS_OK)
        return themis_tools_misused(job->self, "there is no file-domain method %s", job->wishes->method);
    if (count_aggregators(job, &count) != THEMIS_TOOLS_OK)
        return THEMIS_TOOLS_USAGE;
    return themis_tools_plan_check(job, themis_aggregation_domains_init(method, &layout, job->pattern->first,
                                                                        job->pattern->last, count, &job->domains));
}

static themis_status_t split_among_servers(job_t *job)
{
    if (!job->server_distance)
        return THEMIS_OK;
    job->server_bytes = calloc((size_t)job->domains.count * job->servers, sizeof *job->server_bytes);
    return job->server_bytes ? themis_aggregation_matrix_server_bytes(job->matrix, &job->domains, job->server_bytes)
                             : THEMIS_NO_MEMORY;
}

static int make_plans(job_t *job)
{
    themis_status_t status = themis_aggregation_distances_fabric(job->fabric, job->vertex, job->nodes, &job->distances);

    if (status == THEMIS_OK)
        status = themis_tools_pattern_matrix(job->pattern, &job->domains, job->node_of_rank, job->nodes, &job->matrix);
    job->request = (themis_aggregation_problem_t){.domains = &job->domains,
                                                  .matrix = job->matrix,
                                                  .candidates = job->candidates,
                                                  .distances = job->distances,
                                                  .server_distance = job->server_distance,
                                                  .fabric = job->fabric,
                                                  .vertex = job->vertex,
                                                  .server_vertex = job->server_vertex};
    if (status == THEMIS_OK)
        status = split_among_servers(job);
    for (int p = 0; status == THEMIS_OK && p <= PLACEMENTS; p++) {
        job->request.placement = (themis_aggregation_placement_t)p;
        status = themis_aggregation_plan_create(&job->request, &job->plan[p]);
    }
    return themis_tools_plan_check(job, status);
}

static void job_drop(job_t *job)
{
    for (int p = 0; p <= PLACEMENTS; p++)
        themis_aggregation_plan_destroy(job->plan[p]);
    themis_aggregation_matrix_destroy(job->matrix);
    themis_aggregation_candidates_destroy(job->candidates);
    themis_aggregation_distances_destroy(job->distances);
    themis_tools_pattern_destroy(job->pattern);
    themis_aggregation_fabric_destroy(job->fabric);
    free(job->vertex);
    free(job->node_of_rank);
    free(job->server_vertex);
    free(job->server_distance);
    free(job->server_bytes);
}

static int draw_plans(job_t *job)
{
    return job->wishes->svg ? themis_tools_plan_draw(job, job->wishes->svg) : THEMIS_TOOLS_OK;
}

static int plan_job(job_t *job)
{
    static int (*const steps[])(job_t *) = {read_numbers, open_fabric,     place_servers, place_nodes, server_distances,
                                            open_pattern, make_candidates, cut_domains,   make_plans,  draw_plans};
    int result = THEMIS_TOOLS_OK;

    for (size_t i = 0; i < sizeof steps / sizeof *steps && result == THEMIS_TOOLS_OK; i++)
        result = steps[i](job);
    if (result != THEMIS_TOOLS_OK)
        return result;
    if (job->wishes->json)
        themis_tools_plan_print_json(job);
    else
        themis_tools_plan_print(job);
    return THEMIS_TOOLS_OK;
}

static int run_plan(const themis_tools_command_t *self, int argc, char **argv)
{
    wishes_t w = {0};
    const themis_tools_option_t options[] = {{'n', "ranks", NULL, &w.ranks},
                                             {'p', "pattern", NULL, &w.pattern},
                                             {'f', "fabric", NULL, &w.fabric},
                                             {0, "edge", NULL, &w.edge},
                                             {0, "element", NULL, &w.element},
                                             {0, "per-node", NULL, &w.per_node},
                                             {'a', "aggregators", NULL, &w.aggregators},
                                             {0, "aggregators-per-node", NULL, &w.aggregators_per_node},
                                             {'m', "method", NULL, &w.method},
                                             {0, "stripe", NULL, &w.stripe},
                                             {'s', "servers", NULL, &w.servers},
                                             {0, "nodes", NULL, &w.nodes},
                                             {0, "svg", NULL, &w.svg},
                                             {0, "json", &w.json, NULL},
                                             {0}};
    job_t job = {.self = self,
                 .wishes = &w,
                 .per_node = 12,
                 .edge = 2000,
                 .element = 8,
                 .limit = 1,
                 .stripe = 1 << 20,
                 .servers = 4};
    int result;

    if (themis_tools_options(self, argc, argv, options) != argc || !w.ranks)
        return themis_tools_usage(self);
    result = plan_job(&job);
    job_drop(&job);
    return result;
}

const themis_tools_command_t themis_tools_plan = {
    "plan", "-n RANKS [-p cube|btio|FILE] [-f FABRIC] [OPTION]...",
    "Shows which processes would aggregate a collective call, and what that costs on the network.",
    "  -n RANKS                   processes of the job\n"
    "  -p cube | btio | FILE      what they access: a 3-D array in cubes or as BTIO does, or lines RANK OFFSET LENGTH\n"
    "                             [ROWS STRIDE]; --edge N elements along an edge (2000) of --element N bytes (8)\n"
    "  -f FABRIC                  as for 'themis topo'; without a fabric all hosts are taken to be 2 hops apart\n"
    "  --nodes packed | scattered[:SEED] | HOST,...   the job's hosts (packed); --per-node N processes on each (12)\n"
    "  -a N | per-server | auto   aggregators (all that may); --aggregators-per-node N may on each node (1)\n"
    "  -m METHOD                  file domains: even (default), aligned, stripe-size, static-cyclic, group-cyclic,\n"
    "                             transpose, auto; --stripe SIZE (1MiB)\n"
    "  -s N | HOST,...            I/O servers (4); with hosts, the way to them counts too\n"
    "  --svg FILE                 a picture of the fabric with the load of each link, before and after\n"
    "  --json                     as JSON\n",
    run_plan};
