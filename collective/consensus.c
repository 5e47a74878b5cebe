/* SPDX-License-Identifier: BSD-3-Clause */
#include "collective/consensus.h"

enum { GATHERING, BETWEEN_NODES, WAITING };

static themis_collective_shared_t *node_entry(const themis_collective_group_t *group)
{
    return &group->shared[group->local_size];
}

static int node_has_come(const themis_collective_group_t *group, uint64_t arrived)
{
    return arrived == group->turn * (uint64_t)group->local_size;
}

static void combine_node(const themis_collective_group_t *group, themis_collective_consensus_record_t *record)
{
    *record = group->shared[0].record;
    for (int i = 1; i < group->local_size; i++)
        themis_collective_consensus_record_combine(record, &group->shared[i].record);
}

static void publish(const themis_collective_group_t *group, const themis_collective_consensus_record_t *record)
{
    themis_collective_shared_t *node = node_entry(group);
    node->record = *record;
    atomic_store_explicit(&node->turn, group->turn, memory_order_release);
}

/*
 * On one node, whoever comes last combines: nobody then waits for a leader that has yet to get a processor. All have
 * taken the result of the consensus before when the last one comes.
 */
void themis_collective_consensus_start(themis_collective_group_t *group,
                                       const themis_collective_consensus_record_t *record,
                                       themis_collective_consensus_t *consensus)
{
    *consensus = (themis_collective_consensus_t){
        .group = group, .request = MPI_REQUEST_NULL, .stage = group->nodes > 1 && !group->local ? GATHERING : WAITING};
    group->turn++;
    group->shared[group->local].record = *record;
    uint64_t arrived = atomic_fetch_add_explicit(&node_entry(group)->arrived, 1, memory_order_acq_rel) + 1;
    if (group->nodes > 1 || !node_has_come(group, arrived))
        return;
    combine_node(group, &consensus->record);
    publish(group, &consensus->record);
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
    if (consensus->stage == GATHERING) {
        if (!node_has_come(group, atomic_load_explicit(&node_entry(group)->arrived, memory_order_acquire)))
            return THEMIS_IN_PROGRESS;
        combine_node(group, &consensus->record);
        consensus->stage = BETWEEN_NODES;
        reduce_between_nodes(consensus);
    }
    if (!themis_collective_group_requests_done(&consensus->request, 1))
        return THEMIS_IN_PROGRESS;
    publish(group, &consensus->record);
    return THEMIS_OK;
}

themis_status_t themis_collective_consensus_test(themis_collective_consensus_t *consensus)
{
    const themis_collective_group_t *group = consensus->group;
    if (consensus->stage != WAITING)
        return leader_test(consensus);
    if (atomic_load_explicit(&node_entry(group)->turn, memory_order_acquire) != group->turn)
        return THEMIS_IN_PROGRESS;
    consensus->record = node_entry(group)->record;
    return THEMIS_OK;
}
