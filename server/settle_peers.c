/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "server/settle_peers.h"
#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include "server/peers.h"
#include "server/server.h"
#include "server/settle.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/min.h"

#define CONNECT_TIMEOUT (THEMIS_NS_PER_S / 2)
#define WELCOME_TIMEOUT (2 * THEMIS_NS_PER_S)
#define FIRST_PAUSE (2 * THEMIS_NS_PER_S)
#define LAST_PAUSE (16 * THEMIS_NS_PER_S)
/* For making connections, of a flush: where many servers are away, the others are not to wait for long. */
#define CONNECTING (THEMIS_NS_PER_S)
/* Between adding a step and sending it: what was true then may be no longer. */
#define MAX_DELAY (2 * THEMIS_NS_PER_S)

typedef struct peer {
    themis_net_conn_t *conn;  /* a reference, or NULL; changes with the lock */
    uint64_t next_try, pause; /* ns: when it may be connected again; how long it was left alone last */
    uint64_t next_id;
    int warned;
    int lost;                            /* 1: the connection is; with the lock */
    themis_server_settle_batch_t *batch; /* NULL: there was none yet */
    /* the call that waits for its reply; with the lock */
    uint16_t awaited; /* opcode, or 0 */
    uint64_t awaited_id;
    themis_status_t outcome;
} peer_t;

struct themis_server_settle_peers {
    themis_server_t *server;
    uint64_t session;
    uint8_t *message; /* THEMIS_PROTO_MAX_MESSAGE bytes */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int stop;
    uint32_t waiting;      /* calls */
    uint64_t reply_wait;   /* ns */
    uint32_t next_connect; /* who is connected first the next time */
    uint32_t count, self;
    peer_t list[];
};

/* --- calls -------------------------------------------------------------------------------------------------------- */

/* With the lock. */
static void call_end(themis_server_settle_peers_t *peers, peer_t *peer, themis_status_t outcome)
{
    peer->awaited = 0;
    peer->outcome = outcome;
    peers->waiting--;
    pthread_cond_signal(&peers->changed);
}

static void peer_disconnect(themis_server_settle_peers_t *peers, peer_t *peer)
{
    pthread_mutex_lock(&peers->lock);
    themis_net_conn_t *conn = peer->conn;
    peer->conn = NULL;
    peer->lost = 0;
    if (peer->awaited)
        call_end(peers, peer, THEMIS_DISCONNECTED);
    pthread_mutex_unlock(&peers->lock);
    if (conn) {
        themis_net_conn_close(conn);
        themis_net_conn_unref(conn);
    }
}

/* It is left alone for a while. */
static void peer_pause(peer_t *peer)
{
    peer->pause = peer->pause ? themis_util_min(2 * peer->pause, LAST_PAUSE) : FIRST_PAUSE;
    peer->next_try = themis_util_clock_now() + peer->pause;
}

static void call_begin(themis_server_settle_peers_t *peers, peer_t *peer, uint16_t opcode, uint64_t id)
{
    pthread_mutex_lock(&peers->lock);
    peer->awaited = opcode;
    peer->awaited_id = id;
    peers->waiting++;
    pthread_mutex_unlock(&peers->lock);
}

/* Waits until all replies are there, or never will be, for at most `timeout` ns. */
static void calls_await(themis_server_settle_peers_t *peers, uint64_t timeout)
{
    uint64_t due = themis_util_clock_now() + timeout;
    struct timespec until = {.tv_sec = (time_t)(due / THEMIS_NS_PER_S), .tv_nsec = (long)(due % THEMIS_NS_PER_S)};
    int late = 0;

    pthread_mutex_lock(&peers->lock);
    while (peers->waiting && !peers->stop && !late)
        late = pthread_cond_clockwait(&peers->changed, &peers->lock, CLOCK_MONOTONIC, &until) != 0;
    for (uint32_t i = 0; i < peers->count && peers->waiting; i++)
        if (peers->list[i].awaited)
            call_end(peers, &peers->list[i], THEMIS_TIMED_OUT);
    pthread_mutex_unlock(&peers->lock);
}

