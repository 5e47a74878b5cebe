/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The queue of calls of a file. Calls are taken up in the order in which they were begun, the same on all ranks; what
 * ranks do together (agreements, planning, exchange) is done by the call at the head alone, so its messages never mix
 * with those of another. List I/O needs nobody else and starts as soon as it can.
 */
#include "collective/coll.h"
#include <stdlib.h>
#include <string.h>
#include "collective/op.h"

static const uint64_t default_staging = UINT64_C(64) << 20;

themis_status_t themis_collective_create(MPI_Comm comm, const themis_collective_config_t *config,
                                         const themis_collective_sink_t *sink, themis_collective_t **result)
{
    themis_collective_t *coll = config ? calloc(1, sizeof *coll) : NULL;
    themis_collective_group_t *group = NULL;
    int never = config && themis_collective_model_mode(config, THEMIS_READ) == THEMIS_COLLECTIVE_LIST &&
                themis_collective_model_mode(config, THEMIS_WRITE) == THEMIS_COLLECTIVE_LIST;
    size_t staging = !config || never ? 0 : config->staging ? config->staging : default_staging;
    themis_status_t status = themis_collective_group_acquire(comm, config ? config->fake_nodes : 0, staging,
                                                             coll ? THEMIS_OK : THEMIS_NO_MEMORY, &group);
    if (status != THEMIS_OK) {
        free(coll);
        return status;
    }
    coll->group = group;
    coll->config = *config;
    coll->sink = sink;
    coll->direction = -1;
    coll->cache = config->cache;
    if (status == THEMIS_OK) {
        coll->always = themis_collective_model_always(config, coll->group->nodes);
        if (coll->always != THEMIS_COLLECTIVE_LIST)
            status = themis_collective_topology_create(coll->group, config, &coll->topology);
        if (coll->topology) {
            uint32_t slots = coll->topology->slot_count;
            coll->info.topology = themis_collective_source_name(coll->topology->source);
            coll->info.possible = config->most && config->most < slots ? config->most : slots;
        }
    }
    if (status != THEMIS_OK) {
        themis_collective_destroy(coll);
        return status;
    }
    *result = coll;
    return THEMIS_OK;
}

void themis_collective_destroy(themis_collective_t *coll)
{
    if (!coll)
        return;
    themis_collective_late_wait(coll);
    for (int i = 0; i < THEMIS_COLLECTIVE_PLANS; i++)
        themis_collective_plan_destroy(coll->plan[i]);
    themis_collective_buffers_free(&coll->buffers);
    themis_collective_topology_destroy(coll->topology);
    themis_collective_group_release(coll->group);
    free(coll->keep);
    free(coll->shown);
    free(coll);
}

void themis_collective_info(const themis_collective_t *coll, themis_collective_info_t *info)
{
    *info = coll->info;
}

/* --- stages that all calls have --- */

int themis_collective_op_agree(themis_collective_op_t *op, const themis_collective_vote_t *vote)
{
    themis_collective_t *coll = op->coll;
    if (!op->agreeing) {
        if (!themis_collective_late_ended(coll))
            return 0;
        themis_collective_vote_t own = *vote;
        themis_collective_remember(coll, themis_collective_late_take(coll));
        themis_collective_take_pending(coll, &own);
        themis_collective_agree_start(coll->group, &own, &op->agreement);
        op->agreeing = 1;
    }
    if (themis_collective_agree_test(&op->agreement, &op->result) != THEMIS_OK)
        return 0;
    op->agreeing = 0;
    return 1;
}

static themis_collective_vote_t describe(const themis_collective_op_t *op)
{
    const themis_util_runs_t *file = op->access.file;
    themis_collective_vote_t vote = THEMIS_COLLECTIVE_VOTE_NONE;
    vote.status = op->status;
    vote.most = vote.bytes = file->bytes;
    if (!file->bytes)
        return vote;
    vote.first = themis_util_runs_first(file);
    vote.end = file->end;
    vote.pieces = themis_util_runs_pieces(file);
    vote.flags = file->unordered ? THEMIS_COLLECTIVE_UNORDERED : 0;
    if (!file->unordered)
        themis_collective_twophase_describe(op, &vote);
    return vote;
}

static void finish(themis_collective_op_t *op, themis_status_t status)
{
    op->status = status;
    op->stage = THEMIS_COLLECTIVE_ENDED;
}

static void go_direct(themis_collective_op_t *op)
{
    op->coll->info.mode = THEMIS_COLLECTIVE_LIST;
    op->stage = THEMIS_COLLECTIVE_DIRECT;
    if (op->status == THEMIS_OK)
        op->status = themis_collective_direct_start(op);
}

