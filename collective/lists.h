/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How aggregators learn who accesses what in their domains: each rank cuts its runs by domain and sends each aggregator
 * the part that concerns it, as strided runs. Nobody knows beforehand how many will write to him, so the end is found
 * by a barrier that a rank enters when all it sent has been received (Hoefler, Siebert, Lumsdaine, "Scalable
 * communication protocols for dynamic sparse data exchange", PPoPP 2010).
 */
#ifndef THEMIS_COLLECTIVE_LISTS_H
#define THEMIS_COLLECTIVE_LISTS_H
#include "collective/group.h"
#include "collective/plan.h"
#include "util/runs.h"

typedef struct themis_collective_lists themis_collective_lists_t;

/* Adds this rank's bytes per domain to count[domains->count]. */
void themis_collective_lists_count(const themis_util_runs_t *runs, const themis_aggregation_domains_t *domains,
                                   uint64_t *count);

/* Bytes of the node's shared memory that one round may use with that many domains; two rounds are under way at once. */
uint64_t themis_collective_lists_room(const themis_collective_group_t *group, uint32_t domains);
/* Bytes of one table of sizes (local_size x domains), rounded to pages. */
uint64_t themis_collective_lists_table(const themis_collective_group_t *group, uint32_t domains);

/*
 * `runs` and `plan` are borrowed; the plan's aggregators, window and rounds are to be set before the first step, which
 * fills in parts, most and bytes. step returns THEMIS_IN_PROGRESS, or this rank's status at the end.
 */
themis_status_t themis_collective_lists_create(themis_collective_group_t *group, const themis_util_runs_t *runs,
                                               themis_collective_plan_t *plan, themis_collective_lists_t **lists);
themis_status_t themis_collective_lists_step(themis_collective_lists_t *lists);
/* After the last step. NULL is allowed. */
void themis_collective_lists_destroy(themis_collective_lists_t *lists);

void themis_collective_lists_free_parts(themis_collective_part_t *part, uint32_t parts);
#endif
