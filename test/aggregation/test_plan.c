/* SPDX-License-Identifier: BSD-3-Clause */
/* Selection of aggregators: small cases against all assignments, link loads against known and conserved sums. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/access_pattern.h"
#include "test/aggregation/draw.h"
#include "test/lib/run.h"
#include "themis/aggregation.h"

enum { HOP = THEMIS_AGGREGATION_HOP, SERVERS = 2, STRIPE = 64 };

/* A job on the first hosts of a fabric, each domain one part of a file of 2 servers. */
typedef struct world {
    themis_aggregation_fabric_t *fabric;
    themis_aggregation_distances_t *distances;
    themis_aggregation_candidates_t *candidates;
    themis_aggregation_matrix_t *matrix;
    themis_aggregation_domains_t domains;
    uint32_t vertex[64], server_vertex[SERVERS];
    uint16_t server_distance[64 * SERVERS];
    themis_aggregation_problem_t request;
} world_t;

static void world_candidates(world_t *w, uint32_t nodes, uint32_t per_node)
{
    uint32_t node_of_rank[256], limit[64];

    for (uint32_t r = 0; r < 4 * nodes; r++)
        node_of_rank[r] = r / 4;
    for (uint32_t n = 0; n < nodes; n++)
        limit[n] = per_node;
    ck_assert_int_eq(themis_aggregation_candidates_create(node_of_rank, 4 * nodes, nodes, limit, NULL, &w->candidates),
                     THEMIS_OK);
}

static void world_matrix(world_t *w, uint32_t nodes, uint32_t domains, uint64_t zero_in)
{
    themis_aggregation_cell_t cell[64 * 64];
    size_t cells = 0;

    for (uint32_t n = 0; n < nodes; n++)
        for (uint32_t k = 0; k < domains; k++)
            if (draw(zero_in) == 0)
                cell[cells++] = (themis_aggregation_cell_t){n, k, 1 + draw(1000)};
    ck_assert_int_eq(themis_aggregation_matrix_create(nodes, domains, cell, cells, &w->matrix), THEMIS_OK);
}

/* The last two hosts of the fabric are the servers. */
static void world_servers(world_t *w, uint32_t hosts)
{
    uint16_t hops[128];

    for (uint32_t s = 0; s < SERVERS; s++) {
        w->server_vertex[s] = hosts - 1 - s;
        ck_assert_int_eq(themis_aggregation_fabric_hops(w->fabric, w->server_vertex[s], hops), THEMIS_OK);
        for (uint32_t n = 0; n < w->matrix->nodes; n++)
            w->server_distance[n * SERVERS + s] = (uint16_t)(hops[w->vertex[n]] * HOP);
    }
}

static world_t world_make(uint32_t nodes, uint32_t domains, uint32_t per_node, bool servers)
{
    world_t w = {0};
    themis_aggregation_layout_t layout = {STRIPE, SERVERS, 0};
    uint32_t hosts = 16;

    ck_assert_int_eq(themis_aggregation_fabric_fat(4, 4, 2, &w.fabric), THEMIS_OK);
    for (uint32_t n = 0; n < nodes; n++)
        w.vertex[n] = (n * 5) % 14;
    ck_assert_int_eq(themis_aggregation_distances_fabric(w.fabric, w.vertex, nodes, &w.distances), THEMIS_OK);
    for (uint32_t n = 0; n < nodes; n++)
        w.distances->local[n] = (uint16_t)(1 + draw(HOP));
    ck_assert_int_eq(themis_aggregation_domains_init(THEMIS_AGGREGATION_ALIGNED, &layout, 0, domains * 3 * STRIPE - 1,
                                                     domains, &w.domains),
                     THEMIS_OK);
    world_candidates(&w, nodes, per_node);
    world_matrix(&w, nodes, domains, 3);
    if (servers)
        world_servers(&w, hosts);
    return w;
}

static themis_aggregation_problem_t request(const world_t *w, themis_aggregation_placement_t placement)
{
    bool servers = w->server_vertex[0] != 0;

    return (themis_aggregation_problem_t){.placement = placement,
                                          .domains = &w->domains,
                                          .matrix = w->matrix,
                                          .candidates = w->candidates,
                                          .distances = w->distances,
                                          .fabric = w->fabric,
                                          .vertex = w->vertex,
                                          .server_vertex = servers ? w->server_vertex : NULL,
                                          .server_distance = servers ? w->server_distance : NULL};
}

