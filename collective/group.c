/* SPDX-License-Identifier: BSD-3-Clause */
#include "collective/group.h"
#include "collective/group_cache.h"
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void themis_collective_vote_combine(themis_collective_vote_t *into, const themis_collective_vote_t *from)
{
    into->status = from->status < into->status ? from->status : into->status;
    into->first = from->first < into->first ? from->first : into->first;
    into->end = from->end > into->end ? from->end : into->end;
    into->bytes += from->bytes;
    into->most = from->most > into->most ? from->most : into->most;
    into->pieces += from->pieces;
    into->pattern += from->pattern;
    into->weight += from->weight;
    into->flags |= from->flags;
}

static void combine_op(void *in, void *inout, int *length, MPI_Datatype *type)
{
    themis_collective_vote_t *from = in, *into = inout;
    for (int i = 0; i < *length; i++)
        themis_collective_vote_combine(&into[i], &from[i]);
}

/* The ranks of this host, or of the pretended node. */
static int split_nodes(themis_collective_group_t *group, int fake_nodes)
{
    MPI_Comm host;
    if (MPI_Comm_split_type(group->comm, MPI_COMM_TYPE_SHARED, group->rank, MPI_INFO_NULL, &host) != MPI_SUCCESS)
        return 0;
    int local, size;
    MPI_Comm_rank(host, &local);
    MPI_Comm_size(host, &size);
    int parts = fake_nodes < 1 ? 1 : fake_nodes < size ? fake_nodes : size;
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
    uint32_t number[2] = {0, 0};
    if (group->leaders != MPI_COMM_NULL) {
        int index, count;
        MPI_Comm_rank(group->leaders, &index);
        MPI_Comm_size(group->leaders, &count);
        number[0] = (uint32_t)index;
        number[1] = (uint32_t)count;
    }
    if (MPI_Bcast(number, 2, MPI_UINT32_T, 0, group->node) != MPI_SUCCESS)
        return 0;
    group->node_index = number[0];
    group->nodes = number[1];
    return 1;
}

static int share_memory(themis_collective_group_t *group, size_t staging_bytes)
{
    size_t slots = ((size_t)group->local_size + 1) * sizeof(themis_collective_slot_t);
    size_t total = slots + staging_bytes + 4096;
    MPI_Aint bytes;
    int unit;
    char *base;
    if (MPI_Win_allocate_shared(group->local ? 0 : (MPI_Aint)total, 1, MPI_INFO_NULL, group->node, &base,
                                &group->window) != MPI_SUCCESS)
        return 0;
    MPI_Win_shared_query(group->window, 0, &bytes, &unit, &base);
    /* Cache lines are the same for all ranks only if the distance from the start of the shared pages is. */
    base += (4096 - ((uintptr_t)base & 4095)) & 4095;
    group->slot = (themis_collective_slot_t *)base;
    group->staging = staging_bytes ? base + slots : NULL;
    group->staging_bytes = staging_bytes;
    if (!group->local)
        memset(group->slot, 0, slots);
    return MPI_Barrier(group->node) == MPI_SUCCESS;
}

