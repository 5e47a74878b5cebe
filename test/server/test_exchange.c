/* SPDX-License-Identifier: BSD-3-Clause */
/* Two servers under one driven clock that exchange their tables as messages: figure 14 of the paper. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "server/exchange.h"
#include "test/lib/run.h"
#include "test/server/sched_rig.h"

#define MIB UINT64_C(1048576)

typedef struct pair {
    rig_t rig[2];
    themis_exchange_t *exchange[2];
    rig_job_t *jobs[2][2]; /* the one on both servers, and the server's own */
} pair_t;

static void create(pair_t *pair, const char *policy, uint64_t interval)
{
    themis_sched_options_t chosen;

    themis_sched_options_init(&chosen);
    chosen.policy = policy;
    chosen.bandwidth = 400000000;
    chosen.quantum = MIB / 8;
    for (uint32_t s = 0; s < 2; s++) {
        themis_exchange_options_t options = {s, 2, 1, chosen.bandwidth, interval};
        rig_create(&pair->rig[s], &chosen, 2, 2);
        ck_assert_int_eq(themis_exchange_create(&options, &pair->exchange[s]), THEMIS_OK);
        pair->jobs[s][0] = rig_add(&pair->rig[s], "wide", 1, 1, 16, MIB, 8);
        pair->jobs[s][1] = rig_add(&pair->rig[s], s == 0 ? "left" : "right", 2 + s, 1, 8, MIB, 8);
    }
}

static void destroy(pair_t *pair)
{
    for (int s = 0; s < 2; s++) {
        themis_exchange_destroy(pair->exchange[s]);
        rig_destroy(&pair->rig[s]);
    }
}

/* A table on its way, as bytes. */
static void tell(pair_t *pair, int from)
{
    static uint8_t message[THEMIS_PROTO_MAX_MESSAGE];
    themis_proto_header_t header = {
        .version = THEMIS_PROTO_VERSION, .kind = THEMIS_PROTO_REQUEST, .opcode = THEMIS_OP_TABLE};
    rig_t *rig = &pair->rig[from];
    themis_proto_table_t table;
    themis_proto_body_t body;
    size_t length;

    ck_assert_int_eq(themis_exchange_table(pair->exchange[from], rig->table, rig->sched, rig->now, &table), THEMIS_OK);
    ck_assert_int_eq(themis_proto_encode(&header, &table, message, sizeof message, &length), THEMIS_OK);
    ck_assert_int_eq(themis_proto_decode(message, length, &header, &body), THEMIS_OK);
    ck_assert_int_eq(themis_exchange_take(pair->exchange[1 - from], &body.table, rig->now), THEMIS_OK);
    ck_assert_int_eq(themis_exchange_take(pair->exchange[from], &body.table, rig->now), THEMIS_INVALID);
}

