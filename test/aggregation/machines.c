/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * machines FILE...: checks the distances inside a node on recorded machines (XML of lstopo): 0 on the diagonal,
 * symmetric, at most one hop, and no farther for two CPUs below a common cache than for one of them and a CPU that is
 * not below it. Prints how many CPUs each machine has. For test/machines.sh.
 */
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include "themis/topology.h"

enum { MAX_CPUS = 256 };

typedef struct machine {
    const char *path;
    hwloc_topology_t topology;
    uint32_t count;
    int cpu[MAX_CPUS];
    uint16_t distance[MAX_CPUS * MAX_CPUS];
} machine_t;

static int complain(const machine_t *m, const char *what, uint32_t i, uint32_t j)
{
    fprintf(stderr, "%s: CPUs %d and %d: %s\n", m->path, m->cpu[i], m->cpu[j], what);
    return 1;
}

static int load(machine_t *m)
{
    hwloc_obj_t pu = NULL;

    m->count = 0;
    hwloc_topology_init(&m->topology);
    if (hwloc_topology_set_xml(m->topology, m->path) != 0 || hwloc_topology_load(m->topology) != 0)
        return 0;
    while ((pu = hwloc_get_next_obj_by_type(m->topology, HWLOC_OBJ_PU, pu)) && m->count < MAX_CPUS)
        m->cpu[m->count++] = (int)pu->os_index;
    return m->count > 0;
}

/* The smallest cache above both; NULL without one. */
static hwloc_obj_t shared_cache(const machine_t *m, uint32_t i, uint32_t j)
{
    hwloc_obj_t a = hwloc_get_pu_obj_by_os_index(m->topology, (unsigned)m->cpu[i]);
    hwloc_obj_t b = hwloc_get_pu_obj_by_os_index(m->topology, (unsigned)m->cpu[j]);
    hwloc_obj_t above = hwloc_get_common_ancestor_obj(m->topology, a, b);

    while (above && !hwloc_obj_type_is_dcache(above->type))
        above = above->parent;
    return above;
}

static int check_pair(const machine_t *m, uint32_t i, uint32_t j)
{
    uint16_t d = m->distance[i * m->count + j];
    hwloc_obj_t cache = shared_cache(m, i, j);
    int bad = 0;

    if (d != m->distance[j * m->count + i])
        bad += complain(m, "not symmetric", i, j);
    if (d > THEMIS_AGGREGATION_HOP || (d == 0) != (i == j))
        bad += complain(m, "not from 0 to a hop", i, j);
    for (uint32_t k = 0; cache && k < m->count && !bad; k++)
        if (!hwloc_bitmap_isset(cache->cpuset, (unsigned)m->cpu[k]) && m->distance[i * m->count + k] < d)
            bad += complain(m, "farther than one outside of their cache", i, j);
    return bad;
}

static int check_machine(machine_t *m)
{
    int bad = 0;

    if (themis_aggregation_local_distances(m->path, m->cpu, m->count, m->distance) != THEMIS_OK)
        return complain(m, "no distances", 0, 0);
    for (uint32_t i = 0; i < m->count && !bad; i++)
        for (uint32_t j = 0; j < m->count && !bad; j++)
            bad = check_pair(m, i, j);
    if (!bad)
        printf("%s: %u CPUs\n", m->path, m->count);
    return bad;
}

int main(int argc, char **argv)
{
    machine_t *m = calloc(1, sizeof *m);
    int bad = 0;

    for (int i = 1; m && i < argc; i++) {
        m->path = argv[i];
        if (load(m))
            bad += check_machine(m);
        hwloc_topology_destroy(m->topology);
    }
    free(m);
    return bad || !m || argc < 2 ? EXIT_FAILURE : EXIT_SUCCESS;
}
