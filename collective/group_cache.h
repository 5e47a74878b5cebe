/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of coll/: making and ending groups, for the pool that keeps them. */
#ifndef THEMIS_COLLECTIVE_GROUP_CACHE_H
#define THEMIS_COLLECTIVE_GROUP_CACHE_H
#include "collective/group.h"

/* Fills in a zeroed group. Collective. After a failure, which all ranks see, only free is left to do. */
themis_status_t themis_collective_group_create(MPI_Comm comm, int fake_nodes, size_t staging_bytes,
                                               themis_collective_group_t *group);
/* Collective. */
void themis_collective_group_destroy(themis_collective_group_t *group);
#endif
