/* SPDX-License-Identifier: BSD-3-Clause */
/* The scheduler under a driven clock: shares in bytes, work conservation, starvation, metadata, changes while running.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "config.h"
#include "test/lib/run.h"
#include "test/sched/rig.h"
#include "util/clock.h"

/* Each test creates it; it ends with the test. */
static rig_t rig;

static void end_rig(void)
{
    rig_destroy(&rig);
}

/* The id of a job, until the next call. */
static const char *number(int job)
{
    static char text[16];

    snprintf(text, sizeof text, "%d", job);
    return text;
}

/* Tests over several policies name the comparators gift and tbf last. */
enum { COMPARATORS = THEMIS_COMPARATORS ? 2 : 0 };

static const char *const draws[] = {"stride", "statistical"};
/* 10 s are 10,000 slices: three standard deviations of a part of one fifth are 6 %. */
static const double tolerance[] = {0.005, 0.06};

TEST(each_job_has_its_share)
{
    themis_sched_options_t chosen = rig_options("size-fair", draws[_i]);

    rig_create(&rig, &chosen, 2, 3);
    rig_job_t *a = rig_add(&rig, "a", 1, 1, 4, 10 * MIB, 8), *b = rig_add(&rig, "b", 2, 1, 1, 10 * MIB, 8);
    rig_run_seconds(&rig, 5);
    rig_expect_part(&rig, a, 0.8, tolerance[_i]);
    rig_expect_part(&rig, b, 0.2, tolerance[_i]);
    ck_assert_uint_eq(rig.idle_while_queued, 0);
    rig_reset(&rig);
    rig_job_t *c = rig_add(&rig, "c", 2, 1, 5, MIB, 8);
    rig_run_seconds(&rig, 5);
    rig_expect_part(&rig, c, 0.5, tolerance[_i]);
    rig_expect_part(&rig, b, 0.1, 2 * tolerance[_i]);
    ck_assert_double_eq_tol(themis_sched_share(rig.sched, a->job), 0.4, 1e-12);
}

TEST(composite_policies_reach_every_leaf)
{
    static const uint32_t gid[] = {1, 2, 2, 2, 2, 2, 2, 2}, uid[] = {1, 2, 2, 2, 3, 3, 4, 4},
                          nodes[] = {1, 2, 3, 2, 3, 2, 1, 2};
    static const double expected[] = {1 / 2., 1 / 21., 1 / 14., 1 / 21., 1 / 10., 1 / 15., 1 / 18., 1 / 9.};
    themis_sched_options_t chosen = rig_options("group-then-user-then-size-fair", draws[_i]);

    rig_create(&rig, &chosen, 4, 8);
    for (int i = 0; i < 8; i++)
        rig_add(&rig, number(i + 1), uid[i], gid[i], nodes[i], 10000000, 4);
    rig_run_seconds(&rig, 10);
    for (int i = 0; i < 8; i++)
        rig_expect_part(&rig, &rig.jobs[i], expected[i], _i == 0 ? 0.01 : 0.12);
}

/* Bytes count, not requests: sizes and queue depths apart by a factor of thousands. */
TEST(mixed_sizes_share_bytes)
{
    themis_sched_options_t chosen = rig_options("job-fair", draws[_i]);

    rig_create(&rig, &chosen, 1, 2);
    rig_job_t *small = rig_add(&rig, "small", 1, 1, 1, 4 * KIB, 64);
    rig_add(&rig, "large", 2, 1, 1, 16 * MIB, 1);
    rig_run_seconds(&rig, 10);
    rig_expect_part(&rig, small, 0.5, _i == 0 ? 0.005 : 0.05);
    rig_destroy(&rig);
    rig_create(&rig, &chosen, 1, 2);
    rig_job_t *deep = rig_add(&rig, "deep", 1, 1, 1, MIB, 64);
    rig_add(&rig, "shallow", 2, 1, 1, MIB, 2);
    rig_run_seconds(&rig, 10);
    rig_expect_part(&rig, deep, 0.5, _i == 0 ? 0.005 : 0.05);
}

