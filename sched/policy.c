/* SPDX-License-Identifier: BSD-3-Clause */
#include "sched/policy.h"
#include <stdio.h>
#include <string.h>
#include "sched/draw.h"

static const char *const level_names[THEMIS_SCHED_LEVELS] = {"group", "user", "priority", "size", "job"};

/* Describes a syntax error at `at` with its position. */
static themis_status_t syntax_error(const char *text, const char *at, const char *what, char *error, size_t size)
{
    snprintf(error, size, "policy \"%.*s\": character %zu: %s", THEMIS_SCHED_POLICY_TEXT_BYTES, text,
             (size_t)(at - text) + 1, what);
    return THEMIS_PARSE;
}

/* Reads a level's name at *at and moves on; THEMIS_SCHED_LEVELS if there is none. */
static themis_sched_policy_level_t parse_level(const char **at)
{
    for (int level = 0; level < THEMIS_SCHED_LEVELS; level++) {
        size_t length = strlen(level_names[level]);
        if (strncmp(*at, level_names[level], length) == 0 && ((*at)[length] == '-' || (*at)[length] == '\0')) {
            *at += length;
            return (themis_sched_policy_level_t)level;
        }
    }
    return THEMIS_SCHED_LEVELS;
}

static int has_level(const themis_sched_policy_t *policy, themis_sched_policy_level_t level)
{
    for (unsigned i = 0; i < policy->levels; i++)
        if (policy->level[i] == level)
            return 1;
    return 0;
}

static themis_status_t parse_chain(const char *text, themis_sched_policy_t *policy, char *error, size_t size)
{
    static const char periodic[] = "periodic", then[] = "periodic-then-";
    const char *at = text;

    policy->periodic = strcmp(text, periodic) == 0 || strncmp(text, then, sizeof then - 1) == 0;
    if (policy->periodic && text[sizeof periodic - 1] == '\0') {
        policy->level[policy->levels++] = THEMIS_SCHED_LEVEL_JOB;
        return THEMIS_OK;
    }
    at += policy->periodic ? sizeof then - 1 : 0;
    for (;;) {
        const char *start = at;
        themis_sched_policy_level_t level = parse_level(&at);
        if (level == THEMIS_SCHED_LEVELS)
            return syntax_error(
                text, start,
                start == text ? "expected fifo, min-dilation, gift, tbf, periodic, group, user, priority, size or job"
                              : "expected group, user, priority, size or job",
                error, size);
        if (has_level(policy, level))
            return syntax_error(text, start, "this level occurs twice", error, size);
        if (has_level(policy, THEMIS_SCHED_LEVEL_JOB))
            return syntax_error(text, start, "nothing can follow the level job", error, size);
        policy->level[policy->levels++] = level;
        if (strcmp(at, "-fair") == 0)
            break;
        if (strncmp(at, "-then-", 6) != 0)
            return syntax_error(text, at, "expected \"-then-\" and a level, or \"-fair\" at the end", error, size);
        at += 6;
    }
    themis_sched_policy_level_t last = policy->level[policy->levels - 1];
    if (last == THEMIS_SCHED_LEVEL_GROUP || last == THEMIS_SCHED_LEVEL_USER)
        policy->level[policy->levels++] = THEMIS_SCHED_LEVEL_JOB;
    return THEMIS_OK;
}

themis_status_t themis_sched_policy_parse(const char *text, themis_sched_policy_t *policy, char *error, size_t size)
{
    themis_sched_policy_t parsed = {.levels = 0};
    const themis_sched_draw_ops_t *ops;

    if (strlen(text) >= sizeof parsed.text)
        return syntax_error(text, text + sizeof parsed.text - 1, "the policy is too long", error, size);
    snprintf(parsed.text, sizeof parsed.text, "%s", text);
    themis_status_t status = themis_sched_draw_find(THEMIS_SCHED_DRAW_POLICY, text, &ops);
    if (status == THEMIS_NO_ENTRY)
        status = parse_chain(text, &parsed, error, size);
    else if (status == THEMIS_UNSUPPORTED)
        status = syntax_error(text, text, "this comparator is not part of this build (configure --disable-comparators)",
                              error, size);
    if (status == THEMIS_OK)
        *policy = parsed;
    return status;
}
