/* SPDX-License-Identifier: BSD-3-Clause */
/* Distances inside a node, from hwloc. */
#include <stdbool.h>
#include <stdlib.h>
#include <hwloc.h>

#include "themis/topology.h"
#include "util/log.h"

/* In units of 1/16 hop, by the closest level that two CPUs share. */
enum { SHARE_CORE = 1, SHARE_L2 = 2, SHARE_L3 = 4, SHARE_NUMA = 6, SHARE_PACKAGE = 8, REMOTE_MIN = 9, REMOTE_MAX = 16 };

/* The NUMA distances of the machine, if it has any: value[i * count + j] between node[i] and node[j]. */
typedef struct machine {
    hwloc_topology_t topology;
    struct hwloc_distances_s *numa;
    hwloc_uint64_t min, max; /* between different NUMA nodes */
} machine_t;

static themis_status_t machine_load(const char *xml, machine_t *m)
{
    *m = (machine_t){0};
    if (hwloc_topology_init(&m->topology) < 0)
        return THEMIS_NO_MEMORY;
    if ((xml && hwloc_topology_set_xml(m->topology, xml) < 0) || hwloc_topology_load(m->topology) < 0) {
        themis_error("%s: hwloc cannot load the topology", xml ? xml : "this host");
        hwloc_topology_destroy(m->topology);
        return THEMIS_PARSE;
    }
    return THEMIS_OK;
}

static void machine_free(machine_t *m)
{
    if (m->numa)
        hwloc_distances_release(m->topology, m->numa);
    hwloc_topology_destroy(m->topology);
}

static void machine_numa(machine_t *m)
{
    unsigned count = 1;
    bool any = false;

    if (hwloc_distances_get_by_type(m->topology, HWLOC_OBJ_NUMANODE, &count, &m->numa,
                                    HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) < 0 ||
        count == 0) {
        m->numa = NULL;
        return;
    }
    for (unsigned i = 0; i < m->numa->nbobjs * m->numa->nbobjs; i++) {
        hwloc_uint64_t value = m->numa->values[i];

        if (i / m->numa->nbobjs == i % m->numa->nbobjs)
            continue;
        m->min = !any || value < m->min ? value : m->min;
        m->max = !any || value > m->max ? value : m->max;
        any = true;
    }
}

static int numa_index(const machine_t *m, hwloc_obj_t pu)
{
    for (unsigned i = 0; i < m->numa->nbobjs; i++)
        if (m->numa->objs[i] && hwloc_bitmap_isset(pu->nodeset, m->numa->objs[i]->os_index))
            return (int)i;
    return -1;
}

/* Beyond the package: between REMOTE_MIN and REMOTE_MAX by the NUMA distance; the maximum where it is not known. */
static uint16_t remote_distance(const machine_t *m, hwloc_obj_t a, hwloc_obj_t b)
{
    int i, j;
    hwloc_uint64_t value;

    if (!m->numa || m->max <= m->min || (i = numa_index(m, a)) < 0 || (j = numa_index(m, b)) < 0)
        return REMOTE_MAX;
    value = m->numa->values[(unsigned)i * m->numa->nbobjs + (unsigned)j];
    value = value < m->min ? m->min : value;
    return (uint16_t)(REMOTE_MIN + (REMOTE_MAX - REMOTE_MIN) * (value - m->min) / (m->max - m->min));
}

/* Where hwloc knows no packages, the machine counts as one. */
static bool same_package(const machine_t *m, hwloc_obj_t a, hwloc_obj_t b)
{
    return hwloc_get_ancestor_obj_by_type(m->topology, HWLOC_OBJ_PACKAGE, a) ==
           hwloc_get_ancestor_obj_by_type(m->topology, HWLOC_OBJ_PACKAGE, b);
}

static uint16_t pair_distance(const machine_t *m, hwloc_obj_t a, hwloc_obj_t b)
{
    hwloc_obj_t common = a == b ? a : hwloc_get_common_ancestor_obj(m->topology, a, b);

    if (common->type == HWLOC_OBJ_PU || common->type == HWLOC_OBJ_CORE || common->type == HWLOC_OBJ_L1CACHE)
        return SHARE_CORE;
    if (common->type == HWLOC_OBJ_L2CACHE)
        return SHARE_L2;
    if (hwloc_obj_type_is_cache(common->type))
        return SHARE_L3;
    if (!same_package(m, a, b))
        return remote_distance(m, a, b);
    return hwloc_bitmap_isequal(a->nodeset, b->nodeset) ? SHARE_NUMA : SHARE_PACKAGE;
}