/* A client with one request at a time and a short pause between still gets its share of stride. */
TEST(short_pauses_cost_nothing)
{
    themis_sched_options_t chosen = rig_options("size-fair", "stride");

    rig_create(&rig, &chosen, 1, 2);
    rig_job_t *single = rig_add(&rig, "single", 1, 1, 4, 10 * MIB, 1);
    single->think = 100000;
    rig_add(&rig, "many", 2, 1, 1, 10 * MIB, 32);
    rig_run_seconds(&rig, 10);
    rig_expect_part(&rig, single, 0.8, 0.01);
}

/* Two clients with one request each, which think after it: while one thinks the other is served, by slices in turn. */
TEST(lone_requests_do_not_end_together)
{
    themis_sched_options_t chosen = rig_options("job-fair", "stride");
    double sum = 0, squares = 0;

    chosen.bandwidth = 80 * MIB;
    chosen.seed = (uint64_t)_i + 1;
    rig_create(&rig, &chosen, 2, 2);
    for (int i = 0; i < 2; i++) {
        rig_job_t *job = rig_add(&rig, i == 0 ? "a" : "b", 1, 1, 1, 10000000, 1);
        job->think = 5000000;
    }
    rig_run_seconds(&rig, 3);
    double moved = 0;
    for (int i = 0; i < 100; i++) {
        rig_reset(&rig);
        rig_run_seconds(&rig, 0.1);
        moved += (double)(rig.jobs[0].moved + rig.jobs[1].moved);
        sum += rig_part(&rig, &rig.jobs[0]);
        squares += pow(rig_part(&rig, &rig.jobs[0]) - 0.5, 2);
    }
    ck_assert_double_ge(moved, 0.98 * 800 * (double)MIB);
    ck_assert_double_eq_tol(sum / 100, 0.5, 0.01);
    ck_assert_double_le(sqrt(squares / 100), 0.1);
}

TEST(nothing_is_idle_while_a_request_waits)
{
    themis_sched_options_t chosen = rig_options("user-then-size-fair", draws[_i]);

    chosen.seed = 3;
    srand(5);
    rig_create(&rig, &chosen, 3, 20);
    for (int i = 0; i < 20; i++) {
        rig_job_t *job = rig_add(&rig, number(i), (uint32_t)rand() % 4, 1, 1 + (uint32_t)rand() % 8,
                                 rand() % 3 == 0 ? 0 : 1 + (uint64_t)rand() % (4 * MIB), 1 + rand() % 8);
        job->think = (uint64_t)rand() % 20000000;
        job->start = rig.now + (uint64_t)rand() % 1000000000;
        job->end = job->start + (uint64_t)rand() % 3000000000;
    }
    rig_run_seconds(&rig, 4);
    ck_assert_uint_eq(rig.idle_while_queued, 0);
    for (int i = 0; i < 20; i++)
        ck_assert_uint_gt(rig.jobs[i].job->requests, 0);
}

/* The bound that sched.h states, with jobs that pause and come back, many sizes and several workers. */
TEST(starvation_is_bounded)
{
    themis_sched_options_t chosen = rig_options("size-fair", "stride");
    enum { JOBS = 24, WORKERS = 4 };
    int single = _i % 2; /* some jobs have one request at a time */

    srand((unsigned)_i + 1);
    rig_create(&rig, &chosen, WORKERS, JOBS);
    for (int i = 0; i < JOBS; i++) {
        rig_job_t *job =
            rig_add(&rig, number(i), 1, 1, 1 + (uint32_t)(i == 0 ? 0 : rand() % 16), 1 + (uint64_t)rand() % (4 * MIB),
                    single && i % 2 == 0 ? 1 : WORKERS + 2 + rand() % 16);
        if (i % 3 == 1 && single)
            job->think = (uint64_t)rand() % 60000000;
    }
    rig_run_seconds(&rig, 0.1);
    rig_reset(&rig);
    rig_run_seconds(&rig, 4);
    double bandwidth = rig.speed * WORKERS, quantum = (double)chosen.quantum;
    for (int i = 0; i < JOBS; i++) {
        double share = themis_sched_share(rig.sched, rig.jobs[i].job);
        double excess = single ? (1 + THEMIS_SCHED_PHASE) * quantum : quantum;
        double bound =
            (excess / share + (JOBS - 1) * excess + WORKERS * quantum) / bandwidth + 2.0 * (double)THEMIS_SCHED_GRACE;
        ck_assert_msg((double)rig.jobs[i].longest <= bound, "job %d of share %.3f waited %.1f ms, the bound is %.1f ms",
                      i, share, (double)rig.jobs[i].longest / 1e6, bound / 1e6);
        ck_assert_uint_gt(rig.jobs[i].moved, 0);
    }
}

