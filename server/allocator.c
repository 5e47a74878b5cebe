/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "server/allocator.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "dfra/decision_json.h"
#include "server/history_job.h"
#include "util/clock.h"
#include "util/log.h"

#define LOOK (1 * THEMIS_NS_PER_S)
enum { LOOKS_PER_READING = 5, LOOKS_PER_SHARING = 20 };

typedef struct themis_server_allocator allocator_t;

/* --- the site ------------------------------------------------------------------------------------------------------
 */

/* The number of a server in "host:port, host:port"; UINT32_MAX: none. */
static uint32_t list_find(const char *list, const char *name)
{
    static const char separators[] = ", \t";
    size_t length = strlen(name), word;

    for (uint32_t i = 0;; i++, list += word) {
        list += strspn(list, separators);
        word = strcspn(list, separators);
        if (word == 0)
            return UINT32_MAX;
        if (word == length && memcmp(list, name, length) == 0)
            return i;
    }
}

themis_status_t themis_server_allocator_read_site(const themis_server_config_t *config, themis_dfra_named_site_t *site,
                                                  uint32_t **listed, char *error, size_t size)
{
    themis_status_t status = themis_dfra_site_read(site, config->allocate, error, size);

    if (status != THEMIS_OK)
        return THEMIS_CONFIG;
    uint32_t *numbers = calloc(site->site.servers, sizeof *numbers);
    if (!numbers)
        return THEMIS_NO_MEMORY;
    for (uint32_t i = 0; i < site->site.servers && status == THEMIS_OK; i++) {
        numbers[i] = list_find(config->servers, site->name[i]);
        if (numbers[i] != UINT32_MAX)
            continue;
        snprintf(error, size, "%s: server %s is not in the list of [server] servers", config->allocate, site->name[i]);
        status = THEMIS_CONFIG;
    }
    if (status == THEMIS_OK && listed)
        *listed = numbers;
    else
        free(numbers);
    return status;
}

/* --- decisions -----------------------------------------------------------------------------------------------------
 */

/* The jobs that run now; all members are owned. */
typedef struct running {
    allocator_t *allocator;
    themis_dfra_running_t *job;
    themis_dfra_application_t *known; /* of each job */
    uint32_t count, capacity;
    int failed; /* out of memory */
} running_t;

static uint64_t now_seconds(void)
{
    return themis_util_clock_wall() / THEMIS_NS_PER_S;
}

static void running_add(running_t *running, const themis_dfra_running_t *job, const themis_dfra_application_t *known)
{
    if (running->count == running->capacity) {
        running->failed = 1;
        return;
    }
    uint32_t *servers = calloc(job->servers, sizeof *servers);
    if (!servers) {
        running->failed = 1;
        return;
    }
    memcpy(servers, job->server, job->servers * sizeof *servers);
    running->job[running->count] = *job;
    running->job[running->count].server = servers;
    running->known[running->count++] = *known;
}

static void allocated_add(running_t *running, const themis_server_allocation_t *a)
{
    allocator_t *allocator = running->allocator;
    themis_dfra_application_t known;
    themis_dfra_running_t job = {.server = a->server, .servers = a->servers, .alone = a->kind != THEMIS_DFRA_DEFAULT};

    themis_server_allocation_runs_find(allocator->runs, a->application, a->user, a->nodes, &known);
    if (*a->job)
        themis_server_allocation_watch_observe(allocator->watch, a->user, a->job, themis_util_clock_now(), &job.now);
    running_add(running, &job, &known);
}

static int is_allocated(const allocator_t *allocator, const themis_server_allocation_watched_t *watched)
{
    return themis_server_allocations_find_job(allocator->allocations, watched->uid, watched->job) != NULL;
}

/* A job that nothing was decided for uses what it uses. */
static void watched_add(void *arg, const themis_server_allocation_watched_t *watched)
{
    running_t *running = arg;
    allocator_t *allocator = running->allocator;
    uint32_t count = allocator->site.site.servers, *server = calloc(count, sizeof *server);
    themis_dfra_running_t job = {.server = server, .now = watched->now};
    themis_dfra_application_t known;

    if (!server || is_allocated(allocator, watched)) {
        running->failed |= !server;
        free(server);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < watched->servers; k++)
            if (allocator->listed[i] == watched->server[k])
                server[job.servers++] = i;
    themis_server_allocation_runs_find(allocator->runs, watched->application, watched->uid, watched->nodes, &known);
    if (job.servers > 0)
        running_add(running, &job, &known);
    free(server);
}

static void running_release(running_t *running)
{
    for (uint32_t i = 0; i < running->count; i++)
        free((void *)(uintptr_t)running->job[i].server);
    free(running->job);
    free(running->known);
}

