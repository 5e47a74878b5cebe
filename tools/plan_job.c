/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/plan_job.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/command.h"
#include "tools/fabric_option.h"
#include "util/config.h"

enum { PLACEMENTS = THEMIS_AGGREGATION_PLACEMENTS, MAX_RANKS = 10000000 };

typedef themis_tools_plan_job_t job_t;

int themis_tools_plan_check(themis_status_t status)
{
    return status == THEMIS_OK ? THEMIS_TOOLS_OK : themis_tools_error("%s", themis_status_string(status));
}

static int number_read(const char *name, const char *text, int64_t max, int64_t *value)
{
    if (!text || themis_util_config_integer(text, 1, max, value) == THEMIS_OK)
        return THEMIS_TOOLS_OK;
    return themis_tools_misuse("--%s %s: expected a number from 1 to %lld", name, text, (long long)max);
}

static int numbers_read(job_t *job)
{
    const themis_tools_plan_options_t *o = job->options;

    if (number_read("ranks", o->ranks, MAX_RANKS, &job->ranks) ||
        number_read("per-node", o->per_node, 4096, &job->per_node) ||
        number_read("edge", o->edge, 1 << 19, &job->edge) ||
        number_read("element", o->element, 1 << 20, &job->element) ||
        number_read("aggregators-per-node", o->aggregators_per_node, 4096, &job->limit))
        return THEMIS_TOOLS_USAGE;
    if (o->stripe && (themis_util_config_bytes(o->stripe, &job->stripe) != THEMIS_OK || job->stripe == 0))
        return themis_tools_misuse("--stripe %s: expected a size such as 64k, 1m or 2g", o->stripe);
    job->nodes = (uint32_t)((job->ranks + job->per_node - 1) / job->per_node);
    return THEMIS_TOOLS_OK;
}

/* ---- hosts ---- */

static int fabric_open(job_t *job)
{
    if (job->options->fabric)
        return themis_tools_fabric_open(job->options->fabric, &job->fabric);
    if (themis_aggregation_fabric_discover(&job->fabric) == THEMIS_OK)
        return THEMIS_TOOLS_OK;
    themis_tools_error("no InfiniBand fabric: all hosts are taken to be %u hops apart (-f gives a fabric)",
                       THEMIS_AGGREGATION_FLAT_HOPS);
    return themis_tools_plan_check(themis_aggregation_fabric_tree(1, job->nodes, 1, &job->fabric));
}

/* The hosts of the fabric that are not servers, in their order; returns their number. */
static uint32_t hosts_free(const job_t *job, uint32_t *host)
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

/* Shuffles the hosts; the same for the same seed (splitmix64). */
static void hosts_scatter(uint32_t *host, uint32_t count, uint64_t seed)
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

static int hosts_by_name(const job_t *job, const char *list, uint32_t *vertex, uint32_t room, uint32_t *count)
{
    char name[256];

    *count = 0;
    while (themis_tools_fabric_next_host(&list, name, sizeof name)) {
        if (*count == room)
            return THEMIS_TOOLS_OK;
        if (themis_tools_fabric_host(job->fabric, name, &vertex[(*count)++]) != THEMIS_TOOLS_OK)
            return THEMIS_TOOLS_FAILED;
    }
    return THEMIS_TOOLS_OK;
}

static int nodes_place(job_t *job)
{
    const char *how = job->options->nodes ? job->options->nodes : "packed";
    uint32_t count, *host = malloc(((size_t)job->fabric->vertices + 1) * sizeof *host);
    unsigned long long seed = 1;
    int result = THEMIS_TOOLS_OK;

    job->vertex = host;
    if (!host)
        return themis_tools_plan_check(THEMIS_NO_MEMORY);
    if (strcmp(how, "packed") == 0) {
        count = hosts_free(job, host);
    } else if (strcmp(how, "scattered") == 0 || sscanf(how, "scattered:%llu", &seed) == 1) {
        count = hosts_free(job, host);
        hosts_scatter(host, count, seed);
    } else {
        result = hosts_by_name(job, how, host, job->fabric->vertices, &count);
    }
    if (result == THEMIS_TOOLS_OK && count < job->nodes)
        result = themis_tools_error("%lld ranks at %lld a node need %u hosts, but there are %u", (long long)job->ranks,
                                    (long long)job->per_node, job->nodes, count);
    return result;
}

/* --servers is a number, or hosts in the fabric, whose distances then count. */
static int servers_place(job_t *job)
{
    int64_t number;

    if (!job->options->servers)
        return THEMIS_TOOLS_OK;
    if (themis_util_config_integer(job->options->servers, 1, 65536, &number) == THEMIS_OK) {
        job->servers = (uint32_t)number;
        return THEMIS_TOOLS_OK;
    }
    job->server_vertex = malloc(((size_t)job->fabric->vertices + 1) * sizeof *job->server_vertex);
    if (!job->server_vertex)
        return themis_tools_plan_check(THEMIS_NO_MEMORY);
    return hosts_by_name(job, job->options->servers, job->server_vertex, job->fabric->vertices, &job->servers);
}

static int server_distances_fill(job_t *job)
{
    if (!job->server_vertex)
        return THEMIS_TOOLS_OK;
    uint16_t *hops = malloc(((size_t)job->fabric->vertices + 1) * sizeof *hops);
    int result = THEMIS_TOOLS_OK;

    job->server_distance = malloc((size_t)job->nodes * job->servers * sizeof *job->server_distance);
    if (!hops || !job->server_distance)
        result = themis_tools_plan_check(THEMIS_NO_MEMORY);
    for (uint32_t s = 0; result == THEMIS_TOOLS_OK && s < job->servers; s++) {
        result = themis_tools_plan_check(themis_aggregation_fabric_hops(job->fabric, job->server_vertex[s], hops));
        for (uint32_t n = 0; result == THEMIS_TOOLS_OK && n < job->nodes; n++)
            job->server_distance[(size_t)n * job->servers + s] =
                (uint16_t)(hops[job->vertex[n]] ? hops[job->vertex[n]] * THEMIS_AGGREGATION_HOP
                                                : THEMIS_AGGREGATION_HOP);
    }
    free(hops);
    return result;
}

