/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters in the node's shared memory order the roles: `sized` and `moved` of each rank, and in the leader's answer
 * `moved` counts the rounds whose bytes have left for (write) or come from (read) the aggregators. They go on from call
 * to call. Round k uses table and staging number k mod 2, so nothing may begin round k before everyone concerned has
 * finished round k - 2.
 */
#include "collective/shuffle.h"
#include <stdlib.h>
#include "collective/domain_extents.h"

struct themis_collective_shuffle {
    themis_collective_shuffle_file_t *file;
    themis_collective_group_t *group;
    const themis_collective_call_plan_t *plan;
    themis_aggregation_domains_t domains;
    themis_collective_access_t access;
    int writes;
    themis_status_t status;
    uint64_t eof;
    uint64_t base; /* value of the counters before this call */
    uint64_t *own; /* [domains] bytes of this rank in all rounds */
    struct {
        uint64_t sized, moved;
    } member;
    struct {
        uint64_t posted, ended;
        MPI_Request *request[2]; /* [domains] */
        int pending[2];
    } leader;
    struct {
        uint64_t begun, turned, ended;
        MPI_Request *request[2]; /* [parts] */
    } aggregator;
};

void themis_collective_shuffle_file_free(themis_collective_shuffle_file_t *file)
{
    for (int i = 0; i < 2; i++) {
        themis_collective_buffer_free(&file->buffer[i]);
        free(file->messages[i]);
        file->messages[i] = NULL;
    }
    file->capacity = 0;
}

static themis_status_t prepare_buffers(themis_collective_shuffle_t *shuffle)
{
    themis_collective_shuffle_file_t *file = shuffle->file;
    uint64_t bytes = shuffle->plan->max_round_bytes;
    themis_status_t status = THEMIS_OK;
    for (int i = 0; i < 2 && status == THEMIS_OK; i++)
        status = themis_collective_buffer_prepare(&file->buffer[i], shuffle->plan, &shuffle->domains);
    if (status != THEMIS_OK || file->capacity >= bytes)
        return status;
    file->capacity = 0;
    for (int i = 0; i < 2; i++) {
        free(file->messages[i]);
        file->messages[i] = malloc(bytes);
    }
    if (!file->messages[0] || !file->messages[1])
        return THEMIS_NO_MEMORY;
    file->capacity = bytes;
    return THEMIS_OK;
}

static themis_status_t make_requests(size_t count, MPI_Request **request)
{
    for (int i = 0; i < 2; i++) {
        request[i] = malloc((count + 1) * sizeof(MPI_Request));
        if (!request[i])
            return THEMIS_NO_MEMORY;
        for (size_t j = 0; j < count; j++)
            request[i][j] = MPI_REQUEST_NULL;
    }
    return THEMIS_OK;
}

static int is_aggregator(const themis_collective_shuffle_t *shuffle)
{
    return shuffle->plan->mine != THEMIS_COLLECTIVE_NO_DOMAIN;
}

themis_status_t themis_collective_shuffle_create(themis_collective_shuffle_file_t *file,
                                                 const themis_collective_call_plan_t *plan, uint64_t first,
                                                 const themis_collective_access_t *access,
                                                 themis_collective_shuffle_t **result)
{
    themis_collective_shuffle_t *shuffle = calloc(1, sizeof *shuffle);
    if (!shuffle)
        return THEMIS_NO_MEMORY;
    shuffle->file = file;
    shuffle->group = file->group;
    shuffle->plan = plan;
    shuffle->domains = themis_collective_call_plan_move(plan, first);
    shuffle->access = *access;
    shuffle->writes = access->direction == THEMIS_WRITE;
    shuffle->eof = UINT64_MAX;
    shuffle->base = file->group->rounds;
    shuffle->own = calloc(plan->domains.count, sizeof *shuffle->own);
    themis_status_t status = shuffle->own ? THEMIS_OK : THEMIS_NO_MEMORY;
    if (status == THEMIS_OK && !file->group->local)
        status = make_requests(plan->domains.count, shuffle->leader.request);
    if (status == THEMIS_OK && is_aggregator(shuffle))
        status = make_requests(plan->parts, shuffle->aggregator.request);
    if (status == THEMIS_OK && is_aggregator(shuffle))
        status = prepare_buffers(shuffle);
    if (status != THEMIS_OK) {
        themis_collective_shuffle_destroy(shuffle);
        return status;
    }
    themis_collective_domain_count(access->file, &shuffle->domains, shuffle->own);
    *result = shuffle;
    return THEMIS_OK;
}

