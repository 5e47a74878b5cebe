/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "server/peers.h"
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>
#include "sched/lambda_exchange.h"
#include "server/server.h"
#include "util/clock.h"
#include "util/log.h"

#define CONNECT_TIMEOUT (THEMIS_NS_PER_S / 2)
#define RETRY_AFTER (2 * THEMIS_NS_PER_S)
#define START_UP (10 * THEMIS_NS_PER_S)

typedef struct peer {
    char host[256];
    uint16_t port;
    themis_net_conn_t *conn; /* a reference, or NULL */
    uint64_t next_try;       /* ns */
    uint64_t next_id;
    uint64_t patient_until; /* ns; servers that start together find each other without a word */
    int complained;
} peer_t;

typedef struct themis_server_peers {
    themis_sched_lambda_exchange_t *exchange;
    uint64_t session;
    pthread_t thread;
    int started, stop; /* of the server's lock */
    int fresh;         /* a table has come that was not computed with; of the server's lock */
    uint64_t computed; /* ns; when the last computation ended, and how long it took */
    uint64_t took;
    pthread_cond_t kick; /* with the server's lock */
    uint8_t *messages;   /* the table, as messages one behind the other */
    size_t *lengths;     /* of them */
    uint32_t parts, room;
    uint32_t count, self;
    peer_t list[];
} themis_server_peers_t;

/* --- connections -------------------------------------------------------------------------------------------------- */

static void drop(peer_t *peer, uint64_t now)
{
    if (peer->conn) {
        themis_net_conn_close(peer->conn);
        themis_net_conn_unref(peer->conn);
        peer->conn = NULL;
    }
    peer->next_try = now + RETRY_AFTER;
}

static themis_status_t say_hello(themis_server_t *server, peer_t *peer)
{
    themis_server_peers_t *peers = server->peers;
    const char *name = server->config.name;
    uint8_t bytes[1024];
    size_t length;
    themis_proto_header_t header = {.version = THEMIS_PROTO_VERSION,
                                    .kind = THEMIS_PROTO_REQUEST,
                                    .opcode = THEMIS_OP_HELLO,
                                    .id = peer->next_id++};
    themis_proto_hello_t hello = {.session = peers->session,
                                  .job = {"server", 6},
                                  .uid = geteuid(),
                                  .gid = getegid(),
                                  .nodes = 1,
                                  .priority = 1,
                                  .host = {name, (uint32_t)strnlen(name, THEMIS_PROTO_MAX_TEXT)},
                                  .pid = (uint32_t)getpid(),
                                  .role = 1};
    themis_status_t status = themis_proto_encode(&header, &hello, bytes, sizeof bytes, &length);

    return status == THEMIS_OK ? themis_net_send(peer->conn, bytes, length) : status;
}

/* 0 if it took long in vain. */
static int reach(themis_server_t *server, peer_t *peer)
{
    uint64_t now = themis_util_clock_now();

    if (peer->conn || now < peer->next_try)
        return 1;
    themis_status_t status = themis_net_connect(server->net, peer->host, peer->port, CONNECT_TIMEOUT, &peer->conn);
    if (status == THEMIS_OK)
        status = say_hello(server, peer);
    else
        peer->conn = NULL;
    if (status == THEMIS_OK) {
        peer->patient_until = now; /* lost from now on, not late */
        peer->complained = 0;
        return 1;
    }
    if (!peer->patient_until)
        peer->patient_until = now + START_UP;
    if (!peer->complained && now >= peer->patient_until) {
        themis_warn("server %s:%u cannot be reached: %s", peer->host, peer->port, themis_status_string(status));
        peer->complained = 1;
    }
    drop(peer, themis_util_clock_now());
    return 0;
}

static themis_status_t send_parts(const themis_server_peers_t *peers, const peer_t *peer)
{
    const uint8_t *at = peers->messages;
    themis_status_t status = THEMIS_OK;

    for (uint32_t i = 0; i < peers->parts && status == THEMIS_OK; i++) {
        status = themis_net_send(peer->conn, at, peers->lengths[i]);
        at += peers->lengths[i];
    }
    return status;
}

static void send_table(themis_server_t *server)
{
    themis_server_peers_t *peers = server->peers;
    int patient = 1;

    for (uint32_t i = 0; i < peers->count; i++) {
        peer_t *peer = &peers->list[(peers->self + i) % peers->count];
        if (peer == &peers->list[peers->self])
            continue;
        if (patient)
            patient = reach(server, peer);
        if (peer->conn && send_parts(peers, peer) != THEMIS_OK)
            drop(peer, themis_util_clock_now());
    }
}

/* --- rounds ------------------------------------------------------------------------------------------------------- */

static themis_status_t reserve_parts(themis_server_peers_t *peers, uint32_t parts)
{
    if (parts <= peers->room)
        return THEMIS_OK;
    uint8_t *messages = realloc(peers->messages, (size_t)parts * THEMIS_PROTO_MAX_MESSAGE);
    peers->messages = messages ? messages : peers->messages;
    size_t *lengths = realloc(peers->lengths, parts * sizeof *lengths);
    peers->lengths = lengths ? lengths : peers->lengths;
    if (!messages || !lengths)
        return THEMIS_NO_MEMORY;
    peers->room = parts;
    return THEMIS_OK;
}

