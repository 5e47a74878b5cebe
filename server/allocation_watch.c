/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/allocation_watch.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>
#include "sched/lambda.h"
#include "util/clock.h"
#include "util/log.h"

/* Of a server, the last ones; of a job, peaks are means over WINDOW. */
enum { SAMPLES = 12 };
#define WINDOW (2 * THEMIS_NS_PER_S)
#define SAMPLE_LASTS (600 * THEMIS_NS_PER_S)
#define JOB_LASTS (300 * THEMIS_NS_PER_S)
#define JOB_RUNS (15 * THEMIS_NS_PER_S)  /* after it was seen last */
#define JOB_ACTIVE (3 * THEMIS_NS_PER_S) /* since it has done something: not forgotten for another */
#define HALF_LIFE (20 * THEMIS_NS_PER_S)
#define MOST_PAUSE (3 * THEMIS_NS_PER_S) /* between tables that belong together */

/* A job uses a server if it has moved so much there of late, and this part of what it has moved on any: names, which
 * are spread over all servers, are charged to it, too. */
static const double USED_BYTES = 1 << 20, USED_PART = 0.05;

typedef themis_server_allocation_watch_t watch_t;

/* A job on a server. */
typedef struct flow {
    uint64_t served; /* bytes at the last look */
    uint64_t seen;   /* ns; of that, 0: never */
    double recent;   /* bytes, of which half is forgotten in HALF_LIFE; at `seen` */
    uint64_t tabled; /* bytes at the last table, of which rates are made */
    int has_table;
} flow_t;

struct user;
typedef struct job {
    struct job *next, *prev;           /* of all; those that have done nothing for long are in front */
    struct job *user_next, *user_prev; /* the same of its user */
    struct user *user;
    uint64_t active;                      /* ns; when it did something */
    themis_sched_job_identity_t identity; /* the key is in it */
    char application[THEMIS_SCHED_JOB_ID_BYTES];
    uint64_t first, last; /* ns; seen */
    int shared_file;
    themis_dfra_observation_t sum;
    /* since `window` */
    uint64_t window; /* ns */
    double bytes, operations;
    /* on this server, at the last look */
    uint64_t requests, metadata, metadata_wait, looked;
    UT_hash_handle hh;
    flow_t flow[]; /* [servers] */
} job_t;

typedef struct user {
    uint32_t uid, count;
    job_t *list;
    UT_hash_handle hh;
} user_t;

typedef struct rates {
    double rate[SAMPLES];
    uint64_t time[SAMPLES];
    uint32_t count, next;
    /* The round that is coming in, and what was added up before it. */
    uint64_t incarnation, round, round_time;
    double round_bytes;
    int round_busy, round_known;
    double bytes;
    uint64_t elapsed, last; /* ns */
} rates_t;

struct themis_server_allocation_watch {
    pthread_mutex_t lock;
    uint32_t servers, self;
    job_t *jobs, *list;
    user_t *users;
    int is_warned;   /* of jobs that are not watched */
    rates_t rates[]; /* [servers] */
};

/* --- jobs ----------------------------------------------------------------------------------------------------------
 */

static user_t *user_get(watch_t *watch, uint32_t uid)
{
    user_t *user;

    HASH_FIND(hh, watch->users, &uid, sizeof uid, user);
    if (user || !(user = calloc(1, sizeof *user)))
        return user;
    user->uid = uid;
    HASH_ADD(hh, watch->users, uid, sizeof user->uid, user);
    if (user->hh.tbl)
        return user;
    free(user);
    return NULL;
}

static void user_drop_unused(watch_t *watch, user_t *user)
{
    if (user->count > 0)
        return;
    HASH_DELETE(hh, watch->users, user);
    free(user);
}

static void job_free(watch_t *watch, job_t *job)
{
    user_t *user = job->user;

    HASH_DELETE(hh, watch->jobs, job);
    DL_DELETE(watch->list, job);
    DL_DELETE2(user->list, job, user_prev, user_next);
    user->count--;
    user_drop_unused(watch, user);
    free(job);
}

/* Is there room for one more of the user, or can some be made? */
static int room_make(watch_t *watch, uint32_t uid, uint64_t now)
{
    job_t *oldest = HASH_COUNT(watch->jobs) >= THEMIS_SERVER_ALLOCATION_WATCH_JOBS ? watch->list : NULL;
    const user_t *user;

    HASH_FIND(hh, watch->users, &uid, sizeof uid, user);
    if (user && user->count >= THEMIS_SERVER_ALLOCATION_WATCH_OF_USER)
        oldest = user->list;
    if (!oldest)
        return 1;
    if (now - oldest->active >= JOB_ACTIVE) {
        job_free(watch, oldest);
        return 1;
    }
    if (!watch->is_warned)
        themis_warn("more jobs move bytes than are watched; decisions do not take all of them into account");
    watch->is_warned = 1;
    return 0;
}

