/* SPDX-License-Identifier: BSD-3-Clause */
/* The global allocation: the paper's example, random systems against the conditions of max-min fairness, tables that
 * come and go. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "sched/lambda.h"
#include "test/lib/run.h"

enum { MAX_SERVERS = 12, MAX_JOBS = 60 };

static themis_sched_policy_t parsed(const char *text)
{
    themis_sched_policy_t policy;
    char error[256];

    ck_assert_int_eq(themis_sched_policy_parse(text, &policy, error, sizeof error), THEMIS_OK);
    return policy;
}

static void add(themis_sched_lambda_t *lambda, uint32_t server, int job, uint32_t nodes, uint64_t demand)
{
    char id[32];
    themis_proto_table_row_t row = {.uid = 7, .gid = 1, .nodes = nodes, .priority = 1, .demand = demand};

    row.job.bytes = id;
    row.job.length = (uint32_t)snprintf(id, sizeof id, "job-%d", job);
    ck_assert_int_eq(themis_sched_lambda_add(lambda, server, &row), THEMIS_OK);
}

/* What the job is allocated on all of `servers`, as a part of their capacity. */
static double part(const themis_sched_lambda_t *lambda, uint32_t servers, double capacity, int job)
{
    themis_sched_lambda_allocation_t allocation;
    double sum = 0;

    for (uint32_t s = 0; s < servers; s++)
        for (uint32_t i = 0; themis_sched_lambda_allocation(lambda, s, i, &allocation); i++)
            if (atoi(allocation.job->id + 4) == job)
                sum += allocation.bandwidth;
    return sum / capacity;
}

static void paper_example(themis_sched_lambda_t *lambda, uint64_t now)
{
    themis_sched_lambda_begin(lambda, 0, 1000000, now);
    add(lambda, 0, 1, 16, THEMIS_SCHED_LAMBDA_ALL);
    add(lambda, 0, 2, 8, THEMIS_SCHED_LAMBDA_ALL);
    themis_sched_lambda_begin(lambda, 1, 1000000, now);
    add(lambda, 1, 1, 16, THEMIS_SCHED_LAMBDA_ALL);
    add(lambda, 1, 3, 8, THEMIS_SCHED_LAMBDA_ALL);
}

TEST(sixteen_eight_eight)
{
    themis_sched_policy_t policy = parsed("size-fair");
    themis_sched_lambda_t *lambda;

    ck_assert_int_eq(themis_sched_lambda_create(2, &lambda), THEMIS_OK);
    paper_example(lambda, 5);
    ck_assert_int_eq(themis_sched_lambda_allocate(lambda, &policy), THEMIS_OK);
    ck_assert_double_eq_tol(part(lambda, 2, 2000000, 1), 0.5, 1e-3);
    ck_assert_double_eq_tol(part(lambda, 2, 2000000, 2), 0.25, 1e-3);
    ck_assert_double_eq_tol(part(lambda, 2, 2000000, 3), 0.25, 1e-3);
    policy = parsed("fifo");
    ck_assert_int_eq(themis_sched_lambda_allocate(lambda, &policy), THEMIS_INVALID);
    themis_sched_lambda_destroy(lambda);
}

TEST(a_job_with_little_demand_leaves_the_rest)
{
    themis_sched_policy_t policy = parsed("job-fair");
    themis_sched_lambda_t *lambda;

    ck_assert_int_eq(themis_sched_lambda_create(2, &lambda), THEMIS_OK);
    /* Job 1 can use a tenth of server 0 and all of server 1, so it may have most of its half there. */
    themis_sched_lambda_begin(lambda, 0, 1000, 1);
    add(lambda, 0, 1, 1, 100);
    add(lambda, 0, 2, 1, THEMIS_SCHED_LAMBDA_ALL);
    themis_sched_lambda_begin(lambda, 1, 1000, 1);
    add(lambda, 1, 1, 1, THEMIS_SCHED_LAMBDA_ALL);
    add(lambda, 1, 2, 1, THEMIS_SCHED_LAMBDA_ALL);
    ck_assert_int_eq(themis_sched_lambda_allocate(lambda, &policy), THEMIS_OK);
    ck_assert_double_eq_tol(part(lambda, 2, 2000, 1), 0.5, 2e-3);
    ck_assert_double_eq_tol(part(lambda, 2, 2000, 2), 0.5, 2e-3);
    themis_sched_lambda_destroy(lambda);
}

typedef struct system {
    uint32_t servers;
    int jobs;
    double capacity[MAX_SERVERS], share[MAX_JOBS];
    int on[MAX_JOBS][MAX_SERVERS];
    double weight[MAX_JOBS][MAX_SERVERS];
} system_t;

static void collect_weights(system_t *system, const themis_sched_lambda_t *lambda)
{
    themis_sched_lambda_allocation_t allocation;

    for (uint32_t s = 0; s < system->servers; s++)
        for (uint32_t i = 0; themis_sched_lambda_allocation(lambda, s, i, &allocation); i++) {
            int job = atoi(allocation.job->id + 4);
            system->weight[job][s] = allocation.weight;
            ck_assert_double_eq_tol(allocation.share, system->share[job], 1e-9);
        }
}