/* With the allocator's lock. */
static themis_status_t running_collect(allocator_t *allocator, running_t *running)
{
    *running = (running_t){.allocator = allocator};
    running->capacity = themis_server_allocations_count(allocator->allocations) + THEMIS_SERVER_ALLOCATION_WATCH_JOBS;
    running->job = calloc(running->capacity, sizeof *running->job);
    running->known = calloc(running->capacity, sizeof *running->known);
    if (!running->job || !running->known)
        return THEMIS_NO_MEMORY;
    for (const themis_server_allocation_t *a = themis_server_allocations_next(allocator->allocations, 0); a;
         a = a->next)
        allocated_add(running, a);
    themis_server_allocation_watch_each(allocator->watch, themis_util_clock_now(), watched_add, running);
    for (uint32_t i = 0; i < running->count; i++)
        running->job[i].known = running->known[i].records > 0 ? &running->known[i] : NULL;
    return running->failed ? THEMIS_NO_MEMORY : THEMIS_OK;
}

/* Whose servers the site has by their numbers there. */
static uint8_t *anomalous_of(const allocator_t *allocator)
{
    uint8_t *anomalous = calloc(allocator->site.site.servers, 1);

    for (uint32_t i = 0; anomalous && i < allocator->site.site.servers; i++)
        anomalous[i] = allocator->slow[allocator->listed[i]];
    return anomalous;
}

static themis_status_t decide(allocator_t *allocator, const themis_server_allocation_wish_t *wish,
                              const themis_dfra_application_t *known, themis_dfra_decision_t *decision, char *error,
                              size_t size)
{
    themis_dfra_job_t job = {known, wish->range, wish->ranges};
    running_t running;
    themis_status_t status = running_collect(allocator, &running);
    uint8_t *anomalous = anomalous_of(allocator);
    themis_dfra_pool_t pool = {anomalous, running.job, running.count};

    if (status == THEMIS_OK && !anomalous)
        status = THEMIS_NO_MEMORY;
    if (status == THEMIS_OK)
        status = themis_dfra_decide(&allocator->site.site, &pool, &job, decision, error, size);
    free(anomalous);
    running_release(&running);
    return status;
}

/* With the lock. */
static themis_status_t decision_keep(allocator_t *allocator, const themis_server_allocation_wish_t *wish,
                                     const themis_dfra_decision_t *decision, const char *reason,
                                     themis_server_allocation_t **kept)
{
    themis_server_allocation_t *a = themis_server_allocation_make(decision->servers);

    if (!a)
        return THEMIS_NO_MEMORY;
    memcpy(a->server, decision->server, decision->servers * sizeof a->server[0]);
    a->token = wish->token;
    a->user = wish->user;
    a->nodes = wish->nodes;
    a->kind = decision->kind;
    a->made = now_seconds();
    a->expires = a->made + wish->lease;
    snprintf(a->application, sizeof a->application, "%s", wish->application);
    snprintf(a->job, sizeof a->job, "%s", wish->job);
    snprintf(a->reason, sizeof a->reason, "%s", reason);
    themis_status_t status = themis_server_allocations_add(allocator->allocations, a, wish->is_limited);
    if (status != THEMIS_OK)
        free(a);
    else
        *kept = a;
    return status;
}

static void reason_add_unreadable(allocator_t *allocator, char *reason, size_t size)
{
    const char *directory = themis_server_allocation_runs_unreadable(allocator->runs);
    size_t length = strlen(reason);

    if (directory)
        snprintf(reason + length, size - length, " The history in %s cannot be read.", directory);
}

/* With the lock. */
static themis_status_t allocate(allocator_t *allocator, const themis_server_allocation_wish_t *wish, json_t **reply,
                                char *error, size_t size)
{
    themis_dfra_application_t run;
    themis_dfra_decision_t decision;
    char reason[THEMIS_SERVER_ALLOCATION_REASON];
    themis_server_allocation_t *kept = NULL;

    themis_server_allocation_runs_find(allocator->runs, wish->application, wish->user, wish->nodes, &run);
    const themis_dfra_application_t *known = run.records > 0 ? &run : NULL;
    themis_status_t status = decide(allocator, wish, known, &decision, error, size);
    if (status != THEMIS_OK)
        return status;
    themis_dfra_explain(&allocator->site.site, known, &decision, reason, sizeof reason);
    reason_add_unreadable(allocator, reason, sizeof reason);
    json_t *json = themis_dfra_decision_json(&allocator->site, &decision, reason, run.records);
    status = json ? decision_keep(allocator, wish, &decision, reason, &kept) : THEMIS_NO_MEMORY;
    themis_dfra_release(&decision);
    if (status != THEMIS_OK) {
        json_decref(json);
        return status;
    }
    json_object_set_new(json, "id", json_integer((json_int_t)kept->id));
    json_object_set_new(json, "expires", json_integer((json_int_t)kept->expires));
    json_object_set_new(json, "lease_s", json_integer((json_int_t)wish->lease));
    *reply = json;
    return THEMIS_OK;
}

