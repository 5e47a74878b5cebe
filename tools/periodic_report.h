/* SPDX-License-Identifier: BSD-3-Clause */
/* What `themis periodic` shows of a plan. */
#pragma once
#include <jansson.h>
#include "persched/online.h"
#include "persched/persched.h"

/* A plan is compared with the heuristics of both kinds: what is left over used, and unused. */
enum { THEMIS_TOOLS_PERIODIC_ONLINE = 2 * THEMIS_PERSCHED_HEURISTICS };

/* All borrowed. */
typedef struct themis_tools_periodic_report {
    const themis_persched_problem_t *problem;
    const themis_persched_pattern_t *plan;     /* PerSched's */
    const themis_persched_pattern_t *improved; /* or NULL */
    const themis_persched_outcome_t
        *online; /* [THEMIS_TOOLS_PERIODIC_ONLINE], those that leave nothing first; or NULL */
    themis_persched_bounds_t bounds;
} themis_tools_periodic_report_t;

/* The improved pattern, if there is one. */
const themis_persched_pattern_t *themis_tools_periodic_pattern(const themis_tools_periodic_report_t *report);

void themis_tools_periodic_print(const themis_tools_periodic_report_t *report);
void themis_tools_periodic_print_json(const themis_tools_periodic_report_t *report);
/* The same, owned by the caller; NULL: no memory, or a name that is not UTF-8. */
json_t *themis_tools_periodic_json(const themis_tools_periodic_report_t *report);

/* Draws a pattern as SVG; prints its errors. */
int themis_tools_periodic_draw(const themis_tools_periodic_report_t *report, const char *path);
