/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions: themis_connect to themis_disconnect. */
#include "client/session.h"
#include <stdlib.h>
#include <string.h>
#include "client/error.h"
#include "util/clock.h"

static const uint64_t goodbye_limit = 200 * THEMIS_NS_PER_MS;

void themis_options_init(themis_options_t *options)
{
    *options = (themis_options_t){0};
}

static void session_destroy(themis_t *session)
{
    themis_client_direct_free(&session->direct);
    themis_client_peers_free(&session->peers);
    themis_client_requests_free(&session->requests);
    themis_client_calls_free(&session->calls);
    themis_client_poller_free(&session->poller);
    themis_util_hash_ring_destroy(session->ring);
    themis_client_settings_free(&session->settings);
    free(session);
}

static themis_status_t session_init(themis_t *session, const themis_options_t *options)
{
    themis_client_poller_t *poller = &session->poller;
    themis_net_options_t network;

    themis_client_poller_init(poller, themis_client_peers_serve, &session->peers);
    session->peers.common = (themis_client_peer_common_t){
        .poller = poller, .settings = &session->settings, .events = &themis_client_call_events, .arg = &session->calls};
    session->calls.peers = &session->peers;
    session->requests.calls = &session->calls;
    themis_client_direct_init(&session->direct, &session->calls);
    session->next_owner = 1;
    themis_status_t status = themis_client_settings_load(options, &session->settings);
    if (status != THEMIS_OK)
        return status;
    themis_net_options_default(&network);
    network.network = session->settings.network;
    network.auth = session->settings.auth;
    if ((status = themis_client_peers_init(&session->peers)) == THEMIS_OK &&
        (status = themis_util_hash_ring_create(session->settings.server_count, &session->ring)) == THEMIS_OK)
        status = themis_net_create(&network, &themis_client_peer_handlers, poller, &poller->net);
    themis_net_auth_wipe(&network.auth);
    themis_net_auth_wipe(&session->settings.auth);
    if (status != THEMIS_OK)
        return themis_client_fail(status, "the session could not be created: %s", themis_status_string(status));
    pthread_mutex_lock(&poller->lock);
    status = themis_client_peers_connect_any(&session->peers);
    pthread_mutex_unlock(&poller->lock);
    return status;
}

themis_status_t themis_connect(const themis_options_t *options, themis_t **result)
{
    themis_options_t defaults;
    themis_t *session = calloc(1, sizeof *session);

    themis_options_init(&defaults);
    if (!session)
        return themis_client_fail(THEMIS_NO_MEMORY, "out of memory for a session");
    themis_status_t status = session_init(session, options ? options : &defaults);
    if (status != THEMIS_OK)
        session_destroy(session);
    else
        *result = session;
    return status;
}

themis_status_t themis_session_set_nodes(themis_t *session, uint32_t nodes)
{
    pthread_mutex_lock(&session->poller.lock);
    int more = nodes > session->settings.nodes;
    if (more)
        session->settings.nodes = nodes;
    for (uint32_t i = 0; more && i < session->peers.count; i++)
        themis_client_peer_update(&session->peers.array[i]);
    pthread_mutex_unlock(&session->poller.lock);
    return THEMIS_OK;
}

static int has_calls(themis_t *session)
{
    int found = 0;

    pthread_mutex_lock(&session->poller.lock);
    for (uint32_t i = 0; i < session->peers.count; i++)
        found |= session->peers.array[i].queue.first != NULL;
    pthread_mutex_unlock(&session->poller.lock);
    return found;
}

/* To the servers that are connected; waits for their replies for a short time. */
static void send_goodbye(themis_t *session)
{
    themis_proto_none_t none = {0};
    uint64_t until = themis_util_clock_now() + goodbye_limit, now;
    themis_client_call_t *call;

    for (uint32_t i = 0; i < session->peers.count; i++)
        if (session->peers.array[i].state == THEMIS_CLIENT_PEER_READY &&
            themis_client_call_get(&session->calls, i, &call) == THEMIS_OK &&
            themis_client_call_start(call, THEMIS_OP_GOODBYE, &none, NULL) != THEMIS_OK)
            themis_client_call_put(call);
    while (has_calls(session) && (now = themis_util_clock_now()) < until)
        themis_net_progress(session->poller.net, until - now);
    themis_client_calls_cancel(&session->calls);
}

void themis_disconnect(themis_t *session)
{
    if (!session)
        return;
    send_goodbye(session);
    session_destroy(session);
}

themis_status_t themis_progress(themis_t *session, uint64_t timeout)
{
    themis_client_poller_wait_any(&session->poller, timeout);
    return THEMIS_OK;
}

/* --- what is in force --------------------------------------------------------------------------------------------- */

/* A server that is not connected yet counts as local if another one of its host is. */
static int is_local(const themis_t *session, uint32_t index)
{
    const themis_client_peer_t *peers = session->peers.array;
    const themis_client_server_t *servers = session->settings.servers;

    if (peers[index].local || peers[index].state == THEMIS_CLIENT_PEER_READY)
        return peers[index].local;
    for (uint32_t i = 0; i < session->peers.count; i++)
        if (peers[i].local && !strcmp(servers[i].host, servers[index].host))
            return 1;
    return 0;
}

themis_status_t themis_session_info(themis_t *session, themis_session_info_t *info)
{
    const themis_client_peer_t unknown = {0}, *peer = &unknown;
    int all_local = 1;

    pthread_mutex_lock(&session->poller.lock);
    for (uint32_t i = session->peers.count; i-- > 0;) {
        if (session->peers.array[i].state == THEMIS_CLIENT_PEER_READY)
            peer = &session->peers.array[i];
        all_local = all_local && is_local(session, i);
    }
    *info = (themis_session_info_t){.servers = session->settings.server_count,
                                    .server_list = session->settings.server_list,
                                    .job = session->settings.job,
                                    .policy = peer == &unknown ? "" : peer->policy,
                                    .policy_granted = peer->policy_granted,
                                    .policy_fault = peer == &unknown ? "" : peer->policy_fault,
                                    .stripe_size = peer->layout.stripe_size,
                                    .stripe_count = peer->layout.count,
                                    .all_local = all_local,
                                    .direct = session->settings.direct};
    pthread_mutex_unlock(&session->poller.lock);
    return THEMIS_OK;
}