themis_status_t themis_server_allocator_allocate(themis_server_t *server, const themis_server_allocation_wish_t *wish,
                                                 json_t **reply, char *error, size_t size)
{
    allocator_t *allocator = server->allocator;
    themis_status_t status = THEMIS_OK;

    if (!themis_server_allocation_runs_are_read(allocator->runs)) {
        snprintf(error, size, "the history is being read; try again");
        return THEMIS_BUSY;
    }
    pthread_mutex_lock(&allocator->lock);
    uint64_t now = now_seconds();
    themis_server_allocations_expire(allocator->allocations, now);
    const themis_server_allocation_t *known =
        themis_server_allocations_find_token(allocator->allocations, wish->user, wish->token);
    if (!known && wish->is_once)
        known = themis_server_allocations_find_job(allocator->allocations, wish->user, wish->job);
    if (known) {
        *reply = themis_server_allocation_json(known, &allocator->site);
        status = *reply ? THEMIS_OK : THEMIS_NO_MEMORY;
        /* what has expired is not in the table */
        json_object_set_new(*reply, "lease_s", json_integer((json_int_t)(known->expires - now)));
    } else {
        status = allocate(allocator, wish, reply, error, size);
    }
    pthread_mutex_unlock(&allocator->lock);
    return status;
}

/* --- the thread -----------------------------------------------------------------------------------------------------
 */

void themis_server_allocator_note(themis_server_t *server, const themis_proto_table_t *table)
{
    if (server->allocator)
        themis_server_allocation_watch_table(server->allocator->watch, table, NULL, themis_util_clock_now());
}

/* With the server's lock, under which no other is taken; returns how many there are in `counters` [capacity]. */
static size_t counters_copy(themis_server_t *server, int with_sharing, themis_server_allocation_counters_t *counters,
                            size_t capacity)
{
    size_t count = 0;

    for (themis_sched_job_t *job = themis_sched_job_table_first(server->jobs); job && count < capacity;
         job = themis_sched_job_table_next(server->jobs, job)) {
        themis_server_allocation_counters_t *to = &counters[count++];

        *to = (themis_server_allocation_counters_t){.identity = job->identity,
                                                    .cost = job->cost,
                                                    .requests = job->requests,
                                                    .metadata = job->metadata,
                                                    .metadata_wait_ns = job->metadata_wait_ns};
        memcpy(to->application, job->application, sizeof to->application);
        to->shared_file = with_sharing && job->history &&
                          themis_server_history_sharing_kind(&job->history->sharing) == THEMIS_HISTORY_SHARING_N_1;
    }
    return count;
}

static void jobs_look(themis_server_t *server, int with_sharing)
{
    allocator_t *allocator = server->allocator;
    uint64_t now = themis_util_clock_now();

    pthread_mutex_lock(&server->lock);
    size_t capacity = 64 + 2 * (size_t)themis_sched_job_table_count(server->jobs); /* more may come meanwhile */
    pthread_mutex_unlock(&server->lock);
    themis_server_allocation_counters_t *counters = calloc(capacity, sizeof *counters);
    if (!counters)
        return;
    pthread_mutex_lock(&server->lock);
    size_t count = counters_copy(server, with_sharing, counters, capacity);
    pthread_mutex_unlock(&server->lock);
    for (size_t i = 0; i < count; i++)
        themis_server_allocation_watch_job(allocator->watch, &counters[i], now);
    free(counters);
    themis_server_allocation_watch_expire(allocator->watch, now);
}

static void servers_judge(allocator_t *allocator)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < allocator->site.site.servers; i++)
        count = allocator->listed[i] >= count ? allocator->listed[i] + 1 : count;
    uint8_t *before = calloc(count, 1);
    if (!before)
        return;
    pthread_mutex_lock(&allocator->lock);
    memcpy(before, allocator->slow, count);
    themis_server_allocation_watch_judge(allocator->watch, themis_util_clock_now(), allocator->slow);
    for (uint32_t i = 0; i < allocator->site.site.servers; i++) {
        uint32_t server = allocator->listed[i];

        if (allocator->slow[server] && !before[server])
            themis_warn("server %s is much slower than the others, and is not allocated", allocator->site.name[i]);
        if (!allocator->slow[server] && before[server])
            themis_info("server %s is allocated again", allocator->site.name[i]);
    }
    pthread_mutex_unlock(&allocator->lock);
    free(before);
}

