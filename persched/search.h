/* SPDX-License-Identifier: BSD-3-Clause */
/* What other planners share with the search. */
#pragma once
#include "persched/problem.h"

/* The first period to try, in seconds. */
double themis_persched_first_period(const themis_persched_tasks_t *tasks, const themis_persched_parameters_t *p);