static themis_aggregation_plan_t *plan(const world_t *w, themis_aggregation_placement_t placement)
{
    themis_aggregation_problem_t r = request(w, placement);
    themis_aggregation_plan_t *p;

    ck_assert_int_eq(themis_aggregation_plan_create(&r, &p), THEMIS_OK);
    return p;
}

static void world_drop(world_t *w)
{
    themis_aggregation_fabric_destroy(w->fabric);
    themis_aggregation_distances_destroy(w->distances);
    themis_aggregation_candidates_destroy(w->candidates);
    themis_aggregation_matrix_destroy(w->matrix);
}

/* Hop-bytes in 1/16 of domain k at node m, the slow way. */
static double cost(const world_t *w, themis_aggregation_placement_t placement, uint32_t k, uint32_t m)
{
    double sum = 0, bytes = 0;

    for (size_t c = 0; c < w->matrix->cells; c++) {
        const themis_aggregation_cell_t *cell = &w->matrix->cell[c];

        if (cell->domain != k)
            continue;
        bytes += (double)cell->bytes;
        if (placement == THEMIS_AGGREGATION_LOCALITY)
            sum -= cell->node == m ? (double)cell->bytes : 0;
        else
            sum += (double)cell->bytes * themis_aggregation_distance(w->distances, cell->node, m);
    }
    if (placement == THEMIS_AGGREGATION_TOPOLOGY && w->server_vertex[0]) {
        /* three stripes: two on one server, one on the other, bytes rounded down as the planner does */
        uint32_t first = (3 * k) % 2;

        sum += floor(bytes * 2 / 3) * w->server_distance[m * SERVERS + first];
        sum += floor(bytes / 3) * w->server_distance[m * SERVERS + 1 - first];
    }
    return sum;
}

static double best(const world_t *w, themis_aggregation_placement_t placement, uint32_t k, uint32_t used)
{
    double smallest = INFINITY;

    if (k == w->domains.count)
        return 0;
    for (uint32_t s = 0; s < w->candidates->count; s++)
        if (!(used & (1u << s)))
            smallest = fmin(smallest, cost(w, placement, k, w->candidates->node[s]) +
                                          best(w, placement, k + 1, used | (1u << s)));
    return smallest;
}

static double total(const world_t *w, themis_aggregation_placement_t placement, const uint32_t *candidate)
{
    double sum = 0;

    for (uint32_t k = 0; k < w->domains.count; k++)
        sum += cost(w, placement, k, w->candidates->node[candidate[k]]);
    return sum;
}

TEST(small_plans_equal_brute_force)
{
    draw_state = 21 + (uint64_t)_i;
    for (int round = 0; round < 60; round++) {
        uint32_t nodes = 2 + (uint32_t)draw(4), per_node = 1 + (uint32_t)draw(2);
        uint32_t domains = 1 + (uint32_t)draw(nodes * per_node < 4 ? nodes * per_node : 4);
        themis_aggregation_placement_t placement = _i ? THEMIS_AGGREGATION_TOPOLOGY : THEMIS_AGGREGATION_LOCALITY;
        world_t w = world_make(nodes, domains, per_node, draw(2) == 0);
        themis_aggregation_plan_t *p = plan(&w, placement);

        ck_assert(p->certified);
        ck_assert_double_eq(total(&w, placement, p->chosen.candidate), best(&w, placement, 0, 0));
        if (placement == THEMIS_AGGREGATION_TOPOLOGY)
            ck_assert_double_eq(p->chosen.hop_bytes + p->chosen.server_hop_bytes, best(&w, placement, 0, 0) / HOP);
        for (uint32_t k = 0; k < domains; k++)
            ck_assert_uint_eq(p->aggregator[k], w.candidates->rank[p->chosen.candidate[k]]);
        themis_aggregation_plan_destroy(p);
        world_drop(&w);
    }
}

