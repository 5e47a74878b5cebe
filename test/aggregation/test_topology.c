/* SPDX-License-Identifier: BSD-3-Clause */
/* Fabrics, distances between nodes and inside them; recorded ones from test/aggregation/data. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "test/lib/run.h"
#include "themis/topology.h"

typedef themis_aggregation_fabric_t fabric_t;
typedef themis_aggregation_distances_t distances_t;

enum { HOP = THEMIS_AGGREGATION_HOP };

static const char *data(const char *name)
{
    static char path[4096];

    snprintf(path, sizeof path, "%s/test/aggregation/data/%s", THEMIS_TEST_SOURCE, name);
    return path;
}

static uint32_t find(const fabric_t *f, const char *name)
{
    uint32_t vertex = UINT32_MAX;

    ck_assert_int_eq(themis_aggregation_fabric_find(f, 0, name, &vertex), THEMIS_OK);
    return vertex;
}

static uint16_t hops(const fabric_t *f, const char *from, const char *to)
{
    uint16_t *all = calloc(f->vertices, sizeof *all), result;

    ck_assert_int_eq(themis_aggregation_fabric_hops(f, find(f, from), all), THEMIS_OK);
    result = all[find(f, to)];
    free(all);
    return result;
}

TEST(made_up_fabrics)
{
    fabric_t *tree, *fat;

    ck_assert_int_eq(themis_aggregation_fabric_tree(4, 20, 2, &tree), THEMIS_OK);
    ck_assert_uint_eq(tree->vertices, 85);
    ck_assert_uint_eq(tree->links, 84);
    ck_assert_uint_eq(hops(tree, "r0n0", "r0n19"), 2);
    ck_assert_uint_eq(hops(tree, "r0n0", "r3n0"), 4);
    ck_assert_uint_eq(tree->link[tree->links - 1].width, 2);
    ck_assert_int_eq(themis_aggregation_fabric_fat(8, 4, 4, &fat), THEMIS_OK);
    ck_assert_uint_eq(fat->vertices, 44);
    ck_assert_uint_eq(fat->links, 64);
    ck_assert_uint_eq(hops(fat, "r0n0", "r7n3"), 4);
    themis_aggregation_fabric_destroy(tree);
    themis_aggregation_fabric_destroy(fat);
}

/* A cache of libibnetdisc is binary; it is stored as text, and converted for the test. */
static const char *unhex(const char *name)
{
    static char path[] = "/tmp/themis-fabric-XXXXXX";
    FILE *in = fopen(data(name), "r"), *out = fdopen(mkstemp(path), "wb");
    unsigned byte;

    ck_assert(in && out);
    while (fscanf(in, "%x", &byte) == 1)
        fputc((int)byte, out);
    fclose(in);
    fclose(out);
    return path;
}

/* The same tree as ibsim reads it, as ibnetdiscover prints it, and as ibnd_cache_fabric keeps it. */
TEST(recorded_fabrics)
{
    static const char *const names[] = {"tree2x2.net", "tree2x2.topo", "tree2x2.cache.hex"};
    const char *path = _i == 2 ? unhex(names[_i]) : data(names[_i]);
    fabric_t *f;

    ck_assert_int_eq(themis_aggregation_fabric_load(path, &f), THEMIS_OK);
    if (_i == 2)
        unlink(path);
    ck_assert_uint_eq(f->vertices, 7);
    ck_assert_uint_eq(f->links, 6);
    for (uint32_t i = 0; i < f->links; i++) {
        const themis_aggregation_link_t *link = &f->link[i];

        ck_assert_uint_eq(link->width, f->vertex[link->first].is_switch && f->vertex[link->second].is_switch ? 2 : 1);
    }
    ck_assert_uint_eq(hops(f, "r0n0", "r0n1"), 2);
    ck_assert_uint_eq(hops(f, "r0n0", "r1n1"), 4);
    themis_aggregation_fabric_destroy(f);
}

TEST(bad_fabrics_are_refused)
{
    const themis_aggregation_vertex_t v[2] = {{.name = "a"}, {.name = "b"}};
    const themis_aggregation_link_t loop = {1, 1, 1}, far = {0, 2, 1};
    fabric_t *f;

    ck_assert_int_eq(themis_aggregation_fabric_create(v, 2, &loop, 1, &f), THEMIS_INVALID);
    ck_assert_int_eq(themis_aggregation_fabric_create(v, 2, &far, 1, &f), THEMIS_INVALID);
    ck_assert_int_eq(themis_aggregation_fabric_load(data("no such file"), &f), THEMIS_NO_ENTRY);
    ck_assert_int_eq(themis_aggregation_fabric_load(data("pairs.hops"), &f), THEMIS_PARSE);
}

