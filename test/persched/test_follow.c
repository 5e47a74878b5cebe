/* SPDX-License-Identifier: BSD-3-Clause */
/* When servers are to follow a plan of the jobs that run, and when not any more. */
#include <check.h>
#include <math.h>
#include <string.h>
#include "persched/follow.h"
#include "test/lib/run.h"

enum { JOBS = 4, SERVERS = 2 };

static themis_persched_follow_t *follow;
static themis_persched_follow_job_t job[JOBS + 1];
static themis_persched_follow_view_t view;
static themis_persched_follow_decision_t d;
static themis_persched_follow_server_t server[SERVERS];
static char policy[THEMIS_PERSCHED_FOLLOW_POLICY_BYTES]; /* of the plan */

/* All servers have this policy, with the plan decided upon or not. */
static void in_force(const char *text, int ours)
{
    for (int i = 0; i < SERVERS; i++)
        server[i] = (themis_persched_follow_server_t){.policy = text, .ours = ours};
}

/* Four jobs that compute for 12 s, and write together what takes each 4 s alone: 28 s a round. */
static void set_up(void)
{
    static const char *const names[JOBS + 1] = {"a", "b", "c", "d", "e"};

    ck_assert_int_eq(themis_persched_follow_create(&themis_persched_follow_defaults, &follow), THEMIS_OK);
    for (int i = 0; i <= JOBS; i++)
        job[i] = (themis_persched_follow_job_t){.name = names[i],
                                                .user = 7,
                                                .nodes = 2,
                                                .compute = 12,
                                                .volume = 400e6,
                                                .period = 28,
                                                .confidence = 0.9,
                                                .phases = 6,
                                                .rate = 100e6,
                                                .fit = -1,
                                                .until = 1000};
    view = (themis_persched_follow_view_t){
        .now = 1000, .bandwidth = 100e6, .server = server, .servers = SERVERS, .job = job, .jobs = JOBS};
    in_force("user-then-job-fair", 0);
}

static void tear_down(void)
{
    themis_persched_follow_destroy(follow);
}

static void expect(themis_persched_follow_action_t action, themis_persched_follow_cause_t cause)
{
    ck_assert_int_eq(themis_persched_follow_decide(follow, &view, &d), THEMIS_OK);
    ck_assert_msg(d.action == action && d.cause == cause, "action %d, cause %s: %s", (int)d.action,
                  themis_persched_follow_cause_name(d.cause), d.reason);
    ck_assert_str_ne(d.reason, "");
}

/* A plan is in force, and its jobs are seen in it, `seconds` later, with this period. */
static void planned(double seconds, double period)
{
    expect(THEMIS_PERSCHED_FOLLOW_PLAN, THEMIS_PERSCHED_FOLLOW_PAYS);
    memcpy(policy, d.policy, sizeof policy);
    in_force(policy, 1);
    view.now += seconds;
    for (int i = 0; i <= JOBS; i++) {
        job[i].period = period;
        job[i].fit = 1;
        job[i].until = view.now;
    }
}

TEST(sets_a_plan_that_pays)
{
    char error[256] = "";

    expect(THEMIS_PERSCHED_FOLLOW_PLAN, THEMIS_PERSCHED_FOLLOW_PAYS);
    ck_assert_str_eq(d.policy, "periodic-then-user-then-job-fair");
    ck_assert_double_eq_tol(d.measured, 12.0 / 28, 1e-9);
    ck_assert_double_ge(d.predicted, 0.65); /* 12 of 16.8 s, with headroom, and rounds of equal length */
    ck_assert_uint_eq(d.problem->applications, JOBS);
    ck_assert_str_eq(d.problem->application[2].name, "c");
    ck_assert_uint_eq(d.pattern->lanes, JOBS);
    ck_assert_msg(themis_persched_check(d.problem, d.pattern, error, sizeof error) == THEMIS_OK, "%s", error);
    ck_assert_str_eq(themis_persched_follow_before(follow), "user-then-job-fair");
    ck_assert_double_eq(themis_persched_follow_since(follow), 1000);
}

/* One that can move four tenths has long windows, and the others do not. */
TEST(plans_with_what_a_job_can_move)
{
    job[3].rate = 40e6;
    expect(THEMIS_PERSCHED_FOLLOW_PLAN, THEMIS_PERSCHED_FOLLOW_PAYS);
    ck_assert_double_eq(d.problem->application[3].bandwidth, 40e6);
    for (uint32_t k = 0; k < d.pattern->lanes; k++)
        for (uint32_t w = 0; w < d.pattern->lane[k].instance[0].windows; w++)
            ck_assert_double_le(d.pattern->lane[k].instance[0].window[w].bandwidth, k == 3 ? 40e6 : 100e6);
    themis_persched_follow_forget(follow);
    view.node_bandwidth = 30e6;
    expect(THEMIS_PERSCHED_FOLLOW_PLAN, THEMIS_PERSCHED_FOLLOW_PAYS);
    ck_assert_double_eq(themis_persched_rate(&d.problem->platform, &d.problem->application[0]), 60e6);
}

