/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups that were released and wait for the next open of the same ranks. Making a group takes a dozen collective
 * calls, taking a kept one a single one. A bounded number is kept, and these are never freed: by the time MPI ends,
 * ranks could not do that in the same order.
 */
#pragma once
#include "collective/group.h"

/*
 * A group for the ranks of `comm`, for one open file at a time. Collective; thread-safe. `own`: this rank's status so
 * far; all ranks get the worst of them. The other arguments as in themis_collective_group_create.
 */
themis_status_t themis_collective_group_cache_acquire(MPI_Comm comm, int fake_nodes, size_t staging_bytes,
                                                      themis_status_t own, themis_collective_group_t **group);
/* Collective over the ranks of the group, which is kept or freed. NULL is allowed, on all ranks. */
void themis_collective_group_cache_release(themis_collective_group_t *group);
