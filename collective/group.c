/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "collective/group.h"
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096 };

static void combine_records(void *in, void *inout, int *length, MPI_Datatype *type)
{
    themis_collective_consensus_record_t *from = in, *into = inout;
    for (int i = 0; i < *length; i++)
        themis_collective_consensus_record_combine(&into[i], &from[i]);
}

/* Ranks that are bound each have a processor of their own, the others share theirs. */
static int is_crowded(MPI_Comm host, int size)
{
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    sched_getaffinity(0, sizeof allowed, &allowed); /* after a failure none is known, which counts as too few */
    MPI_Allreduce(MPI_IN_PLACE, &allowed, sizeof allowed / sizeof(unsigned long), MPI_UNSIGNED_LONG, MPI_BOR, host);
    return CPU_COUNT(&allowed) < size;
}

/* The ranks of this host, or of the pretended node. */
static int split_nodes(themis_collective_group_t *group)
{
    MPI_Comm host;
    if (MPI_Comm_split_type(group->comm, MPI_COMM_TYPE_SHARED, group->rank, MPI_INFO_NULL, &host) != MPI_SUCCESS)
        return 0;
    int local, size;
    MPI_Comm_rank(host, &local);
    MPI_Comm_size(host, &size);
    group->crowded = is_crowded(host, size);
    int parts = group->fake_nodes < 1 ? 1 : group->fake_nodes < size ? group->fake_nodes : size;
    int done = MPI_Comm_split(host, (int)((int64_t)local * parts / size), local, &group->node) == MPI_SUCCESS;
    MPI_Comm_free(&host);
    if (!done)
        return 0;
    MPI_Comm_rank(group->node, &group->local);
    MPI_Comm_size(group->node, &group->local_size);
    return MPI_Comm_split(group->comm, group->local ? MPI_UNDEFINED : 0, group->rank, &group->leaders) == MPI_SUCCESS;
}

/* Nodes are numbered in the order of their leaders' ranks; rank 0 leads node 0. */
static int number_nodes(themis_collective_group_t *group)
{
    int number[3] = {0, 0, group->rank};
    if (group->leaders != MPI_COMM_NULL) {
        MPI_Comm_rank(group->leaders, &number[0]);
        MPI_Comm_size(group->leaders, &number[1]);
    }
    if (MPI_Bcast(number, 3, MPI_INT, 0, group->node) != MPI_SUCCESS)
        return 0;
    group->node_index = (uint32_t)number[0];
    group->nodes = (uint32_t)number[1];
    group->leader = number[2];
    return 1;
}

static int share_memory(themis_collective_group_t *group)
{
    size_t shared_bytes = ((size_t)group->local_size + 1) * sizeof(themis_collective_shared_t);
    size_t total = shared_bytes + group->staging_bytes + PAGE;
    MPI_Aint bytes;
    int unit;
    char *base;
    if (MPI_Win_allocate_shared(group->local ? 0 : (MPI_Aint)total, 1, MPI_INFO_NULL, group->node, &base,
                                &group->window) != MPI_SUCCESS)
        return 0;
    MPI_Win_shared_query(group->window, 0, &bytes, &unit, &base);
    /* Cache lines are the same for all ranks only if the distance from the start of the shared pages is. */
    base += (PAGE - ((uintptr_t)base & (PAGE - 1))) & (PAGE - 1);
    group->shared = (themis_collective_shared_t *)base;
    group->staging = group->staging_bytes ? base + shared_bytes : NULL;
    if (!group->local)
        memset(group->shared, 0, shared_bytes);
    return MPI_Barrier(group->node) == MPI_SUCCESS;
}

themis_status_t themis_collective_group_create(MPI_Comm comm, int fake_nodes, size_t staging_bytes,
                                               themis_collective_group_t *group)
{
    group->node = group->leaders = MPI_COMM_NULL;
    group->window = MPI_WIN_NULL;
    group->fake_nodes = fake_nodes;
    group->staging_bytes = staging_bytes;
    if (MPI_Comm_dup(comm, &group->comm) != MPI_SUCCESS)
        return THEMIS_INTERNAL;
    MPI_Comm_set_errhandler(group->comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(group->comm, &group->rank);
    MPI_Comm_size(group->comm, &group->size);
    MPI_Op_create(combine_records, 1, &group->combine);
    return split_nodes(group) && number_nodes(group) && share_memory(group) ? THEMIS_OK : THEMIS_NO_MEMORY;
}

void themis_collective_group_destroy(themis_collective_group_t *group)
{
    if (group->window != MPI_WIN_NULL)
        MPI_Win_free(&group->window);
    if (group->leaders != MPI_COMM_NULL)
        MPI_Comm_free(&group->leaders);
    if (group->node != MPI_COMM_NULL)
        MPI_Comm_free(&group->node);
    MPI_Op_free(&group->combine);
    MPI_Comm_free(&group->comm);
    free(group);
}

themis_status_t themis_collective_group_worst_status(const themis_collective_group_t *group, themis_status_t own)
{
    int mine = own, worst = THEMIS_INTERNAL;
    MPI_Allreduce(&mine, &worst, 1, MPI_INT, MPI_MIN, group->comm);
    return (themis_status_t)worst;
}

uint64_t themis_collective_group_table_bytes(const themis_collective_group_t *group, uint32_t domains)
{
    return ((uint64_t)group->local_size * domains * sizeof(uint64_t) + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

uint64_t themis_collective_group_round_bytes(const themis_collective_group_t *group, uint32_t domains)
{
    uint64_t tables = 2 * themis_collective_group_table_bytes(group, domains);
    return group->staging_bytes > tables ? (group->staging_bytes - tables) / 2 & ~(uint64_t)(PAGE - 1) : 0;
}

int themis_collective_group_requests_done(MPI_Request *requests, int count)
{
    for (int i = 0; i < count; i++) {
        int done = 1;
        if (requests[i] != MPI_REQUEST_NULL)
            MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE);
        if (!done)
            return 0;
    }
    return 1;
}
