/* SPDX-License-Identifier: BSD-3-Clause */
/* The job table and its histograms. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include "sched/job_table.h"
#include "test/lib/run.h"

static themis_sched_job_t *join(themis_sched_job_table_t *table, const char *id, uint32_t uid, uint32_t nodes,
                                uint64_t now, int *fresh)
{
    themis_sched_job_identity_t identity = {.uid = uid, .nodes = nodes};
    themis_sched_job_t *job = NULL;
    int changed;

    snprintf(identity.id, sizeof identity.id, "%s", id);
    ck_assert_int_eq(themis_sched_job_table_join(table, &identity, now, &job, fresh, &changed), THEMIS_OK);
    return job;
}

static void count_and_remove(void *arg, themis_sched_job_t *job)
{
    ck_assert_int_eq(job->active, 0);
    themis_sched_job_table_remove(arg, job);
}

TEST(a_job_is_id_and_user)
{
    themis_sched_job_table_t *table;
    int fresh;

    ck_assert_int_eq(themis_sched_job_table_create(&table), THEMIS_OK);
    themis_sched_job_t *a = join(table, "17", 1000, 4, 5, &fresh);
    ck_assert_int_eq(fresh, 1);
    ck_assert_ptr_eq(join(table, "17", 1000, 2, 6, &fresh), a);
    ck_assert_int_eq(fresh, 0);
    ck_assert_uint_eq(a->clients, 2);
    ck_assert_uint_eq(a->identity.nodes, 4); /* the largest of all clients */
    ck_assert_uint_eq(a->identity.priority, 1);
    ck_assert_ptr_ne(join(table, "17", 1001, 4, 7, &fresh), a);
    ck_assert_int_eq(fresh, 1);
    ck_assert_ptr_ne(join(table, "1", 1000, 4, 7, &fresh), a); /* a prefix of an id is another job */
    ck_assert_uint_eq(themis_sched_job_table_count(table), 3);
    ck_assert_ptr_eq(themis_sched_job_table_first(table), a);
    ck_assert_ptr_eq(themis_sched_job_table_find(table, "17", 1000), a);
    ck_assert_ptr_null(themis_sched_job_table_find(table, "18", 1000));
    themis_sched_job_table_destroy(table);
}

TEST(silent_and_abandoned_jobs_expire)
{
    themis_sched_job_table_t *table;
    int fresh;

    ck_assert_int_eq(themis_sched_job_table_create(&table), THEMIS_OK);
    join(table, "silent", 1, 1, 100, &fresh);
    themis_sched_job_t *alive = join(table, "alive", 1, 1, 100, &fresh);
    themis_sched_job_t *left = join(table, "left", 1, 1, 100, &fresh);
    themis_sched_job_t *draining = join(table, "draining", 1, 1, 100, &fresh);
    draining->queued = 1;
    themis_sched_job_table_touch(table, alive, 190);
    themis_sched_job_table_leave(table, left, 190);
    themis_sched_job_table_touch(table, draining, 190);
    themis_sched_job_table_leave(table, draining, 190);
    themis_sched_job_table_expire(table, 200, 100, count_and_remove, table);
    ck_assert_uint_eq(themis_sched_job_table_count(table), 2);
    ck_assert_ptr_eq(themis_sched_job_table_first(table), alive);
    ck_assert_ptr_eq(themis_sched_job_table_next(table, alive), draining);
    ck_assert_ptr_null(themis_sched_job_table_next(table, draining));
    draining->queued = 0;
    themis_sched_job_table_expire(table, 200, 100, NULL, NULL);
    ck_assert_int_eq(draining->active, 0);
    ck_assert_uint_eq(themis_sched_job_table_count(table), 2);
    themis_sched_job_table_touch(table, draining, 201);
    ck_assert_int_eq(draining->active, 1);
    themis_sched_job_table_destroy(table);
}

TEST(histograms_count_by_powers_of_two)
{
    themis_sched_histogram_t histogram = {0};

    ck_assert_uint_eq(themis_sched_histogram_quantile(&histogram, 0.5), 0);
    for (uint64_t value = 0; value < 8; value++)
        themis_sched_histogram_add(&histogram, value);
    themis_sched_histogram_add(&histogram, UINT64_MAX);
    ck_assert_uint_eq(histogram.counts[0], 2);
    ck_assert_uint_eq(histogram.counts[1], 2);
    ck_assert_uint_eq(histogram.counts[2], 4);
    ck_assert_uint_eq(histogram.counts[THEMIS_SCHED_HISTOGRAM_BUCKETS - 1], 1);
    ck_assert_uint_eq(themis_sched_histogram_count(&histogram), 9);
    ck_assert_uint_eq(themis_sched_histogram_quantile(&histogram, 0.4), 4);
    ck_assert_uint_eq(themis_sched_histogram_quantile(&histogram, 0.8), 8);
}

int main(void)
{
    Suite *suite = suite_create("job table");

    test_case(suite, "all", 20, NULL, NULL,
              TESTS({a_job_is_id_and_user, 1}, {silent_and_abandoned_jobs_expire, 1},
                    {histograms_count_by_powers_of_two, 1}));
    return test_run(suite);
}
