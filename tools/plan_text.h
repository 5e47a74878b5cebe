/* SPDX-License-Identifier: BSD-3-Clause */
/* A plan of periodic I/O as servers take it (themis_plan_set). */
#pragma once
#include <jansson.h>

enum { THEMIS_TOOLS_PLAN_IDENTITY_BYTES = 17 };

/*
 * The text of a plan, what `themis periodic plan --json` writes, with the policy that is to follow it; a period begins
 * now. `tolerance` in s; negative: the servers' own. `identity` gets what the servers' STATUS "policy" will show as
 * "plan", which no other plan has. Releases the plan. NULL: no memory, or not UTF-8; owned by the caller (free).
 */
char *themis_tools_plan_text(json_t *plan, const char *policy, double tolerance,
                             char identity[THEMIS_TOOLS_PLAN_IDENTITY_BYTES]);
