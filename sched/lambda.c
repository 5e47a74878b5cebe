/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of all servers merged into one list of jobs, and the allocation over it. */
#define _GNU_SOURCE /* qsort_r */
#include "sched/lambda.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>
#include "sched/policy_tree.h"

/* A change below this part of a server's capacity is none; and no more rounds than this. */
static const double precision = 1e-3;
enum { MAX_ROUNDS = 200, NEWTON_STEPS = 60 };

typedef struct job {
    struct {
        uint32_t uid;
        char id[THEMIS_SCHED_JOB_ID_BYTES];
    } key;
    unsigned key_length;
    themis_sched_job_identity_t identity;
    uint32_t rows; /* that name it, over all tables */
    double share;  /* g_j */
    double total;  /* sum of x_js */
    UT_hash_handle hh;
} job_t;

typedef struct row {
    job_t *job;
    double demand; /* bytes/s; INFINITY: all */
    double x;      /* bytes/s allocated */
    double weight; /* of the scheduler there: x without the limit of its demand */
} row_t;

typedef struct table {
    row_t *rows;
    uint32_t count, capacity; /* rows in use; room */
    uint32_t former;          /* rows of the table before, still in `rows` behind `count` while it is replaced */
    int known;
    uint64_t heard;
    double bandwidth; /* bytes/s; 0: unknown */
    double level;     /* of x_j / g_j in the last round */
} table_t;

struct themis_sched_lambda {
    uint32_t servers;
    table_t *tables;
    job_t *jobs; /* hash */
    const themis_sched_job_identity_t **sorted;
    job_t **order;
    uint32_t room; /* of sorted and order */
    themis_sched_policy_tree_t tree;
    unsigned rounds;
    double all; /* capacity of all known servers */
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

static void release_job(themis_sched_lambda_t *lambda, job_t *job)
{
    if (--job->rows > 0)
        return;
    HASH_DEL(lambda->jobs, job);
    free(job);
}

static void release_rows(themis_sched_lambda_t *lambda, table_t *table, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++)
        if (table->rows[i].job != NULL)
            release_job(lambda, table->rows[i].job);
}

/* Ends the replacing of a table: what the former one still had is let go. */
static void settle(themis_sched_lambda_t *lambda, table_t *table)
{
    if (table->former > table->count)
        release_rows(lambda, table, table->count, table->former);
    table->former = 0;
}

static void forget(themis_sched_lambda_t *lambda, table_t *table)
{
    settle(lambda, table);
    release_rows(lambda, table, 0, table->count);
    table->count = 0;
    table->known = 0;
}

void themis_sched_lambda_destroy(themis_sched_lambda_t *lambda)
{
    if (lambda == NULL)
        return;
    for (uint32_t s = 0; s < lambda->servers; s++) {
        forget(lambda, &lambda->tables[s]);
        free(lambda->tables[s].rows);
    }
    free(lambda->tables);
    free(lambda->sorted);
    free(lambda->order);
    themis_sched_policy_tree_release(&lambda->tree);
    free(lambda);
}

void themis_sched_lambda_begin(themis_sched_lambda_t *lambda, uint32_t server, uint64_t capacity, uint64_t now)
{
    table_t *table = &lambda->tables[server];

    settle(lambda, table);
    table->former = table->count;
    table->count = 0;
    table->known = 1;
    table->heard = now;
    table->bandwidth = (double)capacity;
}

static void describe(job_t *job, const themis_sched_lambda_row_t *row)
{
    themis_sched_job_identity_t *identity = &job->identity;

    identity->gid = row->gid;
    /* Servers may have heard of different clients: the largest counts, as in the job table. */
    identity->nodes = row->nodes > identity->nodes ? row->nodes : identity->nodes;
    identity->priority = row->priority > identity->priority ? row->priority : identity->priority;
}

static unsigned cut(size_t length)
{
    return (unsigned)(length < THEMIS_SCHED_JOB_ID_BYTES - 1 ? length : THEMIS_SCHED_JOB_ID_BYTES - 1);
}