static job_t *job_find(watch_t *watch, const themis_sched_job_identity_t *identity)
{
    job_t *job;

    HASH_FIND(hh, watch->jobs, themis_sched_job_key(identity), themis_sched_job_key_bytes(identity), job);
    return job;
}

static job_t *job_add(watch_t *watch, user_t *user, const themis_sched_job_identity_t *identity, uint64_t now)
{
    job_t *job = calloc(1, sizeof *job + watch->servers * sizeof job->flow[0]);

    if (!job)
        return NULL;
    job->identity = *identity;
    job->first = job->window = job->active = now;
    HASH_ADD_KEYPTR(hh, watch->jobs, themis_sched_job_key(&job->identity), themis_sched_job_key_bytes(identity), job);
    if (!job->hh.tbl) {
        free(job);
        return NULL;
    }
    job->user = user;
    user->count++;
    DL_APPEND(watch->list, job);
    DL_APPEND2(user->list, job, user_prev, user_next);
    return job;
}

/* NULL: there are too many, or no memory. */
static job_t *job_get(watch_t *watch, const themis_sched_job_identity_t *identity, uint64_t now)
{
    job_t *job = job_find(watch, identity);

    if (!job && room_make(watch, identity->uid, now)) {
        user_t *user = user_get(watch, identity->uid);

        job = user ? job_add(watch, user, identity, now) : NULL;
        if (user)
            user_drop_unused(watch, user);
    }
    if (!job)
        return NULL;
    job->last = now;
    if (identity->nodes > job->identity.nodes)
        job->identity.nodes = identity->nodes;
    return job;
}

/* It has done something. */
static void job_touch(watch_t *watch, job_t *job, uint64_t now)
{
    DL_DELETE(watch->list, job);
    DL_APPEND(watch->list, job);
    DL_DELETE2(job->user->list, job, user_prev, user_next);
    DL_APPEND2(job->user->list, job, user_prev, user_next);
    job->active = now;
}

static double recent_of(const flow_t *flow, uint64_t now)
{
    return flow->seen ? flow->recent * exp2(-(double)(now - flow->seen) / (double)HALF_LIFE) : 0;
}

/* `server` may be NULL. */
static uint32_t servers_used(const watch_t *watch, const job_t *job, uint64_t now, uint32_t *server)
{
    uint32_t count = 0;
    double most = 0;

    for (uint32_t i = 0; i < watch->servers; i++)
        most = fmax(most, recent_of(&job->flow[i], now));
    for (uint32_t i = 0; i < watch->servers; i++)
        if (recent_of(&job->flow[i], now) >= fmax(USED_BYTES, USED_PART * most)) {
            if (server)
                server[count] = i;
            count++;
        }
    return count;
}

static void window_close(job_t *job, uint64_t now)
{
    double seconds = (double)(now - job->window) * 1e-9;

    if (now - job->window < WINDOW)
        return;
    if (job->bytes / seconds > job->sum.peak_bandwidth)
        job->sum.peak_bandwidth = job->bytes / seconds;
    if (job->operations / seconds > job->sum.peak_iops)
        job->sum.peak_iops = job->operations / seconds;
    job->bytes = job->operations = 0;
    job->window = now;
}

static void flow_note(watch_t *watch, job_t *job, uint32_t server, uint64_t served, uint64_t now)
{
    flow_t *flow = &job->flow[server];
    int known = flow->seen != 0;
    /* what was there when it was seen first is of another time; less than before: it has joined again */
    uint64_t moved = !known ? 0 : served < flow->served ? served : served - flow->served;

    flow->recent = recent_of(flow, now) + (double)moved;
    flow->served = served;
    flow->seen = now;
    job->sum.volume += (double)moved;
    job->bytes += (double)moved;
    if (moved > 0)
        job_touch(watch, job, now);
}

static void counters_take(watch_t *watch, job_t *job, const themis_server_allocation_counters_t *from, uint64_t now)
{
    uint32_t used = servers_used(watch, job, now, NULL);
    int is_again = job->looked && from->requests >= job->requests && from->metadata >= job->metadata;
    double data = (double)(from->requests - from->metadata), metadata = (double)from->metadata;

    if (is_again) {
        data -= (double)(job->requests - job->metadata);
        metadata -= (double)job->metadata;
        double waiting = (double)(from->metadata_wait_ns - job->metadata_wait) / (double)(now - job->looked + 1);
        if (from->metadata_wait_ns >= job->metadata_wait && waiting > job->sum.metadata_waiting)
            job->sum.metadata_waiting = waiting;
    }
    double operations = (data > 0 ? data * (used ? used : 1) : 0) + metadata * watch->servers;
    flow_note(watch, job, watch->self, from->cost, now);
    if (from->requests != job->requests)
        job_touch(watch, job, now);
    job->sum.operations += operations;
    job->operations += is_again ? operations : 0;
    job->requests = from->requests;
    job->metadata = from->metadata;
    job->metadata_wait = from->metadata_wait_ns;
    job->looked = now;
    job->shared_file |= from->shared_file;
    memcpy(job->application, from->application, sizeof job->application);
    window_close(job, now);
}

