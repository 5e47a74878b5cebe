/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE /* qsort_r */
#include "sched/lambda.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#define HASH_NONFATAL_OOM 1 /* an element without memory has no table then */
#include <uthash.h>
#include "sched/policy_tree.h"

/* The allocation is complete when no job's part of a server's capacity changes by more in a round. */
static const double precision = 1e-3;
enum { MAX_ROUNDS = 200, NEWTON_STEPS = 60 };

/* A job that is in any table. */
typedef struct job {
    themis_sched_job_identity_t identity; /* first: the job can be found from its identity */
    uint32_t rows;                        /* that name it, over all tables */
    double share;                         /* g_j */
    double total;                         /* sum of x_js */
    UT_hash_handle hh;
} job_t;

typedef struct row {
    job_t *job;
    double demand; /* bytes/s; INFINITY: all */
    double x;      /* bytes/s allocated */
    double weight; /* for the scheduler there: x without the limit of its demand */
} row_t;

typedef struct table {
    row_t *rows;
    uint32_t count, capacity; /* rows in use; room */
    uint32_t former; /* rows of the previous table, those from `count` on still in `rows` while it is replaced */
    int known;
    uint64_t received; /* ns */
    double bandwidth;  /* bytes/s; 0: unknown */
    double level;      /* of x_j / g_j in the last round */
} table_t;

struct themis_sched_lambda {
    uint32_t servers;
    table_t *tables;
    job_t *jobs;                                /* hash */
    const themis_sched_job_identity_t **sorted; /* of all jobs, in the policy's order */
    uint32_t capacity;                          /* of sorted */
    themis_sched_policy_tree_t tree;
    unsigned rounds;
};

themis_status_t themis_sched_lambda_create(uint32_t servers, themis_sched_lambda_t **lambda)
{
    themis_sched_lambda_t *made = calloc(1, sizeof *made);
    table_t *tables = calloc(servers, sizeof *tables);

    if (made == NULL || tables == NULL) {
        free(made);
        free(tables);
        return THEMIS_NO_MEMORY;
    }
    made->servers = servers;
    made->tables = tables;
    *lambda = made;
    return THEMIS_OK;
}

static void job_release(themis_sched_lambda_t *lambda, job_t *job)
{
    if (--job->rows > 0)
        return;
    HASH_DEL(lambda->jobs, job);
    free(job);
}

static void rows_release(themis_sched_lambda_t *lambda, table_t *table, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++)
        if (table->rows[i].job != NULL)
            job_release(lambda, table->rows[i].job);
}

/* Ends the replacement of a table: releases the remaining rows of the previous one. */
static void table_complete(themis_sched_lambda_t *lambda, table_t *table)
{
    if (table->former > table->count)
        rows_release(lambda, table, table->count, table->former);
    table->former = 0;
}

static void table_clear(themis_sched_lambda_t *lambda, table_t *table)
{
    table_complete(lambda, table);
    rows_release(lambda, table, 0, table->count);
    table->count = 0;
    table->known = 0;
}

void themis_sched_lambda_destroy(themis_sched_lambda_t *lambda)
{
    if (lambda == NULL)
        return;
    for (uint32_t s = 0; s < lambda->servers; s++) {
        table_clear(lambda, &lambda->tables[s]);
        free(lambda->tables[s].rows);
    }
    free(lambda->tables);
    free(lambda->sorted);
    themis_sched_policy_tree_release(&lambda->tree);
    free(lambda);
}

void themis_sched_lambda_begin(themis_sched_lambda_t *lambda, uint32_t server, uint64_t capacity, uint64_t now)
{
    table_t *table = &lambda->tables[server];

    table_complete(lambda, table);
    table->former = table->count;
    table->count = 0;
    table->known = 1;
    table->received = now;
    table->bandwidth = (double)capacity;
}

/* Servers may know different clients of a job: the largest values count, as in the job table. */
static void job_merge(job_t *job, const themis_proto_table_row_t *row)
{
    themis_sched_job_identity_t *identity = &job->identity;

    identity->gid = row->gid;
    identity->nodes = row->nodes > identity->nodes ? row->nodes : identity->nodes;
    identity->priority = row->priority > identity->priority ? row->priority : identity->priority;
}

static size_t id_length(const themis_proto_table_row_t *row)
{
    return row->job.length < THEMIS_SCHED_JOB_ID_BYTES ? row->job.length : THEMIS_SCHED_JOB_ID_BYTES - 1;
}

