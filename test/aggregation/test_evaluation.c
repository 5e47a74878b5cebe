/* SPDX-License-Identifier: BSD-3-Clause */
/* Evaluation of file domains, and the claims of Liao and Choudhary that it must confirm. */
#include <check.h>
#include <stdlib.h>

#include "test/aggregation/draw.h"
#include "test/lib/run.h"
#include "themis/aggregation.h"

static themis_aggregation_evaluation_t evaluate_range(themis_aggregation_method_t method,
                                                      themis_aggregation_layout_t layout, uint64_t last,
                                                      uint32_t aggregators, uint64_t limit)
{
    themis_aggregation_domains_t d;
    themis_aggregation_evaluation_t v;

    ck_assert_int_eq(themis_aggregation_domains_init(method, &layout, 0, last, aggregators, &d), THEMIS_OK);
    ck_assert_int_eq(themis_aggregation_domains_evaluate(&d, limit, &v), THEMIS_OK);
    return v;
}

static themis_aggregation_evaluation_t evaluate(themis_aggregation_method_t method, uint32_t servers,
                                                uint32_t aggregators)
{
    themis_aggregation_layout_t layout = {100, servers, (uint32_t)draw(servers)};

    return evaluate_range(method, layout, (uint64_t)servers * aggregators * 1200 - 1, aggregators, UINT64_MAX);
}

TEST(cyclic_methods_keep_to_few_servers)
{
    static const uint32_t grid[][2] = {{3, 6}, {4, 8}, {8, 8}, {8, 16}, {4, 4}, {8, 4}, {6, 3}};
    uint32_t servers = grid[_i][0], aggregators = grid[_i][1];
    themis_aggregation_evaluation_t aligned = evaluate(THEMIS_AGGREGATION_ALIGNED, servers, aggregators);
    themis_aggregation_evaluation_t fixed = evaluate(THEMIS_AGGREGATION_STATIC_CYCLIC, servers, aggregators);
    themis_aggregation_evaluation_t group = evaluate(THEMIS_AGGREGATION_GROUP_CYCLIC, servers, aggregators);

    ck_assert_uint_eq(aligned.shared_stripes, 0);
    ck_assert_uint_eq(aligned.servers_max, servers);
    /* factor or multiple: the smallest number of servers for each aggregator */
    ck_assert_uint_eq(fixed.servers_max, aggregators >= servers ? 1 : servers / aggregators);
    ck_assert_uint_eq(group.servers_max, fixed.servers_max);
    /* one conflict for each further group that comes to a server, however long the range */
    ck_assert_uint_eq(group.conflicts_max, aggregators > servers ? aggregators / servers - 1 : 0);
    if (aggregators > servers)
        ck_assert_uint_gt(fixed.conflicts, 10 * group.conflicts);
    else
        ck_assert_uint_eq(fixed.conflicts, 0);
}

TEST(transpose_has_about_one_conflict)
{
    static const uint32_t grid[][2] = {{3, 5}, {4, 7}, {8, 9}, {8, 15}, {16, 31}, {5, 3}, {7, 4}};
    uint32_t servers = grid[_i][0], aggregators = grid[_i][1];
    themis_aggregation_evaluation_t v = evaluate(THEMIS_AGGREGATION_TRANSPOSE, servers, aggregators);
    themis_aggregation_evaluation_t fixed = evaluate(THEMIS_AGGREGATION_STATIC_CYCLIC, servers, aggregators);

    /* domains are cut aggregators - 1 times, so this is how often a server can change hands */
    ck_assert_uint_le(v.conflicts_max, (aggregators + servers - 1) / servers);
    ck_assert_uint_le(v.conflicts, aggregators - 1);
    ck_assert_uint_le(v.servers_max, (servers + aggregators - 1) / aggregators + 1);
    ck_assert_uint_eq(v.shared_stripes, 0);
    ck_assert_uint_gt(fixed.conflicts, 10 * v.conflicts);
}

/* The figure itself: 12 stripes, 3 servers, 5 aggregators. */
TEST(transpose_of_the_figure)
{
    themis_aggregation_layout_t layout = {10, 3, 0};
    themis_aggregation_evaluation_t v = evaluate_range(THEMIS_AGGREGATION_TRANSPOSE, layout, 119, 5, UINT64_MAX);

    ck_assert_uint_eq(v.conflicts, 3);
    ck_assert_uint_eq(v.conflicts_max, 1);
}

TEST(even_shares_stripes)
{
    themis_aggregation_layout_t layout = {1000, 4, 0};
    themis_aggregation_evaluation_t v = evaluate_range(THEMIS_AGGREGATION_EVEN, layout, 9999, 3, UINT64_MAX);

    ck_assert_uint_eq(v.shared_stripes, 2);
    ck_assert_uint_eq(v.bytes_max, 3334);
    ck_assert_uint_ge(v.conflicts, 2);
}

TEST(limit_bounds_the_work)
{
    themis_aggregation_layout_t layout = {1, 4, 0};
    themis_aggregation_evaluation_t v =
        evaluate_range(THEMIS_AGGREGATION_STATIC_CYCLIC, layout, INT64_MAX / 2, 8, 1000);

    ck_assert_uint_lt(v.conflicts, 1000);
    ck_assert_uint_gt(v.conflicts, 900);
}

TEST(automatic_choice_follows_the_counts)
{
    draw_state = 13;
    for (int round = 0; round < 60; round++) {
        uint32_t servers = 1 + (uint32_t)draw(12), aggregators = 1 + (uint32_t)draw(24);
        themis_aggregation_layout_t layout = {100, servers, 0};
        themis_aggregation_domains_t chosen;
        themis_aggregation_evaluation_t best;

        ck_assert_int_eq(themis_aggregation_domains_init(THEMIS_AGGREGATION_METHOD_AUTO, &layout, 0, 8 * 240000,
                                                         aggregators, &chosen),
                         THEMIS_OK);
        ck_assert_int_lt(chosen.method, THEMIS_AGGREGATION_METHOD_AUTO);
        best = evaluate(chosen.method, servers, aggregators);
        ck_assert_uint_eq(best.shared_stripes, 0);
        ck_assert_uint_le(best.conflicts, evaluate(THEMIS_AGGREGATION_ALIGNED, servers, aggregators).conflicts);
        /* never at the price of much more work for one aggregator */
        ck_assert_uint_le(4 * best.bytes_max, 5 * evaluate(THEMIS_AGGREGATION_ALIGNED, servers, aggregators).bytes_max);
    }
}

int main(void)
{
    Suite *suite = suite_create("evaluation");

    test_case(suite, "evaluation", 60, NULL, NULL,
              TESTS({cyclic_methods_keep_to_few_servers, 7}, {transpose_has_about_one_conflict, 7},
                    {transpose_of_the_figure, 1}, {even_shares_stripes, 1}, {limit_bounds_the_work, 1},
                    {automatic_choice_follows_the_counts, 1}));
    return test_run(suite);
}