TEST(leaves_what_is_good)
{
    for (int i = 0; i < JOBS; i++)
        job[i].period = 17;
    expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_LITTLE);
    ck_assert_ptr_null(themis_persched_follow_before(follow));
}

TEST(does_not_make_one_suffer_for_the_others)
{
    job[0].period = 16.1; /* which no plan of four can give it */
    for (int i = 1; i < JOBS; i++)
        job[i].period = 16.9;
    expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_LITTLE);
}

TEST(leaves_jobs_that_are_not_periodic)
{
    job[0].confidence = 0.3;
    job[1].phases = 2;
    job[2].compute = 0;
    expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_FEW);
    job[2].compute = NAN;
    job[2].volume = INFINITY;
    expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_FEW);
    job[2] = job[3];
    job[2].name = "c";
    expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_UNSETTLED);
    expect(THEMIS_PERSCHED_FOLLOW_PLAN, THEMIS_PERSCHED_FOLLOW_PAYS);
    ck_assert_uint_eq(d.pattern->lanes, 2);
}

TEST(other_policies_and_plans)
{
    server[1].policy = "fifo";
    expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_DIFFER);
    server[1].policy = NULL; /* it does not answer */
    expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_DIFFER);
    in_force("periodic-then-user-fair", 0);
    expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_NOT_OURS);
    in_force("fifo", 0); /* which can follow no plan */
    expect(THEMIS_PERSCHED_FOLLOW_PLAN, THEMIS_PERSCHED_FOLLOW_PAYS);
    ck_assert_str_eq(d.policy, "periodic");
    ck_assert_str_eq(themis_persched_follow_before(follow), "fifo");
}

TEST(holds_and_ends_with_a_job)
{
    planned(100, 17);
    expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_HOLDS);
    for (int i = 0; i < JOBS; i++)
        job[i].phases = 1; /* nothing is known since the plan came into force */
    expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_BEGINS);
    ck_assert_double_eq(d.measured, 0);
    view.jobs--;
    expect(THEMIS_PERSCHED_FOLLOW_RESTORE, THEMIS_PERSCHED_FOLLOW_ENDED);
    ck_assert_str_eq(d.policy, "user-then-job-fair");
    ck_assert_ptr_nonnull(strstr(d.reason, "job d "));
    ck_assert_ptr_null(themis_persched_follow_before(follow));
    in_force("user-then-job-fair", 0);
    expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_FEW); /* until phases are seen under this policy */
}

TEST(one_id_of_two_users)
{
    job[1].name = job[0].name;
    job[1].user = 8;
    planned(100, 17);
    expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_HOLDS);
    job[1].user = 9;
    expect(THEMIS_PERSCHED_FOLLOW_RESTORE, THEMIS_PERSCHED_FOLLOW_ENDED);
}

TEST(ends_when_a_job_changes)
{
    planned(100, 17);
    job[1].volume *= 1.5;
    expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_HOLDS); /* it may have been one odd phase */
    view.now += 500;
    expect(THEMIS_PERSCHED_FOLLOW_RESTORE, THEMIS_PERSCHED_FOLLOW_CHANGED);
    in_force("user-then-job-fair", 0);
    for (int i = 0; i < JOBS; i++)
        job[i].period = 28;
    expect(THEMIS_PERSCHED_FOLLOW_PLAN, THEMIS_PERSCHED_FOLLOW_PAYS); /* what it does now can be planned */
}

TEST(ends_when_a_job_falls_silent)
{
    planned(100, 17);
    job[1].phases = 0;
    expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_BEGINS);
    job[1].until = view.now += 1000;
    expect(THEMIS_PERSCHED_FOLLOW_RESTORE, THEMIS_PERSCHED_FOLLOW_CHANGED);
}

TEST(has_patience_with_jobs_that_do_not_fit)
{
    planned(30, 22);
    job[2].fit = 0.2;
    expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_HOLDS);
    view.now += 20;
    job[2].fit = 0.8;
    expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_HOLDS);
    job[2].fit = 0.2;
    expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_HOLDS);
    view.now += 500;
    expect(THEMIS_PERSCHED_FOLLOW_RESTORE, THEMIS_PERSCHED_FOLLOW_MISFIT);
    in_force("user-then-job-fair", 0);
    for (int i = 0; i < JOBS; i++)
        job[i].period = 28;
    expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_REFUSED); /* not the same again */
    view.jobs++;
    expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_UNSETTLED);
    expect(THEMIS_PERSCHED_FOLLOW_PLAN, THEMIS_PERSCHED_FOLLOW_PAYS);
}

