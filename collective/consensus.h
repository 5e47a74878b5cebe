/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Consensus: every rank of a group contributes a record, and all get the same combined record. Within a node through
 * shared memory, between leaders by MPI_Iallreduce. One consensus at a time, in the same order on all ranks.
 */
#pragma once
#include "collective/group.h"

typedef struct themis_collective_consensus {
    themis_collective_group_t *group;            /* borrowed */
    themis_collective_consensus_record_t record; /* of this rank (leaders: of the node); in the end the result */
    MPI_Request request;
    int stage;
} themis_collective_consensus_t;

void themis_collective_consensus_start(themis_collective_group_t *group,
                                       const themis_collective_consensus_record_t *record,
                                       themis_collective_consensus_t *consensus);
/*
 * Never blocks. THEMIS_IN_PROGRESS, or THEMIS_OK when consensus->record is the result; the status on which all agree is
 * in the record. Not to be called again then.
 */
themis_status_t themis_collective_consensus_test(themis_collective_consensus_t *consensus);
