/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/peers.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include "client/error.h"
#include "util/clock.h"
#include "util/min.h"

enum { PASSES = 2 }; /* of the poller: one finds that a connection is closed, the next one tells */
static const uint64_t max_tick = THEMIS_NS_PER_S;
static const uint64_t meeting = THEMIS_NS_PER_S;
static const uint64_t avoidance = 10 * THEMIS_NS_PER_S;
static const uint64_t max_step = 100 * THEMIS_NS_PER_MS; /* between two looks whether all refuse */
static const uint64_t step = 20 * THEMIS_NS_PER_MS;
static const uint64_t head_start = 200 * THEMIS_NS_PER_MS; /* of the servers that are tried before */

themis_status_t themis_client_peers_init(themis_client_peers_t *peers)
{
    const themis_client_settings_t *settings = peers->common.settings;

    peers->common.next_id = 1;
    if (getrandom(&peers->common.id, sizeof peers->common.id, 0) != sizeof peers->common.id)
        peers->common.id = themis_util_clock_wall() ^ (uint64_t)getpid() << 40;
    gethostname(peers->common.host, sizeof peers->common.host - 1);
    peers->array = calloc(settings->server_count, sizeof *peers->array);
    if (!peers->array)
        return THEMIS_NO_MEMORY;
    for (; peers->count < settings->server_count; peers->count++) {
        const themis_client_server_t *server = &settings->servers[peers->count];
        themis_client_peer_t *peer = &peers->array[peers->count];
        size_t bytes = strlen(server->host) + sizeof ":65535";
        peer->common = &peers->common;
        peer->index = peers->count;
        peer->name = malloc(bytes);
        if (!peer->name)
            return THEMIS_NO_MEMORY;
        snprintf(peer->name, bytes, "%s:%u", server->host, server->port);
    }
    return THEMIS_OK;
}

void themis_client_peers_free(themis_client_peers_t *peers)
{
    for (uint32_t i = 0; i < peers->count; i++)
        themis_client_peer_free(&peers->array[i]);
    free(peers->array);
}

/* --- service ------------------------------------------------------------------------------------------------------ */

static void tick_all(themis_client_peers_t *peers, uint64_t now)
{
    int away = now - peers->last_tick > 3 * max_tick;
    uint64_t pause = max_tick;

    for (uint32_t i = 0; i < peers->count; i++) {
        if (peers->array[i].state != THEMIS_CLIENT_PEER_READY)
            continue;
        themis_client_peer_tick(&peers->array[i], now, away);
        pause = themis_util_min(pause, peers->array[i].heartbeat.interval / 2 + 1);
    }
    peers->last_tick = now;
    peers->next_tick = now + pause;
}

static int is_needed(const themis_client_peers_t *peers, const themis_client_peer_t *peer)
{
    return peer->state != THEMIS_CLIENT_PEER_READY &&
           (peer->queue.first || peer->wanted || peer->index < peers->probed || themis_client_peer_is_connecting(peer));
}

/* Returns the ns until the next step. */
static uint64_t connect_needed(themis_client_peers_t *peers, uint64_t now)
{
    themis_client_poller_t *poller = peers->common.poller;
    uint64_t pause = UINT64_MAX;

    poller->due = 0;
    for (uint32_t i = 0; i < peers->count; i++) {
        themis_client_peer_t *peer = &peers->array[i];
        if (!is_needed(peers, peer))
            continue;
        pause = themis_util_min(pause, themis_client_peer_connect(peer, now));
        poller->due |= is_needed(peers, peer);
    }
    return pause;
}

uint64_t themis_client_peers_serve(void *arg, uint64_t now)
{
    themis_client_peers_t *peers = arg;
    uint64_t pause = UINT64_MAX;

    if (now >= peers->next_tick)
        tick_all(peers, now);
    if (peers->common.poller->due) {
        pause = connect_needed(peers, now);
        now = themis_util_clock_now();
    }
    return themis_util_min(pause, peers->next_tick > now ? peers->next_tick - now : 1);
}

/* --- the first server --------------------------------------------------------------------------------------------- */

/* A server that has answered, even if with a refusal. */
static themis_client_peer_t *find_answered(themis_client_peers_t *peers)
{
    for (uint32_t i = 0; i < peers->count; i++)
        if (peers->array[i].state == THEMIS_CLIENT_PEER_READY || peers->array[i].state == THEMIS_CLIENT_PEER_REFUSED)
            return &peers->array[i];
    return NULL;
}

