/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions: themis_connect to themis_disconnect, and the waiting in between. */
#include "client/session.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include "client/call.h"
#include "client/error.h"
#include "client/io.h"
#include "client/peer.h"
#include "util/clock.h"

static const uint64_t goodbye_limit = 200 * THEMIS_NS_PER_MS;
static const uint64_t head_start = 200 * THEMIS_NS_PER_MS; /* of the servers that are tried before */

void themis_options_init(themis_options_t *options)
{
    *options = (themis_options_t){0};
}

/* --- waiting ------------------------------------------------------------------------------------------------------ */

/* The poller's turn: with the lock held, given up while it polls for at most `limit` ns. */
static void poll_once(themis_t *session, uint64_t limit)
{
    session->polling = 1;
    uint64_t pause = themis_client_peer_service(session, themis_util_clock_now());
    if (limit > pause)
        limit = pause;
    pthread_mutex_unlock(&session->lock);
    themis_net_progress(session->net, limit);
    pthread_mutex_lock(&session->lock);
    session->polling = 0;
    if (session->waiting)
        pthread_cond_broadcast(&session->changed);
}

static void wait_changed(themis_t *session)
{
    session->waiting++;
    pthread_cond_wait(&session->changed, &session->lock);
    session->waiting--;
}

void themis_client_wait(themis_t *session, const uint32_t *remaining)
{
    pthread_mutex_lock(&session->lock);
    while (*remaining > 0)
        if (session->polling)
            wait_changed(session);
        else
            poll_once(session, UINT64_MAX);
    pthread_mutex_unlock(&session->lock);
}

int themis_client_poll(themis_t *session, const uint32_t *remaining)
{
    pthread_mutex_lock(&session->lock);
    if (*remaining > 0 && !session->polling)
        poll_once(session, 0);
    int ended = *remaining == 0;
    pthread_mutex_unlock(&session->lock);
    return ended;
}

void themis_client_nudge(themis_t *session)
{
    if (!session->attention)
        return;
    pthread_mutex_lock(&session->lock);
    if (session->attention && !session->polling)
        poll_once(session, 0);
    pthread_mutex_unlock(&session->lock);
}

themis_status_t themis_progress(themis_t *session, uint64_t timeout)
{
    uint64_t now = themis_util_clock_now(), until = now + timeout;

    if (until < now)
        until = UINT64_MAX;
    pthread_mutex_lock(&session->lock);
    uint64_t ended = session->ended;
    do {
        if (!session->polling) {
            poll_once(session, until - now);
            continue;
        }
        struct timespec moment;
        clock_gettime(CLOCK_REALTIME, &moment);
        moment.tv_nsec += THEMIS_NS_PER_MS;
        if (moment.tv_nsec >= (long)THEMIS_NS_PER_S)
            moment = (struct timespec){moment.tv_sec + 1, moment.tv_nsec - (long)THEMIS_NS_PER_S};
        session->waiting++;
        pthread_cond_timedwait(&session->changed, &session->lock, &moment);
        session->waiting--;
    } while (session->ended == ended && (now = themis_util_clock_now()) < until);
    pthread_mutex_unlock(&session->lock);
    return THEMIS_OK;
}

/* --- making and ending -------------------------------------------------------------------------------------------- */

static void free_calls(themis_t *session)
{
    themis_client_call_t *next;

    for (themis_client_call_t *call = session->free_calls; call; call = next) {
        next = call->next;
        themis_client_call_destroy(call);
    }
}

static void destroy(themis_t *session)
{
    for (uint32_t i = 0; session->peers && i < session->settings.server_count; i++) {
        themis_client_peer_t *peer = &session->peers[i];
        if (peer->conn)
            themis_net_conn_set_user(peer->conn, NULL);
        themis_net_conn_close(peer->conn);
        themis_net_conn_unref(peer->conn);
        themis_net_conn_close(peer->attempt);
        themis_net_conn_unref(peer->attempt);
        free(peer->name);
    }
    themis_client_io_free_requests(session);
    free_calls(session);
    themis_net_destroy(session->net);
    themis_util_hash_ring_destroy(session->ring);
    free(session->peers);
    themis_client_settings_free(&session->settings);
    pthread_mutex_destroy(&session->lock);
    pthread_cond_destroy(&session->changed);
    free(session);
}

