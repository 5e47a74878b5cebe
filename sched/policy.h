/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The policy language.
 *
 *   policy  = "fifo" | "min-dilation" | "gift" | "tbf" | "periodic" | [ "periodic-then-" ] chain
 *   chain   = level *( "-then-" level ) "-fair"
 *   level   = "group" | "user" | "priority" | "size" | "job"
 *
 * Each level splits the share of the level above: among groups and users evenly, among priorities in proportion to the
 * priority, among jobs evenly ("job"), by nodes ("size") or by priority ("priority"). The last level splits among jobs;
 * where it names groups or users, their jobs share evenly. "priority" and "size" before the last level make one class
 * of all jobs of equal priority or node count, weighted by that number. "job" can only be last, and no level may occur
 * twice. "periodic" gives jobs their windows in a plan (periodic.h), and all else as the chain says, "job-fair" if
 * there is none. "min-dilation" serves the job first that suffers most from the others (min_dilation.c). It, fifo, gift
 * and tbf know no shares; gift and tbf may be left out of a build (draw.h).
 *
 * Pure computation; no locks, no logging.
 */
#pragma once
#include <stddef.h>
#include "sched/job_table.h"
#include "themis/status.h"

typedef enum themis_sched_policy_level {
    THEMIS_SCHED_LEVEL_GROUP,
    THEMIS_SCHED_LEVEL_USER,
    THEMIS_SCHED_LEVEL_PRIORITY,
    THEMIS_SCHED_LEVEL_SIZE,
    THEMIS_SCHED_LEVEL_JOB,
    THEMIS_SCHED_LEVELS
} themis_sched_policy_level_t;

enum { THEMIS_SCHED_POLICY_TEXT_BYTES = 80 };

typedef struct themis_sched_policy {
    char text[THEMIS_SCHED_POLICY_TEXT_BYTES];                  /* as it was given */
    int periodic;                                               /* 1: a plan of periodic I/O comes first */
    unsigned levels;                                            /* 0: the policy knows no shares */
    themis_sched_policy_level_t level[THEMIS_SCHED_LEVELS + 1]; /* the last one splits among jobs */
} themis_sched_policy_t;

/* THEMIS_PARSE: `error` (`size` bytes) says what is wrong and at which character, counted from 1; *policy is unchanged.
 */
themis_status_t themis_sched_policy_parse(const char *text, themis_sched_policy_t *policy, char *error, size_t size);
