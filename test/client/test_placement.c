/* SPDX-License-Identifier: BSD-3-Clause */
/* To which servers new files are confined, and where in them a file is. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "client/placement.h"
#include "test/lib/run.h"

enum { SERVERS = 10, PATHS = 20000 };
static const char list[] = "a:1,b:1,c:1,d:1,e:1,f:1,g:1,h:1,i:1,j:1";
static themis_client_placement_t placement;
static uint32_t known;
static char unknown[16];

static themis_status_t read_text(const char *text)
{
    return themis_client_placement_read(text, list, &placement, &known, unknown, sizeof unknown);
}

static void tear_down(void)
{
    themis_client_placement_free(&placement);
}

static void expect_run(uint32_t i, uint32_t first, uint32_t length)
{
    ck_assert_uint_lt(i, placement.runs);
    ck_assert_uint_eq(placement.run[i].first, first);
    ck_assert_uint_eq(placement.run[i].length, length);
}

TEST(neighbours_are_one_run)
{
    ck_assert_int_eq(read_text("d:1 c:1,,b:1, d:1"), THEMIS_OK);
    ck_assert_uint_eq(placement.runs, 1);
    expect_run(0, 1, 3);
    ck_assert_uint_eq(placement.longest, 3);
}

TEST(the_last_server_is_beside_the_first)
{
    ck_assert_int_eq(read_text("j:1,a:1,e:1"), THEMIS_OK);
    ck_assert_uint_eq(placement.runs, 2);
    expect_run(0, 4, 1);
    expect_run(1, 9, 2);
}

TEST(all_servers_are_one_run)
{
    ck_assert_int_eq(read_text(list), THEMIS_OK);
    ck_assert_uint_eq(placement.runs, 1);
    expect_run(0, 0, SERVERS);
}

TEST(unknown_servers_are_named)
{
    ck_assert_int_eq(read_text("b:1,b:2,x:1"), THEMIS_NO_ENTRY);
    ck_assert_str_eq(unknown, "b:2");
    ck_assert_uint_eq(known, 1);
    ck_assert_uint_eq(placement.runs, 0);
    ck_assert_int_eq(read_text("b:11,a-name-that-is-long:1"), THEMIS_NO_ENTRY);
    ck_assert_uint_eq(known, 0);
    ck_assert_int_eq(read_text("a-name-that-is-long:1"), THEMIS_NO_ENTRY);
    ck_assert_str_eq(unknown, "a-name-that-is-");
    ck_assert_int_eq(read_text(" ,\t"), THEMIS_CONFIG);
}

/* Bytes that each server has of many files, as parts of 1; returns how many servers the files have, at most. */
static uint32_t spread(uint32_t count, uint32_t usual, double part[SERVERS])
{
    uint32_t most = 0;

    memset(part, 0, SERVERS * sizeof *part);
    for (uint32_t i = 0; i < PATHS; i++) {
        themis_proto_layout_t layout = {4096, count, UINT32_MAX};

        themis_client_placement_choose(&placement, i * UINT64_C(0x9e3779b97f4a7c15), usual, &layout);
        ck_assert_uint_gt(layout.count, 0);
        ck_assert_uint_lt(layout.first, SERVERS);
        most = layout.count > most ? layout.count : most;
        for (uint32_t k = 0; k < layout.count; k++)
            part[(layout.first + k) % SERVERS] += 1.0 / layout.count / PATHS;
    }
    return most;
}

TEST(files_stay_within_a_run)
{
    double part[SERVERS];

    ck_assert_int_eq(read_text("i:1,j:1,a:1,b:1"), THEMIS_OK);
    for (uint32_t count = 0; count <= SERVERS; count++) {
        ck_assert_uint_eq(spread(count, 0, part), count == 0 || count > 4 ? 4 : count);
        for (int i = 2; i < 8; i++)
            ck_assert_double_eq(part[i], 0);
        for (int i = 0; i < 4; i++)
            ck_assert_double_eq_tol(part[(8 + i) % SERVERS], 0.25, count == 3 ? 0.09 : 0.01);
    }
}

TEST(the_usual_count_is_taken_where_none_is_given)
{
    double part[SERVERS];

    ck_assert_int_eq(read_text("c:1,d:1,e:1,f:1"), THEMIS_OK);
    ck_assert_uint_eq(spread(0, 2, part), 2);
    ck_assert_uint_eq(spread(3, 2, part), 3);
    ck_assert_uint_eq(spread(0, 7, part), 4);
}

TEST(runs_share_files_by_their_lengths)
{
    double part[SERVERS];

    ck_assert_int_eq(read_text("a:1,b:1,c:1,f:1,g:1,i:1"), THEMIS_OK);
    ck_assert_uint_eq(placement.runs, 3);
    ck_assert_uint_eq(spread(1, 0, part), 1);
    for (int i = 0; i < SERVERS; i++)
        ck_assert_double_eq_tol(part[i], i < 3 || i == 5 || i == 6 || i == 8 ? 1.0 / 6 : 0, 0.01);
    ck_assert_uint_eq(spread(0, 0, part), 3);
    for (int i = 0; i < SERVERS; i++) /* one server is too little for a file on three */
        ck_assert_double_eq_tol(part[i], i < 3 || i == 5 || i == 6 ? 0.2 : 0, 0.01);
}

TEST(a_placement_on_all_servers_changes_nothing)
{
    themis_proto_layout_t layout = {4096, 0, UINT32_MAX};

    ck_assert_int_eq(read_text(list), THEMIS_OK);
    themis_client_placement_choose(&placement, 47, 0, &layout);
    ck_assert_uint_eq(layout.first, 7);
    ck_assert_uint_eq(layout.count, SERVERS);
}

int main(void)
{
    Suite *suite = suite_create("placement");

    test_case(suite, "all", 20, NULL, tear_down,
              TESTS({neighbours_are_one_run, 1}, {the_last_server_is_beside_the_first, 1}, {all_servers_are_one_run, 1},
                    {unknown_servers_are_named, 1}, {files_stay_within_a_run, 1},
                    {the_usual_count_is_taken_where_none_is_given, 1}, {runs_share_files_by_their_lengths, 1},
                    {a_placement_on_all_servers_changes_nothing, 1}));
    return test_run(suite);
}
