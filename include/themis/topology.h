/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The network for the planner of collective I/O: a fabric (a graph of hosts, switches and cables), distances
 * between the nodes of a job, and distances inside a node. Pure data once it is loaded: no MPI, no threads, no state
 * between calls. Objects may be read from several threads at once.
 */
#ifndef THEMIS_TOPOLOGY_H
#define THEMIS_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "themis/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define THEMIS_AGGREGATION_EXPORT __attribute__((visibility("default")))

/* Distances are integers in units of 1/16 hop, so that those inside a node (at most 1 hop) are exact too. */
#define THEMIS_AGGREGATION_HOP 16u

/* The distance of two nodes when nothing is known: one switch between them. */
#define THEMIS_AGGREGATION_FLAT_HOPS 2u

/* There is no path. */
#define THEMIS_AGGREGATION_UNREACHABLE UINT16_MAX

/* ---- Fabric ---- */

/* A vertex of the fabric. Vertices are numbered in the order in which they were added. */
typedef struct themis_aggregation_vertex {
    uint64_t guid; /* node GUID; 0 when it has none */
    int is_switch; /* a host never forwards */
    char name[64]; /* node description, "r0n1" */
} themis_aggregation_vertex_t;

/* A cable, or several between the same two vertices (width counts them). first < second. */
typedef struct themis_aggregation_link {
    uint32_t first, second, width;
} themis_aggregation_link_t;

/* Links are sorted by (first, second). neighbor/neighbor_link of vertex x are entries start[x] .. start[x + 1] - 1. */
typedef struct themis_aggregation_fabric {
    uint32_t vertices, links;
    themis_aggregation_vertex_t *vertex;
    themis_aggregation_link_t *link;
    uint32_t *start;
    uint32_t *neighbor;
    uint32_t *neighbor_link;
} themis_aggregation_fabric_t;

/*
 * Builds a fabric from vertices and links in any order (copied; links may repeat, which adds to their width).
 * INVALID: a link to a vertex that does not exist or to itself. The result is owned by the caller.
 */
THEMIS_AGGREGATION_EXPORT themis_status_t themis_aggregation_fabric_create(const themis_aggregation_vertex_t *vertex,
                                                                           uint32_t vertices,
                                                                           const themis_aggregation_link_t *link,
                                                                           uint32_t links,
                                                                           themis_aggregation_fabric_t **fabric);
THEMIS_AGGREGATION_EXPORT void themis_aggregation_fabric_destroy(themis_aggregation_fabric_t *fabric);

/*
 * Regular fabrics. tree: `racks` leaf switches with `nodes` hosts each and `uplinks` cables to one root switch. fat:
 * `leaves` switches with `nodes` hosts each, every leaf with one cable to each of `spines` switches. Hosts are
 * r<leaf>n<index>, numbered leaf by leaf and before all switches (leaf<i>, top<i>).
 */
THEMIS_AGGREGATION_EXPORT themis_status_t themis_aggregation_fabric_tree(uint32_t racks, uint32_t nodes,
                                                                         uint32_t uplinks,
                                                                         themis_aggregation_fabric_t **fabric);
THEMIS_AGGREGATION_EXPORT themis_status_t themis_aggregation_fabric_fat(uint32_t leaves, uint32_t nodes,
                                                                        uint32_t spines,
                                                                        themis_aggregation_fabric_t **fabric);

/*
 * load: a fabric recorded with ibnd_cache_fabric, or the text form that ibsim reads (detected from the content).
 * discover: queries the InfiniBand subnet through the first working adapter; blocks for up to several seconds on a
 * large subnet. NO_ENTRY: no such file, no adapter. PARSE: not a fabric.
 */
THEMIS_AGGREGATION_EXPORT themis_status_t themis_aggregation_fabric_load(const char *path,
                                                                         themis_aggregation_fabric_t **fabric);
THEMIS_AGGREGATION_EXPORT themis_status_t themis_aggregation_fabric_discover(themis_aggregation_fabric_t **fabric);

/* The GUID of this host's first InfiniBand adapter; NO_ENTRY when there is none (not logged, since that is common). */
THEMIS_AGGREGATION_EXPORT themis_status_t themis_aggregation_adapter_guid(uint64_t *guid);

/*
 * The vertex of a host: by GUID if guid is not 0, else, or if no vertex has it, by name: the description equals the
 * name up to its first dot, or begins with it and a blank (as in "node7 HCA-1"). NO_ENTRY if no host fits.
 */
THEMIS_AGGREGATION_EXPORT themis_status_t themis_aggregation_fabric_find(const themis_aggregation_fabric_t *fabric,
                                                                         uint64_t guid, const char *name,
                                                                         uint32_t *vertex);

