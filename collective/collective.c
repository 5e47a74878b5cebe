/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The queue of a file's operations. They are processed in the order in which they were begun, the same on all ranks;
 * what ranks do together (consensus, planning, shuffle) is done by the operation at the head alone, so its messages
 * never mix with those of another. As it ends only when the I/O of all ranks is done, and the next one's I/O begins
 * when all have begun that, calls take effect in their order.
 *
 * MPI may test operations in any of its calls, those that are made here included (Open MPI does), and in any thread; so
 * one call at a time works on the queue.
 */
#include "collective/collective.h"
#include <stdlib.h>
#include <string.h>
#include "collective/backoff.h"
#include "collective/mode_choice.h"
#include "collective/group_cache.h"
#include "collective/twophase.h"

static const uint64_t default_staging = UINT64_C(64) << 20;

static themis_status_t find_candidates(themis_collective_t *coll)
{
    const themis_collective_options_t *options = &coll->options;
    themis_status_t status = themis_collective_candidates_create(coll->group, options, &coll->candidates);
    if (status != THEMIS_OK)
        return status;
    uint32_t max = options->max_aggregators, count = coll->candidates->count;
    coll->info.topology = themis_collective_distance_source_name(coll->candidates->distances.source);
    coll->info.possible = max && max < count ? max : count;
    return THEMIS_OK;
}

static size_t staging_bytes(const themis_collective_options_t *options)
{
    if (!options || (themis_collective_mode_choice_hint(options, THEMIS_READ) == THEMIS_COLLECTIVE_LIST &&
                     themis_collective_mode_choice_hint(options, THEMIS_WRITE) == THEMIS_COLLECTIVE_LIST))
        return 0;
    return options->staging ? options->staging : default_staging;
}

themis_status_t themis_collective_create(MPI_Comm comm, const themis_collective_options_t *options,
                                         const themis_collective_file_ops_t *ops, themis_collective_t **result)
{
    themis_collective_t *coll = options ? calloc(1, sizeof *coll) : NULL;
    themis_collective_group_t *group = NULL;
    themis_status_t status = themis_collective_group_cache_acquire(
        comm, options ? options->fake_nodes : 0, staging_bytes(options), coll ? THEMIS_OK : THEMIS_NO_MEMORY, &group);
    if (status != THEMIS_OK) {
        free(coll);
        return status;
    }
    pthread_mutex_init(&coll->lock, NULL);
    coll->options = *options;
    coll->group = group;
    coll->shuffle.group = group;
    coll->shuffle.ops = ops;
    coll->always = themis_collective_mode_choice_always(options, group->nodes);
    if (coll->always != THEMIS_COLLECTIVE_LIST)
        status = find_candidates(coll);
    if (status == THEMIS_OK)
        *result = coll;
    else
        themis_collective_destroy(coll);
    return status;
}

void themis_collective_destroy(themis_collective_t *coll)
{
    if (!coll)
        return;
    themis_collective_twophase_free(coll);
    themis_collective_group_cache_release(coll->group);
    pthread_mutex_destroy(&coll->lock);
    free(coll);
}

void themis_collective_info(const themis_collective_t *coll, themis_collective_info_t *info)
{
    *info = coll->info;
}

/* --- stages that all operations have --- */

static void start_list_io(themis_collective_operation_t *op)
{
    op->coll->info.mode = THEMIS_COLLECTIVE_LIST;
    op->stage = THEMIS_COLLECTIVE_LIST_IO;
    if (op->status == THEMIS_OK)
        op->status = themis_collective_list_io_start(op->coll->shuffle.ops, &op->access, &op->list_io);
}

static void assemble_step(themis_collective_operation_t *op)
{
    themis_collective_consensus_record_t record = THEMIS_COLLECTIVE_STATUS_RECORD(op->status);
    if (!themis_collective_operation_agree(op, &record))
        return;
    if (op->status != THEMIS_OK)
        op->stage = THEMIS_COLLECTIVE_ENDED;
    else
        start_list_io(op);
}

