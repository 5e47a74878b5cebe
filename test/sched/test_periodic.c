/* SPDX-License-Identifier: BSD-3-Clause */
/* Plans of periodic I/O: windows on the circle of a period, and the shares that a scheduler makes of them. */
#include <check.h>
#include <stdio.h>
#include <string.h>
#include "sched/periodic.h"
#include "test/lib/run.h"
#include "test/sched/rig.h"
#include "util/clock.h"

#define MS THEMIS_NS_PER_MS

/* 10 s are 10,000 slices: three standard deviations of a part of one fifth are 6 %. */
static const char *const draws[] = {"stride", "statistical"};
static const double tolerance[] = {0.01, 0.06};

static void add_window(themis_sched_periodic_t *plan, uint64_t begin, uint64_t end, double share)
{
    const themis_sched_periodic_window_t window = {begin, end, share};

    ck_assert_int_eq(themis_sched_periodic_add_window(plan, &window), THEMIS_OK);
}

static themis_sched_periodic_t *plan_of(uint64_t period, uint64_t tolerated, uint64_t origin)
{
    themis_sched_periodic_t *plan;

    ck_assert_int_eq(themis_sched_periodic_create(period, tolerated, origin, &plan), THEMIS_OK);
    return plan;
}

static void add_lane(themis_sched_periodic_t *plan, const char *application)
{
    ck_assert_int_eq(themis_sched_periodic_add_lane(plan, application), THEMIS_OK);
}

TEST(windows_lie_on_a_circle)
{
    static const struct {
        uint64_t now, until;
        double share;
    } expected[] = {
        {5000 * MS, 5200 * MS, 0.5}, {5199 * MS, 5200 * MS, 0.5}, {5200 * MS, 5400 * MS, 0},
        {5500 * MS, 5600 * MS, 1},   {5700 * MS, 5900 * MS, 0},   {5950 * MS, 6200 * MS, 0.5},
        {4500 * MS, 4600 * MS, 1},   {100 * MS, 200 * MS, 0.5},   {995000 * MS, 995200 * MS, 0.5},
    };
    themis_sched_periodic_t *plan = plan_of(1000 * MS, 0, 5000 * MS);

    add_lane(plan, "a");
    add_window(plan, 900 * MS, 1200 * MS, 0.5); /* over the end of the period */
    add_window(plan, 400 * MS, 600 * MS, 1);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        uint64_t until = UINT64_MAX;
        ck_assert_double_eq(themis_sched_periodic_share(plan, &plan->lane[0], expected[i].now, &until),
                            expected[i].share);
        ck_assert_uint_eq(until, expected[i].until);
    }
    ck_assert_uint_eq(themis_sched_periodic_round(plan, 4999 * MS), 0);
    ck_assert_uint_eq(themis_sched_periodic_round(plan, 5000 * MS), 1);
    ck_assert_uint_eq(themis_sched_periodic_round(plan, 7001 * MS), 3);
    themis_sched_periodic_destroy(plan);
}

TEST(windows_last_longer_by_the_tolerance)
{
    themis_sched_periodic_t *plan = plan_of(1000 * MS, 50 * MS, 0);
    uint64_t until = UINT64_MAX;

    add_lane(plan, "a");
    add_window(plan, 20 * MS, 100 * MS, 0.5);
    ck_assert_double_eq(themis_sched_periodic_share(plan, &plan->lane[0], 3969 * MS, &until), 0);
    ck_assert_uint_eq(until, 3970 * MS);
    until = UINT64_MAX;
    ck_assert_double_eq(themis_sched_periodic_share(plan, &plan->lane[0], 3970 * MS, &until), 0.5);
    ck_assert_uint_eq(until, 4150 * MS);
    ck_assert_double_eq(themis_sched_periodic_share(plan, &plan->lane[0], 4150 * MS, &until), 0);
    add_lane(plan, "b"); /* with its tolerance, all of the period */
    add_window(plan, 0, 950 * MS, 0.25);
    until = UINT64_MAX;
    ck_assert_double_eq(themis_sched_periodic_share(plan, &plan->lane[1], 990 * MS, &until), 0.25);
    ck_assert_uint_eq(until, UINT64_MAX);
    themis_sched_periodic_destroy(plan);
}