TEST(topology_is_never_worse)
{
    draw_state = 31;
    for (int round = 0; round < 50; round++) {
        uint32_t nodes = 3 + (uint32_t)draw(11), domains = 1 + (uint32_t)draw(nodes);
        world_t w = world_make(nodes, domains, 1 + (uint32_t)draw(3), draw(2) == 0);
        themis_aggregation_plan_t *p[THEMIS_AGGREGATION_AUTO + 1];
        double c[THEMIS_AGGREGATION_AUTO + 1];

        for (int k = 0; k <= THEMIS_AGGREGATION_AUTO; k++) {
            p[k] = plan(&w, (themis_aggregation_placement_t)k);
            c[k] = p[k]->chosen.hop_bytes + p[k]->chosen.server_hop_bytes;
            ck_assert_double_eq(p[k]->otp.hop_bytes, p[0]->chosen.hop_bytes);
            ck_assert_int_ne(p[k]->placement, THEMIS_AGGREGATION_AUTO);
        }
        ck_assert_double_le(c[THEMIS_AGGREGATION_TOPOLOGY], c[THEMIS_AGGREGATION_DEFAULT]);
        ck_assert_double_le(c[THEMIS_AGGREGATION_TOPOLOGY], c[THEMIS_AGGREGATION_LOCALITY]);
        ck_assert_double_le(c[THEMIS_AGGREGATION_AUTO], c[THEMIS_AGGREGATION_DEFAULT]);
        if (p[2]->chosen.max_link_load <= p[0]->chosen.max_link_load)
            ck_assert_double_le(c[THEMIS_AGGREGATION_AUTO], 1.011 * c[THEMIS_AGGREGATION_TOPOLOGY]);
        for (uint32_t k = 0; k < domains; k++)
            ck_assert_uint_eq(p[0]->chosen.candidate[k], k);
        for (int k = 0; k <= THEMIS_AGGREGATION_AUTO; k++)
            themis_aggregation_plan_destroy(p[k]);
        world_drop(&w);
    }
}

TEST(kept_slots_stay)
{
    static const uint32_t keep[3] = {5, 0, 2};
    world_t w;
    themis_aggregation_problem_t r;
    themis_aggregation_plan_t *p;

    draw_state = 41;
    w = world_make(6, 3, 1, false);
    r = request(&w, THEMIS_AGGREGATION_TOPOLOGY);
    r.keep = keep;
    ck_assert_int_eq(themis_aggregation_plan_create(&r, &p), THEMIS_OK);
    ck_assert_mem_eq(p->chosen.candidate, keep, sizeof keep);
    ck_assert_uint_eq(p->otp.candidate[0], 0);
    themis_aggregation_plan_destroy(p);
    world_drop(&w);
}

TEST(misfits_are_refused)
{
    world_t w;
    themis_aggregation_problem_t r;
    themis_aggregation_plan_t *p;
    themis_aggregation_cell_t huge[2] = {{0, 0, INT64_MAX / 2}, {1, 0, INT64_MAX / 4}}, out = {6, 0, 1};

    draw_state = 42;
    w = world_make(6, 3, 1, false);
    r = request(&w, THEMIS_AGGREGATION_TOPOLOGY);
    w.candidates->count = 2;
    ck_assert_int_eq(themis_aggregation_plan_create(&r, &p), THEMIS_INVALID);
    w.candidates->count = 6;
    w.distances->nodes = 5;
    ck_assert_int_eq(themis_aggregation_plan_create(&r, &p), THEMIS_INVALID);
    w.distances->nodes = 6;
    themis_aggregation_matrix_destroy(w.matrix);
    ck_assert_int_eq(themis_aggregation_matrix_create(6, 3, &out, 1, &w.matrix), THEMIS_RANGE);
    ck_assert_int_eq(themis_aggregation_matrix_create(6, 3, huge, 2, &w.matrix), THEMIS_OK);
    r.matrix = w.matrix;
    ck_assert_int_eq(themis_aggregation_plan_create(&r, &p), THEMIS_RANGE);
    world_drop(&w);
}

