/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/lifecycle.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include <utlist.h>
#include "server/allocator.h"
#include "server/auth.h"
#include "server/capability_key.h"
#include "server/client_session.h"
#include "server/direct.h"
#include "server/dispatch.h"
#include "server/engine.h"
#include "server/history.h"
#include "server/lock_requests.h"
#include "server/monitoring.h"
#include "server/peers.h"
#include "server/pending.h"
#include "server/server_policy.h"
#include "server/settler.h"
#include "server/slices.h"
#include "util/clock.h"
#include "util/log.h"

enum { SLICES_PER_WORKER = 2 };

static int has_arena(const themis_server_config_t *config)
{
    return strcmp(config->store, "arena") == 0;
}

/* Does what is stored end with the server? */
static int is_volatile(const themis_server_config_t *config)
{
    return has_arena(config) && !*config->directory;
}

static themis_proto_layout_t default_layout(const themis_server_config_t *config)
{
    return (themis_proto_layout_t){
        .stripe_size = config->stripe_size, .count = (uint32_t)config->stripe_count, .first = UINT32_MAX};
}

/* What is known of clients and their requests. */
static themis_status_t tables_create(themis_server_t *server)
{
    themis_status_t status = themis_sched_job_table_create(&server->jobs);

    if (status == THEMIS_OK)
        status = themis_server_sessions_create(server->jobs, server->incarnation, &server->sessions);
    if (status == THEMIS_OK)
        status = themis_server_tombstones_create(&server->tombstones);
    if (status == THEMIS_OK)
        status = themis_server_locks_create(&themis_server_lock_requests_events, server, &server->locks);
    /* there may be locks from before, and other servers that know their epochs */
    if (status == THEMIS_OK)
        status = themis_server_fences_create(themis_util_clock_wall(), &server->fences);
    return status;
}

static themis_status_t sched_create(themis_server_t *server)
{
    const themis_server_config_t *config = &server->config;
    themis_sched_options_t options;
    char error[512] = "";

    themis_sched_options_init(&options);
    options.policy = config->policy;
    options.draw = config->draw;
    options.quantum = config->quantum;
    options.bandwidth = config->store_bandwidth;
    options.seed = server->incarnation;
    options.gift_interval = config->gift_interval;
    options.tbf_rate = (double)config->tbf_rate;
    options.node_bandwidth = config->node_bandwidth;
    themis_status_t status =
        themis_sched_create(&options, themis_util_clock_now(), error, sizeof error, &server->sched);
    if (status == THEMIS_OK)
        themis_server_policy_load_plan(server);
    else if (*error)
        themis_error("%s", error);
    return status;
}

/* What clients know the store by. That of an arena in memory ends with the process. */
static themis_status_t identity_create(themis_server_t *server)
{
    const themis_server_config_t *config = &server->config;
    char text[THEMIS_STORE_IDENTITY_TEXT];
    themis_status_t status = THEMIS_OK;

    themis_store_identity_of_boot(&server->boot);
    if (is_volatile(config))
        themis_store_identity_make(&server->identity);
    else
        status = themis_store_identity_of_directories(config->store, config->state, config->directory,
                                                      (uint32_t)config->index, &server->identity);
    if (status == THEMIS_OK)
        themis_info("store %s", themis_store_identity_text(&server->identity, text));
    return status;
}

static themis_status_t store_create(themis_server_t *server)
{
    const themis_server_config_t *config = &server->config;
    themis_store_options_t options = {.type = config->store,
                                      .size = config->size,
                                      .path = has_arena(config) ? config->file : config->directory,
                                      .directory = has_arena(config) ? config->directory : NULL,
                                      .boot = &server->boot,
                                      .index = (uint32_t)config->index,
                                      .identity = &server->identity,
                                      .warm = config->warm,
                                      .direct = strcmp(config->direct, "off") != 0};

    return themis_store_create(&options, &server->store);
}

static themis_status_t names_create(themis_server_t *server)
{
    const themis_server_config_t *config = &server->config;
    themis_server_namespace_options_t options = {.directory = config->state,
                                                 .fresh = is_volatile(config), /* its bytes end with the server */
                                                 .index = (uint32_t)config->index,
                                                 .identity = is_volatile(config) ? NULL : &server->identity,
                                                 .servers = (uint32_t)config->count,
                                                 .layout = default_layout(config)};

    return themis_server_namespace_create(&options, &server->names);
}

