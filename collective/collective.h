/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collective reads and writes of one open file. All ranks of the communicator make the same calls in the same order,
 * blocking and non-blocking ones mixed; each call ends with the same status on all ranks.
 *
 * A call goes one of two ways. list: each rank sends its own list to the servers. twophase: the file domains of
 * aggregation/ and the exchange of exchange.h. In between all ranks agree, once before (but for non-blocking calls
 * whose way is clear from the start) and once after, so that a call has ended for no rank while the bytes of another
 * are on their way. With a cache, small calls in a row that go as lists are agreed on once in a while only (streak.c):
 * the direction, size limit and number of calls alone decide when, so all ranks take the same decision without a
 * message.
 *
 * Not thread-safe; the driver holds ROMIO's lock. Nothing here blocks for other ranks but create, destroy, wait, run,
 * decline and sync.
 */
#ifndef THEMIS_COLLECTIVE_COLLECTIVE_H
#define THEMIS_COLLECTIVE_COLLECTIVE_H
#include <mpi.h>
#include "collective/options.h"
#include "collective/shuffle.h"
#include "collective/file_ops.h"

typedef struct themis_collective themis_collective_t;
typedef struct themis_collective_operation themis_collective_operation_t;

/*
 * Collective. Config is copied, its texts and the sink are borrowed until destroy. A rank that has no memory to
 * describe its file takes part with NULL for both; all ranks get the same status.
 */
themis_status_t themis_collective_create(MPI_Comm comm, const themis_collective_options_t *config,
                                         const themis_collective_file_ops_t *sink, themis_collective_t **coll);
/* Collective; no call may be under way. NULL is allowed. */
void themis_collective_destroy(themis_collective_t *coll);

/*
 * Begins a call. `own` is what this rank has to say before it starts: THEMIS_OK, or why it cannot take part, in which
 * case its access counts as empty and all ranks get that error. The access and what it points to stay until the end.
 * NULL when there is no memory for the call itself; nothing was begun then, and this rank must call decline with that
 * status instead, so that the others learn of it.
 */
themis_collective_operation_t *themis_collective_start(themis_collective_t *coll,
                                                       const themis_collective_access_t *access, themis_status_t own);
/* THEMIS_IN_PROGRESS, or the result, and the op is gone. *done: bytes of this rank. Makes all calls of the file go on.
 */
themis_status_t themis_collective_test(themis_collective_operation_t *op, uint64_t *done);
themis_status_t themis_collective_wait(themis_collective_operation_t *op, uint64_t *done);
/* The part of a rank that cannot begin a non-blocking call of the others, `own` telling why; waits for its end, and
 * gives the error that all ranks get. */
themis_status_t themis_collective_decline(themis_collective_t *coll, const themis_collective_access_t *access,
                                          themis_status_t own);

/* A blocking call. */
themis_status_t themis_collective_run(themis_collective_t *coll, const themis_collective_access_t *access,
                                      themis_status_t own, uint64_t *done);

/* Collective: ends calls under way and what is cached; the first failure since, agreed on by all ranks. */
themis_status_t themis_collective_sync(themis_collective_t *coll, themis_status_t own);
/* Local: as far as this rank is concerned, before an independent access. */
themis_status_t themis_collective_flush(themis_collective_t *coll);
/* Local, but the same on all ranks: 0 in atomic mode, when nothing may be kept between calls. */
void themis_collective_allow_cache(themis_collective_t *coll, int allowed);

/* What the last call did, for MPI_File_get_info. aggregator is borrowed until the next call. */
typedef struct themis_collective_info {
    themis_collective_mode_t mode; /* of the last call; AUTO when there was none */
    themis_aggregation_method_t method;
    themis_aggregation_placement_t placement;
    uint32_t aggregators;
    const uint32_t *aggregator;                  /* [aggregators] ranks; NULL before the first two-phase call */
    uint32_t requested;                          /* aggregators before the method adjusted them to what it can use */
    uint32_t possible;                           /* that the configuration allows; 0 where no call can need them */
    themis_collective_cost_t cost, default_cost; /* of the plan, and of the default placement */
    uint64_t moved_bytes;                        /* that leave their node in the exchange */
    uint64_t plans_made, plans_reused;
    const char *topology; /* where the distances come from (topology.h); NULL where no call can need them */
} themis_collective_info_t;
void themis_collective_info(const themis_collective_t *coll, themis_collective_info_t *info);
#endif
