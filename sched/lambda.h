/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lambda-delayed fairness: from the tables of all servers, what each job is to get on each of them.
 *
 * Every job's global share g_j is what the policy gives it among all jobs that have requests on any server. The
 * allocation x_js (bytes/s of job j on server s) is the weighted max-min fair one: no server in demand has spare
 * capacity, and no job can get more without taking it from one that has no more than it in proportion to g. So no job
 * exceeds its global share while others have demand: 16:8:8 nodes, the first job on two servers and the others on one
 * each, gives 50, 25 and 25 % of the whole under size-fair.
 *
 * Computed by letting one server after the other fill its jobs up to a common level of (total of the job) / g_j, what
 * the job has elsewhere included, until nothing changes by more than a thousandth. Each step lowers the convex function
 * sum x_j^2 / g_j, whose minimum over all possible allocations is the max-min fair one (Fujishige, lexicographically
 * optimal base). Work is linear in the rows of all tables, and does not depend on the number of clients.
 *
 * Pure computation: every server that has the same tables gets the same result. Threads: the caller serialises.
 */
#pragma once
#include <stdint.h>
#include "proto/proto.h"
#include "sched/policy.h"

typedef struct themis_sched_lambda themis_sched_lambda_t;

/* The demand, in bytes/s, of a job that uses whatever it gets. */
#define THEMIS_SCHED_LAMBDA_ALL UINT64_MAX

themis_status_t themis_sched_lambda_create(uint32_t servers, themis_sched_lambda_t **lambda);
void themis_sched_lambda_destroy(themis_sched_lambda_t *lambda); /* NULL is allowed */

/* Begins a new table of server `server` (below the number of servers), which replaces the previous one. `capacity`:
 * bytes/s; 0: unknown, and then the mean of the known ones counts. */
void themis_sched_lambda_begin(themis_sched_lambda_t *lambda, uint32_t server, uint64_t capacity, uint64_t now);
/* Adds a row to that table: a job as that server sees it, with its id cut at THEMIS_SCHED_JOB_ID_BYTES - 1. Rows
 * without demand may be omitted. Fast where rows come in the order of the previous table. */
themis_status_t themis_sched_lambda_add(themis_sched_lambda_t *lambda, uint32_t server,
                                        const themis_proto_table_row_t *row);
/* Drops tables older than `age` ns: servers that are gone. */
void themis_sched_lambda_expire(themis_sched_lambda_t *lambda, uint64_t now, uint64_t age);
/* Servers with a table. */
uint32_t themis_sched_lambda_servers(const themis_sched_lambda_t *lambda);

/* Computes the allocation. THEMIS_INVALID: a policy without shares. */
themis_status_t themis_sched_lambda_allocate(themis_sched_lambda_t *lambda, const themis_sched_policy_t *policy);
/* Rounds over all servers that this took. */
unsigned themis_sched_lambda_rounds(const themis_sched_lambda_t *lambda);

/* What a job has on one server. */
typedef struct themis_sched_lambda_allocation {
    const themis_sched_job_identity_t *job; /* borrowed until a table changes */
    double weight;                          /* for the scheduler there, relative to the other jobs there */
    double bandwidth;                       /* bytes/s */
    double share;                           /* of the whole system, by the policy */
} themis_sched_lambda_allocation_t;

/* The allocation of a row of a server's table, counted from 0; returns 0 if the table has no such row. */
int themis_sched_lambda_allocation(const themis_sched_lambda_t *lambda, uint32_t server, uint32_t row,
                                   themis_sched_lambda_allocation_t *allocation);