void themis_server_allocation_watch_job(watch_t *watch, const themis_server_allocation_counters_t *from, uint64_t now)
{
    pthread_mutex_lock(&watch->lock);
    job_t *job = from->cost || from->requests ? job_get(watch, &from->identity, now) : job_find(watch, &from->identity);
    if (job)
        counters_take(watch, job, from, now);
    pthread_mutex_unlock(&watch->lock);
}

void themis_server_allocation_watch_expire(watch_t *watch, uint64_t now)
{
    job_t *job, *next;

    pthread_mutex_lock(&watch->lock);
    HASH_ITER(hh, watch->jobs, job, next)
    if ((job->looked && job->looked < now) || now - job->last > JOB_LASTS)
        job_free(watch, job);
    pthread_mutex_unlock(&watch->lock);
}

static themis_dfra_observation_t observation_of(const job_t *job, uint64_t now)
{
    themis_dfra_observation_t o = job->sum;

    o.duration = (double)(now - job->first) * 1e-9;
    o.shared_file = job->shared_file;
    return o;
}

void themis_server_allocation_watch_observe(watch_t *watch, uint32_t uid, const char *id, uint64_t now,
                                            themis_dfra_observation_t *observation)
{
    themis_sched_job_identity_t identity = {.uid = uid};
    job_t *job;

    *observation = (themis_dfra_observation_t){0};
    snprintf(identity.id, sizeof identity.id, "%s", id);
    pthread_mutex_lock(&watch->lock);
    HASH_FIND(hh, watch->jobs, themis_sched_job_key(&identity), themis_sched_job_key_bytes(&identity), job);
    if (job)
        *observation = observation_of(job, now);
    pthread_mutex_unlock(&watch->lock);
}

/* Copies of the jobs that run, *count of them and `size` bytes apart; NULL: none, or no memory. */
static char *jobs_copy(watch_t *watch, uint64_t now, size_t size, uint32_t *count)
{
    char *copy = NULL;

    *count = 0;
    pthread_mutex_lock(&watch->lock);
    if (watch->jobs)
        copy = malloc(HASH_COUNT(watch->jobs) * size);
    for (const job_t *job = copy ? watch->list : NULL; job; job = job->next)
        if (now - job->last < JOB_RUNS)
            memcpy(copy + size * (*count)++, job, size);
    pthread_mutex_unlock(&watch->lock);
    return copy;
}

void themis_server_allocation_watch_each(watch_t *watch, uint64_t now, themis_server_allocation_watch_fn each,
                                         void *arg)
{
    size_t size = sizeof(job_t) + watch->servers * sizeof(flow_t);
    uint32_t *server = calloc(watch->servers, sizeof *server), count;
    char *copy = jobs_copy(watch, now, size, &count);

    for (uint32_t i = 0; server && i < count; i++) {
        const job_t *job = (const void *)(copy + i * size);
        const themis_server_allocation_watched_t watched = {.job = job->identity.id,
                                                            .application = job->application,
                                                            .uid = job->identity.uid,
                                                            .nodes = job->identity.nodes ? job->identity.nodes : 1,
                                                            .server = server,
                                                            .servers = servers_used(watch, job, now, server),
                                                            .now = observation_of(job, now)};
        if (watched.servers > 0)
            each(arg, &watched);
    }
    free(copy);
    free(server);
}

/* --- rates of servers -----------------------------------------------------------------------------------------------
 */

static void sample_add(rates_t *rates, double rate, uint64_t now)
{
    rates->rate[rates->next] = rate;
    rates->time[rates->next] = now;
    rates->next = (rates->next + 1) % SAMPLES;
    rates->count += rates->count < SAMPLES;
}

/* A table has come in as a whole: what it says is of the time since the one before. */
static void round_close(rates_t *rates)
{
    uint64_t pause = rates->round_time - rates->last;

    if (rates->last == 0 || pause > MOST_PAUSE || !rates->round_busy || !rates->round_known) {
        rates->bytes = 0;
        rates->elapsed = 0;
    } else {
        rates->bytes += rates->round_bytes;
        rates->elapsed += pause;
    }
    rates->last = rates->round_time;
    if (rates->elapsed < WINDOW)
        return;
    sample_add(rates, rates->bytes / ((double)rates->elapsed * 1e-9), rates->round_time);
    rates->bytes = 0;
    rates->elapsed = 0;
}

