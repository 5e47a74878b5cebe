/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hop-bytes of the three placements for the cases of Liu, Zhou, Guo 2018: a 2000^3 array of doubles as cubes or as
 * BTIO, 12 processes a node (two six-core processors), 1, 2 and 4 aggregators a node, on the paper's tree of 4 x 20
 * nodes and on a fat tree. Nodes are packed (the first hosts in order) or scattered (hosts as a batch system leaves
 * them: a random subset in random order). Besides, the same with 8 and 16 aggregators in all. JSON rows to standard
 * output.
 */
#include <stdio.h>
#include <stdlib.h>

#include "test/aggregation/draw.h"
#include "tools/access_pattern.h"

enum { EDGE = 2000, ELEMENT = 8, PER_NODE = 12, PLACEMENTS = THEMIS_AGGREGATION_PLACEMENTS };

typedef struct setting {
    const char *pattern, *fabric;
    uint32_t ranks;
    bool scattered;
    uint32_t per_node; /* aggregators on each node, or 0: `all` in all */
    uint32_t all;
} setting_t;

/* The first `nodes` of a shuffle of all hosts. */
static void place(uint32_t *vertex, uint32_t hosts, bool scattered)
{
    draw_state = hosts;
    for (uint32_t h = 0; h < hosts; h++)
        vertex[h] = h;
    for (uint32_t h = hosts; scattered && h > 1; h--) {
        uint32_t other = (uint32_t)draw(h), kept = vertex[h - 1];

        vertex[h - 1] = vertex[other];
        vertex[other] = kept;
    }
}

static void print(const setting_t *s, uint32_t nodes, uint32_t aggregators,
                  const themis_aggregation_plan_t *const *plan, const char *before)
{
    const themis_aggregation_choice_t *otp = &plan[0]->chosen, *latp = &plan[1]->chosen, *tatp = &plan[2]->chosen;
    const double unit = 1e9;

    printf("%s{\"pattern\": \"%s\", \"processes\": %u, \"nodes\": %u, \"fabric\": \"%s\", \"nodes_are\": \"%s\", "
           "\"aggregators\": %u, \"aggregators_per_node\": %u, \"otp_hop_gb\": %.2f, \"latp_hop_gb\": %.2f, "
           "\"tatp_hop_gb\": %.2f, "
           "\"tatp_less_than_otp_percent\": %.2f, \"tatp_less_than_latp_percent\": %.2f, \"otp_max_link_gb\": %.3f, "
           "\"latp_max_link_gb\": %.3f, \"tatp_max_link_gb\": %.3f, \"certified\": %s}",
           before, s->pattern, s->ranks, nodes, s->fabric, s->scattered ? "scattered" : "packed", aggregators,
           s->per_node, otp->hop_bytes / unit, latp->hop_bytes / unit, tatp->hop_bytes / unit,
           100 * (1 - tatp->hop_bytes / otp->hop_bytes), 100 * (1 - tatp->hop_bytes / latp->hop_bytes),
           (double)otp->max_link_load / unit, (double)latp->max_link_load / unit, (double)tatp->max_link_load / unit,
           plan[2]->certified ? "true" : "false");
}

/* Makes the three plans; fails if topology is worse than another one. */
static int compare(const setting_t *s, themis_aggregation_problem_t *request, const char *before)
{
    themis_aggregation_plan_t *plan[PLACEMENTS] = {NULL};
    int failed = 0;

    for (int p = 0; p < PLACEMENTS; p++) {
        request->placement = (themis_aggregation_placement_t)p;
        failed |= themis_aggregation_plan_create(request, &plan[p]) != THEMIS_OK;
    }
    if (!failed) {
        print(s, request->matrix->nodes, request->domains->count, (const themis_aggregation_plan_t *const *)plan,
              before);
        failed = !plan[2]->certified || plan[2]->chosen.hop_bytes > plan[0]->chosen.hop_bytes ||
                 plan[2]->chosen.hop_bytes > plan[1]->chosen.hop_bytes;
    }
    for (int p = 0; p < PLACEMENTS; p++)
        themis_aggregation_plan_destroy(plan[p]);
    return failed;
}

