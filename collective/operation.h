/* SPDX-License-Identifier: BSD-3-Clause */
/* Private: the state of one collective call, and of the file that it belongs to. */
#pragma once
#include <pthread.h>
#include "collective/consensus.h"
#include "collective/info.h"
#include "collective/list_io.h"
#include "collective/planner.h"
#include "collective/shuffle.h"

typedef struct themis_collective themis_collective_t;
typedef struct themis_collective_operation themis_collective_operation_t;

enum { THEMIS_COLLECTIVE_PLANS = 4 };

/* Those that need a consensus name what it is about. */
typedef enum themis_collective_stage {
    THEMIS_COLLECTIVE_ASSEMBLE, /* consensus: all have begun the call */
    THEMIS_COLLECTIVE_DECIDE,   /* consensus: the mode */
    THEMIS_COLLECTIVE_LIST_IO,  /* list I/O is under way */
    THEMIS_COLLECTIVE_PREPARE,  /* consensus: all can plan */
    THEMIS_COLLECTIVE_PLANNING,
    THEMIS_COLLECTIVE_PLANNED, /* consensus: the plan */
    THEMIS_COLLECTIVE_READY,   /* consensus: all have their buffers */
    THEMIS_COLLECTIVE_SHUFFLE,
    THEMIS_COLLECTIVE_RESULT, /* consensus: the result */
    THEMIS_COLLECTIVE_ENDED
} themis_collective_stage_t;

struct themis_collective_operation {
    themis_collective_t *coll;
    themis_collective_operation_t *next;
    themis_collective_access_t access;
    themis_collective_stage_t stage;
    int in_consensus; /* the stage's consensus has begun */
    themis_collective_consensus_t consensus;
    themis_status_t status;
    uint64_t done;
    int blocking; /* this rank waits for it */
    themis_collective_list_io_t list_io;
    /* two-phase */
    themis_collective_consensus_record_t decision; /* the consensus by which it became two-phase: range and pattern */
    themis_collective_planner_t *planner;
    themis_collective_call_plan_t *plan;
    themis_collective_shuffle_t *shuffle;
    uint64_t eof, progress; /* of the shuffle */
};

struct themis_collective {
    pthread_mutex_t lock; /* held by the call that makes progress; a test that finds it taken leaves the work to that */
    themis_collective_options_t options;
    themis_collective_group_t *group;
    themis_collective_mode_t always;
    themis_collective_operation_t *head, *tail;
    themis_collective_operation_t blocking; /* the blocking call: there is one at a time, and it must not lack memory */
    themis_collective_info_t info;
    /* two-phase */
    themis_collective_candidates_t *candidates; /* NULL when no call can be two-phase */
    themis_collective_shuffle_file_t shuffle;
    themis_collective_call_plan_t *plan[THEMIS_COLLECTIVE_PLANS]; /* most recently used first */
    uint32_t *cyclic_candidate; /* rank 0: [cyclic_count] of the first static-cyclic plan, which later ones keep */
    uint32_t cyclic_count;
    uint32_t *shown_aggregator; /* info.aggregator */
};

/*
 * The consensus of a stage, which starts at the first call with this rank's record. 0 while it is under way; then
 * op->consensus.record is the result, and op->status the status in it.
 */
int themis_collective_operation_agree(themis_collective_operation_t *op,
                                      const themis_collective_consensus_record_t *record);