static themis_collective_consensus_record_t describe_access(const themis_collective_operation_t *op)
{
    const themis_util_runs_t *file = op->access.file;
    themis_collective_consensus_record_t record = THEMIS_COLLECTIVE_STATUS_RECORD(op->status);
    if (!file->bytes)
        return record;
    record.first = themis_util_runs_first(file);
    record.end = file->end;
    record.bytes = record.max_bytes = file->bytes;
    record.pieces = themis_util_runs_pieces(file);
    if (!file->unordered)
        themis_collective_twophase_describe(op, &record);
    else
        record.flags = THEMIS_COLLECTIVE_UNORDERED;
    return record;
}

static void decide_step(themis_collective_operation_t *op)
{
    const themis_collective_t *coll = op->coll;
    themis_collective_consensus_record_t record = {0};
    if (!op->in_consensus)
        record = describe_access(op);
    if (!themis_collective_operation_agree(op, &record))
        return;
    if (op->status != THEMIS_OK)
        op->stage = THEMIS_COLLECTIVE_ENDED;
    else if (themis_collective_mode_choice_make(&coll->options, op->access.direction, coll->group->nodes,
                                                &op->consensus.record) == THEMIS_COLLECTIVE_LIST)
        start_list_io(op);
    else
        themis_collective_twophase_begin(op);
}

static void list_io_step(themis_collective_operation_t *op)
{
    themis_status_t status = op->status;
    if (op->list_io.request)
        status = op->blocking ? themis_collective_list_io_wait(&op->list_io, &op->done)
                              : themis_collective_list_io_test(&op->list_io, &op->done);
    if (status == THEMIS_IN_PROGRESS)
        return;
    op->status = status;
    op->stage = THEMIS_COLLECTIVE_RESULT;
}

static void result_step(themis_collective_operation_t *op)
{
    const themis_util_runs_t *file = op->access.file;
    const themis_collective_consensus_record_t *result = &op->consensus.record;
    themis_collective_consensus_record_t record = THEMIS_COLLECTIVE_STATUS_RECORD(op->status);
    record.first = op->eof;
    if (!themis_collective_operation_agree(op, &record))
        return;
    op->stage = THEMIS_COLLECTIVE_ENDED;
    if (op->shuffle) /* of a read what lies before the end of the file, which an aggregator has found */
        op->done = op->access.direction == THEMIS_READ && result->first != UINT64_MAX
                       ? themis_util_runs_bytes_in(file, 0, result->first)
                       : file->bytes;
}

/* One step of the operation at the head of the queue. */
static void operation_step(themis_collective_operation_t *op)
{
    switch (op->stage) {
    case THEMIS_COLLECTIVE_ASSEMBLE:
        assemble_step(op);
        break;
    case THEMIS_COLLECTIVE_DECIDE:
        decide_step(op);
        break;
    case THEMIS_COLLECTIVE_LIST_IO:
        list_io_step(op);
        break;
    case THEMIS_COLLECTIVE_RESULT:
        result_step(op);
        break;
    default:
        themis_collective_twophase_step(op);
    }
}

/* --- the queue --- */

/* Makes progress on the operation at the head, and when that has ended on the next. Returns how many stages were
 * passed. */
static int queue_progress(themis_collective_t *coll)
{
    int passed = 0;
    for (themis_collective_operation_t *op; (op = coll->head) != NULL;) {
        themis_collective_stage_t before = op->stage;
        operation_step(op);
        if (op->stage == before)
            return passed;
        passed++;
        if (op->stage != THEMIS_COLLECTIVE_ENDED)
            continue;
        coll->head = op->next;
        if (!coll->head)
            coll->tail = NULL;
        /* now, and not when this rank asks for the result: the file may drop the plan for those of later calls */
        themis_collective_twophase_end(op);
    }
    return passed;
}

static void queue_append(themis_collective_t *coll, const themis_collective_access_t *access, themis_status_t own,
                         themis_collective_operation_t *op)
{
    static const themis_util_runs_t nothing;
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
    /* No rank's I/O begins before all have begun the call, so that what a rank did by itself before the call is done,
     * and the calls before it are; programs that run on ROMIO's own drivers count on that, although MPI does not
     * promise it. */
    op->stage = coll->always == THEMIS_COLLECTIVE_LIST ? THEMIS_COLLECTIVE_ASSEMBLE : THEMIS_COLLECTIVE_DECIDE;
}