TEST(what_cannot_be_planned_is_refused)
{
    static const themis_sched_periodic_window_t bad[] = {
        {1000 * MS, 1100 * MS, 0.5}, {200 * MS, 200 * MS, 0.5}, {200 * MS, 100 * MS, 0.5},
        {200 * MS, 1201 * MS, 0.5},  {0, 100 * MS, 0},          {0, 100 * MS, 1.01},
        {0, 100 * MS, -1},           {0, 100 * MS, 0.0 / 0.0}};
    char name[THEMIS_SCHED_JOB_ID_BYTES + 1];
    themis_sched_periodic_t *plan;

    ck_assert_int_eq(themis_sched_periodic_create(MS - 1, 0, 0, &plan), THEMIS_RANGE);
    ck_assert_int_eq(themis_sched_periodic_create(UINT64_MAX, 0, 0, &plan), THEMIS_RANGE);
    ck_assert_int_eq(themis_sched_periodic_create(100 * MS, 51 * MS, 0, &plan), THEMIS_RANGE);
    plan = plan_of(1000 * MS, 0, 0);
    ck_assert_int_eq(themis_sched_periodic_add_window(plan, &(themis_sched_periodic_window_t){0, MS, 1}), THEMIS_RANGE);
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    ck_assert_int_eq(themis_sched_periodic_add_lane(plan, name), THEMIS_RANGE);
    ck_assert_int_eq(themis_sched_periodic_add_lane(plan, ""), THEMIS_RANGE);
    add_lane(plan, "a");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_int_eq(themis_sched_periodic_add_window(plan, &bad[i]), THEMIS_RANGE);
    ck_assert_uint_eq(plan->windows, 0);
    for (int i = 1; i < THEMIS_SCHED_PERIODIC_LANES; i++)
        add_lane(plan, "a");
    ck_assert_int_eq(themis_sched_periodic_add_lane(plan, "a"), THEMIS_RANGE);
    for (int i = 0; i < THEMIS_SCHED_PERIODIC_WINDOWS; i++)
        add_window(plan, 0, MS, 1);
    ck_assert_int_eq(themis_sched_periodic_add_window(plan, &(themis_sched_periodic_window_t){0, MS, 1}), THEMIS_RANGE);
    themis_sched_periodic_destroy(plan);
    themis_sched_periodic_destroy(NULL);
}

/* Puts a plan in force that begins now. */
static void plan_start(rig_t *rig, themis_sched_periodic_t *plan)
{
    ck_assert_int_eq(themis_sched_periodic_seal(plan), THEMIS_OK);
    themis_sched_set_plan(rig->sched, plan, rig->now);
}

/* "a" has 0.8 in the first half of each second, "b" 0.6 in the second. */
static themis_sched_periodic_t *halves(uint64_t origin)
{
    themis_sched_periodic_t *plan = plan_of(1000 * MS, 0, origin);

    add_lane(plan, "a");
    add_window(plan, 0, 500 * MS, 0.8);
    add_lane(plan, "b");
    add_window(plan, 500 * MS, 1000 * MS, 0.6);
    return plan;
}

