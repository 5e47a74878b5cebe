/* SPDX-License-Identifier: BSD-3-Clause */
#include "sched/lambda_exchange.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sched/lambda.h"
#include "util/clock.h"
#include "util/log.h"

/* The last table of a server, as far as it was received. */
typedef struct incoming {
    uint64_t incarnation, round;
    uint32_t total, rows; /* of the table; received */
    uint8_t *bytes;       /* of the rows, until all are received; owned */
    size_t length;
    char policy[THEMIS_SCHED_POLICY_TEXT_BYTES]; /* of the server */
    uint64_t policy_set;                         /* ns since 1970, when that was set; 0: by its configuration */
    uint64_t heard;                              /* ns; 0: never */
} incoming_t;

struct themis_sched_lambda_exchange {
    themis_sched_lambda_exchange_options_t options;
    pthread_mutex_t lock; /* of lambda */
    themis_sched_lambda_t *lambda;
    themis_sched_policy_t policy;   /* at the last table */
    themis_proto_table_row_t *rows; /* of the last table; owned */
    uint32_t capacity;
    uint64_t round;
    uint64_t last_table;   /* ns */
    double peak;           /* bytes/s, the highest of late */
    uint64_t idle;         /* ns between tables of servers without jobs */
    int computed;          /* the allocation is valid */
    incoming_t incoming[]; /* by server */
};

/* Upper bounds for the bytes of a message without its rows, and of a row without its id. */
enum { MESSAGE_BYTES = 256 + THEMIS_PROTO_MAX_POLICY, ROW_BYTES = 64 };

themis_status_t themis_sched_lambda_exchange_create(const themis_sched_lambda_exchange_options_t *options,
                                                    themis_sched_lambda_exchange_t **exchange)
{
    themis_sched_lambda_exchange_t *made = calloc(1, sizeof *made + options->servers * sizeof made->incoming[0]);

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
        free(exchange->incoming[i].bytes);
    free(exchange->rows);
    free(exchange);
}

void themis_sched_lambda_exchange_set_interval(themis_sched_lambda_exchange_t *exchange, uint64_t interval,
                                               uint64_t idle)
{
    pthread_mutex_lock(&exchange->lock);
    exchange->options.interval = interval;
    exchange->idle = idle;
    pthread_mutex_unlock(&exchange->lock);
}

static themis_status_t rows_reserve(themis_sched_lambda_exchange_t *exchange, uint32_t rows)
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

/* A job that had requests most of the time uses whatever it gets; any other may have twice what it used. */
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

/* Replaces the table of a server: its rows are in `rows`, or encoded in the table where that is NULL. */
static themis_status_t table_replace(themis_sched_lambda_exchange_t *exchange, const themis_proto_table_t *table,
                                     const themis_proto_table_row_t *rows, uint64_t now)
{
    themis_status_t status = THEMIS_OK;
    themis_proto_table_row_t row;
    uint32_t cursor = 0;

    themis_sched_lambda_begin(exchange->lambda, table->index, table->capacity, now);
    for (uint32_t i = 0; rows != NULL && i < table->rows && status == THEMIS_OK; i++)
        status = themis_sched_lambda_add(exchange->lambda, table->index, &rows[i]);
    while (rows == NULL && status == THEMIS_OK && themis_proto_table_next(table, &cursor, &row))
        status = themis_sched_lambda_add(exchange->lambda, table->index, &row);
    return status;
}

