/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two phases of a call, in rounds: bytes go between the ranks of a node and its leader through shared memory,
 * between leaders and aggregators as one message per round, and between aggregators and the servers as one list per
 * round. Two rounds are under way at once everywhere, so the shuffle of one overlaps the I/O of the other.
 *
 * A rank has up to three roles (member of its node, leader, aggregator), each a state machine of its own that goes on
 * when what it waits for is there. An aggregator whose I/O fails goes on exchanging messages, so that nobody waits for
 * it.
 */
#pragma once
#include "collective/access.h"
#include "collective/collective_buffer.h"
#include "collective/group.h"

/* What the shuffles of a file share; zeroed at first, but for group and ops. */
typedef struct themis_collective_shuffle_file {
    themis_collective_group_t *group;        /* borrowed */
    const themis_collective_file_ops_t *ops; /* borrowed */
    /* of an aggregator, kept from call to call */
    themis_collective_buffer_t buffer[2];
    char *messages[2];
    uint64_t capacity; /* of each of them */
} themis_collective_shuffle_file_t;
void themis_collective_shuffle_file_free(themis_collective_shuffle_file_t *file);

typedef struct themis_collective_shuffle themis_collective_shuffle_t;

/*
 * Does not communicate; that all ranks have one is to be made sure before the first step. The file, the plan and what
 * the access points to are borrowed; the access is ordered; `first` is the first byte of this call.
 */
themis_status_t themis_collective_shuffle_create(themis_collective_shuffle_file_t *file,
                                                 const themis_collective_call_plan_t *plan, uint64_t first,
                                                 const themis_collective_access_t *access,
                                                 themis_collective_shuffle_t **shuffle);
/*
 * THEMIS_IN_PROGRESS, or this rank's result. *eof: the offset of the first byte that this rank, as an aggregator, found
 * to lie beyond the end of the file, UINT64_MAX if none.
 */
themis_status_t themis_collective_shuffle_step(themis_collective_shuffle_t *shuffle, uint64_t *eof);
/* A number that grows whenever this rank makes progress: rounds sized, moved, sent, received, at the servers. */
uint64_t themis_collective_shuffle_progress(const themis_collective_shuffle_t *shuffle);
/* NULL is allowed. */
void themis_collective_shuffle_destroy(themis_collective_shuffle_t *shuffle);