/* The job that the row names, added if it is new; NULL when memory is short. */
static job_t *job_obtain(themis_sched_lambda_t *lambda, const themis_proto_table_row_t *row)
{
    themis_sched_job_identity_t identity = {.uid = row->uid};
    job_t *job;

    memcpy(identity.id, row->job.bytes, id_length(row));
    HASH_FIND(hh, lambda->jobs, themis_sched_job_key(&identity), themis_sched_job_key_bytes(&identity), job);
    if (job != NULL || (job = calloc(1, sizeof *job)) == NULL)
        return job;
    job->identity = identity;
    HASH_ADD_KEYPTR(hh, lambda->jobs, themis_sched_job_key(&job->identity), themis_sched_job_key_bytes(&identity), job);
    if (job->hh.tbl != NULL)
        return job;
    free(job);
    return NULL;
}

static int is_same(const job_t *job, const themis_proto_table_row_t *row)
{
    size_t length = id_length(row);

    return job->identity.uid == row->uid && memcmp(job->identity.id, row->job.bytes, length) == 0 &&
           job->identity.id[length] == '\0';
}

static themis_status_t table_grow(table_t *table)
{
    uint32_t capacity = table->capacity == 0 ? 64 : 2 * table->capacity;
    row_t *rows = realloc(table->rows, capacity * sizeof *rows);

    if (rows == NULL)
        return THEMIS_NO_MEMORY;
    table->rows = rows;
    table->capacity = capacity;
    return THEMIS_OK;
}

themis_status_t themis_sched_lambda_add(themis_sched_lambda_t *lambda, uint32_t server,
                                        const themis_proto_table_row_t *row)
{
    table_t *table = &lambda->tables[server];

    if (table->count == table->capacity && table_grow(table) != THEMIS_OK)
        return THEMIS_NO_MEMORY;
    row_t *place = &table->rows[table->count];
    int replaces = table->count < table->former && place->job != NULL;
    if (!replaces || !is_same(place->job, row)) {
        job_t *job = job_obtain(lambda, row);
        if (job == NULL)
            return THEMIS_NO_MEMORY;
        job->rows++;
        if (replaces)
            job_release(lambda, place->job);
        place->job = job;
    }
    place->demand = row->demand == THEMIS_SCHED_LAMBDA_ALL ? INFINITY : (double)row->demand;
    place->x = place->weight = 0;
    job_merge(place->job, row);
    table->count++;
    return THEMIS_OK;
}

void themis_sched_lambda_expire(themis_sched_lambda_t *lambda, uint64_t now, uint64_t age)
{
    for (uint32_t s = 0; s < lambda->servers; s++) {
        table_t *table = &lambda->tables[s];
        if (table->known && now > table->received && now - table->received > age)
            table_clear(lambda, table);
    }
}

uint32_t themis_sched_lambda_servers(const themis_sched_lambda_t *lambda)
{
    uint32_t known = 0;

    for (uint32_t s = 0; s < lambda->servers; s++)
        known += (uint32_t)lambda->tables[s].known;
    return known;
}

static int compare_jobs(const void *a, const void *b, void *policy)
{
    return themis_sched_policy_tree_compare(policy, *(const themis_sched_job_identity_t *const *)a,
                                            *(const themis_sched_job_identity_t *const *)b);
}

/* g_j of every job, by the policy over all of them. */
static themis_status_t compute_shares(themis_sched_lambda_t *lambda, const themis_sched_policy_t *policy)
{
    uint32_t count = HASH_COUNT(lambda->jobs), i = 0;
    job_t *job, *next;

    if (count > lambda->capacity) {
        void *sorted = realloc(lambda->sorted, count * sizeof *lambda->sorted);
        if (sorted == NULL)
            return THEMIS_NO_MEMORY;
        lambda->sorted = sorted;
        lambda->capacity = count;
    }
    if (themis_sched_policy_tree_reserve(&lambda->tree, count) != THEMIS_OK)
        return THEMIS_NO_MEMORY;
    HASH_ITER(hh, lambda->jobs, job, next)
    {
        job->total = 0;
        lambda->sorted[i++] = &job->identity;
    }
    if (count > 1)
        qsort_r(lambda->sorted, count, sizeof *lambda->sorted, compare_jobs, (void *)policy);
    themis_sched_policy_tree_build(&lambda->tree, policy, lambda->sorted, count);
    for (i = 0; i < count; i++)
        ((job_t *)lambda->sorted[i])->share = lambda->tree.node[lambda->tree.levels - 1][i].share;
    return THEMIS_OK;
}

/* What a row gets when its server is filled to `level`; *slope: how that grows with the level. */
static double row_at_level(const row_t *row, double level, double *slope)
{
    double elsewhere = row->job->total - row->x, x = level * row->job->share - elsewhere;

    *slope = 0;
    if (x <= 0)
        return 0;
    if (x >= row->demand)
        return row->demand;
    *slope = row->job->share;
    return x;
}

/* The level at which the rows fill the server: Newton's method, with bisection where it leaves the known bounds.
 * Infinite if all demands together do not fill it. */
