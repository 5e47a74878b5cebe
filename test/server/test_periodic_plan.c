/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans of periodic I/O as servers get them: good ones, bad ones, and when their periods begin. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include "server/periodic_plan.h"
#include "test/lib/run.h"
#include "util/clock.h"

#define GOOD                                                                                                           \
    "{\"period_s\": 10, \"platform\": {\"bytes_per_s\": 1000}, \"applications\": ["                                    \
    "{\"application\": \"a\", \"instances\": [{\"io\": [{\"begin_s\": 1, \"end_s\": 2.5, \"bytes_per_s\": 500},"       \
    "{\"begin_s\": 12, \"end_s\": 14, \"bytes_per_s\": 1000.0001}]}, {\"io\": []}]}, "                                 \
    "{\"application\": \"b\", \"instances\": []}]"

static const themis_server_periodic_plan_clock_t at_start = {.now = 5 * THEMIS_NS_PER_S,
                                                             .wall = 1003 * THEMIS_NS_PER_S};

static themis_status_t plan_take(const char *text, const themis_server_periodic_plan_clock_t *clock,
                                 themis_sched_periodic_t **plan, char *policy, char *error)
{
    *error = '\0';
    return themis_server_periodic_plan_read(text, strlen(text), clock, plan, policy, error, 256);
}

TEST(a_plan_is_read)
{
    char policy[THEMIS_SCHED_POLICY_TEXT_BYTES], error[256];
    themis_sched_periodic_t *plan;

    ck_assert_msg(plan_take(GOOD "}", &at_start, &plan, policy, error) == THEMIS_OK, "%s", error);
    ck_assert_str_eq(policy, "periodic");
    ck_assert_str_eq(plan->identity, "");
    ck_assert_uint_eq(plan->period, 10 * THEMIS_NS_PER_S);
    ck_assert_uint_eq(plan->tolerance, THEMIS_NS_PER_S / 5);
    ck_assert_uint_eq(plan->lanes, 2);
    ck_assert_str_eq(plan->lane[0].application, "a");
    ck_assert_uint_eq(plan->lane[0].windows, 2);
    ck_assert_uint_eq(plan->lane[0].window[0].begin, THEMIS_NS_PER_S);
    ck_assert_double_eq(plan->lane[0].window[0].share, 0.5);
    ck_assert_uint_eq(plan->lane[0].window[1].begin, 2 * THEMIS_NS_PER_S); /* of the next repetition */
    ck_assert_uint_eq(plan->lane[0].window[1].end, 4 * THEMIS_NS_PER_S);
    ck_assert_double_eq(plan->lane[0].window[1].share, 1); /* rounded by the planner */
    ck_assert_uint_eq(plan->lane[1].windows, 0);
    /* 1003 s since 1970 are 3 s of a period */
    ck_assert_uint_eq((plan->origin + 3 * THEMIS_NS_PER_S - at_start.now) % plan->period, 0);
    themis_sched_periodic_destroy(plan);
    ck_assert_msg(plan_take(GOOD ", \"identity\": \"0123456789abcdef0123456789abcdef\"}", &at_start, &plan, policy,
                            error) == THEMIS_OK,
                  "%s", error);
    ck_assert_str_eq(plan->identity, "0123456789abcdef0123456789abcdef");
    themis_sched_periodic_destroy(plan);
}

TEST(a_period_begins_at_the_origin)
{
    static const struct {
        const char *origin;
        uint64_t phase; /* s of the period, now */
    } times[] = {{"1003", 0}, {"1001", 2}, {"993", 0}, {"1005", 8}, {"2000", 3}, {"1003.5", 9}};
    char text[1024], policy[THEMIS_SCHED_POLICY_TEXT_BYTES], error[256];
    themis_sched_periodic_t *plan;

    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        snprintf(text, sizeof text,
                 "%s, \"origin_s\": %s, \"tolerance_s\": 0, \"policy\": \"periodic-then-user-fair\"}", GOOD,
                 times[i].origin);
        ck_assert_msg(plan_take(text, &at_start, &plan, policy, error) == THEMIS_OK, "%s", error);
        ck_assert_str_eq(policy, "periodic-then-user-fair");
        uint64_t since = (at_start.now + 2 * plan->period - plan->origin) % plan->period;
        ck_assert_uint_eq(since / THEMIS_NS_PER_S, times[i].phase);
        themis_sched_periodic_destroy(plan);
    }
}

