/* SPDX-License-Identifier: BSD-3-Clause */
/* The metrics of a server and its jobs as OpenMetrics 1.0 text, for Prometheus. With the server's lock. */
#pragma once
#include <stdint.h>
#include "sched/job_table.h"
#include "sched/sched.h"
#include "server/direct.h"
#include "server/history_store.h"

/* The server as a whole. */
typedef struct themis_server_open_metrics {
    const char *name; /* borrowed for the call */
    uint32_t index;
    uint32_t known;  /* servers whose tables are known, this one included; 0: no exchange */
    uint64_t rounds; /* of the exchange */
    uint64_t uptime; /* ns */
    uint32_t workers, sessions;
    uint64_t capacity, used; /* bytes of the store */
    themis_server_direct_usage_t direct;
    themis_server_history_counts_t history;
} themis_server_open_metrics_t;

/* "# EOF" included; only jobs that have asked for something. A family's samples stand together, as the format demands.
 * Owned by the caller (free); NULL when memory is short. */
char *themis_server_open_metrics_text(const themis_server_open_metrics_t *server, themis_sched_job_table_t *jobs,
                                      const themis_sched_t *sched);
