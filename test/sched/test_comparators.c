/* SPDX-License-Identifier: BSD-3-Clause */
/* The comparators gift and tbf under a driven clock, alone and against stride and the statistical draw. */
#include <check.h>
#include <math.h>
#include "test/lib/run.h"
#include "test/sched/rig.h"

/* Each test creates it; it ends with the test. */
static rig_t rig;

static void end_rig(void)
{
    rig_destroy(&rig);
}

TEST(gift_gives_by_pending_requests_and_makes_newcomers_wait)
{
    themis_sched_options_t chosen = rig_options("gift", "stride");

    chosen.bandwidth = 400000000;
    rig_create(&rig, &chosen, 1, 2);
    rig_job_t *a = rig_add(&rig, "a", 1, 1, 1, MIB, 12), *b = rig_add(&rig, "b", 2, 1, 1, MIB, 4);
    b->start = rig.now + 600000000;
    rig_run_seconds(&rig, 0.99);
    ck_assert_uint_eq(b->moved, 0); /* polls are at 0, 0.5 and 1 s */
    rig_run_seconds(&rig, 0.1);
    ck_assert_uint_gt(b->moved, 0);
    rig_reset(&rig);
    rig_run_seconds(&rig, 10);
    rig_expect_part(&rig, a, 0.75, 0.05);
    a->end = rig.now;
    rig_reset(&rig);
    rig_run_seconds(&rig, 0.3); /* what a does not use is lost until the next poll */
    ck_assert_double_lt((double)(a->moved + b->moved), 0.75 * 0.3 * 400e6);
}

/* Comparators know no slices: a request that has begun is served to its end. */
TEST(comparators_serve_whole_requests)
{
    static const char *const policies[] = {"gift", "tbf"};
    themis_sched_options_t chosen = rig_options(policies[_i], "stride");
    themis_sched_item_t items[8] = {{.bytes = 0}}, *last = NULL;
    uint64_t slice, wake, left = 8 * 4 * MIB;

    rig_create(&rig, &chosen, 1, 2);
    rig_job_t *jobs[] = {rig_add(&rig, "a", 1, 1, 1, MIB, 1), rig_add(&rig, "b", 2, 1, 1, MIB, 1)};
    for (int i = 0; i < 8; i++) {
        items[i].bytes = 4 * MIB;
        themis_sched_enqueue(rig.sched, jobs[i % 2]->job, &items[i], rig.now);
    }
    for (int step = 0; left > 0; step++) {
        ck_assert_int_lt(step, 10000);
        themis_sched_item_t *item = themis_sched_next(rig.sched, rig.now, &slice, &wake);
        if (item != NULL) {
            ck_assert(last == NULL || last->bytes == 0 || item == last);
            ck_assert_uint_eq(slice, MIB);
            item->bytes -= slice;
            left -= slice;
            last = item;
            themis_sched_done(rig.sched, item, slice, 1000000, rig.now + 1000000);
        }
        rig.now += 1000000;
    }
}

/* A rule's rate is spare once its bucket is full, not in each pause between two requests. */
TEST(tbf_gives_no_token_twice)
{
    themis_sched_options_t chosen = rig_options("tbf", "stride");

    chosen.tbf_rate = 10;
    rig_create(&rig, &chosen, 1, 2);
    for (int i = 0; i < 2; i++)
        rig_add(&rig, i == 0 ? "a" : "b", 1, 1, 1, 4 * MIB, 1)->think = 20000000;
    rig_run_seconds(&rig, 1);
    rig_reset(&rig);
    rig_run_seconds(&rig, 10);
    ck_assert_double_eq_tol((double)(rig.jobs[0].moved + rig.jobs[1].moved) / (4 * MIB), 200, 2);
}

