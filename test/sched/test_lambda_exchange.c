/* SPDX-License-Identifier: BSD-3-Clause */
/* Two servers under one driven clock that exchange their tables as messages: figure 14 of the paper. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "sched/lambda_exchange.c" /* a test looks at its tables */
#include "test/lib/run.h"
#include "test/sched/rig.h"

#define MIB UINT64_C(1048576)

typedef struct pair {
    rig_t rig[2];
    themis_sched_lambda_exchange_t *exchange[2];
    rig_job_t *jobs[2][2]; /* by server: the one on both, and the server's own */
} pair_t;

static void pair_create(pair_t *pair, const char *policy, uint64_t interval)
{
    themis_sched_options_t chosen;

    themis_sched_options_init(&chosen);
    chosen.policy = policy;
    chosen.bandwidth = 400000000;
    chosen.quantum = MIB / 8;
    for (uint32_t s = 0; s < 2; s++) {
        themis_sched_lambda_exchange_options_t options = {s, 2, 1, chosen.bandwidth, interval};
        rig_create(&pair->rig[s], &chosen, 2, 2);
        ck_assert_int_eq(themis_sched_lambda_exchange_create(&options, &pair->exchange[s]), THEMIS_OK);
        pair->jobs[s][0] = rig_add(&pair->rig[s], "wide", 1, 1, 16, MIB, 8);
        pair->jobs[s][1] = rig_add(&pair->rig[s], s == 0 ? "left" : "right", 2 + s, 1, 8, MIB, 8);
    }
}

static void pair_destroy(pair_t *pair)
{
    for (int s = 0; s < 2; s++) {
        themis_sched_lambda_exchange_destroy(pair->exchange[s]);
        rig_destroy(&pair->rig[s]);
    }
}

/* Sends the table of a server to the other one, encoded. */
static void table_send(pair_t *pair, int from)
{
    static uint8_t message[THEMIS_PROTO_MAX_MESSAGE];
    themis_proto_header_t header = {
        .version = THEMIS_PROTO_VERSION, .kind = THEMIS_PROTO_REQUEST, .opcode = THEMIS_OP_TABLE};
    rig_t *rig = &pair->rig[from];
    themis_proto_table_t table;
    themis_proto_body_t body;
    size_t length;

    ck_assert_int_eq(themis_sched_lambda_exchange_table(pair->exchange[from], rig->table, rig->sched, rig->now, &table),
                     THEMIS_OK);
    ck_assert_int_eq(themis_proto_encode(&header, &table, message, sizeof message, &length), THEMIS_OK);
    ck_assert_int_eq(themis_proto_decode(message, length, &header, &body), THEMIS_OK);
    ck_assert_int_eq(themis_sched_lambda_exchange_receive(pair->exchange[1 - from], &body.table, rig->now), THEMIS_OK);
    ck_assert_int_eq(themis_sched_lambda_exchange_receive(pair->exchange[from], &body.table, rig->now), THEMIS_INVALID);
}

static void round_of(pair_t *pair, int lost)
{
    for (int s = 0; s < 2; s++)
        if (s != lost)
            table_send(pair, s);
    for (int s = 0; s < 2; s++) {
        themis_sched_lambda_exchange_compute(pair->exchange[s], pair->rig[s].now);
        themis_sched_lambda_exchange_apply(pair->exchange[s], pair->rig[s].table, pair->rig[s].sched);
    }
}

static void run(pair_t *pair, uint64_t ns)
{
    for (int s = 0; s < 2; s++)
        rig_run(&pair->rig[s], pair->rig[s].now + ns);
}

static void reset(pair_t *pair)
{
    for (int s = 0; s < 2; s++)
        rig_reset(&pair->rig[s]);
}

static double part(const pair_t *pair, int k, int s)
{
    double all = 0, mine = 0;

    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            all += (double)pair->jobs[i][j]->moved;
    mine = k == 0 ? (double)(pair->jobs[0][0]->moved + pair->jobs[1][0]->moved) : (double)pair->jobs[s][1]->moved;
    return mine / all;
}

static const uint64_t intervals[] = {10000000, 50000000, 200000000, 500000000};

TEST(global_shares_by_the_second_interval)
{
    uint64_t interval = intervals[_i];
    pair_t pair;

    pair_create(&pair, "size-fair", interval);
    run(&pair, interval);
    ck_assert_double_eq_tol(part(&pair, 0, 0), 2 / 3., 0.1); /* local shares at first */
    round_of(&pair, -1);
    for (int skip = _i == 0 ? 3 : 0; skip > 0; skip--) {
        run(&pair, interval);
        round_of(&pair, -1);
    }
    reset(&pair);
    run(&pair, interval > 50000000 ? interval : 50000000);
    ck_assert_double_eq_tol(part(&pair, 0, 0), 0.5, 0.05 * 0.5);
    ck_assert_double_eq_tol(part(&pair, 1, 0), 0.25, 0.05 * 0.25);
    ck_assert_double_eq_tol(part(&pair, 1, 1), 0.25, 0.05 * 0.25);
    pair_destroy(&pair);
}

