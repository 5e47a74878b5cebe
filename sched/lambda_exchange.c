/* SPDX-License-Identifier: BSD-3-Clause */
#include "sched/lambda_exchange.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "sched/lambda.h"
#include "util/clock.h"
#include "util/log.h"

/* The last table of a server, and what has come of it. */
typedef struct heard {
    uint64_t incarnation, round;
    uint32_t total, rows; /* of the table; that have come */
    uint8_t *bytes;       /* of the rows, until all are there; owned */
    size_t length;
} heard_t;

struct themis_sched_lambda_exchange {
    themis_sched_lambda_exchange_options_t options;
    pthread_mutex_t lock; /* of lambda */
    themis_sched_lambda_t *lambda;
    themis_sched_policy_t policy;   /* at the last table */
    themis_proto_table_row_t *rows; /* of the last table; owned */
    uint32_t capacity;
    uint64_t round, told; /* ns of the last table */
    uint64_t cost;        /* bytes charged over all jobs at the last table */
    double peak;          /* bytes/s, the most seen lately */
    int computed;
    heard_t heard[]; /* by server */
};

/* Bytes of a message without its rows, and of a row without its id, at most. */
enum { MESSAGE_BYTES = 256, ROW_BYTES = 64 };

themis_status_t themis_sched_lambda_exchange_create(const themis_sched_lambda_exchange_options_t *options,
                                                    themis_sched_lambda_exchange_t **exchange)
{
    themis_sched_lambda_exchange_t *made = calloc(1, sizeof *made + options->servers * sizeof made->heard[0]);

    if (made == NULL || themis_sched_lambda_create(options->servers, &made->lambda) != THEMIS_OK) {
        free(made);
        themis_error("exchange between servers: out of memory");
        return THEMIS_NO_MEMORY;
    }
    pthread_mutex_init(&made->lock, NULL);
    made->options = *options;
    *exchange = made;
    return THEMIS_OK;
}

void themis_sched_lambda_exchange_destroy(themis_sched_lambda_exchange_t *exchange)
{
    if (exchange == NULL)
        return;
    themis_sched_lambda_destroy(exchange->lambda);
    pthread_mutex_destroy(&exchange->lock);
    for (uint32_t i = 0; i < exchange->options.servers; i++)
        free(exchange->heard[i].bytes);
    free(exchange->rows);
    free(exchange);
}

void themis_sched_lambda_exchange_set_interval(themis_sched_lambda_exchange_t *exchange, uint64_t interval)
{
    pthread_mutex_lock(&exchange->lock);
    exchange->options.interval = interval;
    pthread_mutex_unlock(&exchange->lock);
}

static themis_status_t reserve(themis_sched_lambda_exchange_t *exchange, uint32_t rows)
{
    if (rows <= exchange->capacity)
        return THEMIS_OK;
    themis_proto_table_row_t *grown = realloc(exchange->rows, 2 * rows * sizeof *grown);
    if (grown == NULL)
        return THEMIS_NO_MEMORY;
    exchange->rows = grown;
    exchange->capacity = 2 * rows;
    return THEMIS_OK;
}

/* A job that had requests most of the time takes whatever it is given; any other may have twice what it used. */
static uint64_t demand_of(const themis_sched_job_t *job, uint64_t used, double busy, uint64_t elapsed)
{
    if (busy >= 0.5)
        return THEMIS_SCHED_LAMBDA_ALL;
    if (used == 0 && job->queued == 0)
        return 0;
    double bytes = 2 * (double)used + (double)job->queued_bytes;
    return elapsed == 0 ? THEMIS_SCHED_LAMBDA_ALL : (uint64_t)(bytes * 1e9 / (double)elapsed) + 1;
}

static uint64_t capacity_of(themis_sched_lambda_exchange_t *exchange, uint64_t used, uint64_t elapsed)
{
    double rate = elapsed == 0 ? 0 : (double)used * 1e9 / (double)elapsed;

    exchange->peak = rate > 0.99 * exchange->peak ? rate : 0.99 * exchange->peak;
    return exchange->options.capacity != 0 ? exchange->options.capacity : (uint64_t)exchange->peak;
}

static themis_proto_table_row_t row_of(const themis_sched_job_t *job, uint64_t demand)
{
    const themis_sched_job_identity_t *identity = &job->identity;

    return (themis_proto_table_row_t){.job = {identity->id, (uint32_t)strlen(identity->id)},
                                      .uid = identity->uid,
                                      .gid = identity->gid,
                                      .nodes = identity->nodes,
                                      .priority = identity->priority,
                                      .demand = demand,
                                      .served = job->cost};
}

