/* SPDX-License-Identifier: BSD-3-Clause */
/* The budget of control requests and the turns of the jobs, under a driven clock. */
#include <check.h>
#include <stdlib.h>
#include "sched/control_queue.h"
#include "test/lib/run.h"
#include "util/clock.h"

enum { ITEMS = 20000 };

static themis_sched_control_item_t items[ITEMS];

/* One worker, with nothing else to do until `end`, on items that take `service` each; returns how many it served. */
static uint64_t serve(themis_sched_control_queue_t *queue, uint64_t *now, uint64_t end, uint64_t service)
{
    uint64_t served = 0;

    while (*now < end) {
        uint64_t wake = UINT64_MAX;
        if (themis_sched_control_queue_next(queue, *now, &wake) != NULL) {
            *now += service;
            themis_sched_control_queue_done(queue, service, *now);
            served++;
        } else if (wake == UINT64_MAX) {
            *now = end;
        } else {
            ck_assert_uint_gt(wake, *now);
            *now = wake < end ? wake : end;
        }
    }
    return served;
}

/* A storm of requests gets exactly the budget. */
TEST(a_storm_has_a_twentieth)
{
    const uint64_t services[] = {1000, 50000, 3000000};
    uint64_t service = services[_i], now = 7 * THEMIS_NS_PER_S, end = now + 10 * THEMIS_NS_PER_S;
    themis_sched_control_queue_t queue = {0};
    themis_sched_job_t job = {0};
    double most = (double)THEMIS_SCHED_CONTROL_BURST + 10e9 / THEMIS_SCHED_CONTROL_DIVISOR + (double)service;

    for (int i = 0; i < ITEMS; i++)
        themis_sched_control_queue_add(&queue, &job, &items[i]);
    uint64_t served = serve(&queue, &now, end, service);
    ck_assert_double_le((double)(served * service), most);
    if (served < ITEMS) {
        ck_assert_double_ge((double)(served * service), 0.99 * most - (double)service);
        ck_assert_uint_eq(queue.queued, ITEMS - served);
    } else {
        ck_assert_uint_eq(service, 1000); /* 20 ms in all: less than may be used at once */
    }
}

/* After a pause no more than the burst may be used at once. */
TEST(nothing_more_is_saved_up)
{
    uint64_t service = 100000, now = 3600 * THEMIS_NS_PER_S;
    themis_sched_control_queue_t queue = {0};
    themis_sched_job_t job = {0};

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 2000; i++)
            themis_sched_control_queue_add(&queue, &job, &items[i]);
        uint64_t served = serve(&queue, &now, now + 2 * THEMIS_SCHED_CONTROL_BURST, service);
        ck_assert_uint_le(served * service, THEMIS_SCHED_CONTROL_BURST * 11 / 10 + service);
        ck_assert_uint_ge(served * service, THEMIS_SCHED_CONTROL_BURST);
        serve(&queue, &now, now + 60 * THEMIS_NS_PER_S, service);
        ck_assert_uint_eq(queue.queued, 0);
        ck_assert_ptr_null(queue.turns);
    }
}

/* A job with one request waits for one request of each job with many. */
TEST(jobs_take_turns)
{
    enum { STORMS = 5, EACH = 1000 };
    uint64_t service = 1000000, now = THEMIS_NS_PER_S, wake = UINT64_MAX, end = now + THEMIS_NS_PER_S;
    themis_sched_control_queue_t queue = {0};
    themis_sched_job_t storm[STORMS] = {0}, modest = {0};
    themis_sched_control_item_t one;

    for (int i = 0; i < STORMS * EACH; i++)
        themis_sched_control_queue_add(&queue, &storm[i % STORMS], &items[i]);
    serve(&queue, &now, end, service);
    themis_sched_control_queue_add(&queue, &modest, &one);
    int before = 0;
    for (themis_sched_control_item_t *item = NULL; item != &one;) {
        item = themis_sched_control_queue_next(&queue, now, &wake);
        before += item != NULL;
        now = item != NULL ? now + service : wake;
        if (item != NULL)
            themis_sched_control_queue_done(&queue, service, now);
        wake = UINT64_MAX;
    }
    ck_assert_int_le(before, STORMS + 1);
    ck_assert_uint_le(now - end, (STORMS + 1) * THEMIS_SCHED_CONTROL_DIVISOR * service + service);
}

TEST(one_is_served_at_a_time_and_in_order)
{
    uint64_t now = THEMIS_NS_PER_S, wake = UINT64_MAX;
    themis_sched_control_queue_t queue = {0};
    themis_sched_job_t job = {0};

    for (int i = 0; i < 3; i++)
        themis_sched_control_queue_add(&queue, &job, &items[i]);
    ck_assert_ptr_eq(themis_sched_control_queue_next(&queue, now, &wake), &items[0]);
    ck_assert_ptr_null(themis_sched_control_queue_next(&queue, now, &wake));
    ck_assert_uint_eq(wake, UINT64_MAX);
    themis_sched_control_queue_done(&queue, 1000, now);
    ck_assert_ptr_eq(themis_sched_control_queue_next(&queue, now, &wake), &items[1]);
    themis_sched_control_queue_done(&queue, 1000, now);
    ck_assert_uint_eq(queue.queued, 1);
}

TEST(what_is_removed_is_not_served)
{
    uint64_t now = THEMIS_NS_PER_S, wake = UINT64_MAX;
    themis_sched_control_queue_t queue = {0};
    themis_sched_job_t first = {0}, second = {0};

    themis_sched_control_queue_add(&queue, &first, &items[0]);
    themis_sched_control_queue_add(&queue, &first, &items[1]);
    themis_sched_control_queue_add(&queue, &second, &items[2]);
    themis_sched_control_queue_remove(&queue, &items[0]);
    themis_sched_control_queue_remove(&queue, &items[1]);
    ck_assert_ptr_null(first.control);
    ck_assert_ptr_eq(themis_sched_control_queue_next(&queue, now, &wake), &items[2]);
    themis_sched_control_queue_done(&queue, 1000, now);
    ck_assert_ptr_null(themis_sched_control_queue_next(&queue, now, &wake));
    ck_assert_uint_eq(queue.queued, 0);
}

int main(void)
{
    Suite *suite = suite_create("control queue");

    test_case(suite, "all", 30, NULL, NULL,
              TESTS({a_storm_has_a_twentieth, 3}, {nothing_more_is_saved_up, 1}, {jobs_take_turns, 1},
                    {one_is_served_at_a_time_and_in_order, 1}, {what_is_removed_is_not_served, 1}));
    return test_run(suite);
}
