/* SPDX-License-Identifier: BSD-3-Clause */
/* The expression of themis find: tests that all have to hold, and what is done with what they hold for. */
#pragma once
#include "tools/walk.h"

enum { THEMIS_TOOLS_FIND_TESTS = 64 };

typedef struct themis_tools_find_test {
    const struct themis_tools_find_kind *kind;
    int negated;
    const char *text; /* borrowed; the argument */
    int sign;         /* of a number: -1 less than, 1 more than, 0 exactly */
    uint64_t number, unit;
} themis_tools_find_test_t;

typedef struct themis_tools_find_expression {
    themis_tools_find_test_t tests[THEMIS_TOOLS_FIND_TESTS];
    int count;
    unsigned min_depth, max_depth;
    int zero, json;
    uint64_t now; /* ns since 1970 */
} themis_tools_find_expression_t;

/* `arguments` ends with a NULL, and has no paths any more. Prints its errors. */
int themis_tools_find_parse(char **arguments, themis_tools_find_expression_t *expression);

int themis_tools_find_matches(const themis_tools_find_expression_t *expression, const themis_tools_walked_t *walked);
