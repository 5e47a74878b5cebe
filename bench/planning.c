/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Time and memory of planning: fabric distances, communication matrix, workload, assignment with its certificate, link
 * loads. Each case runs in a process of its own, so that its peak of resident memory is known. JSON rows to standard
 * output.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "themis/aggregation.h"
#include "util/clock.h"

enum { PER_LEAF = 32, PER_NODE = 64, STRIPE = 1 << 20, SERVERS = 64 };

/* slab: a node holds parts of 8 neighbouring domains; dense: of all domains. */
typedef struct job {
    uint32_t ranks, nodes, domains;
    bool dense;
} job_t;

typedef struct parts {
    themis_aggregation_fabric_t *fabric;
    themis_aggregation_distances_t *distances;
    themis_aggregation_candidates_t *candidates;
    themis_aggregation_matrix_t *matrix;
    themis_aggregation_domains_t domains;
    uint32_t *vertex;
    themis_aggregation_plan_t *plan;
} parts_t;

/* Nodes scattered over the fabric as a batch system leaves them: every third host, wrapping round. */
static themis_status_t prepare(const job_t *job, parts_t *p)
{
    themis_aggregation_layout_t layout = {STRIPE, SERVERS, 0};
    uint32_t leaves = (job->nodes + PER_LEAF - 1) / PER_LEAF, hosts = leaves * PER_LEAF;
    uint32_t *node_of_rank = malloc(job->ranks * sizeof *node_of_rank);
    themis_status_t status;

    p->vertex = malloc((job->nodes + 1) * sizeof *p->vertex);
    if (!node_of_rank || !p->vertex)
        return THEMIS_NO_MEMORY;
    for (uint32_t n = 0; n < job->nodes; n++)
        p->vertex[n] = hosts % 3 ? (uint32_t)((uint64_t)n * 3 % hosts) : n;
    for (uint32_t r = 0; r < job->ranks; r++)
        node_of_rank[r] = r / PER_NODE < job->nodes ? r / PER_NODE : job->nodes - 1;
    status = themis_aggregation_fabric_fat(leaves, PER_LEAF, leaves > 2 ? leaves / 2 : 1, &p->fabric);
    if (status == THEMIS_OK)
        status = themis_aggregation_candidates_create(node_of_rank, job->ranks, job->nodes, NULL, NULL, &p->candidates);
    if (status == THEMIS_OK)
        status = themis_aggregation_domains_init(THEMIS_AGGREGATION_ALIGNED, &layout, 0,
                                                 (uint64_t)job->ranks * 16 * STRIPE - 1, job->domains, &p->domains);
    free(node_of_rank);
    return status;
}

static themis_status_t fill(const job_t *job, parts_t *p)
{
    size_t per = job->dense || job->domains < 8 ? job->domains : 8, cells = 0;
    themis_aggregation_cell_t *cell = malloc(job->nodes * per * sizeof *cell);
    themis_status_t status;

    if (!cell)
        return THEMIS_NO_MEMORY;
    for (uint32_t n = 0; n < job->nodes; n++)
        for (uint32_t i = 0; i < per; i++)
            cell[cells++] = (themis_aggregation_cell_t){
                n, (uint32_t)(((uint64_t)n * 7919 % job->nodes * job->domains / job->nodes + i) % job->domains),
                STRIPE * (1 + (n * 31 + i * 17) % 13)};
    status = themis_aggregation_matrix_create(job->nodes, job->domains, cell, cells, &p->matrix);
    free(cell);
    return status;
}

static themis_status_t make_plan(parts_t *p)
{
    themis_aggregation_problem_t request = {.placement = THEMIS_AGGREGATION_TOPOLOGY,
                                            .domains = &p->domains,
                                            .matrix = p->matrix,
                                            .candidates = p->candidates,
                                            .distances = p->distances,
                                            .fabric = p->fabric,
                                            .vertex = p->vertex};

    return themis_aggregation_plan_create(&request, &p->plan);
}

static double seconds_since(uint64_t begin)
{
    return (double)(themis_util_clock_now() - begin) / 1e9;
}

static double processor_seconds(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static int run(const job_t *job, const char *before)
{
    parts_t p = {0};
    uint64_t begin;
    double gather, distances, plan, processor;
    struct rusage usage;

    if (prepare(job, &p) != THEMIS_OK)
        return EXIT_FAILURE;
    begin = themis_util_clock_now();
    if (themis_aggregation_distances_fabric(p.fabric, p.vertex, job->nodes, &p.distances) != THEMIS_OK)
        return EXIT_FAILURE;
    distances = seconds_since(begin);
    begin = themis_util_clock_now();
    if (fill(job, &p) != THEMIS_OK)
        return EXIT_FAILURE;
    gather = seconds_since(begin);
    begin = themis_util_clock_now();
    processor = processor_seconds();
    if (make_plan(&p) != THEMIS_OK)
        return EXIT_FAILURE;
    plan = seconds_since(begin);
    processor = processor_seconds() - processor;
    getrusage(RUSAGE_SELF, &usage);
    printf(
        "%s{\"ranks\": %u, \"nodes\": %u, \"domains\": %u, \"matrix\": \"%s\", \"cells\": %zu, \"distances_ms\": %.2f, "
        "\"matrix_ms\": %.2f, \"plan_ms\": %.2f, \"plan_processor_ms\": %.2f, \"peak_mib\": %.1f, \"certified\": %s, "
        "\"hop_bytes_of_default\": "
        "%.4f}",
        before, job->ranks, job->nodes, job->domains, job->dense ? "dense" : "slab", p.matrix->cells, 1e3 * distances,
        1e3 * gather, 1e3 * plan, 1e3 * processor, (double)usage.ru_maxrss / 1024, p.plan->certified ? "true" : "false",
        p.plan->chosen.hop_bytes / p.plan->otp.hop_bytes);
    return p.plan->certified ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(void)
{
    static const job_t jobs[] = {{512, 8, 8, false},        {4096, 64, 64, false},      {16384, 256, 256, false},
                                 {65536, 1024, 512, false}, {100000, 1563, 512, false}, {100000, 1563, 1563, false},
                                 {100000, 1563, 512, true}, {262144, 4096, 512, false}, {262144, 4096, 512, true}};

    for (size_t j = 0; j < sizeof jobs / sizeof *jobs; j++) {
        int status;
        pid_t child;

        fflush(stdout);
        child = fork();
        if (child == 0) {
            int code = run(&jobs[j], j == 0 ? "[\n" : ",\n");

            fflush(stdout);
            _exit(code);
        }
        if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0)
            return EXIT_FAILURE;
    }
    printf("\n]\n");
    return EXIT_SUCCESS;
}
