/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 0: distances between nodes and to the servers, from what the hint themis_topology names. */
#ifndef THEMIS_COLLECTIVE_NODE_DISTANCES_H
#define THEMIS_COLLECTIVE_NODE_DISTANCES_H
#include "collective/candidates.h"

/*
 * Fills in everything of `topology` but its slots. What the hint names and cannot be used is warned about and counts as
 * unknown; without a hint ("auto") nothing is said. NO_MEMORY only. Blocks for 2 s at most with "auto" and 60 s with
 * "discover", once in a process; both need nodes > 1.
 */
themis_status_t themis_collective_measure(const themis_collective_group_t *group,
                                          const themis_collective_options_t *config,
                                          themis_collective_topology_t *topology);
/* Frees that part and leaves it empty. */
void themis_collective_measure_drop(themis_collective_topology_t *topology);
#endif
