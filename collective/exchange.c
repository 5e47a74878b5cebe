/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters in the slots of the node's shared memory order the roles: `sized` and `moved` of each rank, and in the
 * leader's answer `moved` counts the rounds whose bytes have left for (write) or come from (read) the aggregators. They
 * go on from call to call. Round k uses table and staging number k mod 2, so nothing may begin round k before everyone
 * concerned is through with round k - 2.
 */
#include "collective/exchange.h"
#include <stdlib.h>
#include <string.h>
#include "collective/lists.h"
#include "collective/span.h"
#include "collective/tags.h"

struct themis_collective_exchange {
    themis_collective_group_t *group;
    const themis_collective_plan_t *plan;
    themis_aggregation_domains_t domains;
    themis_collective_access_t access;
    const themis_collective_sink_t *sink;
    themis_collective_buffers_t *buffers;
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

void themis_collective_buffers_free(themis_collective_buffers_t *buffers)
{
    for (int i = 0; i < 2; i++) {
        themis_collective_window_destroy(&buffers->window[i]);
        free(buffers->messages[i]);
        buffers->messages[i] = NULL;
    }
    buffers->capacity = 0;
}

static themis_status_t prepare_buffers(themis_collective_exchange_t *exchange)
{
    themis_collective_buffers_t *buffers = exchange->buffers;
    const themis_collective_plan_t *plan = exchange->plan;
    themis_status_t status = THEMIS_OK;
    for (int i = 0; i < 2 && status == THEMIS_OK; i++)
        status = themis_collective_window_prepare(&buffers->window[i], plan, &exchange->domains);
    if (status != THEMIS_OK || buffers->capacity >= plan->most)
        return status;
    buffers->capacity = 0;
    for (int i = 0; i < 2; i++) {
        free(buffers->messages[i]);
        buffers->messages[i] = malloc(plan->most);
        if (!buffers->messages[i])
            status = THEMIS_NO_MEMORY;
    }
    if (status == THEMIS_OK)
        buffers->capacity = plan->most;
    return status;
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

themis_status_t themis_collective_exchange_create(themis_collective_group_t *group,
                                                  const themis_collective_plan_t *plan, uint64_t first,
                                                  const themis_collective_access_t *access,
                                                  const themis_collective_sink_t *sink,
                                                  themis_collective_buffers_t *buffers,
                                                  themis_collective_exchange_t **result)
{
    themis_collective_exchange_t *exchange = calloc(1, sizeof *exchange);
    if (!exchange)
        return THEMIS_NO_MEMORY;
    exchange->group = group;
    exchange->plan = plan;
    exchange->domains = themis_collective_plan_move(plan, first);
    exchange->access = *access;
    exchange->sink = sink;
    exchange->buffers = buffers;
    exchange->eof = UINT64_MAX;
    exchange->base = group->rounds;
    exchange->own = calloc(plan->domains.count, sizeof *exchange->own);
    themis_status_t status = exchange->own ? THEMIS_OK : THEMIS_NO_MEMORY;
    if (status == THEMIS_OK && !group->local)
        status = make_requests(plan->domains.count, exchange->leader.request);
    if (status == THEMIS_OK && plan->mine != THEMIS_COLLECTIVE_NO_DOMAIN) {
        status = make_requests(plan->parts, exchange->aggregator.request);
        if (status == THEMIS_OK)
            status = prepare_buffers(exchange);
    }
    if (status != THEMIS_OK) {
        themis_collective_exchange_destroy(exchange);
        return status;
    }
    themis_collective_lists_count(access->file, &exchange->domains, exchange->own);
    *result = exchange;
    return THEMIS_OK;
}

void themis_collective_exchange_destroy(themis_collective_exchange_t *exchange)
{
    if (!exchange)
        return;
    for (int i = 0; i < 2; i++) {
        free(exchange->leader.request[i]);
        free(exchange->aggregator.request[i]);
    }
    free(exchange->own);
    free(exchange);
}

/* --- what the ranks of a node share --- */

static uint64_t *table(const themis_collective_exchange_t *exchange, uint64_t round, int local)
{
    uint32_t domains = exchange->domains.count;
    uint64_t bytes = themis_collective_lists_table(exchange->group, domains);
    return (uint64_t *)(exchange->group->staging + (round & 1) * bytes) + (size_t)local * domains;
}

static char *staging(const themis_collective_exchange_t *exchange, uint64_t round)
{
    uint32_t domains = exchange->domains.count;
    return exchange->group->staging + 2 * themis_collective_lists_table(exchange->group, domains) +
           (round & 1) * themis_collective_lists_room(exchange->group, domains);
}

/* Bytes of the node for one domain in a round. */
static uint64_t node_bytes(const themis_collective_exchange_t *exchange, uint64_t round, uint32_t domain)
{
    uint64_t bytes = 0;
    for (int i = 0; i < exchange->group->local_size; i++)
        bytes += table(exchange, round, i)[domain];
    return bytes;
}

typedef _Atomic uint64_t counter_t;

static uint64_t rounds_of(const themis_collective_exchange_t *exchange, counter_t *counter)
{
    uint64_t value = atomic_load_explicit(counter, memory_order_acquire);
    return value > exchange->base ? value - exchange->base : 0;
}

static void count_rounds(const themis_collective_exchange_t *exchange, counter_t *counter, uint64_t rounds)
{
    atomic_store_explicit(counter, exchange->base + rounds, memory_order_release);
}

static themis_collective_slot_t *slot(const themis_collective_exchange_t *exchange, int local)
{
    return &exchange->group->slot[local];
}

static counter_t *leader_moved(const themis_collective_exchange_t *exchange)
{
    return &slot(exchange, exchange->group->local_size)->moved;
}

static int all_sized(const themis_collective_exchange_t *exchange, uint64_t rounds)
{
    for (int i = 0; i < exchange->group->local_size; i++)
        if (rounds_of(exchange, &slot(exchange, i)->sized) < rounds)
            return 0;
    return 1;
}

static int all_moved(const themis_collective_exchange_t *exchange, uint64_t rounds)
{
    for (int i = 0; i < exchange->group->local_size; i++)
        if (rounds_of(exchange, &slot(exchange, i)->moved) < rounds)
            return 0;
    return 1;
}

/* --- member --- */

static void tell_sizes(themis_collective_exchange_t *exchange, uint64_t round)
{
    const themis_collective_plan_t *plan = exchange->plan;
    uint64_t *size = table(exchange, round, exchange->group->local);
    themis_collective_span_t span;
    themis_collective_extent_t extent;
    for (uint32_t d = 0; d < exchange->domains.count; d++) {
        size[d] = 0;
        if (!exchange->own[d])
            continue;
        themis_collective_span_begin(&span, &exchange->domains, d, round * plan->window, plan->window);
        while (themis_collective_span_next(&span, &extent))
            size[d] += themis_util_runs_bytes_in(exchange->access.file, extent.offset, extent.offset + extent.length);
    }
}

/* Moves this rank's bytes of one domain between its memory and the staging. */
static void move_domain(themis_collective_exchange_t *exchange, uint64_t round, uint32_t domain, char *place)
{
    const themis_collective_access_t *access = &exchange->access;
    uint64_t window = exchange->plan->window;
    themis_collective_span_t span;
    themis_collective_extent_t extent;
    themis_util_runs_clip_t clip;
    themis_util_runs_row_t row;
    themis_collective_span_begin(&span, &exchange->domains, domain, round * window, window);
    while (themis_collective_span_next(&span, &extent)) {
        themis_util_runs_clip_begin(&clip, access->file, extent.offset, extent.offset + extent.length);
        while (themis_util_runs_clip_next(&clip, &row)) {
            uint64_t bytes = row.length * row.count;
            themis_util_runs_copy(access->memory, access->base, row.position, place, bytes, access->direction);
            place += bytes;
        }
    }
}

/* A node's staging holds the message for domain after domain, in each the bytes of rank after rank. */
static void move_own(themis_collective_exchange_t *exchange, uint64_t round)
{
    const themis_collective_group_t *group = exchange->group;
    char *place = staging(exchange, round);
    for (uint32_t d = 0; d < exchange->domains.count; d++) {
        for (int i = 0; i < group->local_size; i++) {
            uint64_t bytes = table(exchange, round, i)[d];
            if (i == group->local && bytes)
                move_domain(exchange, round, d, place);
            place += bytes;
        }
    }
}

static int may_size(const themis_collective_exchange_t *exchange, uint64_t round)
{
    if (round >= exchange->plan->rounds)
        return 0;
    if (round < 2)
        return 1;
    if (exchange->access.direction == THEMIS_WRITE)
        return rounds_of(exchange, leader_moved(exchange)) >= round - 1;
    return all_moved(exchange, round - 1);
}

static int may_move(const themis_collective_exchange_t *exchange, uint64_t round)
{
    if (round >= exchange->member.sized)
        return 0;
    if (exchange->access.direction == THEMIS_WRITE)
        return all_sized(exchange, round + 1);
    return rounds_of(exchange, leader_moved(exchange)) >= round + 1;
}

static void member_step(themis_collective_exchange_t *exchange)
{
    themis_collective_slot_t *mine = slot(exchange, exchange->group->local);
    while (may_size(exchange, exchange->member.sized)) {
        tell_sizes(exchange, exchange->member.sized);
        count_rounds(exchange, &mine->sized, ++exchange->member.sized);
    }
    while (may_move(exchange, exchange->member.moved)) {
        move_own(exchange, exchange->member.moved);
        count_rounds(exchange, &mine->moved, ++exchange->member.moved);
    }
}

/* --- leader --- */

static void post_messages(themis_collective_exchange_t *exchange, uint64_t round)
{
    const themis_collective_group_t *group = exchange->group;
    MPI_Request *request = exchange->leader.request[round & 1];
    char *place = staging(exchange, round);
    int count = 0;
    for (uint32_t d = 0; d < exchange->domains.count; d++) {
        uint64_t bytes = node_bytes(exchange, round, d);
        int peer = (int)exchange->plan->aggregator[d];
        if (!bytes)
            continue;
        if (exchange->access.direction == THEMIS_WRITE)
            MPI_Isend(place, (int)bytes, MPI_BYTE, peer, THEMIS_COLLECTIVE_TAG_DATA, group->comm, &request[count++]);
        else
            MPI_Irecv(place, (int)bytes, MPI_BYTE, peer, THEMIS_COLLECTIVE_TAG_DATA, group->comm, &request[count++]);
        place += bytes;
    }
    exchange->leader.pending[round & 1] = count;
}

static int may_post(const themis_collective_exchange_t *exchange, uint64_t round)
{
    if (round >= exchange->plan->rounds || round >= exchange->leader.ended + 2)
        return 0;
    if (exchange->access.direction == THEMIS_WRITE)
        return all_moved(exchange, round + 1);
    return all_sized(exchange, round + 1) && (round < 2 || all_moved(exchange, round - 1));
}

static void leader_step(themis_collective_exchange_t *exchange)
{
    while (may_post(exchange, exchange->leader.posted))
        post_messages(exchange, exchange->leader.posted++);
    while (exchange->leader.ended < exchange->leader.posted) {
        int i = exchange->leader.ended & 1;
        if (!themis_collective_all_done(exchange->leader.request[i], exchange->leader.pending[i]))
            return;
        count_rounds(exchange, leader_moved(exchange), ++exchange->leader.ended);
    }
}

/* --- aggregator --- */

static void note(themis_collective_exchange_t *exchange, themis_status_t status)
{
    if (status != THEMIS_OK && exchange->status == THEMIS_OK)
        exchange->status = status;
}

static uint64_t part_bytes(const themis_collective_exchange_t *exchange, uint64_t round, uint32_t part)
{
    return themis_collective_window_part_bytes(exchange->plan, &exchange->domains, round, &exchange->plan->part[part]);
}

static void receive_round(themis_collective_exchange_t *exchange, uint64_t round)
{
    const themis_collective_plan_t *plan = exchange->plan;
    char *place = exchange->buffers->messages[round & 1];
    for (uint32_t p = 0; p < plan->parts; p++) {
        uint64_t bytes = part_bytes(exchange, round, p);
        if (bytes)
            MPI_Irecv(place, (int)bytes, MPI_BYTE, plan->part[p].leader, THEMIS_COLLECTIVE_TAG_DATA,
                      exchange->group->comm, &exchange->aggregator.request[round & 1][p]);
        place += bytes;
    }
}

static void write_round(themis_collective_exchange_t *exchange, uint64_t round)
{
    const themis_collective_plan_t *plan = exchange->plan;
    themis_collective_window_t *window = &exchange->buffers->window[round & 1];
    char *place = exchange->buffers->messages[round & 1];
    themis_collective_window_turn(window, round);
    for (uint32_t p = 0; p < plan->parts; p++) {
        themis_collective_window_move(window, &plan->part[p], place, THEMIS_WRITE);
        place += part_bytes(exchange, round, p);
    }
    if (exchange->status == THEMIS_OK)
        note(exchange, themis_collective_window_start(window, exchange->sink, THEMIS_WRITE));
}

static void send_round(themis_collective_exchange_t *exchange, uint64_t round)
{
    const themis_collective_plan_t *plan = exchange->plan;
    themis_collective_window_t *window = &exchange->buffers->window[round & 1];
    char *place = exchange->buffers->messages[round & 1];
    for (uint32_t p = 0; p < plan->parts; p++) {
        uint64_t bytes = part_bytes(exchange, round, p);
        if (!bytes)
            continue;
        themis_collective_window_move(window, &plan->part[p], place, THEMIS_READ);
        MPI_Isend(place, (int)bytes, MPI_BYTE, plan->part[p].leader, THEMIS_COLLECTIVE_TAG_DATA, exchange->group->comm,
                  &exchange->aggregator.request[round & 1][p]);
        place += bytes;
    }
}

static int io_ended(themis_collective_exchange_t *exchange, uint64_t round)
{
    themis_collective_window_t *window = &exchange->buffers->window[round & 1];
    themis_status_t status = themis_collective_window_test(window, exchange->sink, &exchange->eof);
    if (status == THEMIS_IN_PROGRESS)
        return 0;
    note(exchange, status);
    return 1;
}

static int messages_ended(themis_collective_exchange_t *exchange, uint64_t round)
{
    return themis_collective_all_done(exchange->aggregator.request[round & 1], (int)exchange->plan->parts);
}

static void read_round(themis_collective_exchange_t *exchange, uint64_t round)
{
    themis_collective_window_t *window = &exchange->buffers->window[round & 1];
    themis_collective_window_turn(window, round);
    if (exchange->status == THEMIS_OK)
        note(exchange, themis_collective_window_start(window, exchange->sink, THEMIS_READ));
}

/* What an aggregator does with a round, at most two of them under way: begin it; when its first half is done turn it
 * into the second; wait for the end of that. */
typedef struct pipeline {
    void (*begin)(themis_collective_exchange_t *exchange, uint64_t round);
    int (*may_turn)(themis_collective_exchange_t *exchange, uint64_t round);
    void (*turn)(themis_collective_exchange_t *exchange, uint64_t round);
    int (*has_ended)(themis_collective_exchange_t *exchange, uint64_t round);
} pipeline_t;

/* Receives; scattered and I/O started; I/O ended. */
static const pipeline_t writing = {receive_round, messages_ended, write_round, io_ended};
/* I/O; messages sent; messages gone. */
static const pipeline_t reading = {read_round, io_ended, send_round, messages_ended};

static void aggregator_step(themis_collective_exchange_t *exchange, const pipeline_t *pipeline)
{
    uint64_t rounds = exchange->plan->rounds;
    uint64_t *begun = &exchange->aggregator.begun, *turned = &exchange->aggregator.turned;
    uint64_t *ended = &exchange->aggregator.ended;
    for (int moved = 1; moved;) {
        moved = 0;
        if (*begun < rounds && *begun < *turned + 2) {
            pipeline->begin(exchange, (*begun)++);
            moved = 1;
        }
        if (*ended < *turned && pipeline->has_ended(exchange, *ended)) {
            ++*ended;
            moved = 1;
        }
        if (*turned < *begun && *turned < *ended + 2 && pipeline->may_turn(exchange, *turned)) {
            pipeline->turn(exchange, (*turned)++);
            moved = 1;
        }
    }
}

static int ended(const themis_collective_exchange_t *exchange)
{
    uint64_t rounds = exchange->plan->rounds;
    return exchange->member.moved == rounds && (exchange->group->local || exchange->leader.ended == rounds) &&
           (exchange->plan->mine == THEMIS_COLLECTIVE_NO_DOMAIN || exchange->aggregator.ended == rounds);
}

uint64_t themis_collective_exchange_moves(const themis_collective_exchange_t *exchange)
{
    return exchange->member.sized + exchange->member.moved + exchange->leader.posted + exchange->leader.ended +
           exchange->aggregator.begun + exchange->aggregator.turned + exchange->aggregator.ended;
}

themis_status_t themis_collective_exchange_step(themis_collective_exchange_t *exchange, uint64_t *eof)
{
    member_step(exchange);
    if (!exchange->group->local)
        leader_step(exchange);
    if (exchange->plan->mine != THEMIS_COLLECTIVE_NO_DOMAIN)
        aggregator_step(exchange, exchange->access.direction == THEMIS_WRITE ? &writing : &reading);
    if (!ended(exchange))
        return THEMIS_IN_PROGRESS;
    exchange->group->rounds = exchange->base + exchange->plan->rounds;
    *eof = exchange->eof;
    return exchange->status;
}