/* Takes rows over as a server's table. */
static themis_status_t take(themis_sched_lambda_exchange_t *exchange, uint32_t server, uint64_t capacity,
                            const themis_proto_table_row_t *rows, uint32_t count, uint64_t now)
{
    themis_status_t status = THEMIS_OK;

    themis_sched_lambda_begin(exchange->lambda, server, capacity, now);
    for (uint32_t i = 0; i < count && status == THEMIS_OK; i++) {
        themis_sched_lambda_row_t row = {rows[i].job.bytes, rows[i].job.length, rows[i].uid,   rows[i].gid,
                                         rows[i].nodes,     rows[i].priority,   rows[i].demand};
        status = themis_sched_lambda_add(exchange->lambda, server, &row);
    }
    return status;
}

themis_status_t themis_sched_lambda_exchange_table(themis_sched_lambda_exchange_t *exchange,
                                                   themis_sched_job_table_t *jobs, themis_sched_t *sched, uint64_t now,
                                                   themis_proto_table_t *table)
{
    uint64_t elapsed = exchange->told == 0 ? 0 : now - exchange->told, all = 0;
    uint32_t count = 0;
    char error[256];
    themis_status_t status = reserve(exchange, themis_sched_job_table_count(jobs));

    if (status != THEMIS_OK)
        return status;
    for (themis_sched_job_t *job = themis_sched_job_table_first(jobs); job != NULL;
         job = themis_sched_job_table_next(jobs, job)) {
        double busy;
        uint64_t used = themis_sched_collect_usage(sched, job, now, &busy),
                 demand = demand_of(job, used, busy, elapsed);
        all += used;
        if (demand > 0)
            exchange->rows[count++] = row_of(job, demand);
    }
    exchange->told = now;
    *table = (themis_proto_table_t){.index = exchange->options.index,
                                    .incarnation = exchange->options.incarnation,
                                    .round = ++exchange->round,
                                    .capacity = capacity_of(exchange, all, elapsed),
                                    .total = count,
                                    .rows = count,
                                    .bytes = (const uint8_t *)exchange->rows};
    pthread_mutex_lock(&exchange->lock);
    status = themis_sched_policy_parse(themis_sched_policy(sched), &exchange->policy, error, sizeof error);
    if (status == THEMIS_OK)
        status = take(exchange, table->index, table->capacity, exchange->rows, count, now);
    pthread_mutex_unlock(&exchange->lock);
    return status;
}

uint32_t themis_sched_lambda_exchange_part(const themis_proto_table_t *table, uint32_t from, themis_proto_table_t *part)
{
    const themis_proto_table_row_t *rows = (const themis_proto_table_row_t *)table->bytes;
    size_t bytes = MESSAGE_BYTES;
    uint32_t to = from;

    while (to < table->rows && bytes + ROW_BYTES + rows[to].job.length <= THEMIS_PROTO_MAX_MESSAGE)
        bytes += ROW_BYTES + rows[to++].job.length;
    *part = *table;
    part->total = table->rows;
    part->bytes = (const uint8_t *)(rows + from);
    part->rows = to - from;
    return to;
}

static void begin(heard_t *heard, const themis_proto_table_t *table)
{
    free(heard->bytes);
    *heard = (heard_t){.incarnation = table->incarnation, .round = table->round, .total = table->total};
}

/* Is it a part of the table that is known, or of a later one? -1: of an earlier one. Messages may overtake each other
 * from their arrival to here. */
static int is_new(const heard_t *heard, const themis_proto_table_t *table)
{
    if (table->incarnation != heard->incarnation || table->round > heard->round)
        return 1;
    return table->round == heard->round ? 0 : -1;
}

static themis_status_t append(heard_t *heard, const themis_proto_table_t *part)
{
    if (part->total != heard->total || part->rows > heard->total - heard->rows)
        return THEMIS_INVALID;
    if (part->total > THEMIS_SCHED_LAMBDA_EXCHANGE_MAX_ROWS)
        return THEMIS_RANGE;
    uint8_t *grown = realloc(heard->bytes, heard->length + part->length + 1);
    if (grown == NULL)
        return THEMIS_NO_MEMORY;
    memcpy(grown + heard->length, part->bytes, part->length);
    heard->bytes = grown;
    heard->length += part->length;
    heard->rows += part->rows;
    return THEMIS_OK;
}