/* What outlives the server next to the names. */
static themis_status_t records_load(themis_server_t *server)
{
    themis_server_name_db_t *db = themis_server_namespace_db(server->names);
    themis_status_t status = themis_server_counters_create(db, &server->counters);

    if (status == THEMIS_OK)
        status = themis_server_object_lists_create(themis_server_namespace_any_db(server->names),
                                                   (uint32_t)server->config.count, &server->object_lists);
    if (status == THEMIS_OK)
        status = themis_server_durable_replies_create(db, &server->durable_replies);
    if (status == THEMIS_OK)
        status = themis_server_lock_holders_create(db, server->locks, server->started + server->config.lease,
                                                   &server->lock_holders);
    return status;
}

/* A key that the state directory keeps is read once that is this server's, any other one before anything is made. */
static int keeps_key(const themis_server_config_t *config)
{
    return config->key_fd < 0 && !*config->key && *config->state;
}

static themis_status_t capabilities_create(themis_server_t *server)
{
    themis_server_capability_key_t key;
    themis_status_t status = themis_server_capability_key_load(&server->config, &key);

    if (status == THEMIS_OK)
        status = themis_server_auth_load(&server->config, &key, &server->net_options);
    if (status == THEMIS_OK)
        status = themis_server_capabilities_create(key.bytes, key.length, server->config.capability_lifetime,
                                                   &server->capabilities);
    explicit_bzero(&key, sizeof key);
    return status;
}

static themis_status_t capabilities_create_first(themis_server_t *server)
{
    return keeps_key(&server->config) ? THEMIS_OK : capabilities_create(server);
}

static themis_status_t capabilities_create_last(themis_server_t *server)
{
    return keeps_key(&server->config) ? capabilities_create(server) : THEMIS_OK;
}

static themis_status_t net_create(themis_server_t *server)
{
    themis_server_config_t *config = &server->config;
    themis_status_t status =
        themis_net_create(&server->net_options, &themis_server_dispatch_handlers, server, &server->net);

    themis_net_auth_wipe(&server->net_options.auth);
    if (status == THEMIS_OK)
        status = themis_net_listen(server->net, config->listen, (uint16_t)config->port, &server->port);
    if (status == THEMIS_OK && !*config->name)
        snprintf(config->name, sizeof config->name, "%.200s:%u", *config->listen ? config->listen : "localhost",
                 server->port);
    return status;
}

static themis_status_t workers_create(themis_server_t *server)
{
    themis_server_workers_t *workers = &server->workers;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    workers->count = (uint32_t)server->config.workers;
    if (workers->count == 0)
        workers->count = cores > 2 ? (uint32_t)cores : 2;
    server->slices.limit = workers->count * SLICES_PER_WORKER;
    workers->threads = calloc(workers->count, sizeof *workers->threads);
    return workers->threads ? THEMIS_OK : THEMIS_NO_MEMORY;
}

themis_status_t themis_server_create(const themis_server_config_t *config, themis_server_t **server)
{
    static themis_status_t (*const parts[])(themis_server_t *) = {capabilities_create_first,
                                                                  workers_create,
                                                                  tables_create,
                                                                  sched_create,
                                                                  identity_create,
                                                                  store_create,
                                                                  themis_server_direct_create,
                                                                  names_create,
                                                                  records_load,
                                                                  themis_server_policy_load,
                                                                  capabilities_create_last,
                                                                  themis_server_slices_create,
                                                                  net_create,
                                                                  themis_server_peers_create,
                                                                  themis_server_settler_create,
                                                                  themis_server_monitoring_create,
                                                                  themis_server_history_create,
                                                                  themis_server_allocator_create};
    themis_server_t *made = calloc(1, sizeof *made);
    themis_status_t status = THEMIS_OK;

    if (!made) {
        themis_error("cannot start: %s", themis_status_string(THEMIS_NO_MEMORY));
        return THEMIS_NO_MEMORY;
    }
    made->config = *config;
    themis_net_options_default(&made->net_options);
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->workers.idle, NULL);
    if (getrandom(&made->incarnation, sizeof made->incarnation, 0) != sizeof made->incarnation)
        made->incarnation = themis_util_clock_wall();
    made->started = themis_util_clock_now();
    themis_server_pending_init(made);
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == THEMIS_OK; i++)
        status = parts[i](made);
    if (status == THEMIS_OK) {
        *server = made;
        return THEMIS_OK;
    }
    if (status == THEMIS_NO_MEMORY)
        themis_error("cannot start: %s", themis_status_string(status));
    themis_server_destroy(made);
    return status;
}