static int run(const setting_t *s, const themis_tools_pattern_t *pattern, const themis_aggregation_fabric_t *fabric,
               uint32_t hosts, const char *before)
{
    static uint32_t vertex[1024], node_of_rank[1024], limit[1024];
    themis_aggregation_layout_t layout = {1 << 20, 8, 0};
    uint32_t nodes = (s->ranks + PER_NODE - 1) / PER_NODE;
    themis_aggregation_domains_t domains;
    themis_aggregation_distances_t *distances;
    themis_aggregation_candidates_t *candidates;
    themis_aggregation_matrix_t *matrix;
    themis_aggregation_problem_t request = {.domains = &domains, .fabric = fabric, .vertex = vertex};
    int failed;

    place(vertex, hosts, s->scattered);
    for (uint32_t r = 0; r < s->ranks; r++)
        node_of_rank[r] = r / PER_NODE;
    for (uint32_t n = 0; n < nodes; n++)
        limit[n] = s->per_node ? s->per_node : 1;
    if (themis_aggregation_candidates_create(node_of_rank, s->ranks, nodes, limit, NULL, &candidates) != THEMIS_OK ||
        themis_aggregation_domains_init(THEMIS_AGGREGATION_EVEN, &layout, pattern->first, pattern->last,
                                        s->all ? s->all : candidates->count, &domains) != THEMIS_OK ||
        themis_aggregation_distances_fabric(fabric, vertex, nodes, &distances) != THEMIS_OK ||
        themis_tools_pattern_matrix(pattern, &domains, node_of_rank, nodes, &matrix) != THEMIS_OK)
        return 1;
    request.candidates = candidates;
    request.distances = distances;
    request.matrix = matrix;
    failed = compare(s, &request, before);
    themis_aggregation_candidates_destroy(candidates);
    themis_aggregation_distances_destroy(distances);
    themis_aggregation_matrix_destroy(matrix);
    return failed;
}

static int all_fabrics(const char *name, uint32_t ranks, const themis_tools_pattern_t *pattern, bool *any)
{
    static const uint32_t counts[][2] = {{1, 0}, {2, 0}, {4, 0}, {0, 8}, {0, 16}};
    int failed = 0;

    for (int f = 0; f < 2; f++) {
        themis_aggregation_fabric_t *fabric;

        if ((f == 0 ? themis_aggregation_fabric_tree(4, 20, 1, &fabric)
                    : themis_aggregation_fabric_fat(16, 16, 8, &fabric)) != THEMIS_OK)
            return 1;
        for (size_t c = 0; c < 2 * sizeof counts / sizeof *counts; c++) {
            uint32_t nodes = (ranks + PER_NODE - 1) / PER_NODE;
            setting_t s = {
                name, f == 0 ? "tree-4x20" : "fat-16x16", ranks, c % 2 == 1, counts[c / 2][0], counts[c / 2][1]};

            if (s.all >= nodes)
                continue; /* that is one a node */
            failed |= run(&s, pattern, fabric, f == 0 ? 80 : 256, *any ? ",\n" : "[\n");
            *any = true;
        }
        themis_aggregation_fabric_destroy(fabric);
    }
    return failed;
}

int main(void)
{
    static const uint32_t cubes[] = {64, 125, 512}, squares[] = {100, 625, 900};
    int failed = 0;
    bool any = false;

    for (int k = 0; k < 6; k++) {
        themis_tools_pattern_t *pattern;
        uint32_t ranks = k < 3 ? cubes[k] : squares[k - 3];

        if ((k < 3 ? themis_tools_pattern_cube(ranks, EDGE, ELEMENT, &pattern)
                   : themis_tools_pattern_btio(ranks, EDGE, ELEMENT, &pattern)) != THEMIS_OK)
            return EXIT_FAILURE;
        failed |= all_fabrics(k < 3 ? "cube" : "btio", ranks, pattern, &any);
        themis_tools_pattern_destroy(pattern);
    }
    printf("\n]\n");
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
