/* SPDX-License-Identifier: BSD-3-Clause */
#include "collective/relaxed.h"
#include "collective/backoff.h"
#include "collective/list_io.h"

/* Calls of an interval before the one that ends it. It doubles after each consensus that finds nothing changed, so that
 * ranks seldom wait for one another; the price is that an error is reported up to 2 (MAX_INTERVAL + 1) calls later. */
enum { FIRST_INTERVAL = 31, MAX_INTERVAL = 511 };

void themis_collective_relaxed_init(themis_collective_relaxed_t *relaxed, themis_collective_group_t *group,
                                    const themis_collective_file_ops_t *ops, int allowed)
{
    *relaxed = (themis_collective_relaxed_t){.group = group, .ops = ops, .allowed = allowed, .direction = -1};
}

static void deactivate(themis_collective_relaxed_t *relaxed)
{
    relaxed->active = 0;
    relaxed->remaining = 0;
}

void themis_collective_relaxed_allow(themis_collective_relaxed_t *relaxed, int allowed)
{
    relaxed->allowed = allowed;
    deactivate(relaxed);
}

int themis_collective_relaxed_is_allowed(const themis_collective_relaxed_t *relaxed)
{
    return relaxed->allowed;
}

int themis_collective_relaxed_applies(const themis_collective_relaxed_t *relaxed, themis_direction_t direction)
{
    return relaxed->active && relaxed->direction == (int)direction;
}

static void start_interval(themis_collective_relaxed_t *relaxed, unsigned length)
{
    relaxed->length = relaxed->remaining = length;
    relaxed->max_bytes = 0;
}

void themis_collective_relaxed_enter(themis_collective_relaxed_t *relaxed)
{
    if (!relaxed->allowed)
        return;
    relaxed->active = relaxed->dirty = 1;
    start_interval(relaxed, FIRST_INTERVAL);
}

themis_status_t themis_collective_relaxed_flush(const themis_collective_relaxed_t *relaxed)
{
    return relaxed->ops->flush ? relaxed->ops->flush(relaxed->ops->arg) : THEMIS_OK;
}

int themis_collective_relaxed_leave(themis_collective_relaxed_t *relaxed, themis_direction_t direction,
                                    themis_status_t *status)
{
    int turned = relaxed->direction != (int)direction;
    relaxed->direction = (int)direction;
    deactivate(relaxed);
    *status = THEMIS_OK;
    if (!relaxed->dirty)
        return 0;
    if (!turned)
        *status = themis_collective_relaxed_flush(relaxed);
    else
        relaxed->dirty = 0;
    return turned;
}

void themis_collective_relaxed_reset(themis_collective_relaxed_t *relaxed)
{
    deactivate(relaxed);
    relaxed->dirty = 0;
}

/* --- the consensus of an interval, and deferred errors --- */

int themis_collective_relaxed_poll(themis_collective_relaxed_t *relaxed)
{
    if (relaxed->state == THEMIS_COLLECTIVE_INTERVAL_UNDER_WAY &&
        themis_collective_consensus_test(&relaxed->consensus) == THEMIS_OK)
        relaxed->state = THEMIS_COLLECTIVE_INTERVAL_ENDED;
    return relaxed->state != THEMIS_COLLECTIVE_INTERVAL_UNDER_WAY;
}

void themis_collective_relaxed_wait(themis_collective_relaxed_t *relaxed)
{
    for (unsigned polls = 0; !themis_collective_relaxed_poll(relaxed);)
        themis_collective_backoff_wait(relaxed->group, &polls);
}

/* The result of the consensus that has ended, once; taken by all ranks at the same place in the order of calls. */
static themis_status_t take_result(themis_collective_relaxed_t *relaxed)
{
    const themis_collective_consensus_record_t *result = &relaxed->consensus.record;
    if (relaxed->state == THEMIS_COLLECTIVE_INTERVAL_NONE)
        return THEMIS_OK;
    relaxed->state = THEMIS_COLLECTIVE_INTERVAL_NONE;
    if (result->status != THEMIS_OK || result->max_bytes > THEMIS_COLLECTIVE_SMALL_ACCESS)
        deactivate(relaxed);
    return (themis_status_t)result->status;
}

void themis_collective_relaxed_defer(themis_collective_relaxed_t *relaxed, themis_status_t status)
{
    relaxed->deferred = status < relaxed->deferred ? status : relaxed->deferred;
}

void themis_collective_relaxed_report(themis_collective_relaxed_t *relaxed,
                                      themis_collective_consensus_record_t *record)
{
    themis_collective_relaxed_defer(relaxed, take_result(relaxed));
    record->status = relaxed->deferred < record->status ? relaxed->deferred : record->status;
    relaxed->deferred = THEMIS_OK;
}

/* --- a call --- */

static themis_status_t run_alone(themis_collective_relaxed_t *relaxed, const themis_collective_access_t *access,
                                 uint64_t *done)
{
    if (relaxed->ops->run_cached && access->file->bytes <= THEMIS_COLLECTIVE_SMALL_ACCESS)
        return themis_collective_list_io_run_cached(relaxed->ops, access, done);
    themis_collective_list_io_t io;
    themis_status_t status = access->direction == THEMIS_WRITE ? themis_collective_relaxed_flush(relaxed) : THEMIS_OK;
    if (status == THEMIS_OK)
        status = themis_collective_list_io_start(relaxed->ops, access, &io);
    return status == THEMIS_OK ? themis_collective_list_io_wait(&io, done) : status;
}

/* Collects the consensus of the interval before and, if the mode goes on, starts one for this interval and begins the
 * next. */
static themis_status_t end_interval(themis_collective_relaxed_t *relaxed)
{
    themis_collective_relaxed_wait(relaxed);
    themis_status_t result = take_result(relaxed);
    if (!relaxed->active)
        return result;
    themis_collective_consensus_record_t record = THEMIS_COLLECTIVE_STATUS_RECORD(THEMIS_OK);
    record.max_bytes = relaxed->max_bytes;
    themis_collective_relaxed_report(relaxed, &record);
    themis_collective_consensus_start(relaxed->group, &record, &relaxed->consensus);
    relaxed->state = THEMIS_COLLECTIVE_INTERVAL_UNDER_WAY;
    start_interval(relaxed, relaxed->length < MAX_INTERVAL ? 2 * relaxed->length + 1 : relaxed->length);
    return result;
}

themis_status_t themis_collective_relaxed_run(themis_collective_relaxed_t *relaxed,
                                              const themis_collective_access_t *access, themis_status_t own,
                                              uint64_t *done)
{
    themis_status_t status = own == THEMIS_OK ? run_alone(relaxed, access, done) : own, before = THEMIS_OK;
    themis_collective_relaxed_defer(relaxed, status);
    if (own == THEMIS_OK && access->file->bytes > relaxed->max_bytes)
        relaxed->max_bytes = access->file->bytes;
    if (!relaxed->remaining) {
        before = end_interval(relaxed);
    } else {
        relaxed->remaining--;
        /* The others of a node wait for their leader, which has to look after the consensus. */
        if (!relaxed->group->local)
            themis_collective_relaxed_poll(relaxed);
    }
    return status != THEMIS_OK ? status : before;
}
