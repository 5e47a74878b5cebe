/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside of coll/: a file's state and the calls under way. */
#ifndef THEMIS_COLLECTIVE_OP_H
#define THEMIS_COLLECTIVE_OP_H
#include "collective/coll.h"
#include "collective/model.h"
#include "collective/plan.h"

enum { THEMIS_COLL_PLANS = 4 };

typedef enum themis_coll_stage {
    THEMIS_COLL_SETTLE,  /* empties the cache, since the direction turned */
    THEMIS_COLL_SETTLED, /* agrees that all have, or that all have come */
    THEMIS_COLL_DECIDE,  /* agrees on the way */
    THEMIS_COLL_DIRECT,  /* list I/O under way */
    THEMIS_COLL_PREPARE, /* agrees that all can plan */
    THEMIS_COLL_PLANNING,
    THEMIS_COLL_PLANNED, /* agrees on the plan */
    THEMIS_COLL_READY,   /* agrees that all have their buffers */
    THEMIS_COLL_EXCHANGE,
    THEMIS_COLL_RESULT, /* agrees on the result */
    THEMIS_COLL_ENDED
} themis_coll_stage_t;

struct themis_coll_op {
    themis_coll_t *coll;
    themis_coll_op_t *next;
    themis_coll_access_t access;
    themis_coll_stage_t stage;
    int agreeing; /* the stage's agreement has begun */
    themis_coll_agreement_t agreement;
    themis_coll_vote_t vote, result;
    themis_status_t status;
    uint64_t done;
    int blocking; /* this rank waits for it */
    int in_step;  /* a blocking call on all ranks */
    /* list */
    void *request;
    char *packed; /* memory that is in many small pieces, as one */
    /* twophase */
    themis_coll_planner_t *planner;
    themis_coll_plan_t *plan;
    themis_coll_exchange_t *exchange;
    uint64_t eof, moves; /* of the exchange */
};

struct themis_coll {
    themis_coll_config_t config;
    const themis_coll_sink_t *sink;
    themis_coll_group_t *group;
    themis_coll_topology_t *topology; /* NULL when no call can be two-phase */
    themis_coll_mode_t always;
    themis_coll_buffers_t buffers;
    themis_coll_plan_t *plan[THEMIS_COLL_PLANS]; /* most recently used first */
    uint32_t *keep;                              /* rank 0: slots of the last static-cyclic plan */
    uint32_t kept;
    themis_coll_info_t info;
    uint32_t *shown; /* info.aggregator */
    themis_coll_op_t *head, *tail;
    themis_coll_op_t blocking; /* the blocking call: there is one at a time, and it must not lack memory */
    unsigned streak;           /* calls that still go without agreement */
    unsigned streak_length;    /* of how many */
    int streaking;             /* small calls follow one another: agreements are only collected one streak later */
    uint64_t streak_most;      /* largest access of this rank since the last agreement */
    enum { THEMIS_COLL_NOT_LATE, THEMIS_COLL_LATE, THEMIS_COLL_LATE_ENDED } late; /* of a streak's agreement */
    themis_coll_agreement_t late_agreement;
    themis_coll_vote_t late_result;
    themis_status_t pending; /* failure that the next agreement will tell the others */
    int direction;           /* of the last call; -1 before the first */
    int dirty;               /* the cache of some rank may hold something */
    int cache;               /* allowed */
};

/* One step of a call at the head of the queue, or of a later one as far as it needs nobody else. */
void themis_coll_op_step(themis_coll_op_t *op, int is_head);

/* List I/O of one rank (direct.c). */
themis_status_t themis_coll_direct_start(themis_coll_op_t *op);
themis_status_t themis_coll_direct_test(themis_coll_op_t *op);
themis_status_t themis_coll_direct_wait(themis_coll_op_t *op);
/* A whole call through the cache. */
themis_status_t themis_coll_direct_quick(themis_coll_t *coll, const themis_coll_access_t *access, uint64_t *done);

/* This rank's part of a call's pattern and place; the sums over all ranks make its name (take_name). */
void themis_coll_twophase_describe(const themis_coll_op_t *op, themis_coll_vote_t *vote);

/* The two-phase stages (twophase.c): from the decision to the result. */
void themis_coll_twophase_begin(themis_coll_op_t *op);
void themis_coll_twophase_step(themis_coll_op_t *op);
void themis_coll_twophase_end(themis_coll_op_t *op);

/* Small calls in a row (streak.c): begin after a call that was agreed on; one call of the row; what is left of the
 * row's last agreement, which late_wait waits for and late_take takes, on all ranks at the same place in their row of
 * calls. */
void themis_coll_streak_begin(themis_coll_t *coll);
void themis_coll_streak_break(themis_coll_t *coll);
int themis_coll_streak_has(const themis_coll_t *coll, themis_coll_direction_t direction);
themis_status_t themis_coll_streak_run(themis_coll_t *coll, const themis_coll_access_t *access, themis_status_t own,
                                       uint64_t *done);
int themis_coll_late_ended(themis_coll_t *coll);
void themis_coll_late_wait(themis_coll_t *coll);
themis_status_t themis_coll_late_take(themis_coll_t *coll);

/* A failure that this rank's next vote is to tell; and what such a vote says. */
void themis_coll_remember(themis_coll_t *coll, themis_status_t status);
void themis_coll_take_pending(themis_coll_t *coll, themis_coll_vote_t *vote);

/*
 * The agreement of a stage: 0 while it is under way; then op->result is what was agreed on. The vote's status is this
 * rank's word.
 */
int themis_coll_op_agree(themis_coll_op_t *op, const themis_coll_vote_t *vote);
#endif