static void decide_step(themis_collective_op_t *op)
{
    themis_collective_vote_t vote = THEMIS_COLLECTIVE_VOTE_NONE;
    if (!op->agreeing)
        vote = describe(op);
    if (!themis_collective_op_agree(op, &vote))
        return;
    if (op->result.status != THEMIS_OK) {
        finish(op, (themis_status_t)op->result.status);
        return;
    }
    if (themis_collective_model_choose(&op->coll->config, op->access.direction, op->coll->group->nodes, &op->result) ==
        THEMIS_COLLECTIVE_LIST)
        go_direct(op);
    else
        themis_collective_twophase_begin(op);
}

/* What is left of a two-phase read in front of the end of the file. */
static uint64_t bytes_read(const themis_collective_op_t *op)
{
    if (op->result.first == UINT64_MAX)
        return op->access.file->bytes;
    return themis_util_runs_bytes_in(op->access.file, 0, op->result.first);
}

static void result_step(themis_collective_op_t *op)
{
    themis_collective_t *coll = op->coll;
    themis_collective_vote_t vote = THEMIS_COLLECTIVE_VOTE_NONE;
    vote.status = op->status;
    vote.most = op->access.file->bytes;
    vote.first = op->exchange ? op->eof : UINT64_MAX;
    if (!themis_collective_op_agree(op, &vote))
        return;
    if (op->exchange)
        op->done = op->access.direction == THEMIS_READ ? bytes_read(op) : op->access.file->bytes;
    else if (op->in_step && coll->cache && op->result.most <= THEMIS_COLLECTIVE_SMALL &&
             coll->always == THEMIS_COLLECTIVE_LIST)
        themis_collective_streak_begin(coll);
    finish(op, (themis_status_t)op->result.status);
}

static void settle_step(themis_collective_op_t *op)
{
    themis_collective_t *coll = op->coll;
    if (op->stage == THEMIS_COLLECTIVE_SETTLE) {
        themis_status_t status = themis_collective_settle(coll);
        if (op->status == THEMIS_OK)
            op->status = status;
        op->stage = THEMIS_COLLECTIVE_SETTLED;
    }
    themis_collective_vote_t vote = THEMIS_COLLECTIVE_VOTE_NONE;
    vote.status = op->status;
    if (!themis_collective_op_agree(op, &vote))
        return;
    if (op->result.status != THEMIS_OK)
        finish(op, (themis_status_t)op->result.status);
    else if (coll->always == THEMIS_COLLECTIVE_LIST)
        go_direct(op);
    else
        op->stage = THEMIS_COLLECTIVE_DECIDE;
}

static void direct_step(themis_collective_op_t *op)
{
    themis_status_t status = op->status;
    if (op->request)
        status = op->blocking ? themis_collective_direct_wait(op) : themis_collective_direct_test(op);
    if (status == THEMIS_IN_PROGRESS)
        return;
    op->status = status;
    op->stage = THEMIS_COLLECTIVE_RESULT;
}

void themis_collective_op_step(themis_collective_op_t *op, int is_head)
{
    if (op->stage == THEMIS_COLLECTIVE_DIRECT)
        direct_step(op);
    if (!is_head)
        return;
    switch (op->stage) {
    case THEMIS_COLLECTIVE_SETTLE:
    case THEMIS_COLLECTIVE_SETTLED:
        settle_step(op);
        break;
    case THEMIS_COLLECTIVE_DECIDE:
        decide_step(op);
        break;
    case THEMIS_COLLECTIVE_RESULT:
        result_step(op);
        break;
    default:
        themis_collective_twophase_step(op);
    }
}

/* --- the queue --- */

/* Lets every call go on; ended ones leave the queue. Returns how many stages were passed. */
static int progress(themis_collective_t *coll)
{
    int passed = 0;
    for (themis_collective_op_t *op = coll->head; op; op = op->next) {
        themis_collective_stage_t before;
        do {
            before = op->stage;
            themis_collective_op_step(op, op == coll->head);
            passed += op->stage != before;
        } while (op->stage != before && op->stage != THEMIS_COLLECTIVE_ENDED);
        if (op->stage == THEMIS_COLLECTIVE_ENDED && op == coll->head) {
            coll->head = op->next;
            if (!coll->head)
                coll->tail = NULL;
        }
    }
    return passed;
}

/* The first stage of a call. Whether the cache has to be emptied first is known to all ranks alike. Without a cache no
 * rank's part of a blocking call begins before all have come to it, so that what a rank did by itself before the call
 * is done; programs that run on ROMIO's own drivers count on that, although MPI does not promise it. */