static int is_any_connecting(themis_client_peers_t *peers)
{
    for (uint32_t i = 0; i < peers->count; i++)
        if (themis_client_peer_is_connecting(&peers->array[i]))
            return 1;
    return 0;
}

/* All have been tried, and nobody listens at any of their ports. */
static int all_refuse(const themis_client_peers_t *peers)
{
    for (uint32_t i = 0; i < peers->count; i++)
        if (peers->array[i].why != THEMIS_NO_SERVER)
            return 0;
    return peers->probed == peers->count;
}

/* Tries the first server, after a while two more, then four, and so on until one answers or the time is up: one that
 * hangs costs little, and if the first ones answer the others are spared. */
static const themis_client_peer_t *probe_until_answer(themis_client_peers_t *peers)
{
    uint64_t start = themis_util_clock_now(), now = start, next = start, timeout = peers->common.settings->meeting;
    uint32_t more = 1;
    const themis_client_peer_t *answered = NULL;

    for (; !answered && now - start < timeout; now = themis_util_clock_now()) {
        if (now - start >= peers->common.settings->refusal && all_refuse(peers))
            break;
        if (peers->probed < peers->count && (now >= next || !is_any_connecting(peers))) {
            peers->probed = peers->count - peers->probed < more ? peers->count : peers->probed + more;
            more *= 2;
            next = peers->probed < peers->count ? now + head_start : UINT64_MAX;
        }
        peers->common.poller->due = 1;
        uint64_t left = themis_util_min(start + timeout - now, max_step);
        themis_client_poller_step(peers->common.poller, next > now ? themis_util_min(next - now, left) : left);
        answered = find_answered(peers);
    }
    peers->probed = 0;
    peers->common.started = start;
    peers->common.delay = themis_util_min(now - start, timeout / 2);
    return answered;
}

themis_status_t themis_client_peers_connect_any(themis_client_peers_t *peers)
{
    const themis_client_settings_t *settings = peers->common.settings;
    uint64_t start = themis_util_clock_now();
    const themis_client_peer_t *answered = probe_until_answer(peers);
    themis_status_t why = THEMIS_TIMED_OUT;

    for (uint32_t i = 0; i < peers->count; i++) {
        themis_client_peer_t *peer = &peers->array[i];
        if (!themis_client_peer_is_connecting(peer))
            peer->unreachable_since = 0;
        why = peer->why != THEMIS_OK ? peer->why : why;
    }
    if (answered && answered->state == THEMIS_CLIENT_PEER_READY)
        return THEMIS_OK;
    if (answered)
        return themis_client_fail(answered->why, "%s", answered->cause);
    return themis_client_fail(THEMIS_UNREACHABLE, "no server of %s answered within %.1f s: %s", settings->server_list,
                              (double)(themis_util_clock_now() - start) / 1e9, themis_status_string(why));
}

/* --- servers that are wanted -------------------------------------------------------------------------------------- */

static int want(themis_client_peers_t *peers, themis_client_peers_select_fn select, void *arg, uint64_t now)
{
    int any = 0;

    for (uint32_t i = 0; i < peers->count; i++) {
        themis_client_peer_t *peer = &peers->array[i];
        if (peer->state != THEMIS_CLIENT_PEER_READY && now >= peer->avoid_until && select(arg, peer))
            any = peer->wanted = 1;
    }
    return any;
}

static int is_any_wanted(const themis_client_peers_t *peers)
{
    for (uint32_t i = 0; i < peers->count; i++)
        if (peers->array[i].wanted)
            return 1;
    return 0;
}

void themis_client_peers_meet(themis_client_peers_t *peers, themis_client_peers_select_fn select, void *arg)
{
    themis_client_poller_t *poller = peers->common.poller;
    uint64_t now = themis_util_clock_now(), until = now + meeting;

    for (int i = 0; i < PASSES; i++)
        themis_client_poller_wait_any(poller, 0);
    pthread_mutex_lock(&poller->lock);
    int any = want(peers, select, arg, now);
    while (any && is_any_wanted(peers) && (now = themis_util_clock_now()) < until) {
        poller->due = 1;
        pthread_mutex_unlock(&poller->lock);
        if (poller->polling)
            themis_net_wake(poller->net);
        themis_client_poller_wait_any(poller, themis_util_min(until - now, step));
        pthread_mutex_lock(&poller->lock);
    }
    for (uint32_t i = 0; any && i < peers->count; i++)
        if (peers->array[i].wanted) {
            peers->array[i].wanted = 0;
            peers->array[i].avoid_until = now + avoidance;
        }
    pthread_mutex_unlock(&poller->lock);
}