static int is_queued(const themis_collective_operation_t *op)
{
    const themis_collective_operation_t *queued = op->coll->head;
    while (queued && queued != op)
        queued = queued->next;
    return queued != NULL;
}

/* Until the operation has left the queue; NULL: until the queue is empty. */
static void queue_wait(themis_collective_t *coll, const themis_collective_operation_t *op)
{
    unsigned polls = 0;
    uint64_t progress = 0;
    while (op ? is_queued(op) : coll->head != NULL) {
        if (queue_progress(coll))
            polls = 0;
        else
            themis_collective_backoff_wait(coll->group, &polls);
        if (op && op->progress != progress)
            themis_collective_backoff_shorten(coll->group, &polls);
        progress = op ? op->progress : 0;
    }
}

static themis_status_t operation_result(const themis_collective_operation_t *op, uint64_t *done)
{
    if (op->status == THEMIS_OK)
        *done = op->done;
    return op->status;
}

/* Of a non-blocking call: the operation is on the heap. */
static themis_status_t operation_free(themis_collective_operation_t *op, uint64_t *done)
{
    themis_status_t status = operation_result(op, done);
    free(op);
    return status;
}

themis_collective_operation_t *themis_collective_start(themis_collective_t *coll,
                                                       const themis_collective_access_t *access, themis_status_t own)
{
    themis_collective_operation_t *op = calloc(1, sizeof *op);
    if (!op)
        return NULL;
    pthread_mutex_lock(&coll->lock);
    queue_append(coll, access, own, op);
    queue_progress(coll);
    pthread_mutex_unlock(&coll->lock);
    return op;
}

themis_status_t themis_collective_test(themis_collective_operation_t *op, uint64_t *done)
{
    themis_collective_t *coll = op->coll;
    int queued;
    if (pthread_mutex_trylock(&coll->lock))
        return THEMIS_IN_PROGRESS;
    queue_progress(coll);
    queued = is_queued(op);
    pthread_mutex_unlock(&coll->lock);
    return queued ? THEMIS_IN_PROGRESS : operation_free(op, done);
}

themis_status_t themis_collective_wait(themis_collective_operation_t *op, uint64_t *done)
{
    themis_collective_t *coll = op->coll;
    pthread_mutex_lock(&coll->lock);
    op->blocking = 1;
    queue_wait(coll, op);
    pthread_mutex_unlock(&coll->lock);
    return operation_free(op, done);
}

/* --- blocking calls --- */

themis_status_t themis_collective_run(themis_collective_t *coll, const themis_collective_access_t *access,
                                      themis_status_t own, uint64_t *done)
{
    themis_status_t status;
    pthread_mutex_lock(&coll->lock);
    memset(&coll->blocking, 0, sizeof coll->blocking);
    coll->blocking.blocking = 1;
    queue_append(coll, access, own, &coll->blocking);
    queue_wait(coll, &coll->blocking);
    status = operation_result(&coll->blocking, done);
    pthread_mutex_unlock(&coll->lock);
    return status;
}

themis_status_t themis_collective_decline(themis_collective_t *coll, const themis_collective_access_t *access,
                                          themis_status_t own)
{
    uint64_t done;
    return themis_collective_run(coll, access, own, &done);
}

themis_status_t themis_collective_sync(themis_collective_t *coll, themis_status_t own)
{
    themis_collective_consensus_record_t record = THEMIS_COLLECTIVE_STATUS_RECORD(own);
    themis_collective_consensus_t consensus;
    pthread_mutex_lock(&coll->lock);
    queue_wait(coll, NULL);
    themis_collective_consensus_start(coll->group, &record, &consensus);
    for (unsigned polls = 0; themis_collective_consensus_test(&consensus) != THEMIS_OK;)
        themis_collective_backoff_wait(coll->group, &polls);
    pthread_mutex_unlock(&coll->lock);
    return (themis_status_t)consensus.record.status;
}