static void begin(themis_collective_op_t *op)
{
    themis_collective_t *coll = op->coll;
    int turned = coll->dirty && coll->direction != (int)op->access.direction;
    coll->direction = (int)op->access.direction;
    themis_collective_streak_break(coll);
    if (turned) {
        coll->dirty = 0;
        op->stage = THEMIS_COLLECTIVE_SETTLE;
        return;
    }
    themis_status_t status = coll->dirty ? themis_collective_settle(coll) : THEMIS_OK;
    if (op->status == THEMIS_OK)
        op->status = status;
    if (coll->always != THEMIS_COLLECTIVE_LIST)
        op->stage = THEMIS_COLLECTIVE_DECIDE;
    else if (op->in_step && !coll->cache)
        op->stage = THEMIS_COLLECTIVE_SETTLED;
    else
        go_direct(op);
}

static const themis_util_runs_t nothing;

static void enqueue(themis_collective_t *coll, const themis_collective_access_t *access, themis_status_t own,
                    themis_collective_op_t *op)
{
    op->coll = coll;
    op->access = *access;
    op->status = own;
    op->eof = UINT64_MAX;
    if (own != THEMIS_OK)
        op->access.file = op->access.memory = &nothing;
    if (coll->tail)
        coll->tail->next = op;
    else
        coll->head = op;
    coll->tail = op;
    begin(op);
}

themis_collective_op_t *themis_collective_start(themis_collective_t *coll, const themis_collective_access_t *access,
                                                themis_status_t own)
{
    themis_collective_op_t *op = calloc(1, sizeof *op);
    if (!op)
        return NULL;
    enqueue(coll, access, own, op);
    progress(coll);
    return op;
}

static themis_status_t end(themis_collective_op_t *op, uint64_t *done)
{
    themis_status_t status = op->status;
    if (status == THEMIS_OK)
        *done = op->done;
    themis_collective_twophase_end(op);
    free(op->packed);
    if (op != &op->coll->blocking)
        free(op);
    return status;
}

static int has_left(const themis_collective_op_t *op)
{
    const themis_collective_op_t *queued = op->coll->head;
    while (queued && queued != op)
        queued = queued->next;
    return !queued;
}

themis_status_t themis_collective_test(themis_collective_op_t *op, uint64_t *done)
{
    progress(op->coll);
    return has_left(op) ? end(op, done) : THEMIS_IN_PROGRESS;
}

themis_status_t themis_collective_wait(themis_collective_op_t *op, uint64_t *done)
{
    unsigned round = 0;
    uint64_t moves = 0;
    op->blocking = 1;
    while (!has_left(op)) {
        if (progress(op->coll))
            round = 0;
        else
            themis_collective_relax(op->coll->group, &round);
        if (op->moves != moves)
            themis_collective_moved(&round);
        moves = op->moves;
    }
    return end(op, done);
}

/* --- blocking calls --- */

static themis_status_t run(themis_collective_t *coll, const themis_collective_access_t *access, themis_status_t own,
                           int in_step, uint64_t *done)
{
    memset(&coll->blocking, 0, sizeof coll->blocking);
    coll->blocking.blocking = 1;
    coll->blocking.in_step = in_step;
    enqueue(coll, access, own, &coll->blocking);
    return themis_collective_wait(&coll->blocking, done);
}

themis_status_t themis_collective_run(themis_collective_t *coll, const themis_collective_access_t *access,
                                      themis_status_t own, uint64_t *done)
{
    if (themis_collective_streak_has(coll, access->direction))
        return themis_collective_streak_run(coll, access, own, done);
    return run(coll, access, own, 1, done);
}

themis_status_t themis_collective_decline(themis_collective_t *coll, const themis_collective_access_t *access,
                                          themis_status_t own)
{
    uint64_t done;
    return run(coll, access, own, 0, &done);
}

themis_status_t themis_collective_settle(themis_collective_t *coll)
{
    return coll->sink->settle ? coll->sink->settle(coll->sink->arg) : THEMIS_OK;
}

themis_status_t themis_collective_sync(themis_collective_t *coll, themis_status_t own)
{
    unsigned round = 0;
    while (coll->head) {
        if (progress(coll))
            round = 0;
        else
            themis_collective_relax(coll->group, &round);
    }
    themis_collective_late_wait(coll);
    themis_collective_remember(coll, themis_collective_late_take(coll));
    themis_collective_remember(coll, own);
    themis_collective_remember(coll, themis_collective_settle(coll));
    themis_collective_vote_t vote = THEMIS_COLLECTIVE_VOTE_NONE;
    themis_collective_take_pending(coll, &vote);
    themis_collective_agreement_t agreement;
    themis_collective_agree_start(coll->group, &vote, &agreement);
    for (round = 0; themis_collective_agree_test(&agreement, &vote) != THEMIS_OK;)
        themis_collective_relax(coll->group, &round);
    themis_collective_streak_break(coll);
    coll->dirty = 0;
    return (themis_status_t)vote.status;
}

void themis_collective_allow_cache(themis_collective_t *coll, int allowed)
{
    coll->cache = allowed && coll->config.cache;
    themis_collective_streak_break(coll);
}