themis_status_t themis_sched_lambda_exchange_table(themis_sched_lambda_exchange_t *exchange,
                                                   themis_sched_job_table_t *jobs, themis_sched_t *sched, uint64_t now,
                                                   themis_proto_table_t *table)
{
    uint64_t elapsed = exchange->last_table == 0 ? 0 : now - exchange->last_table, all = 0;
    uint32_t count = 0;
    char error[256];
    themis_status_t status = rows_reserve(exchange, themis_sched_job_table_count(jobs));

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
    exchange->last_table = now;
    const char *policy = themis_sched_policy(sched);
    *table = (themis_proto_table_t){.index = exchange->options.index,
                                    .incarnation = exchange->options.incarnation,
                                    .round = ++exchange->round,
                                    .capacity = capacity_of(exchange, all, elapsed),
                                    .policy = {policy, (uint32_t)strlen(policy)},
                                    .total = count,
                                    .rows = count,
                                    .bytes = (const uint8_t *)exchange->rows};
    pthread_mutex_lock(&exchange->lock);
    status = themis_sched_policy_parse(policy, &exchange->policy, error, sizeof error);
    if (status == THEMIS_OK)
        status = table_replace(exchange, table, exchange->rows, now);
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

/* Compares rounds: is the part of a later table (1), the same (0) or an earlier one (-1)? Messages may overtake each
 * other. */
static int compare_round(const incoming_t *incoming, const themis_proto_table_t *part)
{
    if (part->incarnation != incoming->incarnation || part->round > incoming->round)
        return 1;
    return part->round == incoming->round ? 0 : -1;
}

static themis_status_t part_append(incoming_t *incoming, const themis_proto_table_t *part)
{
    if (part->total != incoming->total || part->rows > incoming->total - incoming->rows)
        return THEMIS_INVALID;
    if (part->total > THEMIS_SCHED_LAMBDA_EXCHANGE_MAX_ROWS)
        return THEMIS_RANGE;
    uint8_t *grown = realloc(incoming->bytes, incoming->length + part->length + 1);
    if (grown == NULL)
        return THEMIS_NO_MEMORY;
    memcpy(grown + incoming->length, part->bytes, part->length);
    incoming->bytes = grown;
    incoming->length += part->length;
    incoming->rows += part->rows;
    return THEMIS_OK;
}

static themis_status_t part_receive(themis_sched_lambda_exchange_t *exchange, const themis_proto_table_t *part,
                                    uint64_t now)
{
    incoming_t *incoming = &exchange->incoming[part->index];
    int round = compare_round(incoming, part);
    themis_proto_table_t whole = *part;

    if (round < 0 || (round == 0 && incoming->rows == incoming->total))
        return THEMIS_OK; /* outdated, or a repetition */
    if (round > 0) {
        free(incoming->bytes);
        *incoming = (incoming_t){.incarnation = part->incarnation,
                                 .round = part->round,
                                 .total = part->total,
                                 .policy_set = part->policy_set,
                                 .heard = now};
        snprintf(incoming->policy, sizeof incoming->policy, "%.*s", (int)part->policy.length,
                 part->policy.length ? part->policy.bytes : "");
        if (part->rows == part->total) {
            incoming->rows = part->rows;
            return table_replace(exchange, part, NULL, now);
        }
    }
    themis_status_t status = part_append(incoming, part);
    if (status != THEMIS_OK || incoming->rows < incoming->total)
        return status;
    whole.bytes = incoming->bytes;
    whole.length = (uint32_t)incoming->length;
    status = table_replace(exchange, &whole, NULL, now);
    free(incoming->bytes);
    incoming->bytes = NULL;
    incoming->length = 0;
    return status;
}

themis_status_t themis_sched_lambda_exchange_receive(themis_sched_lambda_exchange_t *exchange,
                                                     const themis_proto_table_t *table, uint64_t now)
{
    if (table->index >= exchange->options.servers || table->index == exchange->options.index)
        return THEMIS_INVALID;
    pthread_mutex_lock(&exchange->lock);
    themis_status_t status = part_receive(exchange, table, now);
    pthread_mutex_unlock(&exchange->lock);
    return status;
}

/* ns after which a server counts as gone. */
static uint64_t silence_of(uint64_t interval)
{
    uint64_t silence = THEMIS_SCHED_LAMBDA_EXCHANGE_SILENCE * interval;

    return silence > THEMIS_NS_PER_S ? silence : THEMIS_NS_PER_S;
}

void themis_sched_lambda_exchange_compute(themis_sched_lambda_exchange_t *exchange, uint64_t now)
{
    pthread_mutex_lock(&exchange->lock);
    themis_sched_lambda_expire(exchange->lambda, now, silence_of(exchange->options.interval));
    exchange->computed = themis_sched_lambda_servers(exchange->lambda) > 1 && exchange->policy.levels > 0 &&
                         themis_sched_lambda_allocate(exchange->lambda, &exchange->policy) == THEMIS_OK;
    pthread_mutex_unlock(&exchange->lock);
}

void themis_sched_lambda_exchange_apply(themis_sched_lambda_exchange_t *exchange, themis_sched_job_table_t *jobs,
                                        themis_sched_t *sched)
{
    themis_sched_lambda_allocation_t allocation;

    for (themis_sched_job_t *job = themis_sched_job_table_first(jobs); job != NULL;
         job = themis_sched_job_table_next(jobs, job))
        if (job->sched != NULL)
            themis_sched_set_weight(sched, job, -1);
    pthread_mutex_lock(&exchange->lock);
    for (uint32_t i = 0; exchange->computed &&
                         themis_sched_lambda_allocation(exchange->lambda, exchange->options.index, i, &allocation);
         i++) {
        themis_sched_job_t *job = themis_sched_job_table_find(jobs, allocation.job->id, allocation.job->uid);
        if (job != NULL && job->sched != NULL)
            themis_sched_set_weight(sched, job, allocation.weight);
    }
    pthread_mutex_unlock(&exchange->lock);
}

int themis_sched_lambda_exchange_differs(themis_sched_lambda_exchange_t *exchange, const char *policy, uint64_t set_at,
                                         uint64_t now, themis_sched_lambda_exchange_other_t *other)
{
    int differs = 0;

    pthread_mutex_lock(&exchange->lock);
    uint64_t interval = exchange->options.interval > exchange->idle ? exchange->options.interval : exchange->idle;
    for (uint32_t i = 0; i < exchange->options.servers && !differs; i++) {
        const incoming_t *incoming = &exchange->incoming[i];
        int silent = incoming->heard == 0 || (now > incoming->heard && now - incoming->heard > silence_of(interval));
        int takes_ours = incoming->policy_set < set_at && !exchange->policy.periodic;
        if (silent || takes_ours || strncmp(incoming->policy, policy, sizeof incoming->policy - 1) == 0)
            continue;
        differs = 1;
        other->index = i;
        memcpy(other->policy, incoming->policy, sizeof other->policy);
    }
    pthread_mutex_unlock(&exchange->lock);
    return differs;
}

uint32_t themis_sched_lambda_exchange_known(themis_sched_lambda_exchange_t *exchange)
{
    pthread_mutex_lock(&exchange->lock);
    uint32_t known = themis_sched_lambda_servers(exchange->lambda);
    pthread_mutex_unlock(&exchange->lock);
    return known;
}

uint64_t themis_sched_lambda_exchange_rounds(const themis_sched_lambda_exchange_t *exchange)
{
    return exchange->round;
}
