/* SPDX-License-Identifier: BSD-3-Clause */
/* What every unit program ends with. */
#ifndef THEMIS_TEST_LIB_RUN_H
#define THEMIS_TEST_LIB_RUN_H
#include <check.h>

/* Runs the suite and frees it; the result is the exit status of a program. CK_VERBOSITY says how much is told. */
static inline int test_run(Suite *suite)
{
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
#endif