TEST(hosts_are_found)
{
    themis_aggregation_vertex_t v[4] = {{.guid = 7, .name = "node1 mlx5_0"},
                                        {.guid = 8, .name = "node12"},
                                        {.guid = 9, .name = "node1", .is_switch = 1},
                                        {.guid = 10, .name = "node2.site HCA-1"}};
    fabric_t *f;
    uint32_t at;

    ck_assert_int_eq(themis_aggregation_fabric_create(v, 4, NULL, 0, &f), THEMIS_OK);
    ck_assert_uint_eq(find(f, "node1"), 0);
    ck_assert_uint_eq(find(f, "node12.example.org"), 1);
    ck_assert_uint_eq(find(f, "node2"), 3);
    ck_assert_int_eq(themis_aggregation_fabric_find(f, 8, "node1", &at), THEMIS_OK);
    ck_assert_uint_eq(at, 1);
    ck_assert_int_eq(themis_aggregation_fabric_find(f, 9, "node", &at), THEMIS_NO_ENTRY);
    themis_aggregation_fabric_destroy(f);
}

/* a and b have a cable to each other's host c: hosts do not forward, so the path is through the switches. */
TEST(hosts_do_not_forward)
{
    const themis_aggregation_vertex_t v[5] = {
        {.name = "a"}, {.name = "b"}, {.name = "c"}, {.name = "s", .is_switch = 1}, {.name = "t", .is_switch = 1}};
    const themis_aggregation_link_t l[5] = {{0, 2, 1}, {1, 2, 1}, {0, 3, 1}, {3, 4, 1}, {4, 1, 1}};
    fabric_t *f;

    ck_assert_int_eq(themis_aggregation_fabric_create(v, 5, l, 5, &f), THEMIS_OK);
    ck_assert_uint_eq(hops(f, "a", "b"), 3);
    ck_assert_uint_eq(hops(f, "a", "c"), 1);
    themis_aggregation_fabric_destroy(f);
}

TEST(distances_of_a_fabric)
{
    uint32_t vertex[30];
    distances_t *d;
    fabric_t *f;

    ck_assert_int_eq(themis_aggregation_fabric_fat(8, 4, 4, &f), THEMIS_OK);
    for (uint32_t n = 0; n < 30; n++)
        vertex[n] = (n * 7) % 31; /* scattered */
    ck_assert_int_eq(themis_aggregation_distances_fabric(f, vertex, 30, &d), THEMIS_OK);
    ck_assert_uint_eq(d->groups, 8);
    for (uint32_t m = 0; m < 30; m++)
        for (uint32_t n = 0; n < 30; n++)
            ck_assert_uint_eq(themis_aggregation_distance(d, m, n), m == n                           ? HOP
                                                                    : vertex[m] / 4 == vertex[n] / 4 ? 2 * HOP
                                                                                                     : 4 * HOP);
    themis_aggregation_distances_destroy(d);
    themis_aggregation_fabric_destroy(f);
}

TEST(unconnected_nodes_are_refused)
{
    const themis_aggregation_vertex_t v[4] = {
        {.name = "a"}, {.name = "b"}, {.name = "s", .is_switch = 1}, {.name = "t", .is_switch = 1}};
    const themis_aggregation_link_t l[2] = {{0, 2, 1}, {1, 3, 1}};
    const uint32_t vertex[2] = {0, 1};
    distances_t *d;
    fabric_t *f;

    ck_assert_int_eq(themis_aggregation_fabric_create(v, 4, l, 2, &f), THEMIS_OK);
    ck_assert_int_eq(themis_aggregation_distances_fabric(f, vertex, 2, &d), THEMIS_UNREACHABLE);
    themis_aggregation_fabric_destroy(f);
}

TEST(distances_of_a_hop_file)
{
    const char *const name[4] = {"x0", "x1", "y0", "y1"};
    distances_t *d;

    ck_assert(themis_aggregation_distances_is_hop_file(data("pairs.hops")));
    ck_assert(!themis_aggregation_distances_is_hop_file(data("tree2x2.net")));
    ck_assert_int_eq(themis_aggregation_distances_file(data("pairs.hops"), name, 4, &d), THEMIS_OK);
    ck_assert_uint_eq(themis_aggregation_distance(d, 0, 1), 2 * HOP);
    ck_assert_uint_eq(themis_aggregation_distance(d, 3, 2), 1 * HOP);
    ck_assert_uint_eq(themis_aggregation_distance(d, 0, 3), 6 * HOP);
    ck_assert_uint_eq(themis_aggregation_distance(d, 2, 2), HOP);
    themis_aggregation_distances_destroy(d);
    ck_assert_int_eq(themis_aggregation_distances_file(data("tree2x2.net"), name, 4, &d), THEMIS_PARSE);
    ck_assert_int_eq(themis_aggregation_distances_file(data("none"), name, 4, &d), THEMIS_NO_ENTRY);
}