/* Metadata operations of 200 us are charged 200 KB each: half of the time at most. */
TEST(metadata_is_charged_by_time)
{
    themis_sched_options_t chosen = rig_options("job-fair", draws[_i]);

    rig_create(&rig, &chosen, 1, 2);
    rig.metadata_time = 200000;
    rig_job_t *storm = rig_add(&rig, "storm", 1, 1, 1, 0, 64), *data = rig_add(&rig, "data", 2, 1, 1, MIB, 4);
    rig_run_seconds(&rig, 5);
    double time = (double)storm->job->requests * (double)rig.metadata_time / 5e9;
    ck_assert_double_eq_tol(time, 0.5, _i == 0 ? 0.01 : 0.03);
    ck_assert_double_eq_tol((double)data->moved / (5e9 * rig.speed), 0.5, _i == 0 ? 0.01 : 0.03);
    ck_assert_uint_eq(storm->job->metadata, storm->job->requests);
}

/* Serves the next metadata operation for 20 us; returns its job. */
static const rig_job_t *serve_metadata(void)
{
    uint64_t wake;
    themis_sched_item_t *item = themis_sched_next_metadata(rig.sched, rig.now, &wake);

    if (item == NULL)
        return NULL;
    rig.now += 20000;
    themis_sched_done(rig.sched, item, 0, 20000, rig.now);
    for (int i = 0; i < rig.count; i++)
        if (rig.jobs[i].job == item->job)
            return &rig.jobs[i];
    return NULL;
}

/* While no bytes can be moved, metadata operations at the head of a queue are served, jobs in turn, and charged. */
TEST(metadata_goes_on_without_the_data)
{
    static const char *const policies[] = {"job-fair", "job-fair", "fifo", "gift", "tbf"};
    themis_sched_options_t chosen = rig_options(policies[_i], draws[_i == 1]);
    themis_sched_item_t items[8] = {{.bytes = 0}};

    rig_create(&rig, &chosen, 1, 4);
    rig_job_t *data = rig_add(&rig, "data", 1, 1, 1, MIB, 1), *a = rig_add(&rig, "a", 2, 1, 1, 0, 1),
              *b = rig_add(&rig, "b", 3, 1, 1, 0, 1), *held = rig_add(&rig, "held", 4, 1, 1, 0, 1);
    items[0].bytes = MIB;
    rig_job_t *const order[] = {data, data, a, a, a, b, b, held};
    for (int i = 0; i < 8; i++)
        themis_sched_enqueue(rig.sched, order[i]->job, &items[i], rig.now);
    themis_sched_hold(rig.sched, held->job, 1, rig.now);
    ck_assert_ptr_eq(serve_metadata(), a);
    ck_assert_ptr_eq(serve_metadata(), b);
    ck_assert_ptr_eq(serve_metadata(), a);
    themis_sched_cancel(rig.sched, &items[6], rig.now);
    ck_assert_ptr_eq(serve_metadata(), a);
    ck_assert_ptr_null(serve_metadata()); /* that of `data` is queued after bytes, and another job is held */
    themis_sched_hold(rig.sched, held->job, 0, rig.now);
    ck_assert_ptr_eq(serve_metadata(), held);
    ck_assert_uint_eq(a->job->metadata, 3);
    ck_assert_uint_gt(a->job->cost, b->job->cost);
    ck_assert_uint_gt(b->job->cost, 0);
    ck_assert_uint_eq(themis_sched_queued(rig.sched), 2);
}

TEST(tiny_requests_are_charged_by_time)
{
    themis_sched_options_t chosen = rig_options("job-fair", "stride");

    chosen.bandwidth = 500000000;
    rig_create(&rig, &chosen, 1, 2);
    rig.overhead = 2000; /* ns, so 1000 bytes of the device */
    rig_job_t *tiny = rig_add(&rig, "tiny", 1, 1, 1, 1, 64);
    rig_add(&rig, "data", 2, 1, 1, MIB, 4);
    rig_run_seconds(&rig, 1);
    ck_assert_uint_gt(tiny->job->requests, 1000);
    ck_assert_double_eq_tol((double)tiny->job->cost / (double)tiny->job->requests, 1000, 1);
}