void themis_collective_shuffle_destroy(themis_collective_shuffle_t *shuffle)
{
    if (!shuffle)
        return;
    for (int i = 0; i < 2; i++) {
        free(shuffle->leader.request[i]);
        free(shuffle->aggregator.request[i]);
    }
    free(shuffle->own);
    free(shuffle);
}

/* --- what the ranks of a node share --- */

/* Bytes per domain of one rank in a round. */
static uint64_t *size_table(const themis_collective_shuffle_t *shuffle, uint64_t round, int local)
{
    uint32_t domains = shuffle->domains.count;
    uint64_t bytes = themis_collective_group_table_bytes(shuffle->group, domains);
    return (uint64_t *)(shuffle->group->staging + (round & 1) * bytes) + (size_t)local * domains;
}

static char *staging(const themis_collective_shuffle_t *shuffle, uint64_t round)
{
    uint32_t domains = shuffle->domains.count;
    return shuffle->group->staging + 2 * themis_collective_group_table_bytes(shuffle->group, domains) +
           (round & 1) * themis_collective_group_round_bytes(shuffle->group, domains);
}

typedef _Atomic uint64_t counter_t;

static int has_reached(const themis_collective_shuffle_t *shuffle, counter_t *counter, uint64_t rounds)
{
    uint64_t value = atomic_load_explicit(counter, memory_order_acquire);
    return (value > shuffle->base ? value - shuffle->base : 0) >= rounds;
}

static void set_counter(const themis_collective_shuffle_t *shuffle, counter_t *counter, uint64_t rounds)
{
    atomic_store_explicit(counter, shuffle->base + rounds, memory_order_release);
}

static counter_t *leader_moved(const themis_collective_shuffle_t *shuffle)
{
    return &shuffle->group->shared[shuffle->group->local_size].moved;
}

static int all_sized(const themis_collective_shuffle_t *shuffle, uint64_t rounds)
{
    for (int i = 0; i < shuffle->group->local_size; i++)
        if (!has_reached(shuffle, &shuffle->group->shared[i].sized, rounds))
            return 0;
    return 1;
}

static int all_moved(const themis_collective_shuffle_t *shuffle, uint64_t rounds)
{
    for (int i = 0; i < shuffle->group->local_size; i++)
        if (!has_reached(shuffle, &shuffle->group->shared[i].moved, rounds))
            return 0;
    return 1;
}

/* --- member --- */

static void publish_sizes(themis_collective_shuffle_t *shuffle, uint64_t number)
{
    uint64_t *size = size_table(shuffle, number, shuffle->group->local);
    for (uint32_t d = 0; d < shuffle->domains.count; d++) {
        const themis_collective_round_t round = {&shuffle->domains, d, number, shuffle->plan->round_bytes};
        size[d] = shuffle->own[d] ? themis_collective_domain_rows_bytes(&round, shuffle->access.file, 0) : 0;
    }
}

/* Moves this rank's bytes of one domain between its memory and the staging. */
static void move_domain(themis_collective_shuffle_t *shuffle, uint64_t number, uint32_t domain, char *staged)
{
    const themis_collective_access_t *access = &shuffle->access;
    const themis_collective_round_t round = {&shuffle->domains, domain, number, shuffle->plan->round_bytes};
    themis_collective_domain_rows_t rows;
    themis_util_runs_row_t row;
    uint64_t place;
    themis_collective_domain_rows_begin(&rows, &round, access->file, 0);
    while (themis_collective_domain_rows_next(&rows, &row, &place)) {
        uint64_t bytes = row.length * row.count;
        themis_util_runs_copy(access->memory, access->base, row.position, staged, bytes, access->direction);
        staged += bytes;
    }
}

/* A node's staging holds the message for domain after domain, in each the bytes of rank after rank. */
static void move_own(themis_collective_shuffle_t *shuffle, uint64_t round)
{
    const themis_collective_group_t *group = shuffle->group;
    char *place = staging(shuffle, round);
    for (uint32_t d = 0; d < shuffle->domains.count; d++) {
        for (int i = 0; i < group->local_size; i++) {
            uint64_t bytes = size_table(shuffle, round, i)[d];
            if (i == group->local && bytes)
                move_domain(shuffle, round, d, place);
            place += bytes;
        }
    }
}

