/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "server/peers.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>
#include "sched/lambda_exchange.h"
#include "server/allocator.h"
#include "server/server.h"
#include "server/server_policy.h"
#include "util/clock.h"
#include "util/log.h"

#define CONNECT_TIMEOUT (THEMIS_NS_PER_S / 2)
#define RETRY_AFTER (2 * THEMIS_NS_PER_S)
#define START_UP (10 * THEMIS_NS_PER_S)
#define POLICIES_MAY_DIFFER (2 * THEMIS_NS_PER_S) /* while one is set on all servers */

enum { DIFFERENCE_BYTES = 512 };

typedef struct peer {
    char host[256];
    uint16_t port;
    themis_net_conn_t *conn; /* a reference, or NULL */
    uint64_t next_try;       /* ns */
    uint64_t next_id;        /* of messages */
    uint64_t warn_after;     /* ns; servers that start together find each other without a warning */
    int warned;
    int heard;             /* 1: it has sent something, so it is there, since it was tried last; atomic */
    uint64_t heard_failed; /* ns; when it was last tried for that, and could not be reached all the same */
    uint64_t lost;         /* wall-clock ns, since when it cannot be reached, or 0; atomic */
} peer_t;

/* The table as messages, each in THEMIS_PROTO_MAX_MESSAGE bytes. */
typedef struct parts {
    uint8_t *messages;
    size_t *lengths;
    uint32_t count, capacity;
} parts_t;

typedef struct themis_server_peers {
    themis_sched_lambda_exchange_t *exchange;
    uint64_t session;
    pthread_t thread;
    parts_t parts; /* of the thread */
    /* guarded by the server's lock */
    int started, stop;
    int fresh;         /* 1: a table has come since the last computation */
    uint64_t computed; /* ns; when the last computation ended, and how long it took */
    uint64_t took;
    uint64_t differ_since; /* ns; since when policies differ, or 0 */
    int differ;            /* 1: for longer than POLICIES_MAY_DIFFER */
    pthread_cond_t kick;
    uint32_t count, self;
    peer_t list[];
} themis_server_peers_t;

/* --- connections -------------------------------------------------------------------------------------------------- */

static void peer_disconnect(peer_t *peer, uint64_t now)
{
    if (peer->conn) {
        themis_net_conn_close(peer->conn);
        themis_net_conn_unref(peer->conn);
        peer->conn = NULL;
    }
    peer->next_try = now + RETRY_AFTER;
}

static themis_proto_header_t request_header(themis_proto_opcode_t opcode, uint64_t id)
{
    return (themis_proto_header_t){
        .version = THEMIS_PROTO_VERSION, .kind = THEMIS_PROTO_REQUEST, .opcode = (uint16_t)opcode, .id = id};
}

themis_status_t themis_server_peers_hello(const themis_server_t *server, uint64_t session, uint64_t id,
                                          themis_net_conn_t *conn)
{
    const char *name = server->config.name;
    uint8_t bytes[2048];
    size_t length;
    themis_proto_header_t header = request_header(THEMIS_OP_HELLO, id);
    themis_proto_hello_t hello = {.session = session,
                                  .job = {"server", 6},
                                  .uid = geteuid(),
                                  .gid = getegid(),
                                  .nodes = 1,
                                  .priority = 1,
                                  .host = {name, (uint32_t)strnlen(name, THEMIS_PROTO_MAX_TEXT)},
                                  .pid = (uint32_t)getpid(),
                                  .role = THEMIS_SERVER_ROLE_SERVER};
    themis_status_t status = themis_proto_encode(&header, &hello, bytes, sizeof bytes, &length);

    return status == THEMIS_OK ? themis_net_send(conn, bytes, length) : status;
}

static void peer_lose(peer_t *peer)
{
    if (peer->lost == 0)
        __atomic_store_n(&peer->lost, themis_util_clock_wall(), __ATOMIC_RELAXED);
    __atomic_store_n(&peer->heard, 0, __ATOMIC_RELAXED);
    peer_disconnect(peer, themis_util_clock_now());
}

