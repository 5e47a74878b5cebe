/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lambda-delayed fairness: from the tables of all servers, what each job is to get on each of them.
 *
 * Every job's global share g_j is what the policy gives it among all jobs that want anything anywhere. The allocation
 * x_js (bytes/s of job j on server s) is the weighted max-min fair one: no server that is wanted has room left, and no
 * job can get more without taking it from one that has no more than it in proportion to g. So no job takes more than
 * its global share while others want it: 16:8:8 nodes, the first job on two servers and the others on one each, gives
 * 50, 25 and 25 % of the whole under size-fair.
 *
 * Computed by letting one server after the other fill its jobs up to a common level of (total of the job) / g_j, what
 * the job has elsewhere counted in, until nothing changes by more than a thousandth. Each step lowers the convex
 * function sum x_j^2 / g_j, whose minimum over all possible allocations is the max-min fair one (Fujishige,
 * lexicographically optimal base). Work is linear in the rows of all tables; nothing depends on the number of clients.
 *
 * Pure computation: every server that has the same tables gets the same result. Threads: the caller serialises.
 */
#ifndef THEMIS_SCHED_LAMBDA_H
#define THEMIS_SCHED_LAMBDA_H
#include <stddef.h>
#include <stdint.h>
#include "sched/policy.h"
#include "themis/status.h"

typedef struct themis_sched_lambda themis_sched_lambda_t;

/* A job as one server sees it. Demand is in bytes per second; THEMIS_SCHED_LAMBDA_ALL: as much as it gets. */
#define THEMIS_SCHED_LAMBDA_ALL UINT64_MAX
typedef struct themis_sched_lambda_row {
    const char *id; /* `length` bytes, borrowed for the call; cut at THEMIS_SCHED_JOB_ID_BYTES - 1 */
    size_t length;
    uint32_t uid, gid, nodes, priority;
    uint64_t demand;
} themis_sched_lambda_row_t;

themis_status_t themis_sched_lambda_create(uint32_t servers, themis_sched_lambda_t **lambda);
void themis_sched_lambda_destroy(themis_sched_lambda_t *lambda);

/* Begins a new table of server `server` (below the number of servers), which replaces the last one. `capacity`:
 * bytes/s, 0: unknown, and then the mean of the known ones counts. */
void themis_sched_lambda_begin(themis_sched_lambda_t *lambda, uint32_t server, uint64_t capacity, uint64_t now);
/* Adds a row to that table. Rows without demand need not be told. Fast where rows come in the order of the last table.
 */
themis_status_t themis_sched_lambda_add(themis_sched_lambda_t *lambda, uint32_t server,
                                        const themis_sched_lambda_row_t *row);
/* Forgets tables older than `age` ns: servers that are gone. */
void themis_sched_lambda_expire(themis_sched_lambda_t *lambda, uint64_t now, uint64_t age);
/* Rows of a server's table. */
uint32_t themis_sched_lambda_rows(const themis_sched_lambda_t *lambda, uint32_t server);
/* Servers with a table. */
uint32_t themis_sched_lambda_servers(const themis_sched_lambda_t *lambda);

/* Computes the allocation. THEMIS_INVALID: a policy without shares. */
themis_status_t themis_sched_lambda_allocate(themis_sched_lambda_t *lambda, const themis_sched_policy_t *policy);

/* Called for each job of a server's table after an allocation: `weight` is what it is to have there, relative to the
 * others; `global` its share of the whole system that the policy gives it. */
typedef void (*themis_sched_lambda_weight_fn)(void *arg, const char *id, uint32_t uid, double weight, double global);
void themis_sched_lambda_weights(const themis_sched_lambda_t *lambda, uint32_t server,
                                 themis_sched_lambda_weight_fn weight, void *arg);

/* What the job is allocated on all servers together, as part of their capacity; 0 for an unknown one. */
double themis_sched_lambda_part(const themis_sched_lambda_t *lambda, const char *id, uint32_t uid);
/* Rounds over all servers that the last allocation took. */
unsigned themis_sched_lambda_rounds(const themis_sched_lambda_t *lambda);
#endif
