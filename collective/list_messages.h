/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How aggregators learn who accesses what in their domains: each rank cuts its list by domain and sends each aggregator
 * the part that concerns it, as strided runs. No aggregator knows beforehand how many ranks will send, so the end is
 * found by a barrier that a rank enters when all it sent has been received (Hoefler, Siebert, Lumsdaine, "Scalable
 * communication protocols for dynamic sparse data exchange", PPoPP 2010).
 */
#pragma once
#include "collective/call_plan.h"
#include "collective/group.h"

typedef struct themis_collective_list_messages themis_collective_list_messages_t;

/*
 * `runs` and `plan` are borrowed. The plan's aggregators, round_bytes and rounds are to be set before the first step;
 * the steps fill in its parts, max_round_bytes and bytes. Does not communicate.
 */
themis_status_t themis_collective_list_messages_create(themis_collective_group_t *group, const themis_util_runs_t *runs,
                                                       themis_collective_call_plan_t *plan,
                                                       themis_collective_list_messages_t **messages);
/* Never blocks: THEMIS_IN_PROGRESS, or this rank's status at the end. */
themis_status_t themis_collective_list_messages_step(themis_collective_list_messages_t *messages);
/* Before the first step or after the last. NULL is allowed. */
void themis_collective_list_messages_destroy(themis_collective_list_messages_t *messages);
