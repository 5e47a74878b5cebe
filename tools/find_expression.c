/* SPDX-License-Identifier: BSD-3-Clause */
/* Each test is a row of the table `kinds`: how its argument is parsed, and when the test is true. */
#define _GNU_SOURCE
#include "tools/find_expression.h"
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tools/command.h"
#include "tools/location.h"
#include "tools/owner.h"
#include "util/clock.h"
#include "util/config.h"

typedef themis_tools_find_test_t find_test_t;

/* `option`: the test's name, for messages. */
typedef int (*parse_fn)(find_test_t *test, const char *option);
typedef int (*holds_fn)(const find_test_t *test, const themis_tools_walked_t *walked, uint64_t now);

struct themis_tools_find_kind {
    const char *name;
    parse_fn parse; /* NULL: no argument */
    holds_fn holds;
    uint64_t unit; /* ns in one unit of the argument; 0: it is no time */
};

/* --- reading arguments -------------------------------------------------------------------------------------------- */

static int text_parse(find_test_t *test, const char *option)
{
    return THEMIS_TOOLS_OK;
}

/* "+N", "-N" or "N"; *end is what follows the number. Returns 0 if there is none. */
static int number_parse(find_test_t *test, char **end)
{
    const char *digits = test->text;

    test->sign = *digits == '+' ? 1 : *digits == '-' ? -1 : 0;
    digits += test->sign != 0;
    if (!isdigit((unsigned char)*digits))
        return 0;
    errno = 0;
    test->number = strtoull(digits, end, 10);
    return errno == 0;
}

static int time_parse(find_test_t *test, const char *option)
{
    char *end;

    test->unit = test->kind->unit;
    if (!number_parse(test, &end) || *end || test->number > UINT64_MAX / test->unit)
        return themis_tools_misuse("%s %s: expected N, +N or -N", option, test->text);
    return THEMIS_TOOLS_OK;
}

static int size_parse(find_test_t *test, const char *option)
{
    static const struct {
        char letter;
        uint64_t bytes;
    } units[] = {{'\0', 512}, {'b', 512}, {'c', 1}, {'w', 2}, {'k', 1 << 10}, {'M', 1 << 20}, {'G', 1 << 30}};
    char *end;

    if (number_parse(test, &end) && (!*end || !end[1]))
        for (size_t i = 0; i < sizeof units / sizeof *units; i++)
            if (units[i].letter == *end) {
                test->unit = units[i].bytes;
                return THEMIS_TOOLS_OK;
            }
    return themis_tools_misuse("%s %s: expected N, +N or -N, with c, k, M or G for a unit other than 512 bytes", option,
                               test->text);
}

static int type_parse(find_test_t *test, const char *option)
{
    if (strcmp(test->text, "f") != 0 && strcmp(test->text, "d") != 0 && strcmp(test->text, "l") != 0)
        return themis_tools_misuse("%s %s: expected f, d or l; servers have files, directories and symbolic links only",
                                   option, test->text);
    test->number = *test->text == 'd'   ? THEMIS_TYPE_DIRECTORY
                   : *test->text == 'l' ? THEMIS_TYPE_SYMLINK
                                        : THEMIS_TYPE_FILE;
    return THEMIS_TOOLS_OK;
}

static int user_parse(find_test_t *test, const char *option)
{
    uint32_t uid, gid;
    int result = themis_tools_owner_parse(test->text, &uid, &gid);

    if (result == THEMIS_TOOLS_OK && strchr(test->text, ':'))
        result = themis_tools_misuse("%s %s: expected a user", option, test->text);
    if (result == THEMIS_TOOLS_OK)
        test->number = uid;
    return result;
}

static int newer_parse(find_test_t *test, const char *option)
{
    themis_tools_location_t location;
    themis_tools_location_info_t info;
    int result = themis_tools_location_at(test->text, &location);

    if (result != THEMIS_TOOLS_OK)
        return result;
    if (themis_tools_location_look(&location, &info) != THEMIS_OK)
        result = location.session ? themis_tools_error_last()
                                  : themis_tools_error("%s %s: %s", option, test->text, strerror(errno));
    else
        test->number = info.modified;
    themis_tools_location_free(&location);
    return result;
}

/* --- tests -------------------------------------------------------------------------------------------------------- */

/* The last component of a path, also of an operand with slashes at its end. */
static const char *base_name(const themis_tools_walked_t *walked, char *text, size_t size)
{
    size_t length;
    const char *name = themis_tools_location_name(walked->path, &length);

    if (walked->depth > 0)
        return walked->name;
    snprintf(text, size, "%.*s", length ? (int)length : 1, length ? name : "/");
    return text;
}

static int name_holds(const find_test_t *test, const themis_tools_walked_t *walked, uint64_t now)
{
    char text[THEMIS_PATH_BYTES];

    return fnmatch(test->text, base_name(walked, text, sizeof text), 0) == 0;
}

static int iname_holds(const find_test_t *test, const themis_tools_walked_t *walked, uint64_t now)
{
    char text[THEMIS_PATH_BYTES];

    return fnmatch(test->text, base_name(walked, text, sizeof text), FNM_CASEFOLD) == 0;
}

static int path_holds(const find_test_t *test, const themis_tools_walked_t *walked, uint64_t now)
{
    return fnmatch(test->text, walked->shown, 0) == 0;
}

static int type_holds(const find_test_t *test, const themis_tools_walked_t *walked, uint64_t now)
{
    return walked->stat.type == (themis_type_t)test->number;
}