static themis_status_t make_peers(themis_t *session)
{
    uint32_t count = session->settings.server_count;

    session->peers = calloc(count, sizeof *session->peers);
    if (!session->peers)
        return THEMIS_NO_MEMORY;
    for (uint32_t i = 0; i < count; i++) {
        const themis_client_server_t *server = &session->settings.servers[i];
        session->peers[i].session = session;
        session->peers[i].index = i;
        size_t bytes = strlen(server->host) + sizeof ":65535";
        session->peers[i].name = malloc(bytes);
        if (!session->peers[i].name)
            return THEMIS_NO_MEMORY;
        snprintf(session->peers[i].name, bytes, "%s:%u", server->host, server->port);
    }
    return THEMIS_OK;
}

static themis_status_t fill(themis_t *session, const themis_options_t *options)
{
    themis_status_t status = themis_client_settings_load(options, &session->settings);

    if (status != THEMIS_OK)
        return status;
    if (getrandom(&session->id, sizeof session->id, 0) != sizeof session->id)
        session->id = themis_util_clock_wall() ^ (uint64_t)getpid() << 40;
    session->next_id = session->next_owner = 1;
    gethostname(session->host, sizeof session->host - 1);
    if ((status = make_peers(session)) == THEMIS_OK &&
        (status = themis_util_hash_ring_create(session->settings.server_count, &session->ring)) == THEMIS_OK)
        status = themis_net_create(NULL, &themis_client_peer_handlers, session, &session->net);
    if (status != THEMIS_OK)
        themis_client_fail(status, "the session could not be made: %s", themis_status_string(status));
    return status;
}

/* A server that has answered, if it be with a refusal. */
static themis_client_peer_t *find_answered(themis_t *session)
{
    for (uint32_t i = 0; i < session->settings.server_count; i++) {
        themis_client_peer_t *peer = themis_client_peer(session, i);
        if (peer->state == THEMIS_CLIENT_PEER_READY || peer->refused)
            return peer;
    }
    return NULL;
}

static int is_trying(themis_t *session)
{
    for (uint32_t i = 0; i < session->settings.server_count; i++)
        if (themis_client_peer(session, i)->state == THEMIS_CLIENT_PEER_CONNECTING)
            return 1;
    return 0;
}

/* Tries the first server, after a while two more, then four, and all again and again until one answers or the time is
 * up: that one hangs costs little, and with a good list the others are spared. */
static themis_client_peer_t *try_all(themis_t *session)
{
    uint64_t start = themis_util_clock_now(), now = start, next = start, timeout = session->settings.timeout;
    uint32_t tried = 0, more = 1, count = session->settings.server_count;
    themis_client_peer_t *answered = NULL;

    for (; !answered && now - start < timeout; now = themis_util_clock_now()) {
        if (tried < count && (now >= next || !is_trying(session))) {
            tried = count - tried < more ? count : tried + more;
            more *= 2;
            next = tried < count ? now + head_start : UINT64_MAX;
        }
        for (uint32_t i = 0; i < tried; i++)
            themis_client_peer(session, i)->wanted = 1;
        session->attention = 1;
        uint64_t left = start + timeout - now;
        poll_once(session, next > now && next - now < left ? next - now : left);
        answered = find_answered(session);
    }
    session->started = start;
    session->delay = now - start < timeout / 2 ? now - start : timeout / 2;
    return answered;
}

/* Waits for any server. Attempts with others go on: they may just be slow. */
static themis_status_t reach_any(themis_t *session)
{
    const themis_client_peer_t *answered = try_all(session);
    themis_status_t why = THEMIS_TIMED_OUT;

    for (uint32_t i = 0; i < session->settings.server_count; i++) {
        themis_client_peer_t *peer = themis_client_peer(session, i);
        peer->wanted = peer->state == THEMIS_CLIENT_PEER_CONNECTING;
        if (!peer->wanted)
            peer->lost = 0;
        why = peer->why != THEMIS_OK ? peer->why : why;
    }
    if (answered && !answered->refused)
        return THEMIS_OK;
    if (answered)
        return themis_client_fail(answered->why, "%s", answered->cause);
    return themis_client_fail(THEMIS_UNREACHABLE, "no server of %s answered within %.1f s: %s",
                              session->settings.server_list, (double)session->settings.timeout / 1e9,
                              themis_status_string(why));
}