/* Returns 0 if connecting failed, possibly after CONNECT_TIMEOUT. */
static int peer_connect(themis_server_t *server, peer_t *peer)
{
    uint64_t now = themis_util_clock_now();

    int heard = __atomic_load_n(&peer->heard, __ATOMIC_RELAXED) && now - peer->heard_failed >= RETRY_AFTER;

    if (peer->conn || (now < peer->next_try && !heard))
        return 1;
    __atomic_store_n(&peer->heard, 0, __ATOMIC_RELAXED);
    themis_status_t status = themis_net_connect(server->net, peer->host, peer->port, CONNECT_TIMEOUT, &peer->conn);
    if (status == THEMIS_OK)
        status = themis_server_peers_hello(server, server->peers->session, peer->next_id++, peer->conn);
    else
        peer->conn = NULL;
    if (status == THEMIS_OK) {
        peer->warn_after = now; /* from now on it would be lost, not late */
        if (peer->warned)
            themis_info("server %s:%u is back", peer->host, peer->port);
        peer->warned = 0;
        __atomic_store_n(&peer->lost, 0, __ATOMIC_RELAXED);
        return 1;
    }
    if (heard)
        peer->heard_failed = now;
    if (!peer->warn_after)
        peer->warn_after = now + START_UP;
    if (!peer->warned && now >= peer->warn_after) {
        themis_warn("server %s:%u cannot be reached: %s; its jobs are not known here, and it is tried again every %u s",
                    peer->host, peer->port, themis_status_string(status), (unsigned)(RETRY_AFTER / THEMIS_NS_PER_S));
        peer->warned = 1;
    }
    peer_lose(peer);
    return 0;
}

static themis_status_t peer_send(peer_t *peer, const parts_t *parts)
{
    themis_status_t status = THEMIS_OK;

    for (uint32_t i = 0; i < parts->count && status == THEMIS_OK; i++)
        status = themis_net_send(peer->conn, parts->messages + (size_t)i * THEMIS_PROTO_MAX_MESSAGE, parts->lengths[i]);
    return status;
}

/* Waits for at most one failing connection in each round. */
static void table_send(themis_server_t *server)
{
    themis_server_peers_t *peers = server->peers;
    int may_wait = 1;

    for (uint32_t i = 1; i < peers->count; i++) {
        peer_t *peer = &peers->list[(peers->self + i) % peers->count];
        if (peer->conn && peer_send(peer, &peers->parts) == THEMIS_OK)
            continue;
        if (peer->conn) {
            peer_lose(peer);
            peer->next_try = 0; /* now: it may have been started again; if not, this tells */
        }
        if (may_wait)
            may_wait = peer_connect(server, peer);
        if (peer->conn && peer_send(peer, &peers->parts) != THEMIS_OK)
            peer_lose(peer);
    }
}

/* --- rounds ------------------------------------------------------------------------------------------------------- */

static themis_status_t parts_reserve(parts_t *parts, uint32_t count)
{
    if (count <= parts->capacity)
        return THEMIS_OK;
    uint8_t *messages = realloc(parts->messages, (size_t)count * THEMIS_PROTO_MAX_MESSAGE);
    parts->messages = messages ? messages : parts->messages;
    size_t *lengths = realloc(parts->lengths, count * sizeof *lengths);
    parts->lengths = lengths ? lengths : parts->lengths;
    if (!messages || !lengths)
        return THEMIS_NO_MEMORY;
    parts->capacity = count;
    return THEMIS_OK;
}

static themis_status_t parts_encode(parts_t *parts, const themis_proto_header_t *header,
                                    const themis_proto_table_t *table)
{
    themis_status_t status = THEMIS_OK;
    uint32_t from = 0;

    parts->count = 0;
    do {
        themis_proto_table_t part;
        from = themis_sched_lambda_exchange_part(table, from, &part);
        status = parts_reserve(parts, parts->count + 1);
        if (status == THEMIS_OK)
            status =
                themis_proto_encode(header, &part, parts->messages + (size_t)parts->count * THEMIS_PROTO_MAX_MESSAGE,
                                    THEMIS_PROTO_MAX_MESSAGE, &parts->lengths[parts->count]);
        parts->count++;
    } while (status == THEMIS_OK && from < table->rows);
    return status;
}

/* With the server's lock. */
static themis_status_t table_encode(themis_server_t *server, uint64_t now)
{
    themis_sched_lambda_exchange_t *exchange = server->peers->exchange;
    themis_proto_table_t table;
    themis_proto_header_t header = request_header(THEMIS_OP_TABLE, themis_sched_lambda_exchange_rounds(exchange) + 1);
    themis_status_t status = themis_sched_lambda_exchange_table(exchange, server->jobs, server->sched, now, &table);

    table.policy_set = server->sharing.set_at;
    if (status == THEMIS_OK)
        status = parts_encode(&server->peers->parts, &header, &table);
    if (status != THEMIS_OK)
        themis_warn("this server's table of jobs cannot be sent: %s; it is tried again in the next round",
                    themis_status_string(status));
    return status;
}

static void wait_until(themis_server_t *server, uint64_t due)
{
    struct timespec until = {.tv_sec = (time_t)(due / THEMIS_NS_PER_S), .tv_nsec = (long)(due % THEMIS_NS_PER_S)};

    if (due == UINT64_MAX)
        pthread_cond_wait(&server->peers->kick, &server->lock);
    else
        pthread_cond_clockwait(&server->peers->kick, &server->lock, CLOCK_MONOTONIC, &until);
}