static void round_of(pair_t *pair, int lost)
{
    for (int s = 0; s < 2; s++)
        if (s != lost)
            tell(pair, s);
    for (int s = 0; s < 2; s++) {
        themis_exchange_compute(pair->exchange[s], pair->rig[s].now);
        themis_exchange_apply(pair->exchange[s], pair->rig[s].table, pair->rig[s].sched);
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

START_TEST(global_shares_by_the_second_interval)
{
    uint64_t interval = intervals[_i];
    pair_t pair;

    create(&pair, "size-fair", interval);
    run(&pair, interval);
    ck_assert_double_eq_tol(part(&pair, 0, 0), 2 / 3., 0.1); /* each by itself at first */
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
    destroy(&pair);
}
END_TEST

START_TEST(a_lost_server_returns_the_others_to_local_shares)
{
    pair_t pair;

    create(&pair, "size-fair", 50000000);
    for (int i = 0; i < 4; i++) {
        run(&pair, 50000000);
        round_of(&pair, -1);
    }
    ck_assert_uint_eq(themis_exchange_known(pair.exchange[0]), 2);
    for (int i = 0; i < 30; i++) {
        run(&pair, 50000000);
        round_of(&pair, 1);
    }
    ck_assert_uint_eq(themis_exchange_known(pair.exchange[0]), 1);
    reset(&pair);
    run(&pair, 1000000000);
    ck_assert_double_eq_tol(rig_part(&pair.rig[0], pair.jobs[0][0]), 2 / 3., 0.01);
    destroy(&pair);
}
END_TEST

/* A job that stops on one server is due more on the other. */
START_TEST(demand_moves_the_allocation)
{
    pair_t pair;

    create(&pair, "size-fair", 50000000);
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
    /* Both on the left are below their global shares then, and have it as 16 to 8. */
    ck_assert_double_eq_tol(rig_part(&pair.rig[0], pair.jobs[0][0]), 2 / 3., 0.01);
    ck_assert_double_eq_tol(rig_part(&pair.rig[1], pair.jobs[1][1]), 1, 1e-9);
    destroy(&pair);
}
END_TEST

/* More jobs, with longer ids, than a message holds. */
START_TEST(a_large_table_comes_in_parts)
{
    enum { ROWS = 10000, ID = 200 };
    static uint8_t message[THEMIS_PROTO_MAX_MESSAGE];
    themis_exchange_options_t options = {0, 2, 1, 1000000, 50000000};
    themis_proto_header_t header = {
        .version = THEMIS_PROTO_VERSION, .kind = THEMIS_PROTO_REQUEST, .opcode = THEMIS_OP_TABLE};
    themis_proto_table_row_t *rows = calloc(ROWS, sizeof *rows);
    char(*ids)[ID + 1] = calloc(ROWS, sizeof *ids);
    themis_exchange_t *exchange;
    themis_proto_table_t part;
    themis_proto_body_t body;
    size_t length;

    ck_assert_int_eq(themis_exchange_create(&options, &exchange), THEMIS_OK);
    for (int i = 0; i < ROWS; i++) {
        snprintf(ids[i], sizeof ids[i], "%0*d", ID, i);
        rows[i] = (themis_proto_table_row_t){
            .job = {ids[i], ID}, .uid = 1, .gid = 1, .nodes = 1, .priority = 1, .demand = UINT64_MAX};
    }
    themis_proto_table_t table = {.index = 1, .incarnation = 7, .capacity = 1, .bytes = (const uint8_t *)rows};
    for (table.round = 3; table.round < 6; table.round++) {
        table.rows = table.round == 5 ? 0 : ROWS;
        uint32_t from = 0, parts = 0;
        do {
            from = themis_exchange_part(&table, from, &part);
            ck_assert_int_eq(themis_proto_encode(&header, &part, message, sizeof message, &length), THEMIS_OK);
            ck_assert_int_eq(themis_proto_decode(message, length, &header, &body), THEMIS_OK);
            ck_assert_int_eq(themis_exchange_take(exchange, &body.table, 1000), THEMIS_OK);
            parts++;
        } while (from < table.rows);
        ck_assert_uint_eq(themis_exchange_rows(exchange, 1), table.rows);
        ck_assert_uint_eq(parts, table.rows ? 3 : 1);
    }
    themis_proto_table_t late = {
        .index = 1, .incarnation = 7, .round = 4, .capacity = 1, .rows = 5, .bytes = (const uint8_t *)rows};
    ck_assert_int_eq(themis_proto_encode(&header, &late, message, sizeof message, &length), THEMIS_OK);
    ck_assert_int_eq(themis_proto_decode(message, length, &header, &body), THEMIS_OK);
    ck_assert_int_eq(themis_exchange_take(exchange, &body.table, 1000), THEMIS_OK);
    ck_assert_uint_eq(themis_exchange_rows(exchange, 1), 0); /* it was overtaken */
    themis_exchange_destroy(exchange);
    free(rows);
    free(ids);
}
END_TEST

START_TEST(policies_without_shares_have_no_allocation)
{
    pair_t pair;

    create(&pair, "fifo", 50000000);
    run(&pair, 50000000);
    round_of(&pair, -1);
    run(&pair, 50000000);
    ck_assert_uint_eq(themis_exchange_known(pair.exchange[0]), 2);
    destroy(&pair);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("exchange");
    TCase *tests = tcase_create("all");

    tcase_set_timeout(tests, 60);
    tcase_add_loop_test(tests, global_shares_by_the_second_interval, 0, 4);
    tcase_add_test(tests, a_lost_server_returns_the_others_to_local_shares);
    tcase_add_test(tests, demand_moves_the_allocation);
    tcase_add_test(tests, a_large_table_comes_in_parts);
    tcase_add_test(tests, policies_without_shares_have_no_allocation);
    suite_add_tcase(suite, tests);
    return test_run(suite);
}