static void round_begin(rates_t *rates, const themis_proto_table_t *table, uint64_t now)
{
    if (rates->incarnation == table->incarnation && rates->round == table->round)
        return;
    if (rates->incarnation == table->incarnation && rates->round_time)
        round_close(rates);
    else
        rates->last = 0; /* it was started again */
    rates->incarnation = table->incarnation;
    rates->round = table->round;
    rates->round_time = now;
    rates->round_bytes = 0;
    rates->round_busy = 0;
    rates->round_known = 1;
}

static void row_take(watch_t *watch, uint32_t server, const themis_proto_table_row_t *row, uint64_t now)
{
    rates_t *rates = &watch->rates[server];
    themis_sched_job_identity_t identity = {
        .uid = row->uid, .gid = row->gid, .nodes = row->nodes, .priority = row->priority};

    snprintf(identity.id, sizeof identity.id, "%.*s", (int)row->job.length, row->job.length ? row->job.bytes : "");
    job_t *job = row->served ? job_get(watch, &identity, now) : job_find(watch, &identity);
    flow_t *flow = job ? &job->flow[server] : NULL;
    rates->round_busy |= row->demand == THEMIS_SCHED_LAMBDA_ALL;
    /* of a job that is new it is not known since when it has moved them */
    if (flow && flow->has_table && row->served >= flow->tabled)
        rates->round_bytes += (double)(row->served - flow->tabled);
    else if (!flow && row->served)
        rates->round_known = 0;
    if (!flow)
        return;
    flow->tabled = row->served;
    flow->has_table = 1;
    flow_note(watch, job, server, row->served, now);
    window_close(job, now);
}

void themis_server_allocation_watch_table(watch_t *watch, const themis_proto_table_t *table,
                                          const themis_proto_table_row_t *rows, uint64_t now)
{
    themis_proto_table_row_t row;
    uint32_t cursor = 0;

    if (table->index >= watch->servers)
        return;
    pthread_mutex_lock(&watch->lock);
    const rates_t *rates = &watch->rates[table->index];
    if (rates->incarnation == table->incarnation && table->round < rates->round) { /* it was overtaken */
        pthread_mutex_unlock(&watch->lock);
        return;
    }
    round_begin(&watch->rates[table->index], table, now);
    for (uint32_t i = 0; rows && i < table->rows; i++)
        row_take(watch, table->index, &rows[i], now);
    while (!rows && themis_proto_table_next(table, &cursor, &row))
        row_take(watch, table->index, &row, now);
    pthread_mutex_unlock(&watch->lock);
}

/* With the lock. Drops old samples of a server. */
static void samples_drop(rates_t *rates, uint64_t now)
{
    while (rates->count > 0 && now - rates->time[(rates->next + SAMPLES - rates->count) % SAMPLES] > SAMPLE_LASTS)
        rates->count--;
}

void themis_server_allocation_watch_judge(watch_t *watch, uint64_t now, uint8_t *slow)
{
    themis_dfra_rates_t *all = calloc(watch->servers, sizeof *all);
    double *copy = calloc((size_t)watch->servers * SAMPLES, sizeof *copy);

    pthread_mutex_lock(&watch->lock);
    for (uint32_t i = 0; all && copy && i < watch->servers; i++) {
        rates_t *rates = &watch->rates[i];

        samples_drop(rates, now);
        for (uint32_t k = 0; k < rates->count; k++)
            copy[i * SAMPLES + k] = rates->rate[(rates->next + SAMPLES - rates->count + k) % SAMPLES];
        all[i] = (themis_dfra_rates_t){&copy[i * SAMPLES], rates->count};
        slow[i] = slow[i] && rates->count > 0;
    }
    pthread_mutex_unlock(&watch->lock);
    if (all && copy)
        themis_dfra_find_slow(all, watch->servers, slow);
    free(all);
    free(copy);
}

/* --- life ------------------------------------------------------------------------------------------------------------
 */

themis_status_t themis_server_allocation_watch_create(uint32_t servers, uint32_t self, watch_t **watch)
{
    watch_t *made = calloc(1, sizeof *made + servers * sizeof made->rates[0]);

    if (!made)
        return THEMIS_NO_MEMORY;
    pthread_mutex_init(&made->lock, NULL);
    made->servers = servers;
    made->self = self;
    *watch = made;
    return THEMIS_OK;
}

void themis_server_allocation_watch_destroy(watch_t *watch)
{
    job_t *job, *next;

    if (!watch)
        return;
    HASH_ITER(hh, watch->jobs, job, next)
    job_free(watch, job);
    pthread_mutex_destroy(&watch->lock);
    free(watch);
}