TEST(shares_follow_the_windows)
{
    themis_sched_options_t chosen = rig_options("periodic", draws[_i]);
    rig_t rig;

    rig_create(&rig, &chosen, 1, 3);
    rig_job_t *a = rig_add(&rig, "a", 1, 1, 1, 4 * MIB, 4), *b = rig_add(&rig, "b", 2, 1, 1, 4 * MIB, 4),
              *c = rig_add(&rig, "c", 3, 1, 1, 4 * MIB, 4);
    rig_run_seconds(&rig, 5); /* no plan yet: all alike */
    rig_expect_part(&rig, c, 1 / 3., tolerance[_i]);
    plan_start(&rig, halves(rig.now));
    rig_reset(&rig);
    rig_run_seconds(&rig, 0.5);
    rig_expect_part(&rig, a, 0.8, 3 * tolerance[_i]);
    rig_expect_part(&rig, b, 0.1, 6 * tolerance[_i]);
    rig_reset(&rig);
    rig_run_seconds(&rig, 0.5);
    rig_expect_part(&rig, b, 0.6, 3 * tolerance[_i]);
    rig_reset(&rig);
    rig_run_seconds(&rig, 10);
    rig_expect_part(&rig, a, 0.5, tolerance[_i]);
    rig_expect_part(&rig, b, 0.35, tolerance[_i]);
    rig_expect_part(&rig, c, 0.15, tolerance[_i]);
    ck_assert_uint_eq(rig.idle_while_queued, 0);
    char error[256];
    ck_assert_int_eq(themis_sched_set_policy(rig.sched, "job-fair", draws[_i], rig.now, error, sizeof error),
                     THEMIS_OK);
    rig_reset(&rig);
    rig_run_seconds(&rig, 5);
    rig_expect_part(&rig, a, 1 / 3., tolerance[_i]);
    rig_destroy(&rig);
}

TEST(others_share_the_rest_by_the_chain)
{
    themis_sched_options_t chosen = rig_options("periodic-then-size-fair", draws[_i]);
    rig_t rig;

    rig_create(&rig, &chosen, 1, 4);
    rig_job_t *a = rig_add(&rig, "a", 1, 1, 1, 4 * MIB, 4), *b = rig_add(&rig, "b", 2, 1, 1, 4 * MIB, 4),
              *large = rig_add(&rig, "large", 3, 1, 2, 4 * MIB, 4);
    themis_sched_periodic_t *plan = plan_of(1000 * MS, 0, rig.now);
    add_lane(plan, "a");
    add_window(plan, 0, 1000 * MS, 0.7);
    plan_start(&rig, plan);
    rig_run_seconds(&rig, 10);
    rig_expect_part(&rig, a, 0.7, tolerance[_i]);
    rig_expect_part(&rig, b, 0.1, 2 * tolerance[_i]);
    rig_expect_part(&rig, large, 0.2, 2 * tolerance[_i]);
    a->end = rig.now; /* what it leaves goes to the others */
    rig_run_seconds(&rig, 1);
    rig_reset(&rig);
    rig_run_seconds(&rig, 5);
    rig_expect_part(&rig, b, 1 / 3., 2 * tolerance[_i]);
    ck_assert_uint_eq(rig.idle_while_queued, 0);
    rig_destroy(&rig);
}

TEST(nobody_starves_beside_a_plan_for_all)
{
    themis_sched_options_t chosen = rig_options("periodic", draws[_i]);
    rig_t rig;

    rig_create(&rig, &chosen, 1, 2);
    rig_add(&rig, "a", 1, 1, 1, 4 * MIB, 4);
    rig_job_t *b = rig_add(&rig, "b", 2, 1, 1, 64 * KIB, 4);
    themis_sched_periodic_t *plan = plan_of(1000 * MS, 0, rig.now);
    add_lane(plan, "a");
    add_window(plan, 0, 1000 * MS, 1);
    add_lane(plan, "elsewhere"); /* has no job here */
    add_window(plan, 0, 1000 * MS, 1);
    plan_start(&rig, plan);
    rig_run_seconds(&rig, 10);
    rig_expect_part(&rig, b, 0.01, _i == 0 ? 0.05 : 0.3);
    rig_destroy(&rig);
}

