/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans of periodic I/O as servers get them: the JSON that `themis periodic plan --json` writes, of which `period_s`,
 * `platform.bytes_per_s`, and `application` and `instances[].io[]` of each of `applications` are read, and:
 *
 *   "origin_s"     when a period begins, seconds since 1970; 0 or none: so that one does so at 0
 *   "tolerance_s"  by which jobs may be early or late; none: a fiftieth of the period
 *   "identity"     a text of at most 32 bytes, which STATUS "policy" shows while the plan is followed
 *   "policy"       that is to be in force with the plan, "periodic" or a chain that begins with it; none: "periodic"
 */
#pragma once
#include <stddef.h>
#include "sched/periodic.h"
#include "sched/policy.h"

/* What is between the clock since 1970 and that of the scheduler, in ns. */
typedef struct themis_server_periodic_plan_clock {
    uint64_t now, wall;
} themis_server_periodic_plan_clock_t;

/*
 * Reads a plan of `length` bytes; *plan is sealed and the caller's. Shares are bandwidths over that of the platform.
 * `policy`: THEMIS_SCHED_POLICY_TEXT_BYTES. THEMIS_PARSE: `error` (`size` bytes) says what is wrong, and where.
 */
themis_status_t themis_server_periodic_plan_read(const char *text, size_t length,
                                                 const themis_server_periodic_plan_clock_t *clock,
                                                 themis_sched_periodic_t **plan, char *policy, char *error,
                                                 size_t size);
/* The same of a file, with its name in `error`. */
themis_status_t themis_server_periodic_plan_read_file(const char *path,
                                                      const themis_server_periodic_plan_clock_t *clock,
                                                      themis_sched_periodic_t **plan, char *error, size_t size);
