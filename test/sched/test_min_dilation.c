/* SPDX-License-Identifier: BSD-3-Clause */
/* The policy min-dilation under a driven clock: all jobs suffer equally. */
#include <check.h>
#include "test/lib/run.h"
#include "test/sched/rig.h"

#define BANDWIDTH UINT64_C(400000000)

/* Each test creates it; it ends with the test. */
static rig_t rig;

static void end_rig(void)
{
    rig_destroy(&rig);
}

static void begin_rig(uint64_t node_bandwidth, int jobs)
{
    themis_sched_options_t chosen = rig_options("min-dilation", "stride");

    chosen.bandwidth = BANDWIDTH;
    chosen.node_bandwidth = node_bandwidth;
    rig_create(&rig, &chosen, 2, jobs);
}

TEST(jobs_that_always_do_io_have_equal_parts)
{
    begin_rig(0, 5);
    rig_job_t *jobs[5];
    for (int i = 0; i < 5; i++)
        jobs[i] = rig_add(&rig, (const char[]){(char)('a' + i), '\0'}, 1, 1, 1, MIB, 1 + 3 * i);
    rig_run_seconds(&rig, 20);
    for (int i = 0; i < 5; i++)
        rig_expect_part(&rig, jobs[i], 0.2, 0.05);
    ck_assert_uint_eq(rig.idle_while_queued, 0);
}

/* Two jobs that always do I/O, and one that alone would compute for 80 % of its time. With the same dilation d for all,
 * 1/d + 1/d + 0.2/d = 1; under job-fair the third would have 0.143 of the bandwidth, at a dilation of 1.4. */
TEST(who_computes_suffers_as_much_as_who_does_not)
{
    begin_rig(0, 3);
    rig_job_t *a = rig_add(&rig, "a", 1, 1, 1, MIB, 2), *b = rig_add(&rig, "b", 1, 1, 1, MIB, 2);
    rig_job_t *computes = rig_add(&rig, "computes", 1, 1, 1, 64000000, 1);
    computes->think = 640000000;
    rig_run_seconds(&rig, 10); /* the first phases may differ */
    rig_reset(&rig);
    rig_run_seconds(&rig, 100);
    rig_expect_part(&rig, a, 1 / 2.2, 0.05);
    rig_expect_part(&rig, b, 1 / 2.2, 0.05);
    rig_expect_part(&rig, computes, 0.2 / 2.2, 0.05);
}

/* One node can move a quarter of the bandwidth: what it gets is to be compared with that. */
TEST(jobs_are_compared_with_what_their_nodes_could_do)
{
    begin_rig(BANDWIDTH / 4, 2);
    rig_job_t *small = rig_add(&rig, "small", 1, 1, 1, MIB, 2), *large = rig_add(&rig, "large", 1, 1, 4, MIB, 2);
    rig_run_seconds(&rig, 20);
    rig_expect_part(&rig, small, 0.2, 0.05);
    rig_expect_part(&rig, large, 0.8, 0.05);
}

/* A job that has come last, or has computed for long, has suffered least; it waits for a while, but not for ever, and
 * metadata do not either. */
TEST(nobody_starves)
{
    begin_rig(0, 5);
    rig_add(&rig, "a", 1, 1, 1, MIB, 4);
    rig_add(&rig, "b", 1, 1, 1, MIB, 4);
    rig_job_t *computed = rig_add(&rig, "computed", 1, 1, 1, MIB, 1);
    computed->start = rig.now + 600000000000;
    rig_run_seconds(&rig, 600);
    rig_reset(&rig);
    rig_job_t *late = rig_add(&rig, "late", 1, 1, 1, MIB, 1), *names = rig_add(&rig, "names", 1, 1, 1, 0, 1);
    rig_run_seconds(&rig, 30);
    ck_assert_double_gt(rig_part(&rig, late), 0.1);
    ck_assert_uint_lt(late->longest, 3000000000);
    ck_assert_uint_lt(names->longest, 3000000000);
    ck_assert_uint_lt(computed->longest, 3000000000);
}

/* Without a limit the rate of one slice is not that of the device: who has more requests under way is not better off.
 */
TEST(depth_does_not_count_without_a_limit)
{
    themis_sched_options_t chosen = rig_options("min-dilation", "stride");

    rig_create(&rig, &chosen, 4, 2);
    rig_job_t *deep = rig_add(&rig, "deep", 1, 1, 1, MIB, 16), *shallow = rig_add(&rig, "shallow", 1, 1, 1, MIB, 4);
    rig_run_seconds(&rig, 5);
    rig_reset(&rig);
    rig_run_seconds(&rig, 20);
    rig_expect_part(&rig, deep, 0.5, 0.15);
    rig_expect_part(&rig, shallow, 0.5, 0.15);
}

TEST(it_can_be_set_and_left_while_requests_wait)
{
    char error[256];

    begin_rig(0, 2);
    rig_job_t *a = rig_add(&rig, "a", 1, 1, 1, MIB, 8), *b = rig_add(&rig, "b", 1, 1, 3, MIB, 8);
    rig_run_seconds(&rig, 5);
    ck_assert_int_eq(themis_sched_set_policy(rig.sched, "size-fair", "stride", rig.now, error, sizeof error),
                     THEMIS_OK);
    rig_run_seconds(&rig, 1);
    rig_reset(&rig);
    rig_run_seconds(&rig, 5);
    rig_expect_part(&rig, b, 0.75, 0.05);
    ck_assert_int_eq(themis_sched_set_policy(rig.sched, "min-dilation", "stride", rig.now, error, sizeof error),
                     THEMIS_OK);
    rig_reset(&rig);
    rig_run_seconds(&rig, 5);
    rig_expect_part(&rig, a, 0.5, 0.05);
}

int main(void)
{
    Suite *suite = suite_create("min_dilation");

    test_case(suite, "policy", 30, NULL, end_rig,
              TESTS({jobs_that_always_do_io_have_equal_parts, 1}, {who_computes_suffers_as_much_as_who_does_not, 1},
                    {jobs_are_compared_with_what_their_nodes_could_do, 1}, {nobody_starves, 1},
                    {depth_does_not_count_without_a_limit, 1}, {it_can_be_set_and_left_while_requests_wait, 1}));
    return test_run(suite);
}
