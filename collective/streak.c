/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small calls in a row, of a file whose program has asked for a cache. After a call in which no rank had much, the next
 * ones go without any message between ranks, and through the cache. Every so many calls all ranks vote, but they
 * collect the result only so many calls later, so that they need not run in step. Only what all ranks know decides
 * which calls those are: their number, their direction, and what was agreed on.
 */
#include <stdlib.h>
#include <string.h>
#include "collective/op.h"

/* The agreement of a streak, that no call waits for: 0 while it is under way. */
int themis_collective_late_ended(themis_collective_t *coll)
{
    if (coll->late == THEMIS_COLLECTIVE_LATE &&
        themis_collective_agree_test(&coll->late_agreement, &coll->late_result) == THEMIS_OK)
        coll->late = THEMIS_COLLECTIVE_LATE_ENDED;
    return coll->late != THEMIS_COLLECTIVE_LATE;
}

/* What it said; taken by all ranks at the same place in their row of calls. */
themis_status_t themis_collective_late_take(themis_collective_t *coll)
{
    if (coll->late == THEMIS_COLLECTIVE_NOT_LATE)
        return THEMIS_OK;
    coll->late = THEMIS_COLLECTIVE_NOT_LATE;
    if (coll->late_result.status != THEMIS_OK || coll->late_result.most > THEMIS_COLLECTIVE_SMALL)
        coll->streaking = 0;
    return (themis_status_t)coll->late_result.status;
}

void themis_collective_late_wait(themis_collective_t *coll)
{
    for (unsigned round = 0; !themis_collective_late_ended(coll);)
        themis_collective_relax(coll->group, &round);
}

/* A failure of this rank, or one that all ranks know of, that the next agreement is to tell. */
void themis_collective_remember(themis_collective_t *coll, themis_status_t status)
{
    coll->pending = status < coll->pending ? status : coll->pending;
}

void themis_collective_take_pending(themis_collective_t *coll, themis_collective_vote_t *vote)
{
    vote->status = coll->pending < vote->status ? coll->pending : vote->status;
    coll->pending = THEMIS_OK;
}

static int may_be_quick(const themis_collective_t *coll, const themis_collective_access_t *access)
{
    return coll->cache && coll->sink->quick && access->file->bytes <= THEMIS_COLLECTIVE_SMALL;
}

/* A call that goes without agreement; a failure is this rank's alone until the next one. */
static themis_status_t run_alone(themis_collective_t *coll, const themis_collective_access_t *access, uint64_t *done)
{
    if (may_be_quick(coll, access))
        return themis_collective_direct_quick(coll, access, done);
    themis_collective_op_t *op = &coll->blocking;
    memset(op, 0, sizeof *op);
    op->coll = coll;
    op->access = *access;
    themis_status_t status = access->direction == THEMIS_WRITE ? themis_collective_settle(coll) : THEMIS_OK;
    if (status == THEMIS_OK)
        status = themis_collective_direct_start(op);
    if (status == THEMIS_OK)
        status = themis_collective_direct_wait(op);
    free(op->packed);
    if (status == THEMIS_OK)
        *done = op->done;
    return status;
}

/* A streak ends and the next one begins: collects what was agreed on about the last one, and has all agree on this one
 * without waiting for it, so that ranks need not run in step. */
static themis_status_t turn_streak(themis_collective_t *coll)
{
    themis_collective_late_wait(coll);
    themis_status_t agreed = themis_collective_late_take(coll);
    if (!coll->streaking)
        return agreed;
    themis_collective_vote_t vote = THEMIS_COLLECTIVE_VOTE_NONE;
    vote.most = coll->streak_most;
    themis_collective_take_pending(coll, &vote);
    themis_collective_agree_start(coll->group, &vote, &coll->late_agreement);
    coll->late = THEMIS_COLLECTIVE_LATE;
    coll->streak_length =
        coll->streak_length < THEMIS_COLLECTIVE_STREAK_MOST ? 2 * coll->streak_length + 1 : coll->streak_length;
    coll->streak = coll->streak_length;
    coll->streak_most = 0;
    return agreed;
}

themis_status_t themis_collective_streak_run(themis_collective_t *coll, const themis_collective_access_t *access,
                                             themis_status_t own, uint64_t *done)
{
    themis_status_t status = own == THEMIS_OK ? run_alone(coll, access, done) : own, agreed = THEMIS_OK;
    themis_collective_remember(coll, status);
    if (own == THEMIS_OK && access->file->bytes > coll->streak_most)
        coll->streak_most = access->file->bytes;
    if (coll->streak) {
        coll->streak--;
        /* The leader of a node answers the others. */
        if (!coll->group->local)
            themis_collective_late_ended(coll);
    } else {
        agreed = turn_streak(coll);
    }
    return status != THEMIS_OK ? status : agreed;
}

void themis_collective_streak_begin(themis_collective_t *coll)
{
    coll->streak = coll->streak_length = THEMIS_COLLECTIVE_STREAK;
    coll->streaking = 1;
    coll->streak_most = 0;
    coll->dirty = 1;
}

void themis_collective_streak_break(themis_collective_t *coll)
{
    coll->streak = 0;
    coll->streaking = 0;
}

int themis_collective_streak_has(const themis_collective_t *coll, themis_direction_t direction)
{
    return coll->dirty && coll->direction == (int)direction && (coll->streak || coll->streaking);
}
