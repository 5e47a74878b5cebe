/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The processes of one open file: which node each is on, who leads its node, and the memory that the ranks of a node
 * share. Made once per open, by all ranks of the communicator together.
 */
#ifndef THEMIS_COLLECTIVE_GROUP_H
#define THEMIS_COLLECTIVE_GROUP_H
#include <mpi.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include "collective/node_info.h"
#include "themis/status.h"

/* What the ranks of a collective call tell each other; combined as each field says. */
typedef struct themis_collective_vote {
    int64_t status;   /* least: themis_status_t, so the same error wins on all ranks */
    uint64_t first;   /* least: first byte accessed; UINT64_MAX for a rank without bytes */
    uint64_t end;     /* most: byte behind the last */
    uint64_t bytes;   /* sum */
    uint64_t most;    /* most: bytes of one rank */
    uint64_t pieces;  /* sum */
    uint64_t pattern; /* sum: shape and place of each rank's access (twophase.c) */
    uint64_t weight;  /* sum: what the place of each rank was multiplied with */
    uint64_t flags;   /* or */
} themis_collective_vote_t;

/* The vote of one who has nothing to say. */
#define THEMIS_COLLECTIVE_VOTE_NONE ((themis_collective_vote_t){.first = UINT64_MAX})

/* One cache line's worth of a rank, written by it and read by its leader (the result: the other way round). */
typedef struct themis_collective_slot {
    _Alignas(128) _Atomic uint64_t turn; /* number of the agreement whose vote is there */
    themis_collective_vote_t vote;
    _Alignas(128) _Atomic uint64_t sized; /* of the exchange: rounds whose sizes are in the table */
    _Atomic uint64_t moved;               /* rounds whose bytes this rank has put into, or taken from, the staging */
} themis_collective_slot_t;

typedef struct themis_collective_group {
    struct themis_collective_group *next; /* among those that are kept (pool.c) */
    int64_t id;                           /* the same on all ranks; larger for later ones */
    int fake_nodes;
    MPI_Comm comm;    /* private duplicate */
    MPI_Comm node;    /* the ranks of this node; rank 0 is the leader */
    MPI_Comm leaders; /* leaders in the order of nodes; MPI_COMM_NULL on others */
    int rank, size;
    int local, local_size; /* rank and size in `node` */
    uint32_t node_index, nodes;
    themis_collective_census_t *census; /* NULL on all ranks until a file wants aggregators */
    MPI_Op combine;                     /* of votes */
    MPI_Win window;
    themis_collective_slot_t *slot; /* [local_size + 1] in shared memory; the last one is the leader's answer */
    uint64_t turn;                  /* agreements begun */
    uint64_t rounds;                /* of exchanges before the present one; the counters in the slots never go back */
    char *staging;                  /* shared by the node, staging_bytes; NULL if none was asked for */
    size_t staging_bytes;
} themis_collective_group_t;

/*
 * A group for the ranks of `comm`, for one open file at a time. Making one takes a dozen collective calls, so a
 * released group is kept and serves the next open of the same ranks, which then takes one. Collective. `own`: this
 * rank's status so far; all ranks get the least of them. fake_nodes > 0: pretend that the ranks of a host are on that
 * many nodes (for tests), dealt out in blocks. staging_bytes: memory that the ranks of a node share; pages are taken on
 * first use. Both are the same on all ranks.
 */
themis_status_t themis_collective_group_acquire(MPI_Comm comm, int fake_nodes, size_t staging_bytes,
                                                themis_status_t own, themis_collective_group_t **group);
/* Does not communicate, unless too many are kept already. NULL is allowed. All ranks of a group release it. */
void themis_collective_group_release(themis_collective_group_t *group);

/*
 * Agreement: every rank starts it with its vote, and all get the same result. Within a node through shared memory,
 * between leaders by MPI. One agreement at a time, in the same order on all ranks. test never blocks; it returns
 * THEMIS_IN_PROGRESS or THEMIS_OK, which is about the agreement itself: result->status is what was agreed on.
 */
typedef struct themis_collective_agreement {
    themis_collective_group_t *group;
    themis_collective_vote_t vote;
    MPI_Request request;
    int stage;
} themis_collective_agreement_t;
void themis_collective_agree_start(themis_collective_group_t *group, const themis_collective_vote_t *vote,
                                   themis_collective_agreement_t *agreement);
themis_status_t themis_collective_agree_test(themis_collective_agreement_t *agreement,
                                             themis_collective_vote_t *result);

void themis_collective_vote_combine(themis_collective_vote_t *into, const themis_collective_vote_t *from);

/* 1 when all requests have ended; those that have become MPI_REQUEST_NULL. */
int themis_collective_all_done(MPI_Request *requests, int count);

/*
 * For loops that wait for others: the first rounds spin, then it yields the processor, then it sleeps, first for some
 * microseconds, in the end for a millisecond, and now and then it lets MPI progress. *round starts at 0. moved: a part
 * of what is waited for has come; sleeps are short again.
 */
void themis_collective_relax(themis_collective_group_t *group, unsigned *round);
void themis_collective_moved(unsigned *round);
#endif