/* The distance of an unbound process from the others: the largest of the machine. */
static uint16_t machine_width(const machine_t *m)
{
    hwloc_obj_t first = hwloc_get_obj_by_type(m->topology, HWLOC_OBJ_PU, 0), pu = NULL;
    uint16_t widest = SHARE_CORE;

    while ((pu = hwloc_get_next_obj_by_type(m->topology, HWLOC_OBJ_PU, pu))) {
        uint16_t d = pair_distance(m, first, pu);

        widest = d > widest ? d : widest;
    }
    return widest;
}

static hwloc_obj_t pu_of(const machine_t *m, int cpu)
{
    return cpu < 0 ? NULL : hwloc_get_pu_obj_by_os_index(m->topology, (unsigned)cpu);
}

themis_status_t themis_aggregation_local_distances(const char *xml, const int *cpu, uint32_t count, uint16_t *distance)
{
    machine_t m;
    uint16_t unbound;
    themis_status_t status = machine_load(xml, &m);

    if (status != THEMIS_OK)
        return status;
    machine_numa(&m);
    unbound = machine_width(&m);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t j = 0; j < count; j++) {
            hwloc_obj_t a = pu_of(&m, cpu[i]), b = pu_of(&m, cpu[j]);

            distance[(size_t)i * count + j] = i == j ? 0 : a && b ? pair_distance(&m, a, b) : unbound;
        }
    }
    machine_free(&m);
    return THEMIS_OK;
}

/* The process with the smallest sum of distances. */
static uint32_t process_central(const uint16_t *distance, uint32_t count, uint64_t *total)
{
    uint64_t smallest = UINT64_MAX;
    uint32_t best = 0;

    *total = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t sum = 0;

        for (uint32_t j = 0; j < count; j++)
            sum += distance[(size_t)i * count + j];
        *total += sum;
        if (sum < smallest) {
            smallest = sum;
            best = i;
        }
    }
    return best;
}

themis_status_t themis_aggregation_local_order(const uint16_t *distance, uint32_t count, uint32_t *order,
                                               uint16_t *mean)
{
    uint16_t *nearest = malloc(((size_t)count + 1) * sizeof *nearest); /* distance to those chosen; 0 once chosen */
    uint64_t total;
    uint32_t next;

    if (!nearest)
        return THEMIS_NO_MEMORY;
    for (uint32_t i = 0; i < count; i++)
        nearest[i] = UINT16_MAX;
    next = process_central(distance, count, &total);
    for (uint32_t k = 0; k < count; k++) {
        uint32_t chosen = next;

        order[k] = chosen;
        nearest[chosen] = 0;
        next = UINT32_MAX;
        for (uint32_t i = 0; i < count; i++) {
            uint16_t d = distance[(size_t)chosen * count + i];

            nearest[i] = d < nearest[i] && nearest[i] > 0 ? (d > 0 ? d : 1) : nearest[i];
            if (nearest[i] > 0 && (next == UINT32_MAX || nearest[i] > nearest[next]))
                next = i;
        }
    }
    *mean = count > 1 ? (uint16_t)(total / ((uint64_t)count * (count - 1))) : 0;
    free(nearest);
    return THEMIS_OK;
}

static uint32_t objects_inside(const machine_t *m, hwloc_obj_t within, hwloc_obj_type_t type)
{
    hwloc_obj_t obj = NULL;
    uint32_t count = 0;

    while ((obj = hwloc_get_next_obj_by_type(m->topology, type, obj))) {
        if (type == HWLOC_OBJ_NUMANODE ? hwloc_bitmap_intersects(obj->nodeset, within->nodeset)
                                       : hwloc_bitmap_isincluded(obj->cpuset, within->cpuset))
            count++;
    }
    return count;
}

themis_status_t themis_aggregation_local_packages(const char *xml, themis_aggregation_package_t **package,
                                                  uint32_t *packages)
{
    machine_t m;
    int known;
    themis_status_t status = machine_load(xml, &m);

    if (status != THEMIS_OK)
        return status;
    known = hwloc_get_nbobjs_by_type(m.topology, HWLOC_OBJ_PACKAGE);
    *package = calloc(known > 0 ? (size_t)known : 1, sizeof **package);
    *packages = known > 0 ? (uint32_t)known : 1;
    for (uint32_t i = 0; *package && i < *packages; i++) {
        hwloc_obj_t obj =
            known > 0 ? hwloc_get_obj_by_type(m.topology, HWLOC_OBJ_PACKAGE, i) : hwloc_get_root_obj(m.topology);

        (*package)[i] = (themis_aggregation_package_t){
            objects_inside(&m, obj, HWLOC_OBJ_NUMANODE), objects_inside(&m, obj, HWLOC_OBJ_L3CACHE),
            objects_inside(&m, obj, HWLOC_OBJ_CORE), objects_inside(&m, obj, HWLOC_OBJ_PU)};
    }
    machine_free(&m);
    return *package ? THEMIS_OK : THEMIS_NO_MEMORY;
}