static void random_system(system_t *system, themis_sched_lambda_t *lambda)
{
    double sum = 0;
    int used[MAX_JOBS] = {0};
    uint32_t nodes[MAX_JOBS];

    for (int j = 0; j < system->jobs; j++)
        nodes[j] = 1 + (uint32_t)rand() % 20;
    for (uint32_t s = 0; s < system->servers; s++) {
        system->capacity[s] = 1e9 * (1 + rand() % 3);
        themis_sched_lambda_begin(lambda, s, (uint64_t)system->capacity[s], 1);
        for (int j = 0; j < system->jobs; j++) {
            system->on[j][s] = rand() % 3 == 0;
            if (!system->on[j][s])
                continue;
            add(lambda, s, j, nodes[j], THEMIS_SCHED_LAMBDA_ALL);
            sum += used[j] ? 0 : nodes[j];
            used[j] = 1;
        }
    }
    for (int j = 0; j < system->jobs; j++)
        system->share[j] = used[j] ? nodes[j] / sum : 0;
}

/*
 * Max-min fair means: every wanted server is full, and a job that gets something on a server has no more in all, in
 * proportion to its share, than any other job there.
 */
static void check_fairness(const system_t *system)
{
    double level[MAX_JOBS] = {0};

    for (int j = 0; j < system->jobs; j++)
        for (uint32_t s = 0; s < system->servers; s++)
            level[j] += system->on[j][s] ? system->weight[j][s] / system->share[j] : 0;
    for (uint32_t s = 0; s < system->servers; s++) {
        double used = 0;
        int wanted = 0;
        for (int j = 0; j < system->jobs; j++) {
            wanted += system->on[j][s];
            used += system->on[j][s] ? system->weight[j][s] : 0;
        }
        if (wanted > 0)
            ck_assert_double_eq_tol(used / system->capacity[s], 1, 1e-4);
        for (int j = 0; j < system->jobs; j++)
            for (int k = 0; k < system->jobs; k++)
                if (system->on[j][s] && system->on[k][s] && system->weight[j][s] > 1e-2 * system->capacity[s])
                    ck_assert_msg(level[j] <= level[k] * 1.05, "server %u: job %d at %g, job %d at %g", s, j, level[j],
                                  k, level[k]);
    }
}

TEST(random_systems_are_max_min_fair)
{
    themis_sched_policy_t policy = parsed("size-fair");

    srand((unsigned)_i + 1);
    for (int round = 0; round < 50; round++) {
        system_t system = {.servers = 1 + (uint32_t)rand() % MAX_SERVERS, .jobs = 1 + rand() % MAX_JOBS};
        themis_sched_lambda_t *lambda;
        ck_assert_int_eq(themis_sched_lambda_create(system.servers, &lambda), THEMIS_OK);
        random_system(&system, lambda);
        ck_assert_int_eq(themis_sched_lambda_allocate(lambda, &policy), THEMIS_OK);
        collect_weights(&system, lambda);
        check_fairness(&system);
        themis_sched_lambda_destroy(lambda);
    }
}

TEST(servers_and_jobs_come_and_go)
{
    themis_sched_policy_t policy = parsed("size-fair");
    themis_sched_lambda_allocation_t allocation;
    themis_sched_lambda_t *lambda;

    ck_assert_int_eq(themis_sched_lambda_create(3, &lambda), THEMIS_OK);
    for (int round = 0; round < 50; round++) {
        paper_example(lambda, 100);
        themis_sched_lambda_begin(lambda, 2, 0, 100);
        for (int j = 0; j < round % 7; j++)
            add(lambda, 2, 10 + (j + round) % 9, 2, THEMIS_SCHED_LAMBDA_ALL);
        ck_assert_int_eq(themis_sched_lambda_allocate(lambda, &policy), THEMIS_OK);
        for (int i = 0; i < 8; i++)
            ck_assert_int_eq(themis_sched_lambda_allocation(lambda, 2, (uint32_t)i, &allocation), i < round % 7);
    }
    ck_assert_uint_eq(themis_sched_lambda_servers(lambda), 3);
    /* Server 1 becomes silent: job 1 is on server 0 only, with two thirds. */
    themis_sched_lambda_begin(lambda, 0, 1000000, 200);
    add(lambda, 0, 1, 16, THEMIS_SCHED_LAMBDA_ALL);
    add(lambda, 0, 2, 8, THEMIS_SCHED_LAMBDA_ALL);
    themis_sched_lambda_expire(lambda, 200, 50);
    ck_assert_uint_eq(themis_sched_lambda_servers(lambda), 1);
    ck_assert_int_eq(themis_sched_lambda_allocate(lambda, &policy), THEMIS_OK);
    ck_assert_double_eq_tol(part(lambda, 3, 1000000, 1), 2 / 3., 1e-3);
    ck_assert_double_eq(part(lambda, 3, 1000000, 3), 0);
    themis_sched_lambda_destroy(lambda);
}

int main(void)
{
    Suite *suite = suite_create("lambda");

    test_case(suite, "all", 60, NULL, NULL,
              TESTS({sixteen_eight_eight, 1}, {a_job_with_little_demand_leaves_the_rest, 1},
                    {random_systems_are_max_min_fair, 4}, {servers_and_jobs_come_and_go, 1}));
    return test_run(suite);
}