/* Every byte crosses as many links as its distance says, whatever the routes. */
TEST(link_loads_add_up_to_hop_bytes)
{
    draw_state = 51;
    for (int round = 0; round < 30; round++) {
        world_t w = world_make(4 + (uint32_t)draw(10), 3, 1, draw(2) == 0);
        themis_aggregation_problem_t r = request(&w, THEMIS_AGGREGATION_DEFAULT);
        themis_aggregation_plan_t *p = plan(&w, THEMIS_AGGREGATION_DEFAULT);
        double *load = calloc(2 * w.fabric->links, sizeof *load), sum = 0, local = 0, max = 0;

        ck_assert_int_eq(themis_aggregation_link_loads(&r, p->chosen.candidate, load), THEMIS_OK);
        for (uint32_t l = 0; l < 2 * w.fabric->links; l++) {
            sum += load[l] * w.fabric->link[l / 2].width;
            max = fmax(max, load[l]);
        }
        for (size_t c = 0; c < w.matrix->cells; c++) {
            const themis_aggregation_cell_t *cell = &w.matrix->cell[c];

            if (w.candidates->node[p->chosen.candidate[cell->domain]] == cell->node)
                local += (double)cell->bytes * w.distances->local[cell->node] / HOP;
        }
        ck_assert_double_eq_tol(sum + local, p->chosen.hop_bytes + p->chosen.server_hop_bytes, 1e-6 * (sum + 1));
        ck_assert_double_eq_tol((double)p->chosen.max_link_load, max, 0.51);
        free(load);
        themis_aggregation_plan_destroy(p);
        world_drop(&w);
    }
}

/* Two racks of two hosts, two cables up: node 0 aggregates all, nodes 2 and 3 in the other rack send 100 each. */
TEST(link_loads_of_a_tree)
{
    const themis_aggregation_cell_t cell[3] = {{1, 0, 7}, {2, 0, 100}, {3, 0, 100}};
    const uint32_t vertex[4] = {0, 1, 2, 3}, node_of_rank[4] = {0, 1, 2, 3}, candidate = 0;
    themis_aggregation_layout_t layout = {STRIPE, 1, 0};
    themis_aggregation_domains_t domains;
    themis_aggregation_problem_t r = {.domains = &domains, .vertex = vertex};
    themis_aggregation_fabric_t *fabric;
    themis_aggregation_candidates_t *candidates;
    themis_aggregation_matrix_t *matrix;
    double load[12];

    ck_assert_int_eq(themis_aggregation_domains_init(THEMIS_AGGREGATION_EVEN, &layout, 0, 206, 1, &domains), THEMIS_OK);
    ck_assert_int_eq(themis_aggregation_fabric_tree(2, 2, 2, &fabric), THEMIS_OK);
    ck_assert_int_eq(themis_aggregation_candidates_create(node_of_rank, 4, 4, NULL, NULL, &candidates), THEMIS_OK);
    ck_assert_int_eq(themis_aggregation_matrix_create(4, 1, cell, 3, &matrix), THEMIS_OK);
    r.fabric = fabric;
    r.candidates = candidates;
    r.matrix = matrix;
    ck_assert_int_eq(themis_aggregation_link_loads(&r, &candidate, load), THEMIS_OK);
    for (uint32_t l = 0; l < fabric->links; l++) {
        const themis_aggregation_link_t *link = &fabric->link[l];
        double up = 0, down = 0;

        if (link->first == 0)
            down = 207; /* into the aggregator */
        else if (link->first == 1)
            up = 7;
        else if (link->first < 4)
            up = 100;
        else if (link->first == 4)
            down = 100; /* 200 bytes over two cables */
        else
            up = 100;
        ck_assert_double_eq(load[2 * l], up);
        ck_assert_double_eq(load[2 * l + 1], down);
    }
    themis_aggregation_fabric_destroy(fabric);
    themis_aggregation_candidates_destroy(candidates);
    themis_aggregation_matrix_destroy(matrix);
}

TEST(counts_follow_the_lists)
{
    themis_aggregation_layout_t layout = {10, 3, 0};
    themis_aggregation_domains_t d;
    const themis_aggregation_extent_t e[4] = {{5, 10}, {95, 100}, {20, 1}, {0, 0}};
    uint64_t bytes[4] = {0};

    ck_assert_int_eq(themis_aggregation_domains_init(THEMIS_AGGREGATION_STATIC_CYCLIC, &layout, 8, 119, 4, &d),
                     THEMIS_OK);
    themis_aggregation_count(&d, e, 4, bytes);
    /* 8-9 | 10-14 | 20 | 95-99 100-109 110-119 */
    ck_assert_uint_eq(bytes[0], 2);
    ck_assert_uint_eq(bytes[1], 5 + 5);
    ck_assert_uint_eq(bytes[2], 1 + 10);
    ck_assert_uint_eq(bytes[3], 10);
}