themis_status_t themis_server_start(themis_server_t *server)
{
    themis_status_t status = themis_server_engine_start(server);

    if (status == THEMIS_OK)
        status = themis_server_history_start(server);
    if (status == THEMIS_OK)
        status = themis_server_allocator_start(server);
    if (status == THEMIS_OK)
        status = themis_server_settler_start(server);
    if (status == THEMIS_OK)
        status = themis_server_peers_start(server);
    if (status != THEMIS_OK)
        themis_server_engine_stop(server);
    return status;
}

void themis_server_reload(themis_server_t *server, const themis_server_config_t *fresh)
{
    themis_server_config_t *config = &server->config;
    char kept[1024], error[512] = "", policy[sizeof config->policy], draw[sizeof config->draw];
    themis_util_log_level_t level;

    pthread_mutex_lock(&server->lock);
    memcpy(policy, config->policy, sizeof policy);
    memcpy(draw, config->draw, sizeof draw);
    themis_server_config_reload(config, fresh, kept, sizeof kept);
    themis_server_policy_load_plan(server);
    themis_status_t status = themis_server_policy_reload(server, policy, error, sizeof error);
    if (status != THEMIS_OK) {
        memcpy(config->policy, policy, sizeof policy);
        memcpy(config->draw, draw, sizeof draw);
    }
    themis_proto_layout_t layout = default_layout(config);
    themis_server_direct_reload(server);
    themis_server_peers_kick(server); /* lambda may have changed */
    pthread_mutex_unlock(&server->lock);
    themis_server_policy_keep(server);
    themis_server_namespace_set_layout(server->names, &layout);
    themis_server_capabilities_set_lifetime(server->capabilities, config->capability_lifetime);
    if (themis_util_log_level_parse(fresh->log, &level) == 0)
        themis_util_log_set_level(level);
    if (status != THEMIS_OK)
        themis_error("%s; the old policy stays", error);
    if (*kept)
        themis_warn("these keys take effect only after a restart: %s", kept);
    themis_info("configuration reloaded");
}

static void sessions_end(themis_server_t *server)
{
    themis_server_session_t *session;

    pthread_mutex_lock(&server->lock);
    while ((session = themis_server_sessions_first(server->sessions)))
        themis_server_session_end(server, session);
    while (server->ready) {
        themis_server_request_t *request = server->ready;
        DL_DELETE(server->ready, request);
        themis_server_request_free(request);
    }
    themis_server_requests_close(server);
    pthread_mutex_unlock(&server->lock);
}

void themis_server_destroy(themis_server_t *server)
{
    if (!server)
        return;
    themis_server_monitoring_destroy(server);
    themis_server_settler_stop(server);
    themis_server_peers_destroy(server);
    themis_server_settler_destroy(server);
    themis_server_allocator_destroy(server);
    themis_server_history_destroy(server);
    if (server->sessions)
        sessions_end(server);
    themis_server_pending_clear(server);
    themis_net_destroy(server->net);
    themis_server_direct_destroy(server);
    themis_server_sessions_destroy(server->sessions);
    themis_server_lock_holders_destroy(server->lock_holders);
    themis_server_locks_destroy(server->locks);
    themis_server_fences_destroy(server->fences);
    themis_server_durable_replies_destroy(server->durable_replies);
    themis_server_counters_destroy(server->counters);
    themis_server_object_lists_destroy(server->object_lists);
    themis_sched_destroy(server->sched);
    themis_sched_job_table_destroy(server->jobs);
    themis_server_tombstones_destroy(server->tombstones);
    themis_server_capabilities_destroy(server->capabilities);
    themis_server_namespace_destroy(server->names);
    themis_server_slices_destroy(server);
    themis_store_destroy(server->store);
    pthread_cond_destroy(&server->workers.idle);
    pthread_mutex_destroy(&server->lock);
    free(server->workers.threads);
    free(server);
}