themis_status_t themis_connect(const themis_options_t *options, themis_t **result)
{
    themis_options_t defaults;
    themis_t *session = calloc(1, sizeof *session);

    themis_options_init(&defaults);
    if (!session)
        return themis_client_fail(THEMIS_NO_MEMORY, "out of memory for a session");
    pthread_mutex_init(&session->lock, NULL);
    pthread_cond_init(&session->changed, NULL);
    themis_status_t status = fill(session, options ? options : &defaults);
    if (status == THEMIS_OK) {
        pthread_mutex_lock(&session->lock);
        status = reach_any(session);
        pthread_mutex_unlock(&session->lock);
    }
    if (status != THEMIS_OK)
        destroy(session);
    else
        *result = session;
    return status;
}

themis_status_t themis_session_set_nodes(themis_t *session, uint32_t nodes)
{
    pthread_mutex_lock(&session->lock);
    int more = nodes > session->settings.nodes;
    if (more)
        session->settings.nodes = nodes;
    for (uint32_t i = 0; more && i < session->settings.server_count; i++)
        themis_client_peer_introduce(themis_client_peer(session, i));
    pthread_mutex_unlock(&session->lock);
    return THEMIS_OK;
}

static int all_ended(themis_t *session)
{
    int ended = 1;

    pthread_mutex_lock(&session->lock);
    for (uint32_t i = 0; i < session->settings.server_count; i++)
        ended &= session->peers[i].first == NULL;
    pthread_mutex_unlock(&session->lock);
    return ended;
}

/* Tells the servers; does not insist. */
static void say_goodbye(themis_t *session)
{
    themis_proto_none_t none = {0};
    uint64_t until = themis_util_clock_now() + goodbye_limit, now;
    themis_client_call_t *call;

    for (uint32_t i = 0; i < session->settings.server_count; i++) {
        if (session->peers[i].state != THEMIS_CLIENT_PEER_READY ||
            themis_client_call_get(session, i, &call) != THEMIS_OK)
            continue;
        call->once = 1;
        if (themis_client_call_start(call, THEMIS_OP_GOODBYE, &none, NULL) != THEMIS_OK)
            themis_client_call_put(call);
    }
    while (!all_ended(session) && (now = themis_util_clock_now()) < until)
        themis_net_progress(session->net, until - now);
    for (uint32_t i = 0; i < session->settings.server_count; i++)
        themis_client_call_fail_all(&session->peers[i], THEMIS_CANCELED);
}

void themis_disconnect(themis_t *session)
{
    if (!session)
        return;
    say_goodbye(session);
    destroy(session);
}

/* A server that was not needed yet counts as local if it is where a local one is. */
static int is_local(const themis_t *session, uint32_t index)
{
    if (session->peers[index].local)
        return 1;
    for (uint32_t i = 0; session->peers[index].state != THEMIS_CLIENT_PEER_READY && i < session->settings.server_count;
         i++)
        if (session->peers[i].local &&
            !strcmp(session->settings.servers[i].host, session->settings.servers[index].host))
            return 1;
    return 0;
}

themis_status_t themis_session_info(themis_t *session, themis_session_info_t *info)
{
    const themis_client_peer_t *peer = NULL;
    int all_local = 1;

    pthread_mutex_lock(&session->lock);
    for (uint32_t i = session->settings.server_count; i-- > 0;) {
        if (session->peers[i].state == THEMIS_CLIENT_PEER_READY)
            peer = &session->peers[i];
        all_local = all_local && is_local(session, i);
    }
    *info = (themis_session_info_t){.servers = session->settings.server_count,
                                    .server_list = session->settings.server_list,
                                    .job = session->settings.job,
                                    .policy = peer ? peer->policy : "",
                                    .policy_granted = peer ? peer->policy_granted : 0,
                                    .policy_fault = peer ? peer->policy_fault : "",
                                    .stripe_size = peer ? peer->layout.stripe_size : 0,
                                    .stripe_count = peer ? peer->layout.count : 0,
                                    .all_local = all_local};
    pthread_mutex_unlock(&session->lock);
    return THEMIS_OK;
}
