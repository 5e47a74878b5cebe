/* SPDX-License-Identifier: BSD-3-Clause */
/* The job that themis plan plans for. */
#pragma once
#include "tools/access_pattern.h"

/* The options as given. */
typedef struct themis_tools_plan_options {
    const char *ranks, *pattern, *fabric, *edge, *element, *per_node, *aggregators, *aggregators_per_node, *method;
    const char *stripe, *servers, *nodes, *svg;
    int json;
} themis_tools_plan_options_t;

/* The job that they describe, and a plan for each placement, `auto` the last. Owns all but the options. */
typedef struct themis_tools_plan_job {
    const themis_tools_plan_options_t *options;
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
    themis_aggregation_problem_t problem;
    themis_aggregation_plan_t *plan[THEMIS_AGGREGATION_PLACEMENTS + 1];
} themis_tools_plan_job_t;

/* Makes all of it from the options and the defaults in `job`; prints its errors. Release it in any case. */
int themis_tools_plan_job_make(themis_tools_plan_job_t *job);
void themis_tools_plan_job_free(themis_tools_plan_job_t *job);

/* THEMIS_TOOLS_OK, or THEMIS_TOOLS_FAILED after an error message. */
int themis_tools_plan_check(themis_status_t status);