/* Requests survive every change of policy and draw. */
TEST(policies_change_without_loss)
{
    static const char *const policies[] = {"fifo", "size-fair", "user-then-size-fair", "job-fair", "tbf", "gift"};
    themis_sched_options_t chosen = rig_options("size-fair", "stride");
    char error[256] = "";

    srand(11);
    rig_create(&rig, &chosen, 2, 3);
    rig_job_t *a = rig_add(&rig, "a", 1, 1, 4, 10 * MIB, 8), *b = rig_add(&rig, "b", 2, 1, 1, 4 * KIB, 64);
    rig_add(&rig, "meta", 3, 1, 1, 0, 8);
    for (int i = 0; i < 200; i++) {
        rig_run_seconds(&rig, 0.01);
        uint64_t before = themis_sched_queued(rig.sched);
        ck_assert_int_eq(themis_sched_set_policy(rig.sched, policies[rand() % (4 + COMPARATORS)], draws[rand() % 2],
                                                 rig.now, error, sizeof error),
                         THEMIS_OK);
        ck_assert_uint_eq(themis_sched_queued(rig.sched), before);
    }
    ck_assert_int_eq(themis_sched_set_policy(rig.sched, "user-than-size-fair", "stride", rig.now, error, sizeof error),
                     THEMIS_PARSE);
    ck_assert_int_eq(themis_sched_set_policy(rig.sched, "size-fair", "stride", rig.now, error, sizeof error),
                     THEMIS_OK);
    ck_assert_str_eq(themis_sched_policy(rig.sched), "size-fair");
    rig_run_seconds(&rig, 0.1);
    rig_reset(&rig);
    rig_run_seconds(&rig, 4);
    ck_assert_double_eq_tol((double)a->moved / (double)b->moved, 4, 0.1);
    /* Everything outstanding is either queued or being served. */
    uint64_t held = themis_sched_queued(rig.sched);
    for (int w = 0; w < rig.workers; w++)
        held += rig.worker[w].item != NULL;
    for (int i = 0; i < rig.count; i++)
        for (int k = 0; k < rig.jobs[i].depth; k++)
            held += rig.jobs[i].items[k].ready != UINT64_MAX;
    ck_assert_uint_eq(held, 8 + 64 + 8);
}

TEST(a_job_that_leaves_gives_all_at_once)
{
    themis_sched_options_t chosen = rig_options("job-fair", draws[_i]);

    chosen.bandwidth = 400000000;
    rig_create(&rig, &chosen, 2, 2);
    rig_job_t *stays = rig_add(&rig, "stays", 1, 1, 1, 10 * MIB, 4),
              *goes = rig_add(&rig, "goes", 2, 1, 1, 10 * MIB, 4);
    goes->end = rig.now + 1000000000;
    rig_run(&rig, goes->end);
    while (themis_sched_is_busy(rig.sched, goes->job))
        rig_run_seconds(&rig, 0.001);
    rig_run_seconds(&rig, 0.02);
    rig_reset(&rig);
    rig_run_seconds(&rig, 0.1);
    ck_assert_double_ge((double)stays->moved, 0.98 * 40e6);
}

TEST(fifo_keeps_the_order_of_arrival)
{
    themis_sched_options_t chosen = rig_options("fifo", "stride");
    themis_sched_item_t *item;
    uint64_t slice, wake;
    static themis_sched_item_t items[100];

    rig_create(&rig, &chosen, 1, 3);
    for (int i = 0; i < 3; i++)
        rig_add(&rig, number(i), 1, 1, 1, MIB, 0);
    for (int i = 0; i < 100; i++) {
        items[i].bytes = i % 2 == 0 ? 3 * MIB / 2 : 0;
        themis_sched_enqueue(rig.sched, rig.jobs[i * 7 % 3].job, &items[i], rig.now);
    }
    themis_sched_cancel(rig.sched, &items[50], rig.now);
    themis_sched_cancel(rig.sched, &items[0], rig.now);
    for (int i = 1; i < 100; i++) {
        if (i == 50)
            continue;
        for (int slices = i % 2 == 0 ? 2 : 1; slices > 0; slices--) {
            item = themis_sched_next(rig.sched, rig.now, &slice, &wake);
            ck_assert_ptr_eq(item, &items[i]);
            item->bytes -= slice;
            themis_sched_done(rig.sched, item, slice, 1000, rig.now += 1000);
        }
    }
    ck_assert_ptr_null(themis_sched_next(rig.sched, rig.now, &slice, &wake));
    ck_assert_uint_eq(wake, UINT64_MAX);
}