#define BAD_WINDOW(window)                                                                                             \
    "{\"period_s\": 10, \"platform\": {\"bytes_per_s\": 1000}, \"applications\": ["                                    \
    "{\"application\": \"a\", \"instances\": [{\"io\": [" window "]}]}]}"

TEST(a_bad_plan_is_refused_with_the_reason)
{
    static const struct {
        const char *text, *reason;
    } bad[] = {
        {"", "line 1"},
        {"[]", "period_s"},
        {"{\"period_s\": 1}", "platform"},
        {"{\"period_s\": 1, \"platform\": {\"bytes_per_s\": 0}, \"applications\": []}", "above 0"},
        {"{\"period_s\": -1, \"platform\": {\"bytes_per_s\": 1}, \"applications\": []}", "a period of -1 s"},
        {"{\"period_s\": 1e9, \"platform\": {\"bytes_per_s\": 1}, \"applications\": []}", "a period of 1e+09 s"},
        {"{\"period_s\": 1, \"platform\": {\"bytes_per_s\": 1}}", "no \"applications\""},
        {"{\"period_s\": 1, \"platform\": {\"bytes_per_s\": 1}, \"applications\": [1]}", "needs \"application\""},
        {"{\"period_s\": 1, \"platform\": {\"bytes_per_s\": 1}, \"applications\": [{\"application\": \"\", "
         "\"instances\": []}]}",
         "a name of no"},
        {"{\"period_s\": 1, \"platform\": {\"bytes_per_s\": 1}, \"applications\": [{\"application\": \"x\", "
         "\"instances\": [{}]}]}",
         "x, instance 1: no \"io\""},
        {BAD_WINDOW("7"), "a, instance 1: a window needs"},
        {BAD_WINDOW("{\"begin_s\": -1, \"end_s\": 2, \"bytes_per_s\": 5}"), "a window needs"},
        {BAD_WINDOW("{\"begin_s\": 3, \"end_s\": 2, \"bytes_per_s\": 5}"), "a window of -1 s"},
        {BAD_WINDOW("{\"begin_s\": 3, \"end_s\": 14, \"bytes_per_s\": 5}"), "a window of 11 s"},
        {BAD_WINDOW("{\"begin_s\": 1, \"end_s\": 2, \"bytes_per_s\": 1001}"), "with 1001 bytes/s does not fit"},
        {BAD_WINDOW("{\"begin_s\": 1, \"end_s\": 2, \"bytes_per_s\": -5}"), "does not fit"},
        {GOOD ", \"policy\": \"job-fair\"}", "follows no plan"},
        {GOOD ", \"policy\": \"periodic-then-x\"}", "character 15"},
        {GOOD ", \"tolerance_s\": 6}", "tolerance_s 6 is out of range"},
        {GOOD ", \"identity\": \"0123456789abcdef0123456789abcdef0\"}", "at most 32 bytes"},
        {GOOD ", \"identity\": 7}", "\"identity\" is no text"},
        {GOOD ", \"origin_s\": -6}", "origin_s -6"},
        {GOOD ", \"origin_s\": 1e300}", "origin_s 1e+300"},
    };
    char policy[THEMIS_SCHED_POLICY_TEXT_BYTES], error[256];
    themis_sched_periodic_t *plan = NULL;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_int_eq(plan_take(bad[i].text, &at_start, &plan, policy, error), THEMIS_PARSE);
        ck_assert_msg(strstr(error, bad[i].reason) != NULL, "%zu: \"%s\" does not say %s", i, error, bad[i].reason);
        ck_assert_ptr_null(plan);
    }
    ck_assert_int_eq(themis_server_periodic_plan_read_file("/nonexistent/plan", &at_start, &plan, error, sizeof error),
                     THEMIS_PARSE);
    ck_assert_msg(strstr(error, "/nonexistent/plan: ") == error, "%s", error);
}

int main(void)
{
    Suite *suite = suite_create("periodic plan");

    test_case(
        suite, "all", 30, NULL, NULL,
        TESTS({a_plan_is_read, 1}, {a_period_begins_at_the_origin, 1}, {a_bad_plan_is_refused_with_the_reason, 1}));
    return test_run(suite);
}