/* Every byte of the array belongs to one rank; the fast way of counting agrees with one by one. */
TEST(patterns_cover_the_array)
{
    const uint64_t edge = 13, element = 3, size = edge * edge * edge * element;
    themis_aggregation_layout_t layout = {100, 3, 0};
    themis_tools_pattern_t *p;
    themis_aggregation_domains_t d;
    unsigned char *seen = calloc(size, 1);
    uint64_t fast[5] = {0}, slow[5] = {0};

    ck_assert_int_eq(_i ? themis_tools_pattern_cube(27, edge, element, &p)
                        : themis_tools_pattern_btio(16, edge, element, &p),
                     THEMIS_OK);
    ck_assert_uint_eq(p->bytes, size);
    ck_assert_uint_eq(p->first, 0);
    ck_assert_uint_eq(p->last, size - 1);
    ck_assert_int_eq(themis_aggregation_domains_init(THEMIS_AGGREGATION_EVEN, &layout, 0, size - 1, 5, &d), THEMIS_OK);
    for (size_t b = 0; b < p->blocks; b++) {
        themis_tools_pattern_count(&d, &p->block[b], fast);
        for (uint64_t r = 0; r < p->block[b].rows; r++) {
            themis_aggregation_extent_t e = {p->block[b].offset + r * p->block[b].stride, p->block[b].length};

            themis_aggregation_count(&d, &e, 1, slow);
            for (uint64_t at = 0; at < e.length; at++)
                ck_assert_int_eq(seen[e.offset + at]++, 0);
        }
    }
    ck_assert_mem_eq(fast, slow, sizeof fast);
    ck_assert_ptr_null(memchr(seen, 0, size));
    free(seen);
    themis_tools_pattern_destroy(p);
    ck_assert_int_eq(themis_tools_pattern_cube(26, edge, element, &p), THEMIS_INVALID);
    ck_assert_int_eq(themis_tools_pattern_btio(17, edge, element, &p), THEMIS_INVALID);
}

/* Figure 8(b): with nine processes, process 6 has row 2, column 0 of slice 0, then row 1, column 1. */
TEST(btio_is_that_of_the_figure)
{
    static const uint64_t offset[] = {6, 9 + 4, 18 + 2};
    themis_tools_pattern_t *p;

    ck_assert_int_eq(themis_tools_pattern_btio(9, 3, 1, &p), THEMIS_OK);
    for (uint32_t s = 0; s < 3; s++) {
        ck_assert_uint_eq(p->block[3 * 6 + s].rank, 6);
        ck_assert_uint_eq(p->block[3 * 6 + s].offset, offset[s]);
    }
    themis_tools_pattern_destroy(p);
}

TEST(matrix_merges_cells)
{
    const themis_aggregation_cell_t cell[5] = {{1, 1, 5}, {0, 2, 1}, {1, 1, 6}, {1, 0, 0}, {0, 0, 3}};
    themis_aggregation_matrix_t *m;

    ck_assert_int_eq(themis_aggregation_matrix_create(2, 3, cell, 5, &m), THEMIS_OK);
    ck_assert_uint_eq(m->cells, 3);
    ck_assert_uint_eq(m->cell[0].bytes, 3);
    ck_assert_uint_eq(m->cell[2].bytes, 11);
    themis_aggregation_matrix_destroy(m);
}

static const char *const hosts[4] = {"a1", "a2.site", "b1", "b2"};

TEST(config_lists)
{
    static const struct {
        const char *text;
        uint32_t limit[4];
    } good[] = {{"*:1", {1, 1, 1, 1}},
                {"*:*", {UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX}},
                {"a1:3,*:0", {3, 0, 0, 0}},
                {"b1, a2:2", {0, 2, 1, 0}}};
    static const char *const bad[] = {"a1:", ":3", "a1:x", "a1:-1", ""};
    uint32_t limit[4] = {9, 9, 9, 9};

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        ck_assert_int_eq(themis_aggregation_config_list(good[i].text, hosts, 4, limit), THEMIS_OK);
        ck_assert_mem_eq(limit, good[i].limit, sizeof limit);
    }
    limit[0] = 9;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_int_eq(themis_aggregation_config_list(bad[i], hosts, 4, limit), THEMIS_PARSE);
    ck_assert_uint_eq(limit[0], 9);
}

