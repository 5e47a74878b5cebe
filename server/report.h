/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a server tells people about its jobs: JSON for the tools, OpenMetrics text for Prometheus. All texts are owned
 * by the caller (free); NULL when memory is short. Called with the server's lock.
 */
#ifndef THEMIS_SERVER_REPORT_H
#define THEMIS_SERVER_REPORT_H
#include <stdint.h>
#include "sched/lambda_exchange.h"
#include "sched/job_table.h"
#include "sched/sched.h"

/* The server as a whole, filled by the engine. Texts are borrowed for the call. */
typedef struct themis_server_report_server {
    const char *name;
    uint32_t index, servers;
    uint32_t known;  /* servers whose tables are known, this one included; 0: no exchange */
    uint64_t rounds; /* of the exchange */
    uint64_t lambda; /* ns */
    uint64_t uptime; /* ns */
    uint32_t workers, sessions;
    uint64_t capacity, used; /* bytes of the store */
} themis_server_report_server_t;

/* So many jobs of the table have asked for something. */
uint32_t themis_server_report_count(themis_sched_job_table_t *jobs, const themis_sched_t *sched);

/* Jobs in one answer at most, so that it fits into a message however long and odd their ids are. */
enum { THEMIS_SERVER_REPORT_PAGE = 400 };

/* An array with an object for each job, in order of joining, from the first with a number above `after` on, and
 * THEMIS_SERVER_REPORT_PAGE of them at most; an empty one after the last. Fields: "number", "job", "uid", "gid",
 * "nodes", "priority", "active", "asked" (themis_sched_has_requested), "clients", "share", "bytes_read",
 * "bytes_written", "cost_bytes", "requests", "metadata", "queued", "queued_bytes", "waits" (requests whose waiting is
 * over), "wait_s" and "service_s" (sums), and of the latency histograms "wait_p50_us", "wait_p99_us", "service_p50_us",
 * "service_p99_us". */
char *themis_server_report_jobs(themis_sched_job_table_t *jobs, const themis_sched_t *sched, uint64_t after);
/* OpenMetrics 1.0, "# EOF" included; jobs that have asked for something only. */
char *themis_server_report_metrics(const themis_server_report_server_t *server, themis_sched_job_table_t *jobs,
                                   const themis_sched_t *sched);
#endif