/* Three jobs of one application and two lanes: those with the smallest ids have them, whoever came first. */
TEST(lanes_go_to_jobs_by_their_ids)
{
    themis_sched_options_t chosen = rig_options("periodic", "stride");
    static const char *const ids[] = {"10", "9", "101"};
    rig_job_t *job[3];
    rig_t rig;

    rig_create(&rig, &chosen, 1, 3);
    for (int i = 0; i < 3; i++) {
        job[i] = rig_add(&rig, ids[i], 1, 1, 1, MIB, 4);
        snprintf(job[i]->job->application, sizeof job[i]->job->application, "sim");
    }
    themis_sched_periodic_t *plan = plan_of(1000 * MS, 0, rig.now);
    add_lane(plan, "sim");
    add_window(plan, 0, 1000 * MS, 0.6);
    add_lane(plan, "sim");
    add_window(plan, 0, 1000 * MS, 0.3);
    plan_start(&rig, plan);
    rig_run_seconds(&rig, 2);
    ck_assert_double_eq_tol(themis_sched_share(rig.sched, job[1]->job), 0.6, 1e-9);
    ck_assert_double_eq_tol(themis_sched_share(rig.sched, job[0]->job), 0.3, 1e-9);
    ck_assert_double_eq_tol(themis_sched_share(rig.sched, job[2]->job), 0.1, 1e-9);
    job[1]->end = rig.now;
    rig_run_seconds(&rig, 1);
    themis_sched_remove_job(rig.sched, job[1]->job, rig.now);
    rig_run_seconds(&rig, 1);
    ck_assert_double_eq_tol(themis_sched_share(rig.sched, job[0]->job), 0.6, 1e-9);
    ck_assert_double_eq_tol(themis_sched_share(rig.sched, job[2]->job), 0.3, 1e-9);
    rig_destroy(&rig);
}

/* What a job calls its application takes no windows from the job that has this id. */
TEST(a_name_takes_no_lane_of_an_id)
{
    themis_sched_options_t chosen = rig_options("periodic", "stride");
    rig_t rig;

    rig_create(&rig, &chosen, 1, 2);
    rig_job_t *other = rig_add(&rig, "1000", 2, 1, 1, MIB, 4), *own = rig_add(&rig, "slurm:8812", 1, 1, 1, MIB, 4);
    snprintf(other->job->application, sizeof other->job->application, "slurm:8812");
    themis_sched_periodic_t *plan = plan_of(1000 * MS, 0, rig.now);
    snprintf(plan->identity, sizeof plan->identity, "first");
    ck_assert_str_eq(themis_sched_plan_identity(rig.sched), "");
    add_lane(plan, "slurm:8812");
    add_window(plan, 0, 1000 * MS, 0.8);
    plan_start(&rig, plan);
    rig_run_seconds(&rig, 2);
    ck_assert_double_eq_tol(themis_sched_share(rig.sched, own->job), 0.8, 1e-9);
    ck_assert_double_lt(themis_sched_plan_fit(rig.sched, other->job), 0);
    ck_assert_str_eq(themis_sched_plan_identity(rig.sched), "first");
    rig_destroy(&rig);
}

/* A job that does its I/O all the time fits a lane with windows of half the time as far as the share says. */
TEST(how_well_jobs_fit_is_measured)
{
    themis_sched_options_t chosen = rig_options("periodic", "stride");
    rig_t rig;

    rig_create(&rig, &chosen, 1, 3);
    rig_job_t *a = rig_add(&rig, "a", 1, 1, 1, MIB, 4), *c = rig_add(&rig, "c", 2, 1, 1, MIB, 4);
    ck_assert_double_lt(themis_sched_plan_fit(rig.sched, a->job), 0);
    plan_start(&rig, halves(rig.now));
    ck_assert_double_eq(themis_sched_plan_fit(rig.sched, a->job), 1);
    rig_run_seconds(&rig, 2.1);
    ck_assert_double_eq_tol(themis_sched_plan_fit(rig.sched, a->job), 0.8 / 1.3, 0.02);
    ck_assert_double_lt(themis_sched_plan_fit(rig.sched, c->job), 0); /* it has no lane */
    rig_destroy(&rig);
}

int main(void)
{
    Suite *suite = suite_create("periodic");

    test_case(suite, "all", 30, NULL, NULL,
              TESTS({windows_lie_on_a_circle, 1}, {windows_last_longer_by_the_tolerance, 1},
                    {what_cannot_be_planned_is_refused, 1}, {shares_follow_the_windows, 2},
                    {others_share_the_rest_by_the_chain, 2}, {nobody_starves_beside_a_plan_for_all, 2},
                    {lanes_go_to_jobs_by_their_ids, 1}, {a_name_takes_no_lane_of_an_id, 1},
                    {how_well_jobs_fit_is_measured, 1}));
    return test_run(suite);
}