TEST(the_device_limit_holds)
{
    themis_sched_options_t chosen = rig_options("job-fair", draws[_i]);

    chosen.bandwidth = 100000000;
    rig_create(&rig, &chosen, 4, 2);
    rig_add(&rig, "a", 1, 1, 1, 3 * MIB, 8);
    rig_add(&rig, "b", 2, 1, 1, 64 * KIB, 8);
    rig_run_seconds(&rig, 10);
    ck_assert_double_eq_tol((double)(rig.jobs[0].moved + rig.jobs[1].moved) / 1e9, 1, 0.01);
}

/* Jobs join, become idle and leave; their slots are reused. */
TEST(jobs_come_and_go)
{
    static const char *const policies[] = {"user-then-size-fair", "user-then-size-fair", "fifo", "gift", "tbf"};
    themis_sched_options_t chosen = rig_options(policies[_i], draws[_i == 1]);

    srand(3);
    rig_create(&rig, &chosen, 2, 400);
    for (int i = 0; i < 300; i++) {
        rig_job_t *job = rig_add(&rig, number(i), (uint32_t)i % 7, 1, 1 + (uint32_t)i % 5, 64 * KIB, 1 + i % 4);
        job->end = rig.now + 40000000;
        rig_run_seconds(&rig, 0.002);
        int victim = rand() % rig.count;
        if (rig.jobs[victim].job == NULL || themis_sched_is_busy(rig.sched, rig.jobs[victim].job) ||
            rig.now < rig.jobs[victim].end)
            continue;
        themis_sched_remove_job(rig.sched, rig.jobs[victim].job, rig.now);
        themis_sched_job_table_remove(rig.table, rig.jobs[victim].job);
        rig.jobs[victim].job = NULL;
        rig.jobs[victim].depth = 0;
    }
    if (_i < 3)
        ck_assert_uint_eq(rig.idle_while_queued, 0);
    double sum = 0;
    themis_sched_refresh(rig.sched, rig.now);
    for (int i = 0; i < rig.count; i++)
        if (rig.jobs[i].job != NULL)
            sum += themis_sched_share(rig.sched, rig.jobs[i].job);
    ck_assert_double_eq_tol(sum, _i < 2, 1e-9);
    rig_run_seconds(&rig, 3); /* no new requests: those outstanding are served, in whichever slots their jobs are */
    ck_assert_uint_eq(themis_sched_queued(rig.sched), 0);
    for (int i = 0; i < rig.count; i++)
        ck_assert(rig.jobs[i].job == NULL || rig.jobs[i].job->requests > 0);
}

TEST(weights_of_the_exchange_count)
{
    themis_sched_options_t chosen = rig_options("size-fair", draws[_i]);

    rig_create(&rig, &chosen, 1, 3);
    rig_job_t *a = rig_add(&rig, "a", 1, 1, 16, MIB, 8), *b = rig_add(&rig, "b", 2, 1, 8, MIB, 8);
    rig_run_seconds(&rig, 0.1);
    themis_sched_set_weight(rig.sched, a->job, 1);
    themis_sched_set_weight(rig.sched, b->job, 1);
    rig_run_seconds(&rig, 0.1);
    rig_reset(&rig);
    rig_run_seconds(&rig, 5);
    rig_expect_part(&rig, a, 0.5, tolerance[_i]);
    /* A new job has what the policy gives it until the next exchange. */
    rig_job_t *c = rig_add(&rig, "c", 3, 1, 24, MIB, 8);
    rig_reset(&rig);
    rig_run_seconds(&rig, 5);
    rig_expect_part(&rig, c, 0.5, tolerance[_i]);
    rig_expect_part(&rig, a, 0.25, 2 * tolerance[_i]);
    themis_sched_set_weight(rig.sched, a->job, -1);
    themis_sched_set_weight(rig.sched, b->job, -1);
    rig_reset(&rig);
    rig_run_seconds(&rig, 5);
    rig_expect_part(&rig, a, 1 / 3., tolerance[_i]);
}