static int is_stopped(themis_server_settle_peers_t *peers)
{
    pthread_mutex_lock(&peers->lock);
    int stop = peers->stop;
    pthread_mutex_unlock(&peers->lock);
    return stop;
}

/* With the lock. */
static void answer_take(const themis_server_settle_peers_t *peers, peer_t *peer, const themis_proto_header_t *header,
                        const themis_proto_body_t *body)
{
    const themis_proto_welcome_t *welcome = &body->welcome;
    uint32_t index = (uint32_t)(peer - peers->list);

    peer->outcome = header->status < 0 ? header->status : THEMIS_OK;
    if (peer->outcome != THEMIS_OK)
        return;
    if (header->opcode == THEMIS_OP_HELLO) {
        peer->outcome = welcome->index == index && welcome->servers == peers->count ? THEMIS_OK : THEMIS_CONFIG;
        return;
    }
    if (body->settled.count != peer->batch->count)
        peer->outcome = THEMIS_PROTOCOL;
    for (uint32_t i = 0; peer->outcome == THEMIS_OK && i < peer->batch->count; i++)
        peer->batch->statuses[i] = themis_proto_settled_get(&body->settled, i);
}

/* With the lock; NULL: of none. */
static peer_t *peer_of(themis_server_settle_peers_t *peers, const themis_net_conn_t *conn)
{
    for (uint32_t i = 0; i < peers->count; i++)
        if (peers->list[i].conn == conn)
            return &peers->list[i];
    return NULL;
}

int themis_server_settle_peers_answer(themis_server_settle_peers_t *peers, const themis_net_conn_t *conn,
                                      const themis_proto_header_t *header, const themis_proto_body_t *body)
{
    pthread_mutex_lock(&peers->lock);
    peer_t *peer = peer_of(peers, conn);
    if (peer && peer->awaited && header->opcode == peer->awaited && header->id == peer->awaited_id) {
        answer_take(peers, peer, header, body);
        call_end(peers, peer, peer->outcome);
    }
    pthread_mutex_unlock(&peers->lock);
    return peer != NULL;
}

void themis_server_settle_peers_closed(themis_server_settle_peers_t *peers, const themis_net_conn_t *conn)
{
    pthread_mutex_lock(&peers->lock);
    peer_t *peer = peer_of(peers, conn);
    if (peer)
        peer->lost = 1;
    if (peer && peer->awaited)
        call_end(peers, peer, THEMIS_DISCONNECTED);
    pthread_mutex_unlock(&peers->lock);
}

/* --- connections -------------------------------------------------------------------------------------------------- */

/* Once, until it answers again. */
static void peer_warn(themis_server_settle_peers_t *peers, uint32_t index, themis_status_t status)
{
    peer_t *peer = &peers->list[index];
    char host[256];
    uint16_t port;

    if (peer->warned || is_stopped(peers))
        return;
    peer->warned = 1;
    themis_server_config_address(&peers->server->config, index, host, &port);
    if (status == THEMIS_CONFIG)
        themis_warn("server %s:%u is not number %u of %u servers: what changes of names have left to do there waits",
                    host, port, (unsigned)index, (unsigned)peers->count);
    else
        themis_warn("server %s:%u: %s; what changes of names have left to do there waits", host, port,
                    themis_status_string(status));
}

/* HELLO, and its reply. */
static themis_status_t peer_welcome(themis_server_settle_peers_t *peers, peer_t *peer)
{
    uint64_t id = peer->next_id++;

    call_begin(peers, peer, THEMIS_OP_HELLO, id);
    themis_status_t status = themis_server_peers_hello(peers->server, peers->session, id, peer->conn);
    if (status == THEMIS_OK) {
        calls_await(peers, WELCOME_TIMEOUT);
        status = peer->outcome;
    }
    if (status != THEMIS_OK)
        peer_disconnect(peers, peer);
    return status;
}

