/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The shortest period of a pattern whose events keep their order. Events are the begin and the end of each instance's
 * computing; variables are the times between neighbouring events, and the bytes that each application moves between
 * them. Both limits of bandwidth and all volumes are linear in these, so GLPK's simplex method finds the optimum.
 */
#pragma once
#include "persched/pattern.h"

/* Variables of the program of a pattern with so many instances. */
uint64_t themis_persched_program_size(uint32_t lanes, uint32_t instances);

/*
 * Events at the same time have no order; one is chosen by `seed`. Owned by the caller; its period is at most that of
 * `pattern`, up to rounding. UNSUPPORTED: built without GLPK. RANGE: not solved within the number of steps that the
 * size allows.
 */
themis_status_t themis_persched_program_shorten(const themis_persched_tasks_t *tasks, double bandwidth,
                                                const themis_persched_pattern_t *pattern, uint32_t seed,
                                                themis_persched_pattern_t **shorter);