static themis_status_t encode_parts(themis_server_peers_t *peers, const themis_proto_header_t *header,
                                    const themis_proto_table_t *table)
{
    themis_status_t status = THEMIS_OK;
    uint32_t from = 0;
    size_t used = 0;

    peers->parts = 0;
    do {
        themis_proto_table_t part;
        from = themis_sched_lambda_exchange_part(table, from, &part);
        status = reserve_parts(peers, peers->parts + 1);
        if (status != THEMIS_OK)
            return status;
        size_t *length = &peers->lengths[peers->parts++];
        status = themis_proto_encode(header, &part, peers->messages + used, THEMIS_PROTO_MAX_MESSAGE, length);
        used += *length;
    } while (status == THEMIS_OK && from < table->rows);
    return status;
}

/* With the server's lock. */
static themis_status_t encode_table(themis_server_t *server, uint64_t now)
{
    themis_server_peers_t *peers = server->peers;
    themis_proto_table_t table;
    themis_proto_header_t header = {.version = THEMIS_PROTO_VERSION,
                                    .kind = THEMIS_PROTO_REQUEST,
                                    .opcode = THEMIS_OP_TABLE,
                                    .id = themis_sched_lambda_exchange_rounds(peers->exchange) + 1};
    themis_status_t status =
        themis_sched_lambda_exchange_table(peers->exchange, server->jobs, server->sched, now, &table);

    if (status == THEMIS_OK)
        status = encode_parts(peers, &header, &table);
    if (status != THEMIS_OK)
        themis_warn("this server's table of jobs cannot be sent: %s", themis_status_string(status));
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
static void compute(themis_server_t *server)
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

/* With the server's lock, which is released meanwhile. */
static void play_round(themis_server_t *server, uint64_t now)
{
    themis_status_t status = encode_table(server, now);

    pthread_mutex_unlock(&server->lock);
    if (status == THEMIS_OK)
        send_table(server);
    pthread_mutex_lock(&server->lock);
    compute(server);
}

/* When tables that came since the last computation are to count: soon, so that an unfair state ends within lambda of
 * its beginning, but with many servers neither for each of them nor for more than a tenth of the time. */
static uint64_t compute_due(const themis_server_peers_t *peers, uint64_t lambda)
{
    uint64_t pause = lambda / 16 > 10 * peers->took ? lambda / 16 : 10 * peers->took;

    return peers->fresh ? peers->computed + pause : UINT64_MAX;
}

static void *peers_main(void *arg)
{
    themis_server_t *server = arg;
    themis_server_peers_t *peers = server->peers;
    uint64_t due = 0;

    pthread_mutex_lock(&server->lock);
    while (!peers->stop) {
        uint64_t now = themis_util_clock_now(), lambda = server->config.lambda;
        if (lambda == 0 || themis_sched_job_table_count(server->jobs) == 0) {
            wait_until(server, UINT64_MAX);
        } else if (now < due && due - now <= lambda) {
            uint64_t soon = compute_due(peers, lambda);
            if (soon <= now)
                compute(server);
            else
                wait_until(server, soon < due ? soon : due);
        } else {
            /* rounds keep their places in time, unless one was missed as a whole */
            due = due && now - due < lambda ? due + lambda : now + lambda;
            play_round(server, now);
        }
    }
    pthread_mutex_unlock(&server->lock);
    return NULL;
}

/* --- from outside ------------------------------------------------------------------------------------------------- */

static themis_status_t fill(themis_server_t *server, themis_server_peers_t *peers)
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
    return fill(server, peers);
}

themis_status_t themis_server_peers_start(themis_server_t *server)
{
    if (!server->peers)
        return THEMIS_OK;
    server->peers->started = pthread_create(&server->peers->thread, NULL, peers_main, server) == 0;
    return server->peers->started ? THEMIS_OK : THEMIS_NO_MEMORY;
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
        drop(&peers->list[i], 0);
    themis_sched_lambda_exchange_destroy(peers->exchange);
    pthread_cond_destroy(&peers->kick);
    free(peers->messages);
    free(peers->lengths);
    free(peers);
    server->peers = NULL;
}

void themis_server_peers_kick(themis_server_t *server)
{
    if (!server->peers)
        return;
    themis_sched_lambda_exchange_set_interval(server->peers->exchange, server->config.lambda);
    pthread_cond_signal(&server->peers->kick);
}

themis_status_t themis_server_peers_take(themis_server_t *server, const themis_proto_table_t *table)
{
    if (!server->peers)
        return THEMIS_UNSUPPORTED;
    themis_status_t status =
        themis_sched_lambda_exchange_receive(server->peers->exchange, table, themis_util_clock_now());
    pthread_mutex_lock(&server->lock);
    server->peers->fresh = 1;
    pthread_cond_signal(&server->peers->kick);
    pthread_mutex_unlock(&server->lock);
    return status;
}

void themis_server_peers_report(themis_server_t *server, themis_server_report_server_t *report)
{
    if (!server->peers)
        return;
    report->known = themis_sched_lambda_exchange_known(server->peers->exchange);
    report->rounds = themis_sched_lambda_exchange_rounds(server->peers->exchange);
}
