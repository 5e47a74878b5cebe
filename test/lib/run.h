/* SPDX-License-Identifier: BSD-3-Clause */
/* What every unit program ends with. */
#pragma once
#include <check.h>

/* Begins a test, a function with _i from 0 on; nothing ends it. */
#define TEST(name) START_TEST(name)

/* A test and how often it runs. */
typedef struct test_entry {
    const TTest *test;
    int loops;
} test_entry_t;
#define TESTS(...)                                                                                                     \
    (const test_entry_t[])                                                                                             \
    {                                                                                                                  \
        __VA_ARGS__,                                                                                                   \
        {                                                                                                              \
            NULL, 0                                                                                                    \
        }                                                                                                              \
    }

/* Adds tests that end within `seconds` each, between set-up and tear-down (NULL: none). */
static inline void test_case(Suite *suite, const char *name, double seconds, SFun set_up, SFun tear_down,
                             const test_entry_t *tests)
{
    TCase *tcase = tcase_create(name);

    tcase_set_timeout(tcase, seconds);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    for (; tests->test; tests++)
        tcase_add_loop_test(tcase, tests->test, 0, tests->loops);
    suite_add_tcase(suite, tcase);
}

/* Runs the suite and frees it; the result is the exit status of a program. CK_VERBOSITY says how much is told. */
static inline int test_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