/* Sizes are rounded up to the unit. */
static int size_holds(const find_test_t *test, const themis_tools_walked_t *walked, uint64_t now)
{
    uint64_t units = walked->stat.size / test->unit + (walked->stat.size % test->unit != 0);

    return test->sign > 0 ? units > test->number : test->sign < 0 ? units < test->number : units == test->number;
}

static uint64_t age_of(const themis_tools_walked_t *walked, uint64_t now)
{
    return now > walked->stat.modified ? now - walked->stat.modified : 0;
}

/* Ages are rounded down to days. */
static int mtime_holds(const find_test_t *test, const themis_tools_walked_t *walked, uint64_t now)
{
    uint64_t days = age_of(walked, now) / test->unit;

    return test->sign > 0 ? days > test->number : test->sign < 0 ? days < test->number : days == test->number;
}

static int mmin_holds(const find_test_t *test, const themis_tools_walked_t *walked, uint64_t now)
{
    uint64_t age = age_of(walked, now), limit = test->number * test->unit;

    if (test->sign)
        return test->sign > 0 ? age > limit : age < limit;
    return age <= limit && age + test->unit > limit;
}

static int newer_holds(const find_test_t *test, const themis_tools_walked_t *walked, uint64_t now)
{
    return walked->stat.modified > test->number;
}

static int user_holds(const find_test_t *test, const themis_tools_walked_t *walked, uint64_t now)
{
    return walked->stat.uid == test->number;
}

static int entry_seen(void *arg, const char *name, themis_type_t type)
{
    int *seen = arg;

    *seen = 1;
    return 1;
}

static int empty_holds(const find_test_t *test, const themis_tools_walked_t *walked, uint64_t now)
{
    int seen = 0;

    if (walked->stat.type == THEMIS_TYPE_FILE)
        return walked->stat.size == 0;
    return themis_readdir(walked->session, walked->path, entry_seen, &seen) == THEMIS_OK && !seen;
}

static const struct themis_tools_find_kind kinds[] = {
    {"-name", text_parse, name_holds, 0},
    {"-iname", text_parse, iname_holds, 0},
    {"-path", text_parse, path_holds, 0},
    {"-type", type_parse, type_holds, 0},
    {"-size", size_parse, size_holds, 0},
    {"-mtime", time_parse, mtime_holds, 86400 * THEMIS_NS_PER_S},
    {"-mmin", time_parse, mmin_holds, 60 * THEMIS_NS_PER_S},
    {"-newer", newer_parse, newer_holds, 0},
    {"-user", user_parse, user_holds, 0},
    {"-empty", NULL, empty_holds, 0},
};

/* --- the expression ----------------------------------------------------------------------------------------------- */

static int depth_parse(const char *option, const char *text, unsigned *depth)
{
    int64_t number;

    if (!text || themis_util_config_integer(text, 0, UINT_MAX, &number) != THEMIS_OK)
        return themis_tools_misuse("%s %s: expected a number of levels", option, text ? text : "");
    *depth = (unsigned)number;
    return THEMIS_TOOLS_OK;
}

/* A test at *at, which moves on to its last word. */
static int test_parse(themis_tools_find_expression_t *expression, char ***at, int negated)
{
    const char *option = **at;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        find_test_t test = {.kind = &kinds[i], .negated = negated};
        if (strcmp(option, kinds[i].name) != 0)
            continue;
        if (expression->count == THEMIS_TOOLS_FIND_TESTS)
            return themis_tools_misuse("more than %d tests", THEMIS_TOOLS_FIND_TESTS);
        if (kinds[i].parse && !(*at)[1])
            return themis_tools_misuse("%s needs a value", option);
        if (kinds[i].parse)
            test.text = *++*at;
        int result = kinds[i].parse ? kinds[i].parse(&test, option) : THEMIS_TOOLS_OK;
        expression->tests[expression->count++] = test;
        return result;
    }
    return themis_tools_misuse("there is no test '%s'; 'themis help find' lists them", option);
}

int themis_tools_find_parse(char **arguments, themis_tools_find_expression_t *expression)
{
    int result = THEMIS_TOOLS_OK, negated = 0;

    *expression = (themis_tools_find_expression_t){.max_depth = UINT_MAX, .now = themis_util_clock_wall()};
    for (char **at = arguments; *at && result == THEMIS_TOOLS_OK; at++) {
        unsigned *depth = strcmp(*at, "-maxdepth") == 0   ? &expression->max_depth
                          : strcmp(*at, "-mindepth") == 0 ? &expression->min_depth
                                                          : NULL;
        if (strcmp(*at, "!") == 0 || strcmp(*at, "-not") == 0) {
            negated = !negated;
            continue;
        }
        if (depth) {
            result = depth_parse(at[0], at[1], depth);
            at += result == THEMIS_TOOLS_OK;
        } else if (strcmp(*at, "-print0") == 0) {
            expression->zero = 1;
        } else if (strcmp(*at, "--json") == 0) {
            expression->json = 1;
        } else if (strcmp(*at, "-print") != 0) {
            result = test_parse(expression, &at, negated);
        }
        negated = 0;
    }
    return result == THEMIS_TOOLS_OK && negated ? themis_tools_misuse("nothing follows !") : result;
}

int themis_tools_find_matches(const themis_tools_find_expression_t *expression, const themis_tools_walked_t *walked)
{
    if (walked->depth < expression->min_depth)
        return 0;
    for (int i = 0; i < expression->count; i++) {
        const find_test_t *test = &expression->tests[i];
        if (test->kind->holds(test, walked, expression->now) == test->negated)
            return 0;
    }
    return 1;
}