TEST(a_lost_server_returns_the_others_to_local_shares)
{
    pair_t pair;

    pair_create(&pair, "size-fair", 50000000);
    for (int i = 0; i < 4; i++) {
        run(&pair, 50000000);
        round_of(&pair, -1);
    }
    ck_assert_uint_eq(themis_sched_lambda_exchange_known(pair.exchange[0]), 2);
    for (int i = 0; i < 30; i++) {
        run(&pair, 50000000);
        round_of(&pair, 1);
    }
    ck_assert_uint_eq(themis_sched_lambda_exchange_known(pair.exchange[0]), 1);
    reset(&pair);
    run(&pair, 1000000000);
    ck_assert_double_eq_tol(rig_part(&pair.rig[0], pair.jobs[0][0]), 2 / 3., 0.01);
    pair_destroy(&pair);
}

/* A job that stops on one server gets more on the other. */
TEST(demand_moves_the_allocation)
{
    pair_t pair;

    pair_create(&pair, "size-fair", 50000000);
    for (int i = 0; i < 4; i++) {
        run(&pair, 50000000);
        round_of(&pair, -1);
    }
    pair.jobs[1][0]->end = pair.rig[1].now;
    for (int i = 0; i < 4; i++) {
        run(&pair, 50000000);
        round_of(&pair, -1);
    }
    reset(&pair);
    run(&pair, 500000000);
    /* Both jobs on the left are below their global shares then, and share the server as 16 to 8. */
    ck_assert_double_eq_tol(rig_part(&pair.rig[0], pair.jobs[0][0]), 2 / 3., 0.01);
    ck_assert_double_eq_tol(rig_part(&pair.rig[1], pair.jobs[1][1]), 1, 1e-9);
    pair_destroy(&pair);
}

enum { ROWS = 10000, ID = 200 };

/* A table of server 1 with more jobs, and longer ids, than a message holds. */
typedef struct large {
    themis_sched_lambda_exchange_t *exchange;
    themis_proto_table_t table;
    themis_proto_table_row_t *rows;
    char (*ids)[ID + 1];
} large_t;

static void create_large(large_t *large)
{
    themis_sched_lambda_exchange_options_t options = {0, 2, 1, 1000000, 50000000};

    large->rows = calloc(ROWS, sizeof *large->rows);
    large->ids = calloc(ROWS, sizeof *large->ids);
    ck_assert_int_eq(themis_sched_lambda_exchange_create(&options, &large->exchange), THEMIS_OK);
    for (int i = 0; i < ROWS; i++) {
        snprintf(large->ids[i], sizeof large->ids[i], "%0*d", ID, i);
        large->rows[i] = (themis_proto_table_row_t){
            .job = {large->ids[i], ID}, .uid = 1, .gid = 1, .nodes = 1, .priority = 1, .demand = UINT64_MAX};
    }
    large->table = (themis_proto_table_t){
        .index = 1, .incarnation = 7, .capacity = 1, .rows = ROWS, .bytes = (const uint8_t *)large->rows};
}

static void destroy_large(large_t *large)
{
    themis_sched_lambda_exchange_destroy(large->exchange);
    free(large->rows);
    free(large->ids);
}

/* One part of the table arrives. */
static themis_status_t send_part(large_t *large, const themis_proto_table_t *part)
{
    static uint8_t message[THEMIS_PROTO_MAX_MESSAGE];
    themis_proto_header_t header = {
        .version = THEMIS_PROTO_VERSION, .kind = THEMIS_PROTO_REQUEST, .opcode = THEMIS_OP_TABLE};
    themis_proto_body_t body;
    size_t length;

    ck_assert_int_eq(themis_proto_encode(&header, part, message, sizeof message, &length), THEMIS_OK);
    ck_assert_int_eq(themis_proto_decode(message, length, &header, &body), THEMIS_OK);
    return themis_sched_lambda_exchange_receive(large->exchange, &body.table, 1000);
}

/* Sends the first parts of the table, at most `max`; returns how many. */
static uint32_t send_parts(large_t *large, uint32_t max)
{
    themis_proto_table_t part;
    uint32_t from = 0, parts = 0;

    do {
        from = themis_sched_lambda_exchange_part(&large->table, from, &part);
        ck_assert_int_eq(send_part(large, &part), THEMIS_OK);
        parts++;
    } while (from < large->table.rows && parts < max);
    return parts;
}

static uint32_t rows_of_server_1(const large_t *large)
{
    themis_sched_lambda_allocation_t allocation;
    uint32_t rows = 0;

    while (themis_sched_lambda_allocation(large->exchange->lambda, 1, rows, &allocation))
        rows++;
    return rows;
}

TEST(a_large_table_comes_in_parts)
{
    large_t large;

    create_large(&large);
    for (large.table.round = 3; large.table.round < 6; large.table.round++) {
        large.table.rows = large.table.round == 5 ? 0 : ROWS;
        ck_assert_uint_eq(send_parts(&large, ROWS), large.table.rows ? 3 : 1);
        ck_assert_uint_eq(rows_of_server_1(&large), large.table.rows);
    }
    large.table.round = 4;
    large.table.rows = 5;
    send_parts(&large, 1);
    ck_assert_uint_eq(rows_of_server_1(&large), 0); /* outdated */
    destroy_large(&large);
}