/* With the server's lock, which is released meanwhile. */
static void allocation_compute(themis_server_t *server)
{
    themis_server_peers_t *peers = server->peers;

    peers->fresh = 0;
    pthread_mutex_unlock(&server->lock);
    uint64_t start = themis_util_clock_now();
    themis_sched_lambda_exchange_compute(peers->exchange, start);
    pthread_mutex_lock(&server->lock);
    themis_sched_lambda_exchange_apply(peers->exchange, server->jobs, server->sched);
    peers->computed = themis_util_clock_now();
    peers->took = peers->computed - start;
}

/* Tells once when policies differ, and when they no longer do. With the server's lock. */
static void policies_compare(themis_server_t *server, uint64_t now)
{
    themis_server_peers_t *peers = server->peers;
    const char *policy = themis_sched_policy(server->sched);
    themis_sched_lambda_exchange_other_t other;
    char text[DIFFERENCE_BYTES];

    if (!themis_sched_lambda_exchange_differs(peers->exchange, policy, server->sharing.set_at, now, &other)) {
        if (peers->differ)
            themis_info("no server that is known shares by another policy than %s any more", policy);
        peers->differ = 0;
        peers->differ_since = 0;
        return;
    }
    if (peers->differ_since == 0)
        peers->differ_since = now;
    if (peers->differ || now - peers->differ_since < POLICIES_MAY_DIFFER)
        return;
    peers->differ = 1;
    if (themis_server_peers_differ(server, text, sizeof text))
        themis_warn("%s, this one by %s: 'themis policy set' sets one policy on all servers", text, policy);
}

/* What was sent is of this server, too. Without the lock. */
static void parts_note(themis_server_t *server)
{
    const parts_t *parts = &server->peers->parts;
    themis_proto_header_t header;
    themis_proto_body_t body;

    for (uint32_t i = 0; server->allocator && i < parts->count; i++)
        if (themis_proto_decode(parts->messages + (size_t)i * THEMIS_PROTO_MAX_MESSAGE, parts->lengths[i], &header,
                                &body) == THEMIS_OK)
            themis_server_allocator_note(server, &body.table);
}

/* With the server's lock, which is released meanwhile. */
static void round_run(themis_server_t *server, uint64_t now)
{
    themis_status_t status = table_encode(server, now);

    pthread_mutex_unlock(&server->lock);
    if (status == THEMIS_OK) {
        table_send(server);
        parts_note(server);
    }
    pthread_mutex_lock(&server->lock);
    allocation_compute(server);
    policies_compare(server, themis_util_clock_now());
}

/* When tables that came since the last computation are to be used: soon, so that unfair shares end within lambda, but
 * with many servers not for each table, and computing takes at most a tenth of the time. */
static uint64_t compute_due(const themis_server_peers_t *peers, uint64_t lambda)
{
    uint64_t pause = lambda / 16 > 10 * peers->took ? lambda / 16 : 10 * peers->took;

    return peers->fresh ? peers->computed + pause : UINT64_MAX;
}

/* ns between rounds: lambda while there are jobs. Without any, as often as clients send heartbeats, so that a server
 * that is lost is noticed, and policies are agreed on; one that is lost is tried again sooner. 0: there are none. */
static uint64_t rounds_interval(const themis_server_t *server)
{
    const themis_server_peers_t *peers = server->peers;
    uint64_t lambda = server->config.lambda, idle = server->config.heartbeat;

    if (lambda == 0 || themis_sched_job_table_count(server->jobs) > 0)
        return lambda;
    for (uint32_t i = 0; i < peers->count; i++)
        if (peers->list[i].lost && idle > RETRY_AFTER)
            idle = RETRY_AFTER;
    return idle > lambda ? idle : lambda;
}

static void *peers_main(void *arg)
{
    themis_server_t *server = arg;
    themis_server_peers_t *peers = server->peers;
    uint64_t due = 0;

    pthread_mutex_lock(&server->lock);
    while (!peers->stop) {
        uint64_t now = themis_util_clock_now(), interval = rounds_interval(server);
        themis_sched_lambda_exchange_set_interval(peers->exchange, interval, server->config.heartbeat);
        if (interval == 0) {
            wait_until(server, UINT64_MAX);
        } else if (now < due && due - now <= interval) {
            uint64_t soon = compute_due(peers, interval);
            if (soon <= now)
                allocation_compute(server);
            else
                wait_until(server, soon < due ? soon : due);
        } else {
            /* rounds are that far apart, unless one was missed */
            due = due && now - due < interval ? due + interval : now + interval;
            round_run(server, now);
        }
    }
    pthread_mutex_unlock(&server->lock);
    return NULL;
}

/* --- creation, and calls of the server ---------------------------------------------------------------------------- */

