/* SPDX-License-Identifier: BSD-3-Clause */
/* A munged of a test's own, with its own key and socket. */
#pragma once
#include <sys/types.h>

typedef struct test_munged {
    pid_t pid;
    char directory[64], socket[96];
} test_munged_t;

/* Starts it; NULL, or why there cannot be one here. */
const char *test_munged_start(test_munged_t *munged);
void test_munged_end(test_munged_t *munged);
