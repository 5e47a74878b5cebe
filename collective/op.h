/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of coll/: a file's state and the calls under way. */
#ifndef THEMIS_COLLECTIVE_OP_H
#define THEMIS_COLLECTIVE_OP_H
#include "collective/coll.h"
#include "collective/model.h"
#include "collective/plan.h"

enum { THEMIS_COLLECTIVE_PLANS = 4 };

typedef enum themis_collective_stage {
    THEMIS_COLLECTIVE_SETTLE,  /* empties the cache, since the direction turned */
    THEMIS_COLLECTIVE_SETTLED, /* agrees that all have, or that all have come */
    THEMIS_COLLECTIVE_DECIDE,  /* agrees on the way */
    THEMIS_COLLECTIVE_DIRECT,  /* list I/O under way */
    THEMIS_COLLECTIVE_PREPARE, /* agrees that all can plan */
    THEMIS_COLLECTIVE_PLANNING,
    THEMIS_COLLECTIVE_PLANNED, /* agrees on the plan */
    THEMIS_COLLECTIVE_READY,   /* agrees that all have their buffers */
    THEMIS_COLLECTIVE_EXCHANGE,
    THEMIS_COLLECTIVE_RESULT, /* agrees on the result */
    THEMIS_COLLECTIVE_ENDED
} themis_collective_stage_t;

struct themis_collective_op {
    themis_collective_t *coll;
    themis_collective_op_t *next;
    themis_collective_access_t access;
    themis_collective_stage_t stage;
    int agreeing; /* the stage's agreement has begun */
    themis_collective_agreement_t agreement;
    themis_collective_vote_t vote, result;
    themis_status_t status;
    uint64_t done;
    int blocking; /* this rank waits for it */
    int in_step;  /* a blocking call on all ranks */
    /* list */
    void *request;
    char *packed; /* memory that is in many small pieces, as one */
    /* twophase */
    themis_collective_planner_t *planner;
    themis_collective_plan_t *plan;
    themis_collective_exchange_t *exchange;
    uint64_t eof, moves; /* of the exchange */
};

struct themis_collective {
    themis_collective_config_t config;
    const themis_collective_sink_t *sink;
    themis_collective_group_t *group;
    themis_collective_topology_t *topology; /* NULL when no call can be two-phase */
    themis_collective_mode_t always;
    themis_collective_buffers_t buffers;
    themis_collective_plan_t *plan[THEMIS_COLLECTIVE_PLANS]; /* most recently used first */
    uint32_t *keep;                                          /* rank 0: slots of the last static-cyclic plan */
    uint32_t kept;
    themis_collective_info_t info;
    uint32_t *shown; /* info.aggregator */
    themis_collective_op_t *head, *tail;
    themis_collective_op_t blocking; /* the blocking call: there is one at a time, and it must not lack memory */
    unsigned streak;                 /* calls that still go without agreement */
    unsigned streak_length;          /* of how many */
    int streaking;        /* small calls follow one another: agreements are only collected one streak later */
    uint64_t streak_most; /* largest access of this rank since the last agreement */
    enum {
        THEMIS_COLLECTIVE_NOT_LATE,
        THEMIS_COLLECTIVE_LATE,
        THEMIS_COLLECTIVE_LATE_ENDED
    } late; /* of a streak's agreement */
    themis_collective_agreement_t late_agreement;
    themis_collective_vote_t late_result;
    themis_status_t pending; /* failure that the next agreement will tell the others */
    int direction;           /* of the last call; -1 before the first */
    int dirty;               /* the cache of some rank may hold something */
    int cache;               /* allowed */
};

/* One step of a call at the head of the queue, or of a later one as far as it needs nobody else. */
void themis_collective_op_step(themis_collective_op_t *op, int is_head);

/* List I/O of one rank (direct.c). */
themis_status_t themis_collective_direct_start(themis_collective_op_t *op);
themis_status_t themis_collective_direct_test(themis_collective_op_t *op);
themis_status_t themis_collective_direct_wait(themis_collective_op_t *op);
/* A whole call through the cache. */
themis_status_t themis_collective_direct_quick(themis_collective_t *coll, const themis_collective_access_t *access,
                                               uint64_t *done);

/* This rank's part of a call's pattern and place; the sums over all ranks make its name (take_name). */
void themis_collective_twophase_describe(const themis_collective_op_t *op, themis_collective_vote_t *vote);

/* The two-phase stages (twophase.c): from the decision to the result. */
void themis_collective_twophase_begin(themis_collective_op_t *op);
void themis_collective_twophase_step(themis_collective_op_t *op);
void themis_collective_twophase_end(themis_collective_op_t *op);

/* Small calls in a row (streak.c): begin after a call that was agreed on; one call of the row; what is left of the
 * row's last agreement, which late_wait waits for and late_take takes, on all ranks at the same place in their row of
 * calls. */
void themis_collective_streak_begin(themis_collective_t *coll);
void themis_collective_streak_break(themis_collective_t *coll);
int themis_collective_streak_has(const themis_collective_t *coll, themis_direction_t direction);
themis_status_t themis_collective_streak_run(themis_collective_t *coll, const themis_collective_access_t *access,
                                             themis_status_t own, uint64_t *done);
int themis_collective_late_ended(themis_collective_t *coll);
void themis_collective_late_wait(themis_collective_t *coll);
themis_status_t themis_collective_late_take(themis_collective_t *coll);

/* A failure that this rank's next vote is to tell; and what such a vote says. */
void themis_collective_remember(themis_collective_t *coll, themis_status_t status);
void themis_collective_take_pending(themis_collective_t *coll, themis_collective_vote_t *vote);

/*
 * The agreement of a stage: 0 while it is under way; then op->result is what was agreed on. The vote's status is this
 * rank's word.
 */
int themis_collective_op_agree(themis_collective_op_t *op, const themis_collective_vote_t *vote);
#endif