/* ---- access and aggregators ---- */

static int64_t power_of(int64_t root, int power)
{
    return power == 3 ? root * root * root : root * root;
}

/* An array is divided equally along its edges, so only powers of a number up to its edge fit. */
static int ranks_check(const job_t *job, const char *pattern, int power)
{
    int64_t below = 1;

    while (power_of(below + 1, power) <= job->ranks)
        below++;
    if (below > job->edge || (below == job->edge && power_of(below, power) < job->ranks))
        return themis_tools_misuse("-n %lld: %s with %lld elements along an edge is for at most %lld ranks",
                                   (long long)job->ranks, pattern, (long long)job->edge,
                                   (long long)power_of(job->edge, power));
    if (power_of(below, power) == job->ranks)
        return THEMIS_TOOLS_OK;
    return themis_tools_misuse("-n %lld: %s is for 1, %lld, %lld... ranks; the nearest are %lld and %lld",
                               (long long)job->ranks, pattern, (long long)power_of(2, power),
                               (long long)power_of(3, power), (long long)power_of(below, power),
                               (long long)power_of(below + 1, power));
}

static int pattern_open(job_t *job)
{
    const char *name = job->options->pattern ? job->options->pattern : "cube";
    int power = strcmp(name, "cube") == 0 ? 3 : strcmp(name, "btio") == 0 ? 2 : 0;
    uint32_t ranks = (uint32_t)job->ranks;
    themis_status_t status;

    if (power && ranks_check(job, name, power) != THEMIS_TOOLS_OK)
        return THEMIS_TOOLS_USAGE;
    if (power == 3)
        status = themis_tools_pattern_cube(ranks, (uint64_t)job->edge, (uint64_t)job->element, &job->pattern);
    else if (power == 2)
        status = themis_tools_pattern_btio(ranks, (uint64_t)job->edge, (uint64_t)job->element, &job->pattern);
    else
        status = themis_tools_pattern_load(name, ranks, &job->pattern);
    return themis_tools_plan_check(status);
}

static int candidates_make(job_t *job)
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
    return themis_tools_plan_check(status);
}

/* The number of aggregators: a number, per-server, auto, or all candidates. */
static int aggregators_count(const job_t *job, uint32_t *count)
{
    const char *text = job->options->aggregators;
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
    else if (number_read("aggregators", text, job->candidates->count, &wanted) != THEMIS_TOOLS_OK)
        return THEMIS_TOOLS_USAGE;
    *count = themis_aggregation_aggregator_count(wanted, &load);
    return THEMIS_TOOLS_OK;
}

static int domains_cut(job_t *job)
{
    themis_aggregation_layout_t layout = {job->stripe, job->servers, 0};
    themis_aggregation_method_t method = THEMIS_AGGREGATION_EVEN;
    uint32_t count;

    if (job->options->method && themis_aggregation_method_parse(job->options->method, &method) != THEMIS_OK)
        return themis_tools_misuse("there is no file-domain method %s", job->options->method);
    if (aggregators_count(job, &count) != THEMIS_TOOLS_OK)
        return THEMIS_TOOLS_USAGE;
    return themis_tools_plan_check(themis_aggregation_domains_init(method, &layout, job->pattern->first,
                                                                   job->pattern->last, count, &job->domains));
}

static int plans_make(job_t *job)
{
    themis_status_t status = themis_aggregation_distances_fabric(job->fabric, job->vertex, job->nodes, &job->distances);

    if (status == THEMIS_OK)
        status = themis_tools_pattern_matrix(job->pattern, &job->domains, job->node_of_rank, job->nodes, &job->matrix);
    job->problem = (themis_aggregation_problem_t){.domains = &job->domains,
                                                  .matrix = job->matrix,
                                                  .candidates = job->candidates,
                                                  .distances = job->distances,
                                                  .server_distance = job->server_distance,
                                                  .fabric = job->fabric,
                                                  .vertex = job->vertex,
                                                  .server_vertex = job->server_vertex};
    if (status == THEMIS_OK && job->server_distance) {
        job->server_bytes = calloc((size_t)job->domains.count * job->servers, sizeof *job->server_bytes);
        status = job->server_bytes
                     ? themis_aggregation_matrix_server_bytes(job->matrix, &job->domains, job->server_bytes)
                     : THEMIS_NO_MEMORY;
    }
    for (int p = 0; status == THEMIS_OK && p <= PLACEMENTS; p++) {
        job->problem.placement = (themis_aggregation_placement_t)p;
        status = themis_aggregation_plan_create(&job->problem, &job->plan[p]);
    }
    return themis_tools_plan_check(status);
}

int themis_tools_plan_job_make(job_t *job)
{
    static int (*const steps[])(job_t *) = {numbers_read,    fabric_open,           servers_place,
                                            nodes_place,     server_distances_fill, pattern_open,
                                            candidates_make, domains_cut,           plans_make};
    int result = THEMIS_TOOLS_OK;

    for (size_t i = 0; i < sizeof steps / sizeof *steps && result == THEMIS_TOOLS_OK; i++)
        result = steps[i](job);
    return result;
}

void themis_tools_plan_job_free(job_t *job)
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
