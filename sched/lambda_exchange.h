/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lambda exchange: what a server tells the others about its jobs, and what it does with what they tell; the content
 * of TABLE messages.
 *
 * Every lambda: themis_sched_lambda_exchange_table (with the server's lock), send it to all other servers;
 * themis_sched_lambda_exchange_compute (without the lock: it may take milliseconds), themis_sched_lambda_exchange_apply
 * (with it). Tables that arrive go to themis_sched_lambda_exchange_receive. A server that is silent for
 * THEMIS_SCHED_LAMBDA_EXCHANGE_SILENCE intervals, and at least for a second, counts as gone; without other servers, and
 * under policies without shares, local shares are in force.
 *
 * Threads: table, compute and apply are called by one thread, in that order; receive may be called by another.
 */
#pragma once
#include "proto/proto.h"
#include "sched/policy.h"
#include "sched/sched.h"

enum { THEMIS_SCHED_LAMBDA_EXCHANGE_SILENCE = 4, THEMIS_SCHED_LAMBDA_EXCHANGE_MAX_ROWS = 1 << 20 };

typedef struct themis_sched_lambda_exchange themis_sched_lambda_exchange_t;

/* `index`: of this server among `servers`. `capacity`: bytes/s of its bandwidth limit; 0: measured, as the highest rate
 * of late. `interval`: lambda in ns. */
typedef struct themis_sched_lambda_exchange_options {
    uint32_t index, servers;
    uint64_t incarnation, capacity, interval;
} themis_sched_lambda_exchange_options_t;
themis_status_t themis_sched_lambda_exchange_create(const themis_sched_lambda_exchange_options_t *options,
                                                    themis_sched_lambda_exchange_t **exchange);
void themis_sched_lambda_exchange_destroy(themis_sched_lambda_exchange_t *exchange); /* NULL is allowed */
/* `idle`: ns between tables of servers without jobs; for as long their policies are remembered. */
void themis_sched_lambda_exchange_set_interval(themis_sched_lambda_exchange_t *exchange, uint64_t interval,
                                               uint64_t idle);

/* This server's table. Its rows are borrowed until the next call, and the ids as long as the jobs: encode it while the
 * server's lock is held. Jobs without requests since the last call are not in it. */
themis_status_t themis_sched_lambda_exchange_table(themis_sched_lambda_exchange_t *exchange,
                                                   themis_sched_job_table_t *jobs, themis_sched_t *sched, uint64_t now,
                                                   themis_proto_table_t *table);
/* A table may be more than a message holds: the part of it, from row `from` on, that fits. Returns where the next part
 * begins: table->rows after the last one. A table without rows has one part. */
uint32_t themis_sched_lambda_exchange_part(const themis_proto_table_t *table, uint32_t from,
                                           themis_proto_table_t *part);
/* A decoded TABLE of another server. It replaces that of an earlier round when all its parts have come; until then the
 * earlier one is used. THEMIS_INVALID: an index out of range, or this server's own, or a part that does not belong to
 * the others. */
themis_status_t themis_sched_lambda_exchange_receive(themis_sched_lambda_exchange_t *exchange,
                                                     const themis_proto_table_t *table, uint64_t now);
/* Computes the allocation from all tables known now. */
void themis_sched_lambda_exchange_compute(themis_sched_lambda_exchange_t *exchange, uint64_t now);
/* Passes its weights to the scheduler. */
void themis_sched_lambda_exchange_apply(themis_sched_lambda_exchange_t *exchange, themis_sched_job_table_t *jobs,
                                        themis_sched_t *sched);

/* Another server, and the policy by which it shares, cut at the end of `policy`. */
typedef struct themis_sched_lambda_exchange_other {
    uint32_t index;
    char policy[THEMIS_SCHED_POLICY_TEXT_BYTES];
} themis_sched_lambda_exchange_other_t;

/* Returns 1 and fills *other with the first server that is not silent and shares by another policy than `policy`, this
 * server's, which was set at `set_at`; 0: there is none. One whose policy was set earlier will take this one, unless
 * that has a plan. */
int themis_sched_lambda_exchange_differs(themis_sched_lambda_exchange_t *exchange, const char *policy, uint64_t set_at,
                                         uint64_t now, themis_sched_lambda_exchange_other_t *other);

/* Servers whose tables are known, this one included; and the number of rounds so far. */
uint32_t themis_sched_lambda_exchange_known(themis_sched_lambda_exchange_t *exchange);
uint64_t themis_sched_lambda_exchange_rounds(const themis_sched_lambda_exchange_t *exchange);
