/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "server/history.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <utlist.h>
#include "server/history_job.h"
#include "util/clock.h"
#include "util/log.h"

/* Jobs at a time; others have no record. And files that a session is noted to access in one interval. */
enum { MOST_JOBS = 1024, MOST_NOTES = 64 };

typedef themis_server_history_job_t job_t;

struct themis_server_history {
    themis_server_history_store_t *store;
    uint64_t interval, update; /* ns */
    pthread_t thread;
    int started;
    /* guarded by the server's lock */
    pthread_cond_t kick;
    int stop;
    uint32_t jobs;
    uint64_t tick;   /* counts intervals, from 1 */
    uint64_t number; /* of the last job */
    job_t *fresh;    /* list: the thread has not seen them */
    /* the thread's */
    job_t *known; /* list */
};

/* --- jobs; with the lock ------------------------------------------------------------------------------------------ */

static job_t *job_begin(themis_server_t *server, themis_sched_job_t *job)
{
    struct themis_server_history *history = server->history;
    job_t *made = NULL;

    if (history->jobs < MOST_JOBS)
        made = themis_server_history_job_create(job, themis_util_clock_now(), themis_util_clock_wall(),
                                                (double)history->interval / 1e9);
    if (!made) {
        themis_server_history_store_count_dropped(history->store);
        return NULL;
    }
    /* differs from those of earlier servers too, whose records of running jobs may be there still */
    made->number = history->number = made->wall > history->number ? made->wall : history->number + 1;
    job->history = made;
    history->jobs++;
    DL_APPEND(history->fresh, made);
    pthread_cond_signal(&history->kick);
    return made;
}

/* The first name that a client has given counts. */
static void name_set(char name[THEMIS_HISTORY_NAME_BYTES], const char *text)
{
    if (*name == '\0' && text)
        strncpy(name, text, THEMIS_HISTORY_NAME_BYTES - 1);
}

void themis_server_history_join(themis_server_t *server, themis_server_session_t *session)
{
    themis_server_history_return(session);
    if (!server->history)
        return;
    job_t *job = session->job->history ? session->job->history : job_begin(server, session->job);
    if (!job)
        return;
    session->noted.object = 0; /* it may have been noted for an earlier job */
    name_set(job->application, session->application);
    name_set(job->project, session->project);
    if (session->job->clients > job->most_clients)
        job->most_clients = session->job->clients;
}

void themis_server_history_leave(themis_server_session_t *session)
{
    if (!session->job->history)
        return;
    session->left = session->job;
    session->job->history->silent++;
}

void themis_server_history_return(themis_server_session_t *session)
{
    if (session->left && session->left->history) /* it has none once the history is destroyed */
        session->left->history->silent--;
    session->left = NULL;
}

int themis_server_history_holds(const themis_sched_job_t *job)
{
    return job->history && job->history->silent > 0;
}

void themis_server_history_end(themis_server_t *server, themis_sched_job_t *job)
{
    job_t *known = job->history;

    if (!known)
        return;
    themis_server_history_job_count(job, themis_util_clock_now(), &known->final);
    known->job = NULL;
    job->history = NULL;
}

void themis_server_history_note(themis_server_t *server, themis_server_session_t *session, uint64_t object)
{
    struct themis_server_history *history = server->history;

    if (!history || !session->job || !session->job->history)
        return;
    if (session->noted.tick != history->tick) {
        session->noted.tick = history->tick;
        session->noted.count = 0;
    }
    if (session->noted.count >= MOST_NOTES)
        return;
    session->noted.count++;
    session->noted.object = object;
    job_t *job = session->job->history;
    themis_server_history_sharing_note(&job->sharing, session->number, session->host, object);
}

/* --- samples and records; in the thread --------------------------------------------------------------------------- */

static int is_due(const struct themis_server_history *history, const job_t *job, uint64_t now)
{
    return job->ended || now >= job->written + history->update;
}

/* With the lock. */
static void counters_collect(struct themis_server_history *history, uint64_t now)
{
    job_t *job;

    DL_CONCAT(history->known, history->fresh);
    history->fresh = NULL;
    history->tick++;
    DL_FOREACH(history->known, job)
    {
        job->ended = job->job == NULL;
        if (job->ended)
            job->now = job->final;
        else
            themis_server_history_job_count(job->job, now, &job->now);
        if (is_due(history, job, now))
            themis_server_history_job_summarise(job);
    }
}

/* The record of the running job stays where the last one is lost: the next server appends it. */
static void record_write(struct themis_server_history *history, job_t *job, int interim)
{
    char *line = themis_server_history_job_line(job, interim);
    themis_status_t status = THEMIS_NO_MEMORY;

    job->written = job->now.time;
    if (!line)
        themis_server_history_store_count_dropped(history->store);
    else
        status = themis_server_history_store_append(history->store, job->user, line,
                                                    themis_util_clock_wall() / THEMIS_NS_PER_S);
    if (job->has_running && status == THEMIS_OK)
        themis_server_history_store_drop_running(history->store, job->user, job->number);
    free(line);
}