/* Links on a shortest path from `vertex` to each vertex, by breadth-first search; hosts do not forward. hops[vertices].
 */
THEMIS_AGGREGATION_EXPORT themis_status_t themis_aggregation_fabric_hops(const themis_aggregation_fabric_t *fabric,
                                                                         uint32_t vertex, uint16_t *hops);

/* ---- Distances between nodes ---- */

/*
 * The distance matrix D (nodes x nodes), in units of 1/16 hop. Nodes behind the same switches form a group and share a
 * row, so 100,000 nodes of a regular fabric need little memory. d(m, n) = m == n ? local[m] : hop[group[m] * groups +
 * group[n]].
 */
typedef struct themis_aggregation_distances {
    uint32_t nodes, groups;
    uint32_t *group; /* [nodes] */
    uint16_t *hop;   /* [groups * groups] row-major; the diagonal is between two nodes of one group */
    uint16_t *local; /* [nodes] inside the node, at most 1 hop */
} themis_aggregation_distances_t;

/* Nothing is known: FLAT_HOPS between any two nodes, one hop inside each. */
THEMIS_AGGREGATION_EXPORT themis_status_t themis_aggregation_distances_flat(uint32_t nodes,
                                                                            themis_aggregation_distances_t **distances);

/* vertex[nodes]: the host of each node in the fabric. UNREACHABLE: two of them are not connected. */
THEMIS_AGGREGATION_EXPORT themis_status_t
themis_aggregation_distances_fabric(const themis_aggregation_fabric_t *fabric, const uint32_t *vertex, uint32_t nodes,
                                    themis_aggregation_distances_t **distances);

/*
 * From a hop file: lines "HOST HOST HOPS" (either order; the last line counts), "* * HOPS" for every pair not named,
 * '#' begins a comment. name[nodes]: the hosts. PARSE with file and line; NO_ENTRY: no such file.
 */
THEMIS_AGGREGATION_EXPORT themis_status_t themis_aggregation_distances_file(const char *path, const char *const *name,
                                                                            uint32_t nodes,
                                                                            themis_aggregation_distances_t **distances);
/* Whether a file is a hop file rather than a fabric, judging by its first line that is not a comment. */
THEMIS_AGGREGATION_EXPORT bool themis_aggregation_distances_is_hop_file(const char *path);
THEMIS_AGGREGATION_EXPORT void themis_aggregation_distances_destroy(themis_aggregation_distances_t *distances);

static inline uint16_t themis_aggregation_distance(const themis_aggregation_distances_t *d, uint32_t m, uint32_t n)
{
    return m == n ? d->local[m] : d->hop[(size_t)d->group[m] * d->groups + d->group[n]];
}

/* ---- Distances inside a node (hwloc) ---- */

/*
 * Distances between `count` processes of one node, in units of 1/16 hop, at most 16 (one hop): distance[i * count + j].
 * cpu[i] is the OS number of a CPU that process i may use, or -1 when it is bound to none (then it has the largest
 * distance of the machine from every other). By the closest level that two CPUs share: core 1, level-2 cache 2, level-3
 * cache 4, NUMA node 6, package 8, and beyond that 9 to 16 by the ratio of the NUMA distances. xml: a recorded machine
 * (lstopo --of xml), or NULL for this one.
 */
THEMIS_AGGREGATION_EXPORT themis_status_t themis_aggregation_local_distances(const char *xml, const int *cpu,
                                                                             uint32_t count, uint16_t *distance);

/* The contents of one package of a machine. */
typedef struct themis_aggregation_package {
    uint32_t numa_nodes, l3_caches, cores, cpus;
} themis_aggregation_package_t;

/* The packages of a machine, xml as above; one package with everything where hwloc knows none. *package is owned by the
 * caller: free it. */
THEMIS_AGGREGATION_EXPORT themis_status_t themis_aggregation_local_packages(const char *xml,
                                                                            themis_aggregation_package_t **package,
                                                                            uint32_t *packages);

/*
 * The order in which the processes of a node should become aggregators: the first is the closest to all others, each
 * further one the farthest from those before it (lower index on ties), so that they do not share a cache or memory.
 * mean is the mean distance between two processes, the node's entry on the diagonal of D. order[count].
 */
THEMIS_AGGREGATION_EXPORT themis_status_t themis_aggregation_local_order(const uint16_t *distance, uint32_t count,
                                                                         uint32_t *order, uint16_t *mean);

#ifdef __cplusplus
}
#endif
#endif
