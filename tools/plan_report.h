/* SPDX-License-Identifier: BSD-3-Clause */
/* How themis plan shows its plans: as text, as JSON, as a picture. */
#pragma once
#include "tools/plan_job.h"

/* On standard output: corners of the matrices, the assignment, and what each placement costs. */
void themis_tools_plan_print(const themis_tools_plan_job_t *job);
void themis_tools_plan_print_json(const themis_tools_plan_job_t *job);
/* Writes a picture of the load on the links with the default and the topology placement; prints its errors. */
int themis_tools_plan_draw(const themis_tools_plan_job_t *job, const char *path);