static int may_size(const themis_collective_shuffle_t *shuffle, uint64_t round)
{
    if (round >= shuffle->plan->rounds)
        return 0;
    if (round < 2)
        return 1;
    return shuffle->writes ? has_reached(shuffle, leader_moved(shuffle), round - 1) : all_moved(shuffle, round - 1);
}

static int may_move(const themis_collective_shuffle_t *shuffle, uint64_t round)
{
    if (round >= shuffle->member.sized)
        return 0;
    return shuffle->writes ? all_sized(shuffle, round + 1) : has_reached(shuffle, leader_moved(shuffle), round + 1);
}

static void member_step(themis_collective_shuffle_t *shuffle)
{
    themis_collective_shared_t *own = &shuffle->group->shared[shuffle->group->local];
    while (may_size(shuffle, shuffle->member.sized)) {
        publish_sizes(shuffle, shuffle->member.sized);
        set_counter(shuffle, &own->sized, ++shuffle->member.sized);
    }
    while (may_move(shuffle, shuffle->member.moved)) {
        move_own(shuffle, shuffle->member.moved);
        set_counter(shuffle, &own->moved, ++shuffle->member.moved);
    }
}

/* --- leader --- */

/* One message for each domain in which the node has bytes. */
static void post_messages(themis_collective_shuffle_t *shuffle, uint64_t round)
{
    const themis_collective_group_t *group = shuffle->group;
    MPI_Request *request = shuffle->leader.request[round & 1];
    char *place = staging(shuffle, round);
    int count = 0;
    for (uint32_t d = 0; d < shuffle->domains.count; d++) {
        uint64_t bytes = 0;
        int peer = (int)shuffle->plan->aggregator[d];
        for (int i = 0; i < group->local_size; i++)
            bytes += size_table(shuffle, round, i)[d];
        if (!bytes)
            continue;
        if (shuffle->writes)
            MPI_Isend(place, (int)bytes, MPI_BYTE, peer, THEMIS_COLLECTIVE_TAG_DATA, group->comm, &request[count++]);
        else
            MPI_Irecv(place, (int)bytes, MPI_BYTE, peer, THEMIS_COLLECTIVE_TAG_DATA, group->comm, &request[count++]);
        place += bytes;
    }
    shuffle->leader.pending[round & 1] = count;
}

static int may_post(const themis_collective_shuffle_t *shuffle, uint64_t round)
{
    if (round >= shuffle->plan->rounds || round >= shuffle->leader.ended + 2)
        return 0;
    if (shuffle->writes)
        return all_moved(shuffle, round + 1);
    return all_sized(shuffle, round + 1) && (round < 2 || all_moved(shuffle, round - 1));
}

static void leader_step(themis_collective_shuffle_t *shuffle)
{
    while (may_post(shuffle, shuffle->leader.posted))
        post_messages(shuffle, shuffle->leader.posted++);
    while (shuffle->leader.ended < shuffle->leader.posted) {
        int i = shuffle->leader.ended & 1;
        if (!themis_collective_group_requests_done(shuffle->leader.request[i], shuffle->leader.pending[i]))
            return;
        set_counter(shuffle, leader_moved(shuffle), ++shuffle->leader.ended);
    }
}

/* --- aggregator --- */

static uint64_t part_bytes(const themis_collective_shuffle_t *shuffle, uint64_t round, uint32_t part)
{
    return themis_collective_call_plan_part_bytes(shuffle->plan, &shuffle->domains, round, &shuffle->plan->part[part]);
}

/* Receives what was written, or sends what was read. */
static void start_messages(themis_collective_shuffle_t *shuffle, uint64_t round)
{
    const themis_collective_call_plan_t *plan = shuffle->plan;
    MPI_Request *request = shuffle->aggregator.request[round & 1];
    MPI_Comm comm = shuffle->group->comm;
    char *place = shuffle->file->messages[round & 1];
    for (uint32_t p = 0; p < plan->parts; p++) {
        const themis_collective_part_t *part = &plan->part[p];
        uint64_t bytes = part_bytes(shuffle, round, p);
        if (!bytes)
            continue;
        if (shuffle->writes) {
            MPI_Irecv(place, (int)bytes, MPI_BYTE, part->leader, THEMIS_COLLECTIVE_TAG_DATA, comm, &request[p]);
        } else {
            themis_collective_buffer_move(&shuffle->file->buffer[round & 1], part, place, THEMIS_READ);
            MPI_Isend(place, (int)bytes, MPI_BYTE, part->leader, THEMIS_COLLECTIVE_TAG_DATA, comm, &request[p]);
        }
        place += bytes;
    }
}

