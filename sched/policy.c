/* SPDX-License-Identifier: BSD-3-Clause */
/* The policy language. */
#include "sched/policy.h"
#include <stdio.h>
#include <string.h>

static const char *const level_names[THEMIS_SCHED_LEVELS] = {"group", "user", "priority", "size", "job"};

static const struct {
    const char *name;
    themis_sched_policy_kind_t kind;
} plain[] = {{"fifo", THEMIS_SCHED_POLICY_FIFO}, {"gift", THEMIS_SCHED_POLICY_GIFT}, {"tbf", THEMIS_SCHED_POLICY_TBF}};

/* A fault at `at`, told with its position. */
static themis_status_t fault(const char *text, const char *at, const char *what, char *error, size_t size)
{
    snprintf(error, size, "policy \"%.*s\": character %zu: %s", THEMIS_SCHED_POLICY_TEXT_BYTES, text,
             (size_t)(at - text) + 1, what);
    return THEMIS_PARSE;
}

/* Reads a level's name at *at and moves on; THEMIS_SCHED_LEVELS if there is none. */
static themis_sched_policy_level_t take_level(const char **at)
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
    const char *at = text;

    for (;;) {
        const char *start = at;
        themis_sched_policy_level_t level = take_level(&at);
        if (level == THEMIS_SCHED_LEVELS)
            return fault(text, start,
                         policy->levels == 0 ? "expected fifo, gift, tbf, group, user, priority, size or job"
                                             : "expected group, user, priority, size or job",
                         error, size);
        if (has_level(policy, level))
            return fault(text, start, "this level is there already", error, size);
        if (has_level(policy, THEMIS_SCHED_LEVEL_JOB))
            return fault(text, start, "nothing can follow the level job", error, size);
        policy->level[policy->levels++] = level;
        if (strcmp(at, "-fair") == 0)
            break;
        if (strncmp(at, "-then-", 6) != 0)
            return fault(text, at, "expected \"-then-\" and a level, or \"-fair\" at the end", error, size);
        at += 6;
    }
    themis_sched_policy_level_t last = policy->level[policy->levels - 1];
    if (last == THEMIS_SCHED_LEVEL_GROUP || last == THEMIS_SCHED_LEVEL_USER)
        policy->level[policy->levels++] = THEMIS_SCHED_LEVEL_JOB;
    return THEMIS_OK;
}

themis_status_t themis_sched_policy_parse(const char *text, themis_sched_policy_t *policy, char *error, size_t size)
{
    themis_sched_policy_t parsed = {.kind = THEMIS_SCHED_POLICY_SHARES};
    themis_status_t status = THEMIS_OK;
    int is_plain = 0;

    if (strlen(text) >= sizeof parsed.text)
        return fault(text, text + sizeof parsed.text - 1, "the policy is too long", error, size);
    snprintf(parsed.text, sizeof parsed.text, "%s", text);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(text, plain[i].name) == 0) {
            parsed.kind = plain[i].kind;
            is_plain = 1;
        }
    if (!is_plain)
        status = parse_chain(text, &parsed, error, size);
    if (status == THEMIS_OK)
        *policy = parsed;
    return status;
}