/* An idle job of a user leaves the tree after a second, and the user's other job has the user's part. */
TEST(quiet_jobs_leave_the_tree)
{
    themis_sched_options_t chosen = rig_options("user-then-job-fair", "stride");

    rig_create(&rig, &chosen, 1, 3);
    rig_job_t *busy = rig_add(&rig, "busy", 1, 1, 1, MIB, 8), *quiet = rig_add(&rig, "quiet", 1, 1, 1, MIB, 8);
    rig_add(&rig, "other", 2, 1, 1, MIB, 8);
    quiet->end = rig.now + 100000000;
    rig_run_seconds(&rig, 0.1);
    ck_assert_double_eq_tol(themis_sched_share(rig.sched, busy->job), 0.25, 1e-9);
    rig_run_seconds(&rig, 1.6);
    ck_assert_double_eq_tol(themis_sched_share(rig.sched, busy->job), 0.5, 1e-9);
    rig_reset(&rig);
    rig_run_seconds(&rig, 2);
    rig_expect_part(&rig, busy, 0.5, 0.01);
}

/* The draw of stride is exact where the statistical one is noisy: share errors over 100 ms windows. */
TEST(stride_has_a_third_of_the_error)
{
    double error[2];

    for (int draw = 0; draw < 2; draw++) {
        themis_sched_options_t chosen = rig_options("job-fair", draws[draw]);
        chosen.bandwidth = 400000000;
        rig_create(&rig, &chosen, 2, 2);
        rig_job_t *a = rig_add(&rig, "a", 1, 1, 1, 10 * MIB, 4);
        rig_add(&rig, "b", 2, 1, 1, 10 * MIB, 4);
        rig_run_seconds(&rig, 0.5);
        double squares = 0;
        for (int i = 0; i < 100; i++) {
            rig_reset(&rig);
            rig_run_seconds(&rig, 0.1);
            squares += pow(rig_part(&rig, a) - 0.5, 2);
        }
        error[draw] = sqrt(squares / 100);
        rig_destroy(&rig);
    }
    ck_assert_msg(error[0] <= error[1] / 3, "stride %.4f, statistical %.4f", error[0], error[1]);
}

/* The linker redirects the allocations of the library under test to these (--wrap in sched/local.mk). */
static uint64_t allocations;
/* A job that has moved bytes without requests while it was alone has its share as soon as another comes, and so has the
 * other: the first one is neither behind nor ahead. */
TEST(bytes_moved_alone_are_not_held_against_a_job)
{
    themis_sched_options_t chosen = rig_options("job-fair", draws[_i]);

    rig_create(&rig, &chosen, 2, 2);
    rig_job_t *a = rig_add(&rig, "a", 1, 1, 1, MIB, 4), *b = rig_add(&rig, "b", 2, 1, 1, MIB, 4);
    a->start = 10 * THEMIS_NS_PER_S;
    b->start = 10 * THEMIS_NS_PER_S + 1000;
    for (uint64_t ms = 1; ms < 9999; ms += 100)
        themis_sched_charge(rig.sched, a->job, UINT64_C(10) << 30, ms * THEMIS_NS_PER_MS);
    ck_assert_uint_eq(a->job->cost, 100 * (UINT64_C(10) << 30));
    rig_run_seconds(&rig, 10.2);
    rig_expect_part(&rig, a, 0.5, _i == 0 ? 0.02 : 0.3);
    rig_expect_part(&rig, b, 0.5, _i == 0 ? 0.02 : 0.3);
    ck_assert_uint_eq(rig.idle_while_queued, 0);
}

/* While others have requests it is charged, but is never set back by more than some quanta, so that its own requests
 * are served soon. */