static job_t *find(const themis_sched_lambda_t *lambda, const char *id, size_t length, uint32_t uid)
{
    struct {
        uint32_t uid;
        char id[THEMIS_SCHED_JOB_ID_BYTES];
    } key;
    unsigned bytes = cut(length);
    job_t *job;

    key.uid = uid;
    memcpy(key.id, id, bytes);
    HASH_FIND(hh, lambda->jobs, &key, (unsigned)sizeof uid + bytes, job);
    return job;
}

static job_t *obtain(themis_sched_lambda_t *lambda, const themis_sched_lambda_row_t *row)
{
    job_t *job = find(lambda, row->id, row->length, row->uid);

    if (job != NULL)
        return job;
    job = calloc(1, sizeof *job);
    if (job == NULL)
        return NULL;
    unsigned bytes = cut(row->length);
    job->key.uid = job->identity.uid = row->uid;
    memcpy(job->key.id, row->id, bytes);
    memcpy(job->identity.id, row->id, bytes);
    job->key_length = (unsigned)sizeof row->uid + bytes;
    HASH_ADD_KEYPTR(hh, lambda->jobs, &job->key, job->key_length, job);
    return job;
}

static int is_same(const job_t *job, const themis_sched_lambda_row_t *row)
{
    unsigned bytes = cut(row->length);

    return job->key.uid == row->uid && job->key_length == sizeof row->uid + bytes &&
           memcmp(job->key.id, row->id, bytes) == 0;
}

static themis_status_t grow(table_t *table)
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
                                        const themis_sched_lambda_row_t *row)
{
    table_t *table = &lambda->tables[server];

    if (table->count == table->capacity && grow(table) != THEMIS_OK)
        return THEMIS_NO_MEMORY;
    row_t *place = &table->rows[table->count];
    int had = table->count < table->former && place->job != NULL;
    if (!had || !is_same(place->job, row)) {
        job_t *job = obtain(lambda, row);
        if (job == NULL)
            return THEMIS_NO_MEMORY;
        job->rows++;
        if (had)
            release_job(lambda, place->job);
        place->job = job;
    }
    place->demand = row->demand == THEMIS_SCHED_LAMBDA_ALL ? INFINITY : (double)row->demand;
    place->x = place->weight = 0;
    describe(place->job, row);
    table->count++;
    return THEMIS_OK;
}

void themis_sched_lambda_expire(themis_sched_lambda_t *lambda, uint64_t now, uint64_t age)
{
    for (uint32_t s = 0; s < lambda->servers; s++) {
        table_t *table = &lambda->tables[s];
        if (table->known && now > table->heard && now - table->heard > age)
            forget(lambda, table);
    }
}

uint32_t themis_sched_lambda_rows(const themis_sched_lambda_t *lambda, uint32_t server)
{
    return lambda->tables[server].count;
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
    const job_t *x = *(job_t *const *)a, *y = *(job_t *const *)b;

    return themis_sched_policy_tree_compare(policy, &x->identity, &y->identity);
}

/* g_j of every job, by the policy over all of them. */
static themis_status_t share_out(themis_sched_lambda_t *lambda, const themis_sched_policy_t *policy)
{
    uint32_t count = HASH_COUNT(lambda->jobs), i = 0;
    job_t *job, *next;

    if (count > lambda->room) {
        void *sorted = realloc(lambda->sorted, count * sizeof *lambda->sorted);
        lambda->sorted = sorted == NULL ? lambda->sorted : sorted;
        void *order = realloc(lambda->order, count * sizeof *lambda->order);
        lambda->order = order == NULL ? lambda->order : order;
        if (sorted == NULL || order == NULL)
            return THEMIS_NO_MEMORY;
        lambda->room = count;
    }
    if (themis_sched_policy_tree_reserve(&lambda->tree, count) != THEMIS_OK)
        return THEMIS_NO_MEMORY;
    HASH_ITER(hh, lambda->jobs, job, next)
    {
        job->total = 0;
        lambda->order[i++] = job;
    }
    if (count > 1)
        qsort_r(lambda->order, count, sizeof *lambda->order, compare_jobs, (void *)policy);
    for (i = 0; i < count; i++)
        lambda->sorted[i] = &lambda->order[i]->identity;
    themis_sched_policy_tree_build(&lambda->tree, policy, lambda->sorted, count);
    for (i = 0; i < count; i++)
        lambda->order[i]->share = lambda->tree.node[lambda->tree.levels - 1][i].share;
    return THEMIS_OK;
}