static void start_io(themis_collective_shuffle_t *shuffle, uint64_t round)
{
    const themis_collective_call_plan_t *plan = shuffle->plan;
    themis_collective_buffer_t *buffer = &shuffle->file->buffer[round & 1];
    char *place = shuffle->file->messages[round & 1];
    themis_collective_buffer_set_round(buffer, round);
    for (uint32_t p = 0; shuffle->writes && p < plan->parts; p++) {
        themis_collective_buffer_move(buffer, &plan->part[p], place, THEMIS_WRITE);
        place += part_bytes(shuffle, round, p);
    }
    if (shuffle->status == THEMIS_OK)
        shuffle->status = themis_collective_buffer_start(buffer, shuffle->file->ops, shuffle->access.direction);
}

static int io_ended(themis_collective_shuffle_t *shuffle, uint64_t round)
{
    themis_status_t status =
        themis_collective_buffer_test(&shuffle->file->buffer[round & 1], shuffle->file->ops, &shuffle->eof);
    if (status == THEMIS_IN_PROGRESS)
        return 0;
    if (shuffle->status == THEMIS_OK)
        shuffle->status = status;
    return 1;
}

static int messages_ended(themis_collective_shuffle_t *shuffle, uint64_t round)
{
    return themis_collective_group_requests_done(shuffle->aggregator.request[round & 1], (int)shuffle->plan->parts);
}

/* What an aggregator does with a round, at most two of them under way: start its first half; when that has ended, start
 * its second half; wait for the end of that. */
typedef struct pipeline {
    void (*start_first)(themis_collective_shuffle_t *shuffle, uint64_t round);
    int (*first_ended)(themis_collective_shuffle_t *shuffle, uint64_t round);
    void (*start_second)(themis_collective_shuffle_t *shuffle, uint64_t round);
    int (*second_ended)(themis_collective_shuffle_t *shuffle, uint64_t round);
} pipeline_t;

static const pipeline_t writing = {start_messages, messages_ended, start_io, io_ended};
static const pipeline_t reading = {start_io, io_ended, start_messages, messages_ended};

static void aggregator_step(themis_collective_shuffle_t *shuffle, const pipeline_t *pipeline)
{
    uint64_t rounds = shuffle->plan->rounds;
    uint64_t *begun = &shuffle->aggregator.begun, *turned = &shuffle->aggregator.turned;
    uint64_t *ended = &shuffle->aggregator.ended, before;
    do {
        before = *begun + *turned + *ended;
        if (*begun < rounds && *begun < *turned + 2)
            pipeline->start_first(shuffle, (*begun)++);
        if (*ended < *turned && pipeline->second_ended(shuffle, *ended))
            ++*ended;
        if (*turned < *begun && *turned < *ended + 2 && pipeline->first_ended(shuffle, *turned))
            pipeline->start_second(shuffle, (*turned)++);
    } while (*begun + *turned + *ended != before);
}

uint64_t themis_collective_shuffle_progress(const themis_collective_shuffle_t *shuffle)
{
    return shuffle->member.sized + shuffle->member.moved + shuffle->leader.posted + shuffle->leader.ended +
           shuffle->aggregator.begun + shuffle->aggregator.turned + shuffle->aggregator.ended;
}

themis_status_t themis_collective_shuffle_step(themis_collective_shuffle_t *shuffle, uint64_t *eof)
{
    uint64_t rounds = shuffle->plan->rounds;
    int leads = !shuffle->group->local, aggregates = is_aggregator(shuffle);
    member_step(shuffle);
    if (leads)
        leader_step(shuffle);
    if (aggregates)
        aggregator_step(shuffle, shuffle->writes ? &writing : &reading);
    if (shuffle->member.moved < rounds || (leads && shuffle->leader.ended < rounds) ||
        (aggregates && shuffle->aggregator.ended < rounds))
        return THEMIS_IN_PROGRESS;
    shuffle->group->rounds = shuffle->base + rounds;
    *eof = shuffle->eof;
    return shuffle->status;
}