/* Until a table is complete, the previous one is in force; and if it never is, until the next complete one. */
TEST(a_table_counts_when_it_is_complete)
{
    themis_proto_table_t first, second, last;
    large_t large;

    create_large(&large);
    large.table.round = 1;
    large.table.rows = 7;
    send_parts(&large, 1);
    large.table.round = 2;
    large.table.rows = ROWS;
    uint32_t at = themis_sched_lambda_exchange_part(&large.table, 0, &first);
    at = themis_sched_lambda_exchange_part(&large.table, at, &second);
    ck_assert_uint_eq(themis_sched_lambda_exchange_part(&large.table, at, &last), ROWS);
    ck_assert_int_eq(send_part(&large, &last), THEMIS_OK); /* in any order */
    ck_assert_int_eq(send_part(&large, &first), THEMIS_OK);
    ck_assert_uint_eq(rows_of_server_1(&large), 7);
    ck_assert_uint_eq(themis_sched_lambda_exchange_known(large.exchange), 1);
    ck_assert_int_eq(send_part(&large, &second), THEMIS_OK);
    ck_assert_uint_eq(rows_of_server_1(&large), ROWS);
    ck_assert_int_eq(send_part(&large, &last), THEMIS_OK); /* again, which changes nothing */
    last.rows = 0;
    ck_assert_int_eq(send_part(&large, &last), THEMIS_OK);
    ck_assert_uint_eq(rows_of_server_1(&large), ROWS);
    last.round = 3;
    last.total = THEMIS_SCHED_LAMBDA_EXCHANGE_MAX_ROWS + 1;
    ck_assert_int_eq(send_part(&large, &last), THEMIS_RANGE);
    ck_assert_uint_eq(rows_of_server_1(&large), ROWS);
    large.table.round = 4;
    send_parts(&large, 2);
    ck_assert_uint_eq(rows_of_server_1(&large), ROWS);
    large.table.round = 5;
    large.table.rows = 9;
    send_parts(&large, 1);
    ck_assert_uint_eq(rows_of_server_1(&large), 9);
    large.table.round = 6;
    large.table.rows = ROWS;
    send_parts(&large, 1); /* and it is freed with the rest */
    destroy_large(&large);
}

TEST(policies_without_shares_have_no_allocation)
{
    pair_t pair;

    pair_create(&pair, "fifo", 50000000);
    run(&pair, 50000000);
    round_of(&pair, -1);
    run(&pair, 50000000);
    ck_assert_uint_eq(themis_sched_lambda_exchange_known(pair.exchange[0]), 2);
    pair_destroy(&pair);
}

TEST(another_policy_of_a_server_is_seen)
{
    themis_sched_lambda_exchange_other_t other;
    char error[256];
    pair_t pair;

    pair_create(&pair, "size-fair", 50000000);
    run(&pair, 50000000);
    ck_assert_int_eq(themis_sched_lambda_exchange_differs(pair.exchange[0], "fifo", 0, pair.rig[0].now, &other),
                     0); /* not heard yet */
    round_of(&pair, -1);
    ck_assert_int_eq(themis_sched_lambda_exchange_differs(pair.exchange[0], "size-fair", 0, pair.rig[0].now, &other),
                     0);
    ck_assert_int_eq(
        themis_sched_set_policy(pair.rig[1].sched, "job-fair", "statistical", pair.rig[1].now, error, sizeof error),
        THEMIS_OK);
    run(&pair, 50000000);
    round_of(&pair, -1);
    ck_assert_int_eq(themis_sched_lambda_exchange_differs(pair.exchange[0], "size-fair", 0, pair.rig[0].now, &other),
                     1);
    ck_assert_uint_eq(other.index, 1);
    ck_assert_str_eq(other.policy, "job-fair");
    ck_assert_int_eq(themis_sched_lambda_exchange_differs(pair.exchange[0], "size-fair", 1, pair.rig[0].now, &other),
                     0); /* it will take this one, which was set later */
    ck_assert_int_eq(themis_sched_lambda_exchange_differs(pair.exchange[1], "job-fair", 0, pair.rig[1].now, &other), 1);
    ck_assert_uint_eq(other.index, 0);
    ck_assert_int_eq(
        themis_sched_lambda_exchange_differs(pair.exchange[0], "size-fair", 0, pair.rig[0].now + 2000000000, &other),
        0); /* it is silent */
    pair_destroy(&pair);
}

int main(void)
{
    Suite *suite = suite_create("lambda exchange");

    test_case(suite, "all", 60, NULL, NULL,
              TESTS({global_shares_by_the_second_interval, 4}, {a_lost_server_returns_the_others_to_local_shares, 1},
                    {demand_moves_the_allocation, 1}, {a_large_table_comes_in_parts, 1},
                    {a_table_counts_when_it_is_complete, 1}, {policies_without_shares_have_no_allocation, 1},
                    {another_policy_of_a_server_is_seen, 1}));
    return test_run(suite);
}
