/* SPDX-License-Identifier: BSD-3-Clause */
/* The subcommand plan: the job that it plans for (plan.c), and how the plans are shown (plan_show.c). */
#ifndef THEMIS_TOOLS_PLAN_REPORT_H
#define THEMIS_TOOLS_PLAN_REPORT_H
#include "tools/access_pattern.h"
#include "tools/command.h"

/* The options as given. */
typedef struct themis_tools_plan_wishes {
    const char *ranks, *pattern, *fabric, *edge, *element, *per_node, *aggregators, *aggregators_per_node, *method;
    const char *stripe, *servers, *nodes, *svg;
    int json;
} themis_tools_plan_wishes_t;

/* The job that they describe, and a plan for each placement, `auto` the last. Owns all but self and wishes. */
typedef struct themis_tools_plan_job {
    const themis_tools_command_t *self;
    const themis_tools_plan_wishes_t *wishes;
    int64_t ranks, per_node, edge, element, limit;
    uint64_t stripe;
    uint32_t nodes, servers;
    themis_aggregation_fabric_t *fabric;
    themis_tools_pattern_t *pattern;
    themis_aggregation_domains_t domains;
    themis_aggregation_distances_t *distances;
    themis_aggregation_candidates_t *candidates;
    themis_aggregation_matrix_t *matrix;
    uint32_t *vertex, *node_of_rank, *server_vertex;
    uint16_t *server_distance;
    uint64_t *server_bytes; /* [domains * servers] with server_distance */
    themis_aggregation_problem_t request;
    themis_aggregation_plan_t *plan[THEMIS_AGGREGATION_PLACEMENTS + 1];
} themis_tools_plan_job_t;

/* THEMIS_TOOLS_OK, or complains and gives THEMIS_TOOLS_FAILED. */
int themis_tools_plan_check(const themis_tools_plan_job_t *job, themis_status_t status);

/* On standard output: corners of the matrices, the assignment, and what each placement costs. */
void themis_tools_plan_print(const themis_tools_plan_job_t *job);
void themis_tools_plan_print_json(const themis_tools_plan_job_t *job);
/* Writes a picture of the load on the links under the default and the topology placement; complains by itself. */
int themis_tools_plan_draw(const themis_tools_plan_job_t *job, const char *path);
#endif
