/* SPDX-License-Identifier: BSD-3-Clause */
/* The policy language and its shares: random trees against the product of dense transition matrices. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "config.h"
#include "sched/policy_tree.h"
#include "test/lib/run.h"

static themis_sched_policy_t parsed(const char *text)
{
    themis_sched_policy_t policy;
    char error[256] = "";

    ck_assert_msg(themis_sched_policy_parse(text, &policy, error, sizeof error) == THEMIS_OK, "%s", error);
    return policy;
}

TEST(good_policies_are_understood)
{
    ck_assert_uint_eq(parsed("fifo").levels, 0);
    static const char *const singles[] = {"job-fair", "size-fair", "priority-fair"};
    for (size_t i = 0; i < 3; i++)
        ck_assert_uint_eq(parsed(singles[i]).levels, 1);
    ck_assert_uint_eq(parsed("user-fair").levels, 2); /* its jobs follow */
    themis_sched_policy_t chain = parsed("group-then-user-then-size-fair");
    ck_assert_uint_eq(chain.levels, 3);
    ck_assert_int_eq(chain.level[0], THEMIS_SCHED_LEVEL_GROUP);
    ck_assert_int_eq(chain.level[1], THEMIS_SCHED_LEVEL_USER);
    ck_assert_int_eq(chain.level[2], THEMIS_SCHED_LEVEL_SIZE);
    ck_assert_uint_eq(parsed("group-then-user-then-priority-then-size-then-job-fair").levels, 5);
    ck_assert_str_eq(chain.text, "group-then-user-then-size-fair");
    ck_assert_int_eq(chain.periodic, 0);
    ck_assert_int_eq(parsed("periodic").periodic, 1);
    ck_assert_int_eq(parsed("periodic").level[0], THEMIS_SCHED_LEVEL_JOB);
    themis_sched_policy_t periodic = parsed("periodic-then-user-then-size-fair");
    ck_assert_int_eq(periodic.periodic, 1);
    ck_assert_uint_eq(periodic.levels, 2);
    ck_assert_int_eq(periodic.level[1], THEMIS_SCHED_LEVEL_SIZE);
}

TEST(comparators_are_part_of_the_build_or_named_as_missing)
{
    static const char *const comparators[] = {"gift", "tbf"};
    themis_sched_policy_t policy = {.levels = 99};
    char error[256] = "";

    ck_assert_int_eq(themis_sched_policy_parse(comparators[_i], &policy, error, sizeof error),
                     THEMIS_COMPARATORS ? THEMIS_OK : THEMIS_PARSE);
    ck_assert_uint_eq(policy.levels, THEMIS_COMPARATORS ? 0 : 99);
    if (!THEMIS_COMPARATORS)
        ck_assert_msg(strstr(error, comparators[_i]) != NULL && strstr(error, "--disable-comparators") != NULL, "%s",
                      error);
}

TEST(faults_are_told_with_their_position)
{
    static const struct {
        const char *text, *position;
    } bad[] = {{"", "character 1:"},
               {"fair", "character 1:"},
               {"FIFO", "character 1:"},
               {"user", "character 5:"},
               {"periodic-fair", "character 1:"},
               {"periodic-then-", "character 15:"},
               {"periodic-then-fifo", "character 15:"},
               {"user-", "character 5:"},
               {"user-fair ", "character 5:"},
               {"user-then-fair", "character 11:"},
               {"user-then-size", "character 15:"},
               {"user-then-then-size-fair", "character 11:"},
               {"user-then-group-then-user-fair", "character 22:"},
               {"job-then-user-fair", "character 10:"},
               {"fifo-then-user-fair", "character 1:"},
               {"users-fair", "character 1:"}};
    themis_sched_policy_t policy = {.levels = 99};
    char error[256];

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_int_eq(themis_sched_policy_parse(bad[i].text, &policy, error, sizeof error), THEMIS_PARSE);
        ck_assert_msg(strstr(error, bad[i].position) != NULL, "\"%s\": %s", bad[i].text, error);
        ck_assert_uint_eq(policy.levels, 99);
    }
    char lengthy[400];
    memset(lengthy, 'x', sizeof lengthy - 1);
    lengthy[sizeof lengthy - 1] = '\0';
    ck_assert_int_eq(themis_sched_policy_parse(lengthy, &policy, error, sizeof error), THEMIS_PARSE);
}