static void running_write(struct themis_server_history *history, job_t *job)
{
    char *line = themis_server_history_job_line(job, 1);

    job->written = job->now.time;
    if (line && themis_server_history_store_put_running(history->store, job->user, job->number, line) == THEMIS_OK)
        job->has_running = 1;
    free(line);
}

/* Without the lock. Returns how many jobs have ended. */
static uint32_t records_update(struct themis_server_history *history, uint64_t now)
{
    job_t *job, *next;
    uint32_t ended = 0;

    DL_FOREACH_SAFE(history->known, job, next)
    {
        themis_server_history_job_sample(job);
        if (!is_due(history, job, now))
            continue;
        if (themis_server_history_job_is_worth(job)) {
            if (job->ended)
                record_write(history, job, 0);
            else
                running_write(history, job);
        }
        if (!job->ended)
            continue;
        ended++;
        DL_DELETE(history->known, job);
        themis_server_history_job_destroy(job);
    }
    return ended;
}

/* Until the next interval begins, of those that all servers have, or without a job until there is one. */
static void pause_until_due(themis_server_t *server)
{
    struct themis_server_history *history = server->history;
    uint64_t until = themis_util_clock_now() + history->interval - themis_util_clock_wall() % history->interval;
    struct timespec due = {.tv_sec = (time_t)(until / THEMIS_NS_PER_S), .tv_nsec = (long)(until % THEMIS_NS_PER_S)};

    if (!history->known && !history->fresh)
        pthread_cond_wait(&history->kick, &server->lock);
    else
        while (!history->stop && themis_util_clock_now() < until)
            pthread_cond_clockwait(&history->kick, &server->lock, CLOCK_MONOTONIC, &due);
}

static void *history_main(void *arg)
{
    themis_server_t *server = arg;
    struct themis_server_history *history = server->history;

    pthread_mutex_lock(&server->lock);
    while (!history->stop) {
        pause_until_due(server);
        uint64_t now = themis_util_clock_now();
        counters_collect(history, now);
        pthread_mutex_unlock(&server->lock);
        uint32_t ended = records_update(history, now);
        pthread_mutex_lock(&server->lock);
        history->jobs -= ended;
    }
    pthread_mutex_unlock(&server->lock);
    return NULL;
}

/* --- life; without the lock --------------------------------------------------------------------------------------- */

themis_status_t themis_server_history_create(themis_server_t *server)
{
    const themis_server_config_t *config = &server->config;
    const themis_server_history_store_options_t options = {.directory = config->history,
                                                           .name = config->name,
                                                           .keep = config->history_keep / THEMIS_NS_PER_S,
                                                           .size = config->history_size,
                                                           .is_public = strcmp(config->history_public, "yes") == 0};

    if (!*config->history)
        return THEMIS_OK;
    struct themis_server_history *made = calloc(1, sizeof *made);
    if (!made)
        return THEMIS_NO_MEMORY;
    made->interval = config->history_interval;
    made->update = config->history_update;
    made->tick = 1;
    pthread_cond_init(&made->kick, NULL);
    server->history = made;
    return themis_server_history_store_create(&options, &made->store);
}

themis_status_t themis_server_history_start(themis_server_t *server)
{
    struct themis_server_history *history = server->history;

    if (!history)
        return THEMIS_OK;
    int cause = pthread_create(&history->thread, NULL, history_main, server);
    history->started = cause == 0;
    if (cause)
        themis_error("cannot start a thread for the history of jobs: %s", strerror(cause));
    return cause ? THEMIS_NO_MEMORY : THEMIS_OK;
}

/* The last look at all jobs. */
static void jobs_leave(themis_server_t *server)
{
    struct themis_server_history *history = server->history;
    job_t *job, *next;

    pthread_mutex_lock(&server->lock);
    counters_collect(history, themis_util_clock_now());
    DL_FOREACH_SAFE(history->known, job, next)
    {
        themis_server_history_job_sample(job);
        themis_server_history_job_summarise(job);
        if (themis_server_history_job_is_worth(job))
            record_write(history, job, !job->ended && (job->now.clients > 0 || job->silent > 0));
        if (job->job)
            job->job->history = NULL;
        DL_DELETE(history->known, job);
        themis_server_history_job_destroy(job);
    }
    pthread_mutex_unlock(&server->lock);
}

void themis_server_history_destroy(themis_server_t *server)
{
    struct themis_server_history *history = server->history;

    if (!history)
        return;
    if (history->started) {
        pthread_mutex_lock(&server->lock);
        history->stop = 1;
        pthread_cond_signal(&history->kick);
        pthread_mutex_unlock(&server->lock);
        pthread_join(history->thread, NULL);
    }
    if (history->store)
        jobs_leave(server);
    themis_server_history_store_destroy(history->store);
    pthread_cond_destroy(&history->kick);
    free(history);
    server->history = NULL;
}

void themis_server_history_counts(const themis_server_t *server, themis_server_history_counts_t *counts)
{
    *counts = (themis_server_history_counts_t){0};
    if (server->history)
        themis_server_history_store_counts(server->history->store, counts);
}