TEST(tbf_keeps_to_its_rate_and_shares_what_is_spare)
{
    themis_sched_options_t chosen = rig_options("tbf", "stride");

    chosen.tbf_rate = 100;
    rig_create(&rig, &chosen, 1, 3);
    rig_job_t *tool = rig_add(&rig, "tool", 3, 1, 1, MIB, 0); /* sends no request and so has no rule */
    rig_job_t *a = rig_add(&rig, "a", 1, 1, 1, MIB, 8), *b = rig_add(&rig, "b", 2, 1, 1, MIB, 8);
    rig_run_seconds(&rig, 0.1);
    b->start = rig.now + 11000000000;
    rig_run_seconds(&rig, 1);
    themis_sched_remove_job(rig.sched, tool->job, rig.now);
    rig_reset(&rig);
    rig_run_seconds(&rig, 10);
    ck_assert_double_eq_tol((double)a->moved / (double)MIB, 2000, 10); /* including the rate of the idle rule */
    rig_reset(&rig);
    rig_run_seconds(&rig, 10);
    ck_assert_double_eq_tol((double)a->moved / (double)MIB, 1000, 10);
    ck_assert_double_eq_tol((double)b->moved / (double)MIB, 1000, 10);
}

typedef struct score {
    double sustained; /* bytes/s of both jobs */
    double deviation; /* of the second job's bytes in a second */
    double error;     /* root mean square of its part minus a half, in windows of 100 ms */
} score_t;

/* Figure 12: each job writes 10 MB and reads it back, 4 MiB at a time, and works for 4 ms on each; tbf's rates are half
 * of the device's. 20 seconds after the first three. */
static score_t play(const char *policy, const char *draw, uint64_t seed)
{
    themis_sched_options_t chosen = rig_options(policy, draw);
    enum { SECONDS = 20 };
    double sum = 0, squares = 0, errors = 0, all = 0;

    chosen.bandwidth = 80 * MIB;
    chosen.quantum = 256 * KIB;
    chosen.tbf_rate = 10;
    chosen.seed = seed;
    rig_create(&rig, &chosen, 2, 2);
    for (int i = 0; i < 2; i++) {
        rig_job_t *job = rig_add(&rig, i == 0 ? "a" : "b", 1, 1, 1, 4 * MIB, 1);
        job->file = 10000000;
        job->think = 4000000;
    }
    rig_run_seconds(&rig, 3);
    for (int second = 0; second < SECONDS; second++) {
        double moved = 0;
        for (int window = 0; window < 10; window++) {
            rig_reset(&rig);
            rig_run_seconds(&rig, 0.1);
            errors += pow(rig_part(&rig, &rig.jobs[1]) - 0.5, 2);
            moved += (double)rig.jobs[1].moved;
            all += (double)rig.jobs[0].moved + (double)rig.jobs[1].moved;
        }
        sum += moved;
        squares += moved * moved;
    }
    rig_destroy(&rig);
    double mean = sum / SECONDS;
    return (score_t){all / SECONDS, sqrt(fmax(0, squares / SECONDS - mean * mean)), sqrt(errors / (10 * SECONDS))};
}

TEST(stride_wastes_nothing_and_is_even)
{
    uint64_t seed = (uint64_t)_i + 1;
    score_t stride = play("job-fair", "stride", seed), statistical = play("job-fair", "statistical", seed);
    score_t gift = play("gift", "stride", seed), tbf = play("tbf", "stride", seed);

    ck_assert_double_ge(stride.sustained, 0.98 * 80 * (double)MIB);
    ck_assert_double_ge(stride.sustained, 1.13 * gift.sustained);
    ck_assert_double_ge(stride.sustained, 1.13 * tbf.sustained);
    ck_assert_double_le(stride.deviation, 0.8 * gift.deviation);
    ck_assert_double_le(stride.deviation, 0.8 * tbf.deviation);
    ck_assert_double_le(stride.error, statistical.error / 3);
}

int main(void)
{
    Suite *suite = suite_create("comparators");

    test_case(suite, "all", 60, NULL, end_rig,
              TESTS({gift_gives_by_pending_requests_and_makes_newcomers_wait, 1}, {comparators_serve_whole_requests, 2},
                    {tbf_gives_no_token_twice, 1}, {tbf_keeps_to_its_rate_and_shares_what_is_spare, 1},
                    {stride_wastes_nothing_and_is_even, 10}));
    return test_run(suite);
}