enum { MAX_JOBS = 40 };

static const themis_sched_policy_t *sort_policy;
static int compare(const void *a, const void *b)
{
    return themis_sched_policy_tree_compare(sort_policy, *(const themis_sched_job_identity_t *const *)a,
                                            *(const themis_sched_job_identity_t *const *)b);
}

/* What distinguishes entities of a level, independent of the code under test. */
static int same_entity(themis_sched_policy_level_t level, const themis_sched_job_identity_t *a,
                       const themis_sched_job_identity_t *b)
{
    switch (level) {
    case THEMIS_SCHED_LEVEL_GROUP:
        return a->gid == b->gid;
    case THEMIS_SCHED_LEVEL_USER:
        return a->uid == b->uid;
    case THEMIS_SCHED_LEVEL_PRIORITY:
        return a->priority == b->priority;
    case THEMIS_SCHED_LEVEL_SIZE:
        return a->nodes == b->nodes;
    default:
        return a == b;
    }
}

/* The entity of job k at a level is named by the first job of the same path. */
static int entity(const themis_sched_policy_t *policy, unsigned level, const themis_sched_job_identity_t *const *jobs,
                  int k)
{
    for (int i = 0; i < k; i++) {
        int same = 1;
        for (unsigned l = 0; l <= level; l++)
            same &= l + 1 == policy->levels ? 0 : same_entity(policy->level[l], jobs[i], jobs[k]);
        if (same)
            return i;
    }
    return k;
}

/* One level's matrix, MAX_JOBS x MAX_JOBS, rows and columns named by first jobs. */
static void transition(const themis_sched_policy_t *policy, unsigned level,
                       const themis_sched_job_identity_t *const *jobs, int n, double matrix[MAX_JOBS][MAX_JOBS])
{
    memset(matrix, 0, sizeof(double) * MAX_JOBS * MAX_JOBS);
    for (int k = 0; k < n; k++) {
        if (entity(policy, level, jobs, k) != k)
            continue;
        int row = level == 0 ? 0 : entity(policy, level - 1, jobs, k);
        double weight = policy->level[level] == THEMIS_SCHED_LEVEL_SIZE       ? jobs[k]->nodes
                        : policy->level[level] == THEMIS_SCHED_LEVEL_PRIORITY ? jobs[k]->priority
                                                                              : 1;
        matrix[row][k] = weight;
    }
    for (int row = 0; row < n; row++) {
        double sum = 0;
        for (int k = 0; k < n; k++)
            sum += matrix[row][k];
        for (int k = 0; k < n && sum > 0; k++)
            matrix[row][k] /= sum;
    }
}

static void naive_shares(const themis_sched_policy_t *policy, const themis_sched_job_identity_t *const *jobs, int n,
                         double *shares)
{
    static double matrix[MAX_JOBS][MAX_JOBS];
    double product[MAX_JOBS] = {1}, next[MAX_JOBS];

    for (unsigned level = 0; level < policy->levels; level++) {
        transition(policy, level, jobs, n, matrix);
        for (int k = 0; k < n; k++) {
            next[k] = 0;
            for (int row = 0; row < n; row++)
                next[k] += product[row] * matrix[row][k];
        }
        memcpy(product, next, sizeof product);
    }
    memcpy(shares, product, sizeof product);
}