TEST(leaves_jobs_alone_that_gain_without_fitting)
{
    planned(30, 16.5);
    job[2].fit = 0.2;
    expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_HOLDS);
    view.now += 500;
    expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_HOLDS);
}

TEST(ends_when_it_is_worse)
{
    planned(100, 29);
    expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_HOLDS);
    for (int i = 0; i < JOBS; i++)
        job[i].period = 31;
    expect(THEMIS_PERSCHED_FOLLOW_RESTORE, THEMIS_PERSCHED_FOLLOW_WORSE);
}

TEST(takes_new_jobs_in)
{
    planned(100, 25);
    view.jobs++;
    job[JOBS].confidence = 0.2;
    expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_HOLDS);
    job[JOBS].confidence = 0.9;
    job[JOBS].period = 40;
    expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_HOLDS);
    expect(THEMIS_PERSCHED_FOLLOW_PLAN, THEMIS_PERSCHED_FOLLOW_PAYS);
    ck_assert_uint_eq(d.pattern->lanes, JOBS + 1);
    ck_assert_str_eq(themis_persched_follow_before(follow), "user-then-job-fair");
}

/* What the jobs did before there was a plan. */
static void as_before(void)
{
    for (int i = 0; i <= JOBS; i++)
        job[i].period = 28;
}

TEST(somebody_else_decides)
{
    planned(100, 17);
    in_force("size-fair", 0);
    expect(THEMIS_PERSCHED_FOLLOW_YIELD, THEMIS_PERSCHED_FOLLOW_OVERRULED);
    ck_assert_str_eq(d.policy, "");
    ck_assert_ptr_null(themis_persched_follow_before(follow));
    as_before();
    for (int i = 0; i < 3; i++)
        expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_OVERRULED);
    in_force("user-fair", 0);
    planned(100, 17);
    ck_assert_str_eq(themis_persched_follow_before(follow), "user-fair");
    in_force("user-fair", 0); /* by hand, which says the same */
    expect(THEMIS_PERSCHED_FOLLOW_YIELD, THEMIS_PERSCHED_FOLLOW_OVERRULED);
    as_before();
    expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_OVERRULED);
}

TEST(a_plan_of_others_is_not_ours)
{
    planned(100, 17);
    in_force(policy, 0);
    expect(THEMIS_PERSCHED_FOLLOW_YIELD, THEMIS_PERSCHED_FOLLOW_OVERRULED);
    expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_NOT_OURS);
    as_before();
    in_force("size-fair", 0);
    expect(THEMIS_PERSCHED_FOLLOW_PLAN, THEMIS_PERSCHED_FOLLOW_PAYS);
}

TEST(servers_leave_the_plan_one_by_one)
{
    planned(100, 17);
    server[0] = (themis_persched_follow_server_t){.policy = "size-fair"};
    expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_DIFFER); /* the other may follow */
    server[0] = server[1];
    expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_HOLDS);
    server[0] = (themis_persched_follow_server_t){.policy = "size-fair"};
    expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_DIFFER);
    expect(THEMIS_PERSCHED_FOLLOW_RESTORE, THEMIS_PERSCHED_FOLLOW_OVERRULED);
    ck_assert_str_eq(d.policy, "user-then-job-fair");
    as_before();
    server[1] = (themis_persched_follow_server_t){.policy = d.policy};
    expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_DIFFER);
    in_force("size-fair", 0);
    expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_OVERRULED);
}

TEST(a_server_starts_again)
{
    planned(100, 17);
    server[1] = (themis_persched_follow_server_t){.policy = "user-then-job-fair"};
    expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_DIFFER);
    expect(THEMIS_PERSCHED_FOLLOW_RESTORE, THEMIS_PERSCHED_FOLLOW_DIFFER);
    ck_assert_str_eq(d.policy, "user-then-job-fair");
    as_before();
    in_force("user-then-job-fair", 0);
    expect(THEMIS_PERSCHED_FOLLOW_PLAN, THEMIS_PERSCHED_FOLLOW_PAYS);
}

TEST(judges_without_a_server_that_is_lost)
{
    planned(100, 17);
    server[0].policy = NULL;
    expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_HOLDS);
    view.jobs++;
    job[JOBS].period = 40;
    expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_HOLDS);
    expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_HOLDS); /* it could not get a new plan */
    job[1].name = "f";
    expect(THEMIS_PERSCHED_FOLLOW_RESTORE, THEMIS_PERSCHED_FOLLOW_ENDED);
    server[1].policy = NULL;
    ck_assert_int_eq(themis_persched_follow_decide(follow, &view, &d), THEMIS_INVALID);
}