static themis_status_t peer_connect(themis_server_settle_peers_t *peers, uint32_t index)
{
    peer_t *peer = &peers->list[index];
    themis_net_conn_t *conn = NULL;
    char host[256];
    uint16_t port;

    if (themis_util_clock_now() < peer->next_try || is_stopped(peers))
        return THEMIS_UNREACHABLE;
    themis_server_config_address(&peers->server->config, index, host, &port);
    themis_status_t status = themis_net_connect(peers->server->net, host, port, CONNECT_TIMEOUT, &conn);
    if (status == THEMIS_OK) {
        pthread_mutex_lock(&peers->lock);
        peer->conn = conn;
        pthread_mutex_unlock(&peers->lock);
        status = peer_welcome(peers, peer);
    }
    if (status == THEMIS_OK)
        return THEMIS_OK;
    peer_pause(peer);
    peer_warn(peers, index, status);
    return status;
}

/* --- batches ------------------------------------------------------------------------------------------------------ */

/* Steps that are right only for a while: a name that was not there may be made. */
static int has_entries(const themis_server_settle_batch_t *batch)
{
    for (uint32_t i = 0; i < batch->count; i++)
        if (batch->steps[i].action == THEMIS_PROTO_SETTLE_ENTRY)
            return 1;
    return 0;
}

static void batch_send(themis_server_settle_peers_t *peers, uint32_t index)
{
    peer_t *peer = &peers->list[index];
    themis_status_t status = THEMIS_OK;
    uint64_t id = peer->next_id++;
    size_t length;

    if (is_stopped(peers))
        status = THEMIS_UNREACHABLE;
    if (status == THEMIS_OK && has_entries(peer->batch) && themis_util_clock_now() - peer->batch->begun > MAX_DELAY)
        status = THEMIS_BUSY;
    if (status == THEMIS_OK)
        status = themis_server_settle_batch_encode(peer->batch, id, peers->message, &length);
    if (status != THEMIS_OK) {
        peer->outcome = status;
        return;
    }
    call_begin(peers, peer, THEMIS_OP_SETTLE, id);
    status = themis_net_send(peer->conn, peers->message, length);
    if (status != THEMIS_OK)
        peer_disconnect(peers, peer);
}

static void batch_end(themis_server_settle_peers_t *peers, peer_t *peer)
{
    uint32_t index = (uint32_t)(peer - peers->list);
    themis_status_t outcome = peer->outcome;
    int is_answer = outcome == THEMIS_OK || outcome == THEMIS_BUSY;

    /* a step's own status would have a meaning of its own */
    themis_server_settle_batch_end(peer->batch, is_answer ? outcome : THEMIS_UNREACHABLE);
    if (index == peers->self)
        return;
    if (is_answer && peer->conn) {
        peer->pause = 0;
        peer->warned = 0;
    } else if (!is_answer && peer->conn) {
        peer_disconnect(peers, peer);
        peer_pause(peer);
        peer_warn(peers, index, outcome);
    }
}

static int has_steps(const peer_t *peer)
{
    return peer->batch && peer->batch->count;
}

static void own_steps_do(themis_server_settle_peers_t *peers)
{
    peer_t *self = &peers->list[peers->self];

    if (!has_steps(self))
        return;
    self->outcome = is_stopped(peers)
                        ? THEMIS_UNREACHABLE
                        : themis_server_settle_steps(peers->server, self->batch->steps, self->batch->count,
                                                     themis_util_clock_wall(), self->batch->statuses);
    batch_end(peers, self);
}

/* Sends the batches of those that have a connection. */
static void connected_send(themis_server_settle_peers_t *peers)
{
    for (uint32_t i = 0; i < peers->count; i++)
        if (has_steps(&peers->list[i]) && peers->list[i].conn)
            batch_send(peers, i);
}