/* A table that is whole, as it was encoded. */
static themis_status_t replace(themis_sched_lambda_exchange_t *exchange, const themis_proto_table_t *table,
                               uint64_t now)
{
    themis_status_t status = THEMIS_OK;
    themis_proto_table_row_t row;
    uint32_t cursor = 0;

    themis_sched_lambda_begin(exchange->lambda, table->index, table->capacity, now);
    while (status == THEMIS_OK && themis_proto_table_next(table, &cursor, &row)) {
        themis_sched_lambda_row_t taken = {row.job.bytes, row.job.length, row.uid,   row.gid,
                                           row.nodes,     row.priority,   row.demand};
        status = themis_sched_lambda_add(exchange->lambda, table->index, &taken);
    }
    return status;
}

static themis_status_t take_part(themis_sched_lambda_exchange_t *exchange, const themis_proto_table_t *part,
                                 uint64_t now)
{
    heard_t *heard = &exchange->heard[part->index];
    int new = is_new(heard, part);
    themis_proto_table_t whole = *part;

    if (new < 0 || (!new && heard->rows == heard->total))
        return THEMIS_OK; /* known already */
    if (new)
        begin(heard, part);
    if (new && part->rows == part->total) {
        heard->rows = heard->total;
        return replace(exchange, part, now);
    }
    themis_status_t status = append(heard, part);
    if (status != THEMIS_OK || heard->rows < heard->total)
        return status;
    whole.bytes = heard->bytes;
    whole.length = (uint32_t)heard->length;
    status = replace(exchange, &whole, now);
    free(heard->bytes);
    heard->bytes = NULL;
    heard->length = 0;
    return status;
}

themis_status_t themis_sched_lambda_exchange_receive(themis_sched_lambda_exchange_t *exchange,
                                                     const themis_proto_table_t *table, uint64_t now)
{
    if (table->index >= exchange->options.servers || table->index == exchange->options.index)
        return THEMIS_INVALID;
    pthread_mutex_lock(&exchange->lock);
    themis_status_t status = take_part(exchange, table, now);
    pthread_mutex_unlock(&exchange->lock);
    return status;
}

void themis_sched_lambda_exchange_compute(themis_sched_lambda_exchange_t *exchange, uint64_t now)
{
    pthread_mutex_lock(&exchange->lock);
    uint64_t silence = THEMIS_SCHED_LAMBDA_EXCHANGE_SILENCE * exchange->options.interval;
    themis_sched_lambda_expire(exchange->lambda, now, silence > THEMIS_NS_PER_S ? silence : THEMIS_NS_PER_S);
    exchange->computed = themis_sched_lambda_servers(exchange->lambda) > 1 && exchange->policy.levels > 0 &&
                         themis_sched_lambda_allocate(exchange->lambda, &exchange->policy) == THEMIS_OK;
    pthread_mutex_unlock(&exchange->lock);
}

typedef struct target {
    themis_sched_job_table_t *jobs;
    themis_sched_t *sched;
} target_t;

static void set_weight(void *arg, const char *id, uint32_t uid, double weight, double global)
{
    target_t *target = arg;
    themis_sched_job_t *job = themis_sched_job_table_find(target->jobs, id, uid);

    if (job != NULL && job->sched != NULL)
        themis_sched_set_weight(target->sched, job, weight);
}

void themis_sched_lambda_exchange_apply(themis_sched_lambda_exchange_t *exchange, themis_sched_job_table_t *jobs,
                                        themis_sched_t *sched)
{
    target_t target = {jobs, sched};

    for (themis_sched_job_t *job = themis_sched_job_table_first(jobs); job != NULL;
         job = themis_sched_job_table_next(jobs, job))
        if (job->sched != NULL)
            themis_sched_set_weight(sched, job, -1);
    pthread_mutex_lock(&exchange->lock);
    if (exchange->computed)
        themis_sched_lambda_weights(exchange->lambda, exchange->options.index, set_weight, &target);
    pthread_mutex_unlock(&exchange->lock);
}

uint32_t themis_sched_lambda_exchange_known(themis_sched_lambda_exchange_t *exchange)
{
    pthread_mutex_lock(&exchange->lock);
    uint32_t known = themis_sched_lambda_servers(exchange->lambda);
    pthread_mutex_unlock(&exchange->lock);
    return known;
}

uint32_t themis_sched_lambda_exchange_rows(themis_sched_lambda_exchange_t *exchange, uint32_t server)
{
    pthread_mutex_lock(&exchange->lock);
    uint32_t rows = themis_sched_lambda_rows(exchange->lambda, server);
    pthread_mutex_unlock(&exchange->lock);
    return rows;
}

uint64_t themis_sched_lambda_exchange_rounds(const themis_sched_lambda_exchange_t *exchange)
{
    return exchange->round;
}
