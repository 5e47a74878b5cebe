/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The processes that have a file open: which node each is on, who leads its node, and the memory that the ranks of a
 * node share. Opens get theirs from group_cache.h.
 */
#pragma once
#include <mpi.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include "collective/consensus_record.h"
#include "themis/status.h"

/* Tags of messages on a group's private communicator. PROBE is never sent: waiting ranks probe for it. */
enum { THEMIS_COLLECTIVE_TAG_PROBE = 0, THEMIS_COLLECTIVE_TAG_LISTS = 1, THEMIS_COLLECTIVE_TAG_DATA = 2 };

/*
 * What one rank shows the others of its node in shared memory, by cache lines. The entry after the ranks' is the
 * node's: who has come to a consensus and its result, and the rounds of a shuffle whose messages have gone or come.
 */
typedef struct themis_collective_shared {
    _Alignas(128) _Atomic uint64_t arrived;      /* the node's: records contributed since the group was made */
    _Alignas(128) _Atomic uint64_t turn;         /* the node's: number of the consensus whose result is there */
    themis_collective_consensus_record_t record; /* contributed, or the result */
    _Alignas(128) _Atomic uint64_t sized;        /* rounds of the shuffle whose sizes are in the table */
    _Atomic uint64_t moved; /* rounds whose bytes this rank has put into, or taken from, the staging */
} themis_collective_shared_t;

typedef struct themis_collective_group {
    MPI_Comm comm;    /* private duplicate */
    MPI_Comm node;    /* the ranks of this node; rank 0 is the leader */
    MPI_Comm leaders; /* leaders in the order of nodes; MPI_COMM_NULL on others */
    int rank, size;
    int local, local_size; /* rank and size in `node` */
    int leader;            /* rank in `comm` of the node's leader */
    int fake_nodes;        /* as the group was made with */
    uint32_t node_index, nodes;
    int crowded;    /* 1: the ranks of the host outnumber the processors that they may run on */
    MPI_Op combine; /* of consensus records */
    MPI_Win window;
    themis_collective_shared_t *shared; /* [local_size + 1] in shared memory */
    uint64_t turn;                      /* consensuses begun */
    uint64_t rounds;      /* of shuffles before the present one; the counters in shared memory never go back */
    char *staging;        /* shared by the node, staging_bytes; NULL if none was asked for */
    size_t staging_bytes; /* as the group was made with */
    struct themis_collective_node_info *node_info; /* NULL on all ranks until a file needs candidates; kept */
    struct themis_collective_group *next;          /* group_cache.c: the next one that waits for an open */
    int64_t id; /* group_cache.c: the same on all ranks; larger for groups made later */
} themis_collective_group_t;

/*
 * Fills in a zeroed group for the ranks of `comm`. Collective. After a failure only destroy is left to do. fake_nodes >
 * 0: pretend that the ranks of a host are on that many nodes, in blocks of ranks (for tests). staging_bytes: memory
 * that the ranks of a node share; pages are taken on first use. Both are the same on all ranks.
 */
themis_status_t themis_collective_group_create(MPI_Comm comm, int fake_nodes, size_t staging_bytes,
                                               themis_collective_group_t *group);
/* Collective; frees the group itself too. */
void themis_collective_group_destroy(themis_collective_group_t *group);

/* Collective, blocking: the worst status of any rank. */
themis_status_t themis_collective_group_worst_status(const themis_collective_group_t *group, themis_status_t own);

/*
 * The staging holds two tables of sizes (local_size x domains, row-major) and then the bytes of two rounds. Bytes of
 * one table, rounded to pages, and of one round.
 */
uint64_t themis_collective_group_table_bytes(const themis_collective_group_t *group, uint32_t domains);
uint64_t themis_collective_group_round_bytes(const themis_collective_group_t *group, uint32_t domains);

/* Never blocks: 1 when all requests have ended; those that have become MPI_REQUEST_NULL. */
int themis_collective_group_requests_done(MPI_Request *requests, int count);