TEST(ends_when_a_job_has_no_windows)
{
    planned(100, 17);
    job[2].fit = -1; /* another job has them */
    expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_HOLDS);
    view.now += 500;
    expect(THEMIS_PERSCHED_FOLLOW_RESTORE, THEMIS_PERSCHED_FOLLOW_MISFIT);
    in_force("user-then-job-fair", 0);
    as_before();
    expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_REFUSED);
}

TEST(forgets)
{
    planned(100, 17);
    themis_persched_follow_forget(follow);
    ck_assert_ptr_null(themis_persched_follow_before(follow));
    ck_assert_double_eq(themis_persched_follow_since(follow), 0);
    in_force("user-then-job-fair", 0);
    as_before();
    view.jobs++;
    expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_UNSETTLED); /* the last look counts */
    expect(THEMIS_PERSCHED_FOLLOW_PLAN, THEMIS_PERSCHED_FOLLOW_PAYS);
}

TEST(does_not_repeat_what_fails)
{
    expect(THEMIS_PERSCHED_FOLLOW_PLAN, THEMIS_PERSCHED_FOLLOW_PAYS);
    themis_persched_follow_fail(follow);
    ck_assert_ptr_null(themis_persched_follow_before(follow));
    ck_assert_uint_eq(d.problem->applications, JOBS); /* which can be told still */
    for (int i = 0; i < 3; i++)
        expect(THEMIS_PERSCHED_FOLLOW_STAY, THEMIS_PERSCHED_FOLLOW_REFUSED);
    job[0].volume *= 1.5;
    expect(THEMIS_PERSCHED_FOLLOW_PLAN, THEMIS_PERSCHED_FOLLOW_PAYS);
}

/* One that is a thousand times as slow or fast as the others is left out, and the others are planned. */
TEST(extremes_are_left_out)
{
    job[2].compute *= 1e7;
    job[2].period *= 1e7;
    expect(THEMIS_PERSCHED_FOLLOW_PLAN, THEMIS_PERSCHED_FOLLOW_PAYS);
    ck_assert_uint_eq(d.pattern->lanes, JOBS - 1);
    themis_persched_follow_forget(follow);
    job[2].compute = job[0].compute * 1e-7;
    job[2].period = job[0].period * 1e-7;
    expect(THEMIS_PERSCHED_FOLLOW_PLAN, THEMIS_PERSCHED_FOLLOW_PAYS);
    ck_assert_uint_eq(d.pattern->lanes, JOBS - 1);
}

TEST(refuses_what_is_out_of_range)
{
    themis_persched_follow_options_t options = themis_persched_follow_defaults;
    themis_persched_follow_t *other;

    options.min_phases = 2;
    ck_assert_int_eq(themis_persched_follow_create(&options, &other), THEMIS_INVALID);
    options = themis_persched_follow_defaults;
    options.margin = NAN;
    ck_assert_int_eq(themis_persched_follow_create(&options, &other), THEMIS_INVALID);
    view.bandwidth = 0;
    ck_assert_int_eq(themis_persched_follow_decide(follow, &view, &d), THEMIS_INVALID);
    ck_assert_str_eq(themis_persched_follow_cause_name(THEMIS_PERSCHED_FOLLOW_CAUSES), "unknown");
}

int main(void)
{
    Suite *suite = suite_create("follow");

    test_case(suite, "decisions", 60, set_up, tear_down,
              TESTS({sets_a_plan_that_pays, 1}, {plans_with_what_a_job_can_move, 1}, {leaves_what_is_good, 1},
                    {does_not_make_one_suffer_for_the_others, 1}, {leaves_jobs_that_are_not_periodic, 1},
                    {other_policies_and_plans, 1}, {holds_and_ends_with_a_job, 1}, {one_id_of_two_users, 1},
                    {ends_when_a_job_changes, 1}, {ends_when_a_job_falls_silent, 1},
                    {has_patience_with_jobs_that_do_not_fit, 1}, {leaves_jobs_alone_that_gain_without_fitting, 1},
                    {ends_when_it_is_worse, 1}, {takes_new_jobs_in, 1}, {somebody_else_decides, 1},
                    {a_plan_of_others_is_not_ours, 1}, {servers_leave_the_plan_one_by_one, 1},
                    {a_server_starts_again, 1}, {judges_without_a_server_that_is_lost, 1},
                    {ends_when_a_job_has_no_windows, 1}, {forgets, 1}, {does_not_repeat_what_fails, 1},
                    {extremes_are_left_out, 1}, {refuses_what_is_out_of_range, 1}));
    return test_run(suite);
}