static themis_status_t peers_init(themis_server_t *server, themis_server_peers_t *peers)
{
    const themis_server_config_t *config = &server->config;
    themis_sched_lambda_exchange_options_t options = {.index = (uint32_t)config->index,
                                                      .servers = peers->count,
                                                      .incarnation = server->incarnation,
                                                      .capacity = config->store_bandwidth,
                                                      .interval = config->lambda};

    peers->self = (uint32_t)config->index;
    if (getrandom(&peers->session, sizeof peers->session, 0) != sizeof peers->session)
        peers->session = server->incarnation;
    for (uint32_t i = 0; i < peers->count; i++)
        themis_server_config_address(config, i, peers->list[i].host, &peers->list[i].port);
    pthread_cond_init(&peers->kick, NULL);
    return themis_sched_lambda_exchange_create(&options, &peers->exchange);
}

themis_status_t themis_server_peers_create(themis_server_t *server)
{
    const themis_server_config_t *config = &server->config;

    if (config->count < 2 || !*config->servers)
        return THEMIS_OK;
    themis_server_peers_t *peers = calloc(1, sizeof *peers + (size_t)config->count * sizeof *peers->list);
    if (!peers)
        return THEMIS_NO_MEMORY;
    peers->count = (uint32_t)config->count;
    server->peers = peers;
    return peers_init(server, peers);
}

themis_status_t themis_server_peers_start(themis_server_t *server)
{
    if (!server->peers)
        return THEMIS_OK;
    int cause = pthread_create(&server->peers->thread, NULL, peers_main, server);
    server->peers->started = cause == 0;
    if (cause)
        themis_error("cannot start a thread for the other servers: %s", strerror(cause));
    return cause ? THEMIS_NO_MEMORY : THEMIS_OK;
}

void themis_server_peers_destroy(themis_server_t *server)
{
    themis_server_peers_t *peers = server->peers;

    if (!peers)
        return;
    if (peers->started) {
        pthread_mutex_lock(&server->lock);
        peers->stop = 1;
        pthread_cond_signal(&peers->kick);
        pthread_mutex_unlock(&server->lock);
        pthread_join(peers->thread, NULL);
    }
    for (uint32_t i = 0; i < peers->count; i++)
        peer_disconnect(&peers->list[i], 0);
    themis_sched_lambda_exchange_destroy(peers->exchange);
    pthread_cond_destroy(&peers->kick);
    free(peers->parts.messages);
    free(peers->parts.lengths);
    free(peers);
    server->peers = NULL;
}

void themis_server_peers_kick(themis_server_t *server)
{
    if (!server->peers)
        return;
    pthread_cond_signal(&server->peers->kick);
}

themis_status_t themis_server_peers_take(themis_server_t *server, const themis_proto_table_t *table)
{
    if (!server->peers)
        return THEMIS_UNSUPPORTED;
    themis_status_t status =
        themis_sched_lambda_exchange_receive(server->peers->exchange, table, themis_util_clock_now());
    if (status == THEMIS_OK)
        themis_server_allocator_note(server, table);
    pthread_mutex_lock(&server->lock);
    if (status == THEMIS_OK)
        themis_server_policy_adopt(server, &table->policy, table->policy_set, table->index);
    if (status == THEMIS_OK)
        __atomic_store_n(&server->peers->list[table->index].heard, 1, __ATOMIC_RELAXED);
    server->peers->fresh = 1;
    pthread_cond_signal(&server->peers->kick);
    pthread_mutex_unlock(&server->lock);
    themis_server_policy_keep(server);
    return status;
}

void themis_server_peers_progress(const themis_server_t *server, uint32_t *known, uint64_t *rounds)
{
    if (!server->peers)
        return;
    *known = themis_sched_lambda_exchange_known(server->peers->exchange);
    *rounds = themis_sched_lambda_exchange_rounds(server->peers->exchange);
}

int themis_server_peers_differ(const themis_server_t *server, char *text, size_t size)
{
    const themis_server_peers_t *peers = server->peers;
    themis_sched_lambda_exchange_other_t other;

    *text = '\0';
    if (!peers || !peers->differ ||
        !themis_sched_lambda_exchange_differs(peers->exchange, themis_sched_policy(server->sched),
                                              server->sharing.set_at, themis_util_clock_now(), &other))
        return 0;
    snprintf(text, size, "server %u, %s:%u, shares by %s", other.index, peers->list[other.index].host,
             peers->list[other.index].port, other.policy);
    return 1;
}

uint64_t themis_server_peers_lost(const themis_server_t *server, uint32_t index)
{
    const themis_server_peers_t *peers = server->peers;

    return peers && index < peers->count ? __atomic_load_n(&peers->list[index].lost, __ATOMIC_RELAXED) : 0;
}
