/* SPDX-License-Identifier: BSD-3-Clause */
#include "collective/consensus.h"

enum { GATHERING, BETWEEN_NODES, WAITING };

void themis_collective_consensus_start(themis_collective_group_t *group,
                                       const themis_collective_consensus_record_t *record,
                                       themis_collective_consensus_t *consensus)
{
    themis_collective_shared_t *own = &group->shared[group->local];
    *consensus = (themis_collective_consensus_t){
        .group = group, .record = *record, .request = MPI_REQUEST_NULL, .stage = group->local ? WAITING : GATHERING};
    group->turn++;
    if (!group->local)
        return;
    own->record = *record;
    atomic_store_explicit(&own->turn, group->turn, memory_order_release);
}

static int has_come(const themis_collective_group_t *group, int local)
{
    return atomic_load_explicit(&group->shared[local].turn, memory_order_acquire) == group->turn;
}

static int node_has_come(const themis_collective_group_t *group)
{
    for (int i = 1; i < group->local_size; i++)
        if (!has_come(group, i))
            return 0;
    return 1;
}

/* The datatype is freed at once: a group is kept to the end of the program, and MPICH reports types that are left. */
static void reduce_between_nodes(themis_collective_consensus_t *consensus)
{
    const themis_collective_group_t *group = consensus->group;
    MPI_Datatype type;
    MPI_Type_contiguous(sizeof consensus->record, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    MPI_Iallreduce(MPI_IN_PLACE, &consensus->record, 1, type, group->combine, group->leaders, &consensus->request);
    MPI_Type_free(&type);
}

static themis_status_t leader_test(themis_collective_consensus_t *consensus)
{
    themis_collective_group_t *group = consensus->group;
    themis_collective_shared_t *answer = &group->shared[group->local_size];
    if (consensus->stage == GATHERING) {
        if (!node_has_come(group))
            return THEMIS_IN_PROGRESS;
        for (int i = 1; i < group->local_size; i++)
            themis_collective_consensus_record_combine(&consensus->record, &group->shared[i].record);
        consensus->stage = BETWEEN_NODES;
        if (group->nodes > 1)
            reduce_between_nodes(consensus);
    }
    if (!themis_collective_group_requests_done(&consensus->request, 1))
        return THEMIS_IN_PROGRESS;
    answer->record = consensus->record;
    atomic_store_explicit(&answer->turn, group->turn, memory_order_release);
    return THEMIS_OK;
}

themis_status_t themis_collective_consensus_test(themis_collective_consensus_t *consensus)
{
    const themis_collective_group_t *group = consensus->group;
    if (!group->local)
        return leader_test(consensus);
    if (!has_come(group, group->local_size))
        return THEMIS_IN_PROGRESS;
    consensus->record = group->shared[group->local_size].record;
    return THEMIS_OK;
}
