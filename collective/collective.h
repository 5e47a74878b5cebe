/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collective reads and writes of one open file. All ranks of the communicator make the same calls in the same order,
 * blocking and non-blocking ones mixed; each call ends with the same status on all ranks.
 *
 * A call goes one of two ways. List I/O (list_io.h): each rank sends its own list to the servers. Two-phase I/O
 * (twophase.h): through the aggregators of file domains, which exchange the bytes with the ranks by the shuffle of
 * shuffle.h. All ranks reach a consensus before the I/O and another one after it, so that a call has ended for no rank
 * while the bytes of another are under way, and calls take effect in their order, non-blocking ones too.
 *
 * Not thread-safe; the driver holds ROMIO's lock. Nothing here blocks for other ranks but create, destroy, wait, run,
 * decline and sync.
 */
#pragma once
#include <mpi.h>
#include "collective/access.h"
#include "collective/file_ops.h"
#include "collective/info.h"
#include "collective/options.h"

typedef struct themis_collective themis_collective_t;
typedef struct themis_collective_operation themis_collective_operation_t;

/*
 * Collective. The options are copied, their texts and `ops` are borrowed until destroy. A rank that has no memory to
 * describe its file takes part with NULL for both; all ranks get the same status.
 */
themis_status_t themis_collective_create(MPI_Comm comm, const themis_collective_options_t *options,
                                         const themis_collective_file_ops_t *ops, themis_collective_t **coll);
/* Collective; no call may be under way. NULL is allowed. */
void themis_collective_destroy(themis_collective_t *coll);

/*
 * Begins a call. `own`: THEMIS_OK, or why this rank cannot take part, in which case its access counts as empty and all
 * ranks get that error. The access is copied, but what it points to stays until the end. NULL when there is no memory
 * for the operation; nothing was begun then, and this rank must call decline with that status instead, so that the
 * others learn of it.
 */
themis_collective_operation_t *themis_collective_start(themis_collective_t *coll,
                                                       const themis_collective_access_t *access, themis_status_t own);
/* THEMIS_IN_PROGRESS, or the result, and the operation is gone. *done: bytes of this rank, with THEMIS_OK. Makes
 * progress on all calls of the file. */
themis_status_t themis_collective_test(themis_collective_operation_t *op, uint64_t *done);
themis_status_t themis_collective_wait(themis_collective_operation_t *op, uint64_t *done);
/* The part of a rank that cannot begin a non-blocking call of the others, `own` telling why; waits for its end, and
 * returns the error that all ranks get. */
themis_status_t themis_collective_decline(themis_collective_t *coll, const themis_collective_access_t *access,
                                          themis_status_t own);

/* A blocking call. */
themis_status_t themis_collective_run(themis_collective_t *coll, const themis_collective_access_t *access,
                                      themis_status_t own, uint64_t *done);

/* Collective: ends the calls under way. `own`: this rank's status so far; the worst of all ranks is returned by all. */
themis_status_t themis_collective_sync(themis_collective_t *coll, themis_status_t own);

/* What the last call did. */
void themis_collective_info(const themis_collective_t *coll, themis_collective_info_t *info);