themis_status_t themis_collective_group_create(MPI_Comm comm, int fake_nodes, size_t staging_bytes,
                                               themis_collective_group_t *group)
{
    group->node = group->leaders = MPI_COMM_NULL;
    group->window = MPI_WIN_NULL;
    group->fake_nodes = fake_nodes;
    if (MPI_Comm_dup(comm, &group->comm) != MPI_SUCCESS)
        return THEMIS_INTERNAL;
    MPI_Comm_set_errhandler(group->comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(group->comm, &group->rank);
    MPI_Comm_size(group->comm, &group->size);
    MPI_Op_create(combine_op, 1, &group->combine);
    return split_nodes(group, fake_nodes) && number_nodes(group) && share_memory(group, staging_bytes)
               ? THEMIS_OK
               : THEMIS_NO_MEMORY;
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
    themis_collective_census_destroy(group->census);
    free(group);
}

enum { GATHERING, BETWEEN_NODES, WAITING };

static themis_collective_slot_t *answer(const themis_collective_group_t *group)
{
    return &group->slot[group->local_size];
}

void themis_collective_agree_start(themis_collective_group_t *group, const themis_collective_vote_t *vote,
                                   themis_collective_agreement_t *agreement)
{
    *agreement = (themis_collective_agreement_t){.group = group, .vote = *vote, .request = MPI_REQUEST_NULL};
    group->turn++;
    agreement->stage = group->local ? WAITING : GATHERING;
    if (!group->local)
        return;
    group->slot[group->local].vote = *vote;
    atomic_store_explicit(&group->slot[group->local].turn, group->turn, memory_order_release);
}

static int all_voted(const themis_collective_group_t *group)
{
    for (int i = 1; i < group->local_size; i++)
        if (atomic_load_explicit(&group->slot[i].turn, memory_order_acquire) != group->turn)
            return 0;
    return 1;
}

static void publish(themis_collective_agreement_t *agreement)
{
    themis_collective_slot_t *slot = answer(agreement->group);
    slot->vote = agreement->vote;
    atomic_store_explicit(&slot->turn, agreement->group->turn, memory_order_release);
}

/* The type lives for the call only: a group is kept to the end, where MPICH complains of types that are left. */
static void between_nodes(themis_collective_agreement_t *agreement)
{
    const themis_collective_group_t *group = agreement->group;
    MPI_Datatype type;
    MPI_Type_contiguous(sizeof agreement->vote, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_Iallreduce(MPI_IN_PLACE, &agreement->vote, 1, type, group->combine, group->leaders, &agreement->request);
    MPI_Type_free(&type);
}

static themis_status_t leader_test(themis_collective_agreement_t *agreement)
{
    themis_collective_group_t *group = agreement->group;
    if (agreement->stage == GATHERING) {
        if (!all_voted(group))
            return THEMIS_IN_PROGRESS;
        for (int i = 1; i < group->local_size; i++)
            themis_collective_vote_combine(&agreement->vote, &group->slot[i].vote);
        agreement->stage = BETWEEN_NODES;
        if (group->nodes > 1)
            between_nodes(agreement);
    }
    int done = 1;
    if (group->nodes > 1)
        MPI_Test(&agreement->request, &done, MPI_STATUS_IGNORE);
    if (!done)
        return THEMIS_IN_PROGRESS;
    publish(agreement);
    return THEMIS_OK;
}

themis_status_t themis_collective_agree_test(themis_collective_agreement_t *agreement, themis_collective_vote_t *result)
{
    themis_collective_group_t *group = agreement->group;
    if (!group->local) {
        if (leader_test(agreement) != THEMIS_OK)
            return THEMIS_IN_PROGRESS;
        *result = agreement->vote;
        return THEMIS_OK;
    }
    if (atomic_load_explicit(&answer(group)->turn, memory_order_acquire) != group->turn)
        return THEMIS_IN_PROGRESS;
    *result = answer(group)->vote;
    return THEMIS_OK;
}

int themis_collective_all_done(MPI_Request *requests, int count)
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

/*
 * Rounds of waiting: below SPIN without a system call, below YIELD giving the processor away, then asleep, each time
 * for a sixteenth longer, so for about a sixteenth of what has been waited. A long wait is one for the network or for
 * servers; where ranks outnumber the processors, those that poll take them away from those that move the bytes.
 */
enum { SPIN = 300, YIELD = 500, MPI_EVERY = 64, NAP_LEAST_NS = 20000, NAP_MOST_NS = 1000000 };

static void nap(unsigned naps)
{
    struct timespec time = {0, NAP_LEAST_NS};
    while (naps-- && time.tv_nsec < NAP_MOST_NS)
        time.tv_nsec += time.tv_nsec / 16;
    nanosleep(&time, NULL);
}

void themis_collective_moved(unsigned *round)
{
    if (*round > YIELD)
        *round = YIELD;
}

void themis_collective_relax(themis_collective_group_t *group, unsigned *round)
{
    unsigned now = (*round)++;
    if (now % MPI_EVERY == MPI_EVERY - 1 || now > YIELD) {
        /* A rank that waits here may be the one whose progress another rank's message needs. */
        int flag;
        MPI_Iprobe(MPI_ANY_SOURCE, 0, group->comm, &flag, MPI_STATUS_IGNORE);
    }
    if (now < SPIN) {
        atomic_signal_fence(memory_order_seq_cst);
    } else if (now < YIELD) {
        sched_yield();
    } else {
        nap(now - YIELD);
    }
}