/* Waits for their replies. */
static void connected_await(themis_server_settle_peers_t *peers)
{
    calls_await(peers, peers->reply_wait);
    for (uint32_t i = 0; i < peers->count; i++)
        if (has_steps(&peers->list[i]) && peers->list[i].conn)
            batch_end(peers, &peers->list[i]);
}

/* Connections that were lost since they were used: whoever is there again is connected anew at once. */
static void lost_close(themis_server_settle_peers_t *peers)
{
    for (uint32_t i = 0; i < peers->count; i++) {
        pthread_mutex_lock(&peers->lock);
        int lost = peers->list[i].lost;
        pthread_mutex_unlock(&peers->lock);
        if (lost)
            peer_disconnect(peers, &peers->list[i]);
    }
}

/* Connects those that have steps and no connection, another one first each time, as not all may have their turn. */
static void missing_connect(themis_server_settle_peers_t *peers)
{
    uint64_t until = themis_util_clock_now() + CONNECTING;
    uint32_t first = peers->next_connect++;

    for (uint32_t k = 0; k < peers->count; k++) {
        uint32_t i = (first + k) % peers->count;
        if (has_steps(&peers->list[i]))
            peers->list[i].outcome = themis_util_clock_now() < until ? peer_connect(peers, i) : THEMIS_BUSY;
    }
}

/* Those with a connection are not to wait for those without, nor for this server's own steps. */
void themis_server_settle_peers_flush(themis_server_settle_peers_t *peers)
{
    lost_close(peers);
    connected_send(peers);
    own_steps_do(peers);
    connected_await(peers);
    missing_connect(peers);
    connected_send(peers);
    connected_await(peers);
    for (uint32_t i = 0; i < peers->count; i++)
        if (has_steps(&peers->list[i]))
            batch_end(peers, &peers->list[i]);
}

void themis_server_settle_peers_set_wait(themis_server_settle_peers_t *peers, uint64_t wait)
{
    peers->reply_wait = wait;
}

void themis_server_settle_peers_add(themis_server_settle_peers_t *peers, uint32_t index,
                                    themis_server_intent_entry_t *owner, const themis_proto_settle_step_t *step)
{
    peer_t *peer = &peers->list[index];

    if (!peer->batch && !(peer->batch = calloc(1, sizeof *peer->batch))) {
        owner->status = THEMIS_NO_MEMORY;
        return;
    }
    if (themis_server_settle_batch_add(peer->batch, owner, step))
        return;
    themis_server_settle_peers_flush(peers);
    themis_server_settle_batch_add(peer->batch, owner, step);
}

/* --- creation ----------------------------------------------------------------------------------------------------- */

themis_status_t themis_server_settle_peers_create(themis_server_t *server, themis_server_settle_peers_t **peers)
{
    uint32_t count = (uint32_t)server->config.count;
    themis_server_settle_peers_t *made = calloc(1, sizeof *made + (size_t)count * sizeof *made->list);

    if (!made || !(made->message = malloc(THEMIS_PROTO_MAX_MESSAGE))) {
        free(made);
        return THEMIS_NO_MEMORY;
    }
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->changed, NULL);
    made->server = server;
    made->count = count;
    made->self = (uint32_t)server->config.index;
    if (getrandom(&made->session, sizeof made->session, 0) != sizeof made->session)
        made->session = server->incarnation + 1;
    *peers = made;
    return THEMIS_OK;
}

void themis_server_settle_peers_stop(themis_server_settle_peers_t *peers)
{
    pthread_mutex_lock(&peers->lock);
    peers->stop = 1;
    pthread_cond_signal(&peers->changed);
    pthread_mutex_unlock(&peers->lock);
}

void themis_server_settle_peers_destroy(themis_server_settle_peers_t *peers)
{
    if (!peers)
        return;
    for (uint32_t i = 0; i < peers->count; i++) {
        peer_disconnect(peers, &peers->list[i]);
        free(peers->list[i].batch);
    }
    pthread_cond_destroy(&peers->changed);
    pthread_mutex_destroy(&peers->lock);
    free(peers->message);
    free(peers);
}