TEST(bytes_moved_beside_others_are_charged_within_limits)
{
    themis_sched_options_t chosen = rig_options("job-fair", "stride");
    const double limit = THEMIS_SCHED_PHASE + 4;

    rig_create(&rig, &chosen, 1, 2);
    rig_job_t *a = rig_add(&rig, "a", 1, 1, 1, MIB, 4), *b = rig_add(&rig, "b", 2, 1, 1, MIB, 4);
    rig_run_seconds(&rig, 2);
    rig_expect_part(&rig, a, 0.5, 0.01);
    uint64_t moved_a = a->moved, moved_b = b->moved;
    themis_sched_charge(rig.sched, a->job, 8 * MIB, rig.now);
    rig_run(&rig, rig.now + THEMIS_NS_PER_S / 10);
    double ahead = (double)((b->moved - moved_b) - (a->moved - moved_a)) / (double)MIB;
    ck_assert_double_eq_tol(ahead, 8, 2);
    moved_a = a->moved, moved_b = b->moved;
    for (int i = 0; i < 100; i++)
        themis_sched_charge(rig.sched, a->job, UINT64_C(1) << 40, rig.now);
    rig_run(&rig, rig.now + THEMIS_NS_PER_S / 10);
    ahead = (double)((b->moved - moved_b) - (a->moved - moved_a)) / (double)MIB;
    ck_assert_double_ge(ahead, 8);
    ck_assert_double_le(ahead, limit);
}

/* It keeps its place in the policy's tree without a request. */
TEST(a_job_that_moves_bytes_has_its_share)
{
    themis_sched_options_t chosen = rig_options("job-fair", "stride");

    rig_create(&rig, &chosen, 1, 2);
    rig_job_t *a = rig_add(&rig, "a", 1, 1, 1, MIB, 1), *b = rig_add(&rig, "b", 2, 1, 1, MIB, 1);
    a->start = UINT64_MAX;
    for (int i = 0; i < 50; i++) {
        themis_sched_charge(rig.sched, a->job, 100, rig.now);
        rig_run_seconds(&rig, 0.1);
    }
    ck_assert_double_eq_tol(themis_sched_share(rig.sched, a->job), 0.5, 1e-9);
    ck_assert(!themis_sched_is_alone(rig.sched, a->job));
    ck_assert(themis_sched_is_alone(rig.sched, b->job));
    rig_run_seconds(&rig, 2);
    ck_assert_double_eq(themis_sched_share(rig.sched, a->job), 0);
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

void *__wrap_malloc(size_t size)
{
    allocations++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    allocations++;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    allocations++;
    return __real_realloc(old, size);
}

TEST(serving_allocates_nothing)
{
    static const char *const policies[] = {"fifo", "user-then-size-fair", "gift", "tbf"};
    themis_sched_options_t chosen = rig_options(policies[_i / 2], draws[_i % 2]);

    allocations = 0;
    rig_create(&rig, &chosen, 2, 20);
    for (int i = 0; i < 20; i++)
        rig_add(&rig, number(i), (uint32_t)i % 3, 1, 1, i % 4 == 0 ? 0 : 100 * KIB, 4)->think = (uint64_t)i * 1000000;
    ck_assert_uint_gt(allocations, 0);
    allocations = 0;
    rig_run_seconds(&rig, 3);
    ck_assert_uint_eq(allocations, 0);
}

int main(void)
{
    Suite *suite = suite_create("sched");

    test_case(suite, "all", 60, NULL, end_rig,
              TESTS({each_job_has_its_share, 2}, {composite_policies_reach_every_leaf, 2}, {mixed_sizes_share_bytes, 2},
                    {nothing_is_idle_while_a_request_waits, 2}, {metadata_is_charged_by_time, 2},
                    {metadata_goes_on_without_the_data, 3 + COMPARATORS}, {a_job_that_leaves_gives_all_at_once, 2},
                    {the_device_limit_holds, 2}, {jobs_come_and_go, 3 + COMPARATORS},
                    {weights_of_the_exchange_count, 2}, {short_pauses_cost_nothing, 1},
                    {lone_requests_do_not_end_together, 10}, {starvation_is_bounded, 5},
                    {tiny_requests_are_charged_by_time, 1}, {policies_change_without_loss, 1},
                    {fifo_keeps_the_order_of_arrival, 1}, {quiet_jobs_leave_the_tree, 1},
                    {stride_has_a_third_of_the_error, 1}, {bytes_moved_alone_are_not_held_against_a_job, 2},
                    {bytes_moved_beside_others_are_charged_within_limits, 1}, {a_job_that_moves_bytes_has_its_share, 1},
                    {serving_allocates_nothing, 2 * (2 + COMPARATORS)}));
    return test_run(suite);
}