static double find_level(const table_t *table)
{
    double low = 0, high = INFINITY, level = table->level, slope, sum, slopes, demands = 0;

    for (uint32_t i = 0; i < table->count; i++)
        demands += table->rows[i].demand;
    if (demands <= table->bandwidth)
        return INFINITY;
    for (int step = 0; step < NEWTON_STEPS; step++) {
        sum = slopes = 0;
        for (uint32_t i = 0; i < table->count; i++) {
            sum += row_at_level(&table->rows[i], level, &slope);
            slopes += slope;
        }
        if (fabs(sum - table->bandwidth) <= 1e-6 * table->bandwidth)
            break;
        *(sum < table->bandwidth ? &low : &high) = level;
        double next = level + (table->bandwidth - sum) / slopes;
        if (slopes <= 0 || next <= low || next >= high)
            next = isinf(high) ? 2 * (level > 0 ? level : table->bandwidth) : (low + high) / 2;
        level = next;
    }
    return level;
}

/* Distributes the capacity of one server; returns the largest change. */
static double server_fill(table_t *table)
{
    double level = find_level(table), change = 0, slope;

    for (uint32_t i = 0; i < table->count; i++) {
        row_t *row = &table->rows[i];
        job_t *job = row->job;
        double x = isinf(level) ? row->demand : row_at_level(row, level, &slope);
        double due = isinf(level) ? job->share : level * job->share - (job->total - row->x);
        row->weight = due > 0 ? due : 0;
        change = fabs(x - row->x) > change ? fabs(x - row->x) : change;
        job->total += x - row->x;
        row->x = x;
    }
    table->level = isinf(level) ? table->level : level;
    return change;
}

/* Capacities that are not known count as the mean of those that are; 1 GB/s if none is. */
static void estimate_capacities(themis_sched_lambda_t *lambda)
{
    double sum = 0;
    uint32_t count = 0;

    for (uint32_t s = 0; s < lambda->servers; s++)
        if (lambda->tables[s].known && lambda->tables[s].bandwidth > 0) {
            sum += lambda->tables[s].bandwidth;
            count++;
        }
    for (uint32_t s = 0; s < lambda->servers; s++)
        if (lambda->tables[s].known && lambda->tables[s].bandwidth <= 0)
            lambda->tables[s].bandwidth = count > 0 ? sum / count : 1e9;
}

/* Each server by itself, in proportion to the shares: this is the result already where all jobs are on all servers. */
static void allocate_locally(themis_sched_lambda_t *lambda)
{
    uint32_t servers = themis_sched_lambda_servers(lambda);

    for (uint32_t s = 0; s < lambda->servers; s++) {
        table_t *table = &lambda->tables[s];
        double shares = 0;
        for (uint32_t i = 0; i < table->count; i++)
            shares += table->rows[i].job->share;
        for (uint32_t i = 0; i < table->count; i++) {
            row_t *row = &table->rows[i];
            double part = table->bandwidth * row->job->share / shares;
            row->x = part < row->demand ? part : row->demand;
            row->job->total += row->x;
        }
        table->level = table->bandwidth * servers;
    }
}

themis_status_t themis_sched_lambda_allocate(themis_sched_lambda_t *lambda, const themis_sched_policy_t *policy)
{
    if (policy->levels == 0)
        return THEMIS_INVALID;
    for (uint32_t s = 0; s < lambda->servers; s++)
        table_complete(lambda, &lambda->tables[s]);
    themis_status_t status = compute_shares(lambda, policy);
    if (status != THEMIS_OK)
        return status;
    estimate_capacities(lambda);
    allocate_locally(lambda);
    for (lambda->rounds = 1; lambda->rounds <= MAX_ROUNDS; lambda->rounds++) {
        double worst = 0;
        for (uint32_t s = 0; s < lambda->servers; s++) {
            table_t *table = &lambda->tables[s];
            if (!table->known || table->count == 0)
                continue;
            double change = server_fill(table) / table->bandwidth;
            worst = change > worst ? change : worst;
        }
        if (worst < precision)
            break;
    }
    return THEMIS_OK;
}

int themis_sched_lambda_allocation(const themis_sched_lambda_t *lambda, uint32_t server, uint32_t row,
                                   themis_sched_lambda_allocation_t *allocation)
{
    const table_t *table = &lambda->tables[server];

    if (row >= table->count)
        return 0;
    const row_t *from = &table->rows[row];
    *allocation = (themis_sched_lambda_allocation_t){
        .job = &from->job->identity, .weight = from->weight, .bandwidth = from->x, .share = from->job->share};
    return 1;
}

unsigned themis_sched_lambda_rounds(const themis_sched_lambda_t *lambda)
{
    return lambda->rounds;
}
