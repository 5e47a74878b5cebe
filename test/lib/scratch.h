/* SPDX-License-Identifier: BSD-3-Clause */
/* A directory for a test's files, in $TMPDIR: test/run.sh removes that, also what a test leaves that was killed. One at
 * a time. */
#pragma once
#include <check.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

static char test_scratch[256];

static inline void test_scratch_make(void)
{
    const char *parent = getenv("TMPDIR");

    snprintf(test_scratch, sizeof test_scratch, "%.200s/themis-unit-XXXXXX", parent ? parent : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(test_scratch));
}

static inline int test_scratch_remove_one(const char *path, const struct stat *stat, int type, struct FTW *ftw)
{
    return remove(path);
}

static inline void test_scratch_remove(void)
{
    nftw(test_scratch, test_scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