TEST(shares_are_the_product_of_the_matrices)
{
    static const char *const policies[] = {"job-fair",
                                           "size-fair",
                                           "priority-fair",
                                           "user-fair",
                                           "group-fair",
                                           "user-then-size-fair",
                                           "user-then-job-fair",
                                           "group-then-user-then-size-fair",
                                           "group-then-user-then-priority-then-size-fair",
                                           "priority-then-user-then-size-then-job-fair",
                                           "size-then-group-fair"};
    themis_sched_job_identity_t all[MAX_JOBS];
    const themis_sched_job_identity_t *jobs[MAX_JOBS];
    themis_sched_policy_tree_t tree = {0};
    double expected[MAX_JOBS];

    srand(7);
    for (int round = 0; round < 400; round++) {
        themis_sched_policy_t policy = parsed(policies[round % (int)(sizeof policies / sizeof *policies)]);
        int n = 1 + rand() % MAX_JOBS;
        for (int i = 0; i < n; i++) {
            all[i] = (themis_sched_job_identity_t){.gid = (uint32_t)rand() % 3,
                                                   .uid = (uint32_t)rand() % 5,
                                                   .nodes = 1 + (uint32_t)rand() % 6,
                                                   .priority = 1 + (uint32_t)rand() % 4};
            jobs[i] = &all[i];
        }
        sort_policy = &policy;
        qsort(jobs, (size_t)n, sizeof *jobs, compare);
        ck_assert_int_eq(themis_sched_policy_tree_reserve(&tree, (uint32_t)n), THEMIS_OK);
        themis_sched_policy_tree_build(&tree, &policy, jobs, (uint32_t)n);
        naive_shares(&policy, jobs, n, expected);
        double sum = 0;
        for (int i = 0; i < n; i++) {
            double share = tree.node[tree.levels - 1][i].share;
            ck_assert_msg(fabs(share - expected[i]) < 1e-12, "%s: job %d: %g, not %g", policy.text, i, share,
                          expected[i]);
            sum += share;
        }
        ck_assert_double_eq_tol(sum, 1, 1e-9);
    }
    themis_sched_policy_tree_release(&tree);
}

TEST(figure_11_of_the_paper)
{
    /* Two groups, four users, eight jobs. */
    themis_sched_job_identity_t all[8] = {
        {.id = "1", .gid = 1, .uid = 1, .nodes = 1}, {.id = "2", .gid = 2, .uid = 2, .nodes = 2},
        {.id = "3", .gid = 2, .uid = 2, .nodes = 3}, {.id = "4", .gid = 2, .uid = 2, .nodes = 2},
        {.id = "5", .gid = 2, .uid = 3, .nodes = 3}, {.id = "6", .gid = 2, .uid = 3, .nodes = 2},
        {.id = "7", .gid = 2, .uid = 4, .nodes = 1}, {.id = "8", .gid = 2, .uid = 4, .nodes = 2}};
    static const double expected[8] = {1 / 2., 1 / 21., 1 / 14., 1 / 21., 1 / 10., 1 / 15., 1 / 18., 1 / 9.};
    const themis_sched_job_identity_t *jobs[8];
    themis_sched_policy_t policy = parsed("group-then-user-then-size-fair");
    themis_sched_policy_tree_t tree = {0};

    for (int i = 0; i < 8; i++)
        jobs[i] = &all[i];
    ck_assert_int_eq(themis_sched_policy_tree_reserve(&tree, 8), THEMIS_OK);
    themis_sched_policy_tree_build(&tree, &policy, jobs, 8);
    for (int i = 0; i < 8; i++)
        ck_assert_double_eq_tol(tree.node[2][i].share, expected[i], 1e-12);
    char *text = themis_sched_policy_tree_explain(&tree, &policy, jobs);
    ck_assert_ptr_nonnull(strstr(text, " 50.00 %  group 2\n"));
    ck_assert_ptr_nonnull(strstr(text, " 16.67 %  user 3\n"));
    ck_assert_ptr_nonnull(strstr(text, " 11.11 %  job 8 (user 4, group 2, 2 nodes, priority 0)\n"));
    int lines = 0;
    for (const char *c = text; *c != '\0'; c++)
        lines += *c == '\n';
    ck_assert_int_eq(lines, 1 + 2 + 4 + 8);
    free(text);
    themis_sched_policy_tree_release(&tree);
}

int main(void)
{
    Suite *suite = suite_create("policy");

    test_case(suite, "all", 30, NULL, NULL,
              TESTS({good_policies_are_understood, 1}, {comparators_are_part_of_the_build_or_named_as_missing, 2},
                    {faults_are_told_with_their_position, 1}, {shares_are_the_product_of_the_matrices, 1},
                    {figure_11_of_the_paper, 1}));
    return test_run(suite);
}