/* What a row gets when its server fills to `level`; *slope: how that grows with the level. */
static double filled(const row_t *row, double level, double *slope)
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

/* The level at which the rows fill the server: Newton's steps, with halving where they leave the known bounds. Infinite
 * if all demands together do not fill it. */
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
            sum += filled(&table->rows[i], level, &slope);
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

/* Fills one server anew; returns the largest change. */
static double fill(table_t *table)
{
    double level = find_level(table), change = 0, slope;

    for (uint32_t i = 0; i < table->count; i++) {
        row_t *row = &table->rows[i];
        job_t *job = row->job;
        double x = isinf(level) ? row->demand : filled(row, level, &slope);
        double due = isinf(level) ? job->share : level * job->share - (job->total - row->x);
        row->weight = due > 0 ? due : 0;
        change = fabs(x - row->x) > change ? fabs(x - row->x) : change;
        job->total += x - row->x;
        row->x = x;
    }
    table->level = isinf(level) ? table->level : level;
    return change;
}

/* Every server by itself at first: in proportion to the shares, which is the result where all jobs are on all servers.
 */
static void begin_allocation(themis_sched_lambda_t *lambda)
{
    double known = 0;
    uint32_t servers = 0, with_capacity = 0;

    for (uint32_t s = 0; s < lambda->servers; s++) {
        servers += (uint32_t)lambda->tables[s].known;
        if (!lambda->tables[s].known || lambda->tables[s].bandwidth <= 0)
            continue;
        known += lambda->tables[s].bandwidth;
        with_capacity++;
    }
    double mean = with_capacity > 0 ? known / with_capacity : 1e9;
    lambda->all = 0;
    for (uint32_t s = 0; s < lambda->servers; s++) {
        table_t *table = &lambda->tables[s];
        double shares = 0;
        settle(lambda, table);
        if (!table->known)
            continue;
        table->bandwidth = table->bandwidth > 0 ? table->bandwidth : mean;
        lambda->all += table->bandwidth;
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
        settle(lambda, &lambda->tables[s]);
    themis_status_t status = share_out(lambda, policy);
    if (status != THEMIS_OK)
        return status;
    begin_allocation(lambda);
    for (lambda->rounds = 1; lambda->rounds <= MAX_ROUNDS; lambda->rounds++) {
        double worst = 0;
        for (uint32_t s = 0; s < lambda->servers; s++) {
            table_t *table = &lambda->tables[s];
            if (!table->known || table->count == 0)
                continue;
            double change = fill(table) / table->bandwidth;
            worst = change > worst ? change : worst;
        }
        if (worst < precision)
            break;
    }
    return THEMIS_OK;
}

void themis_sched_lambda_weights(const themis_sched_lambda_t *lambda, uint32_t server,
                                 themis_sched_lambda_weight_fn weight, void *arg)
{
    const table_t *table = &lambda->tables[server];

    for (uint32_t i = 0; i < table->count; i++) {
        const row_t *row = &table->rows[i];
        weight(arg, row->job->identity.id, row->job->key.uid, row->weight, row->job->share);
    }
}

double themis_sched_lambda_part(const themis_sched_lambda_t *lambda, const char *id, uint32_t uid)
{
    const job_t *job = find(lambda, id, strlen(id), uid);

    return job == NULL || lambda->all <= 0 ? 0 : job->total / lambda->all;
}

unsigned themis_sched_lambda_rounds(const themis_sched_lambda_t *lambda)
{
    return lambda->rounds;
}
