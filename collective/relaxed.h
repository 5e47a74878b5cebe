/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Relaxed mode: small collective calls that do not wait for each other, for files opened with themis_cache=on. After a
 * call in which no rank had more than THEMIS_COLLECTIVE_SMALL_ACCESS bytes, the following calls in the same direction
 * go as list I/O through the caches, without a message between ranks. At the end of an interval of so many calls all
 * ranks start a consensus, and they collect its result only at the end of the next interval, so that they need not run
 * in step.
 *
 * An error of a call is returned at once on the rank that met it and deferred for the others: the next consensus of
 * whatever kind reports it to all ranks.
 *
 * Invariants:
 * - allowed, active, dirty, direction, remaining and length are the same on all ranks at the same place in the order
 *   of calls: they change only by the calls themselves and by results of consensus. So all ranks decide alike, without
 *   a message, whether a call is relaxed.
 * - remaining > 0 implies active, and active implies dirty.
 * - At most one consensus is under way in a group: that of an interval has ended before any other starts.
 */
#ifndef THEMIS_COLLECTIVE_RELAXED_H
#define THEMIS_COLLECTIVE_RELAXED_H
#include "collective/access.h"
#include "collective/consensus.h"
#include "collective/file_ops.h"

typedef struct themis_collective_relaxed {
    themis_collective_group_t *group;        /* borrowed */
    const themis_collective_file_ops_t *ops; /* borrowed */
    int allowed;                             /* the file may enter the mode */
    int active;
    int dirty;                /* the caches of some rank may hold something */
    int direction;            /* of the last call that was not relaxed; -1 before the first */
    unsigned remaining;       /* calls of this interval before the one that ends it */
    unsigned length;          /* the same at its start */
    uint64_t max_bytes;       /* largest access of this rank in this interval */
    themis_status_t deferred; /* errors that the next consensus reports */
    enum {
        THEMIS_COLLECTIVE_INTERVAL_NONE,
        THEMIS_COLLECTIVE_INTERVAL_UNDER_WAY,
        THEMIS_COLLECTIVE_INTERVAL_ENDED
    } state;
    themis_collective_consensus_t consensus; /* of the interval before, in that state */
} themis_collective_relaxed_t;

void themis_collective_relaxed_init(themis_collective_relaxed_t *relaxed, themis_collective_group_t *group,
                                    const themis_collective_file_ops_t *ops, int allowed);
/* The same on all ranks: whether the mode may be entered. allow leaves it. */
void themis_collective_relaxed_allow(themis_collective_relaxed_t *relaxed, int allowed);
int themis_collective_relaxed_is_allowed(const themis_collective_relaxed_t *relaxed);

/* 1: the next call, of that direction, is relaxed. */
int themis_collective_relaxed_applies(const themis_collective_relaxed_t *relaxed, themis_direction_t direction);
/* One relaxed call. `own`: this rank's status so far; if not THEMIS_OK it does no I/O. The result is this rank's own,
 * or an error of an interval before. */
themis_status_t themis_collective_relaxed_run(themis_collective_relaxed_t *relaxed,
                                              const themis_collective_access_t *access, themis_status_t own,
                                              uint64_t *done);

/* All ranks, after a call in which none had much; if it is allowed. */
void themis_collective_relaxed_enter(themis_collective_relaxed_t *relaxed);
/*
 * Before a call that is not relaxed. 1: the direction has changed, and the caches may hold what the call is to see, so
 * all ranks have to flush and to learn that all have; the caller does both. 0: this rank's own caches were flushed if
 * need be, *status being the result.
 */
int themis_collective_relaxed_leave(themis_collective_relaxed_t *relaxed, themis_direction_t direction,
                                    themis_status_t *status);
/* All ranks have flushed: leaves the mode, and nothing is cached. */
void themis_collective_relaxed_reset(themis_collective_relaxed_t *relaxed);
/* Local: flushes this rank's caches. */
themis_status_t themis_collective_relaxed_flush(const themis_collective_relaxed_t *relaxed);

/* Never blocks: 1 when no consensus of an interval is under way. Another consensus may start then. */
int themis_collective_relaxed_poll(themis_collective_relaxed_t *relaxed);
/* Blocks until then. */
void themis_collective_relaxed_wait(themis_collective_relaxed_t *relaxed);
/* Leaves an error to the next consensus; THEMIS_OK is none. */
void themis_collective_relaxed_defer(themis_collective_relaxed_t *relaxed, themis_status_t status);
/* Adds the result of the interval before and deferred errors to the record of a consensus that is about to start; poll
 * has returned 1. */
void themis_collective_relaxed_report(themis_collective_relaxed_t *relaxed,
                                      themis_collective_consensus_record_t *record);
#endif