TEST(candidates_prefer_and_limit)
{
    const uint32_t node_of_rank[6] = {0, 1, 0, 1, 0, 1}, limit[2] = {2, 1}, preference[6] = {5, 0, 1, 1, 0, 2};
    themis_aggregation_candidates_t *s;

    ck_assert_int_eq(themis_aggregation_candidates_create(node_of_rank, 6, 2, limit, preference, &s), THEMIS_OK);
    ck_assert_uint_eq(s->count, 3);
    ck_assert_uint_eq(s->rank[0], 4);
    ck_assert_uint_eq(s->rank[1], 2);
    ck_assert_uint_eq(s->rank[2], 1);
    ck_assert_uint_eq(s->node[2], 1);
    themis_aggregation_candidates_destroy(s);
}

TEST(number_of_aggregators)
{
    themis_aggregation_count_input_t load = {.bytes = UINT64_C(64) << 30,
                                             .nodes = 64,
                                             .candidates = 64,
                                             .servers = 8,
                                             .stripe_size = 1 << 20,
                                             .buffer_size = 16 << 20};
    uint32_t many;

    ck_assert_uint_eq(themis_aggregation_aggregator_count(5, &load), 5);
    ck_assert_uint_eq(themis_aggregation_aggregator_count(500, &load), 64);
    ck_assert_uint_eq(themis_aggregation_aggregator_count(THEMIS_AGGREGATION_PER_SERVER, &load), 8);
    many = themis_aggregation_aggregator_count(THEMIS_AGGREGATION_COUNT_AUTO, &load);
    ck_assert_uint_ge(many, 8);
    load.max = 4;
    ck_assert_uint_le(themis_aggregation_aggregator_count(THEMIS_AGGREGATION_COUNT_AUTO, &load), 4);
    load.max = 0;
    load.bytes = 4096;
    ck_assert_uint_lt(themis_aggregation_aggregator_count(THEMIS_AGGREGATION_COUNT_AUTO, &load), many);
    load.candidates = 0;
    ck_assert_uint_eq(themis_aggregation_aggregator_count(THEMIS_AGGREGATION_COUNT_AUTO, &load), 1);
}

static themis_aggregation_plan_key_t key_of(themis_aggregation_method_t method, uint64_t first, uint64_t pattern)
{
    themis_aggregation_layout_t layout = {10, 3, 0};
    themis_aggregation_domains_t d;

    ck_assert_int_eq(themis_aggregation_domains_init(method, &layout, first, first + 99, 4, &d), THEMIS_OK);
    return themis_aggregation_plan_key(&d, THEMIS_AGGREGATION_TOPOLOGY, pattern);
}

TEST(time_steps_share_a_plan)
{
    themis_aggregation_plan_key_t key = key_of(THEMIS_AGGREGATION_ALIGNED, 0, 7), other;

    /* a whole period of stripes x servers later; static-cyclic needs all aggregators' turns, too */
    other = key_of(THEMIS_AGGREGATION_ALIGNED, 120, 7);
    ck_assert_mem_eq(&key, &other, sizeof key);
    other = key_of(THEMIS_AGGREGATION_ALIGNED, 121, 7);
    ck_assert_mem_ne(&key, &other, sizeof key);
    other = key_of(THEMIS_AGGREGATION_ALIGNED, 120, 8);
    ck_assert_mem_ne(&key, &other, sizeof key);
    key = key_of(THEMIS_AGGREGATION_STATIC_CYCLIC, 0, 7);
    other = key_of(THEMIS_AGGREGATION_STATIC_CYCLIC, 30, 7);
    ck_assert_mem_ne(&key, &other, sizeof key);
    other = key_of(THEMIS_AGGREGATION_STATIC_CYCLIC, 120, 7);
    ck_assert_mem_eq(&key, &other, sizeof key);
}

int main(void)
{
    Suite *suite = suite_create("plan");

    test_case(suite, "plan", 60, NULL, NULL,
              TESTS({small_plans_equal_brute_force, 2}, {topology_is_never_worse, 1}, {kept_slots_stay, 1},
                    {misfits_are_refused, 1}, {link_loads_add_up_to_hop_bytes, 1}, {link_loads_of_a_tree, 1},
                    {counts_follow_the_lists, 1}, {patterns_cover_the_array, 2}, {btio_is_that_of_the_figure, 1},
                    {matrix_merges_cells, 1}, {config_lists, 1}, {candidates_prefer_and_limit, 1},
                    {number_of_aggregators, 1}, {time_steps_share_a_plan, 1}));
    return test_run(suite);
}
