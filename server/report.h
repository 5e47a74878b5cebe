/* SPDX-License-Identifier: BSD-3-Clause */
/* The jobs of a server as JSON, for the tools (STATUS "jobs"). With the server's lock, but for the last function. */
#pragma once
#include <jansson.h>
#include <stdint.h>
#include "sched/job_table.h"
#include "sched/sched.h"

/* Jobs in one answer at most, so that it fits into a message however long and odd their ids are. */
enum { THEMIS_SERVER_REPORT_PAGE = 400 };

/* An array with an object for each job, in order of joining, from the first with a number above `after` on, and
 * THEMIS_SERVER_REPORT_PAGE of them at most; an empty one after the last. Fields: "number", "job", "uid", "gid",
 * "nodes", "priority", "active", "asked" (themis_sched_has_requested), "clients", "share", "plan_fit"
 * (themis_sched_plan_fit; null: not in a plan), "bytes_read", "bytes_written", "cost_bytes", "requests", "metadata",
 * "queued", "queued_bytes", "waits" (requests whose waiting is over), "wait_s" and "service_s" (sums), and of the
 * latency histograms "wait_p50_us", "wait_p99_us", "service_p50_us", "service_p99_us". Owned by the caller (free); NULL
 * when memory is short. */
char *themis_server_report_jobs(themis_sched_job_table_t *jobs, const themis_sched_t *sched, uint64_t after);

/* Jobs that have asked for data or metadata. */
uint32_t themis_server_report_count(themis_sched_job_table_t *jobs, const themis_sched_t *sched);

/* A JSON string of any bytes: of a text that is not UTF-8, which no reader accepts, bytes above 127 become '_'. NULL
 * when memory is short. */
json_t *themis_server_report_string(const char *text);