static void look(themis_server_t *server, unsigned number)
{
    allocator_t *allocator = server->allocator;

    if (number % LOOKS_PER_READING == 0)
        themis_server_allocation_runs_refresh(allocator->runs, &allocator->stop);
    jobs_look(server, number % LOOKS_PER_SHARING == 0);
    servers_judge(allocator);
    pthread_mutex_lock(&allocator->lock);
    themis_server_allocations_expire(allocator->allocations, now_seconds());
    themis_server_allocation_t *expired = themis_server_allocations_take_expired(allocator->allocations);
    pthread_mutex_unlock(&allocator->lock);
    if (expired)
        themis_server_allocations_forget(allocator->allocations, expired);
}

static void *allocator_main(void *arg)
{
    themis_server_t *server = arg;
    allocator_t *allocator = server->allocator;

    for (unsigned number = 0; !atomic_load(&allocator->stop); number++) {
        uint64_t due = themis_util_clock_now() + LOOK;
        struct timespec until = {(time_t)(due / THEMIS_NS_PER_S), (long)(due % THEMIS_NS_PER_S)};

        look(server, number);
        pthread_mutex_lock(&allocator->lock);
        if (!atomic_load(&allocator->stop))
            pthread_cond_clockwait(&allocator->kick, &allocator->lock, CLOCK_MONOTONIC, &until);
        pthread_mutex_unlock(&allocator->lock);
    }
    return NULL;
}

/* --- life -----------------------------------------------------------------------------------------------------------
 */

static themis_status_t allocator_fill(themis_server_t *server, allocator_t *made)
{
    const themis_server_config_t *config = &server->config;
    char error[THEMIS_SERVER_CONFIG_TEXT] = "";
    themis_status_t status = themis_server_allocator_read_site(config, &made->site, &made->listed, error, sizeof error);

    if (status != THEMIS_OK) {
        themis_error("%s", *error ? error : themis_status_string(status));
        return status;
    }
    made->slow = calloc((size_t)config->count, 1);
    status = made->slow ? THEMIS_OK : THEMIS_NO_MEMORY;
    if (status == THEMIS_OK)
        status = themis_server_allocation_runs_create(
            *config->allocate_history ? config->allocate_history : config->history, &made->runs);
    if (status == THEMIS_OK)
        status = themis_server_allocation_watch_create((uint32_t)config->count, (uint32_t)config->index, &made->watch);
    if (status == THEMIS_OK)
        status =
            themis_server_allocations_create(config->state, (uint32_t)config->index, &made->site, &made->allocations);
    if (status == THEMIS_OK && !*config->state)
        themis_warn("allocations of servers end with this server, which has no key state");
    return status;
}

themis_status_t themis_server_allocator_create(themis_server_t *server)
{
    if (!*server->config.allocate)
        return THEMIS_OK;
    allocator_t *made = calloc(1, sizeof *made);
    if (!made)
        return THEMIS_NO_MEMORY;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->kick, NULL);
    server->allocator = made;
    return allocator_fill(server, made);
}

themis_status_t themis_server_allocator_start(themis_server_t *server)
{
    allocator_t *allocator = server->allocator;

    if (!allocator)
        return THEMIS_OK;
    int cause = pthread_create(&allocator->thread, NULL, allocator_main, server);
    allocator->started = cause == 0;
    if (cause)
        themis_error("cannot start a thread for allocations: %s", strerror(cause));
    return cause ? THEMIS_NO_MEMORY : THEMIS_OK;
}

void themis_server_allocator_destroy(themis_server_t *server)
{
    allocator_t *allocator = server->allocator;

    if (!allocator)
        return;
    if (allocator->started) {
        pthread_mutex_lock(&allocator->lock);
        atomic_store(&allocator->stop, 1);
        pthread_cond_signal(&allocator->kick);
        pthread_mutex_unlock(&allocator->lock);
        pthread_join(allocator->thread, NULL);
    }
    server->allocator = NULL;
    themis_server_allocations_destroy(allocator->allocations);
    themis_server_allocation_watch_destroy(allocator->watch);
    themis_server_allocation_runs_destroy(allocator->runs);
    themis_dfra_site_release(&allocator->site);
    pthread_cond_destroy(&allocator->kick);
    pthread_mutex_destroy(&allocator->lock);
    free(allocator->listed);
    free(allocator->slow);
    free(allocator);
}