/* cpu pairs on recorded machines: what they share, and how far that is */
static const struct {
    const char *xml;
    int a, b;
    uint16_t sixteenths;
} machines[] = {
    {"laptop.xml", 0, 0, 1},                         /* one CPU */
    {"laptop.xml", 0, 1, 1},                         /* two threads of a core */
    {"laptop.xml", 0, 2, 4},                         /* level-3 cache */
    {"two.xml", 0, 1, 2},                            /* level-2 cache */
    {"two.xml", 0, 2, 4},                            /* level-3 cache */
    {"two.xml", 0, 4, 6},                            /* NUMA node */
    {"two.xml", 0, 8, 8},                            /* package */
    {"two.xml", 0, 16, 16},                          /* another package: the farthest NUMA distance */
    {"two.xml", 0, -1, 16},                          /* not bound */
    {"four.xml", 0, 2, 9},                           /* next package */
    {"four.xml", 0, 4, 16},                          /* two links away */
    {"four.xml", 2, 6, 16},  {"plain.xml", 0, 1, 6}, /* no caches, one memory */
    {"plain.xml", 0, -1, 6},
};

TEST(distances_inside_a_node)
{
    const int cpu[2] = {machines[_i].a, machines[_i].b};
    uint16_t d[4];

    ck_assert_int_eq(themis_aggregation_local_distances(data(machines[_i].xml), cpu, 2, d), THEMIS_OK);
    ck_assert_uint_eq(d[0], 0);
    ck_assert_uint_eq(d[3], 0);
    ck_assert_uint_eq(d[1], d[2]);
    ck_assert_uint_eq(d[1], machines[_i].sixteenths);
}

TEST(order_spreads_over_packages)
{
    int cpu[8];
    uint16_t d[64], mean;
    uint32_t order[8];

    for (int i = 0; i < 8; i++)
        cpu[i] = i;
    ck_assert_int_eq(themis_aggregation_local_distances(data("four.xml"), cpu, 8, d), THEMIS_OK);
    for (int i = 0; i < 64; i++)
        ck_assert_uint_le(d[i], HOP);
    ck_assert_int_eq(themis_aggregation_local_order(d, 8, order, &mean), THEMIS_OK);
    ck_assert_uint_gt(mean, 0);
    ck_assert_uint_le(mean, HOP);
    ck_assert_uint_eq(order[0], 0);
    for (int i = 0; i < 4; i++) /* the first four are in four packages */
        for (int j = 0; j < i; j++)
            ck_assert_uint_ne(order[i] / 2, order[j] / 2);
}

TEST(packages_of_a_node)
{
    static const struct {
        const char *xml;
        uint32_t packages;
        themis_aggregation_package_t each;
    } want[] = {{"laptop.xml", 1, {1, 1, 4, 8}},
                {"two.xml", 2, {2, 4, 16, 16}},
                {"four.xml", 4, {1, 1, 2, 2}},
                {"plain.xml", 1, {1, 0, 4, 4}}};
    themis_aggregation_package_t *package;
    uint32_t packages;

    ck_assert_int_eq(themis_aggregation_local_packages(data(want[_i].xml), &package, &packages), THEMIS_OK);
    ck_assert_uint_eq(packages, want[_i].packages);
    for (uint32_t p = 0; p < packages; p++)
        ck_assert_mem_eq(&package[p], &want[_i].each, sizeof *package);
    free(package);
}

TEST(this_machine_is_known)
{
    const int cpu[2] = {-1, -1};
    uint16_t d[4];

    ck_assert_int_eq(themis_aggregation_local_distances(NULL, cpu, 2, d), THEMIS_OK);
    ck_assert_uint_le(d[1], HOP);
    ck_assert_int_eq(themis_aggregation_local_distances(data("none.xml"), cpu, 2, d), THEMIS_PARSE);
}

int main(void)
{
    Suite *suite = suite_create("topology");

    test_case(suite, "topology", 60, NULL, NULL,
              TESTS({made_up_fabrics, 1}, {recorded_fabrics, 3}, {bad_fabrics_are_refused, 1}, {hosts_are_found, 1},
                    {hosts_do_not_forward, 1}, {distances_of_a_fabric, 1}, {unconnected_nodes_are_refused, 1},
                    {distances_of_a_hop_file, 1}, {distances_inside_a_node, (int)(sizeof machines / sizeof *machines)},
                    {order_spreads_over_packages, 1}, {packages_of_a_node, 4}, {this_machine_is_known, 1}));
    return test_run(suite);
}
