/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/session_requests.h"
#include <stdio.h>
#include <string.h>
#include <xxhash.h>
#include "server/access.h"
#include "server/client_session.h"
#include "server/direct.h"
#include "server/identity.h"
#include "server/pending.h"
#include "server/reply.h"
#include "server/server_policy.h"
#include "util/clock.h"

/* NULL: empty, or no memory, without which only the history misses it. */
static char *text_copy(const themis_proto_text_t *text)
{
    return text->length ? strndup(text->bytes, text->length) : NULL;
}

static themis_status_t session_create(themis_server_t *server, const themis_proto_hello_t *hello,
                                      const themis_sched_job_identity_t *identity, themis_server_session_t **session)
{
    themis_server_session_t *made;
    themis_status_t status = themis_server_sessions_add(server->sessions, hello->session, &made);

    if (status != THEMIS_OK)
        return status;
    made->identity = *identity;
    made->role = hello->role;
    made->application = text_copy(&hello->application);
    made->project = text_copy(&hello->project);
    themis_server_durable_replies_take(server->durable_replies, made->number, identity->uid, &made->replies);
    made->durable = made->replies.next != 0;
    made->host = XXH3_64bits(hello->host.bytes ? hello->host.bytes : "", hello->host.length);
    status = themis_server_session_touch(server, made);
    if (status == THEMIS_OK && made->role == THEMIS_SERVER_ROLE_SERVER)
        status = themis_server_access_admin(identity);
    if (status == THEMIS_OK) {
        themis_server_lock_holders_return(server->lock_holders, made->number, hello->locks);
        *session = made;
    } else
        themis_server_sessions_remove(server->sessions, made);
    return status;
}

/* A HELLO that is repeated may make the job larger. */
static void session_raise_job(themis_server_t *server, themis_server_session_t *session,
                              const themis_sched_job_identity_t *identity)
{
    if (identity->nodes > session->identity.nodes)
        session->identity.nodes = identity->nodes;
    if (session->job && themis_sched_job_merge_identity(session->job, identity))
        themis_sched_refresh(server->sched, themis_util_clock_now());
}

/* What the kernel says of a connection; asked before the lock is taken. */
typedef struct peer {
    themis_status_t known;
    themis_net_peer_credentials_t credentials;
} peer_t;

/* Those of other hosts have the servers' key, where there is one. */
static int may_be_server(const themis_server_t *server, const peer_t *peer)
{
    if (server->net_options.network != THEMIS_NET_TCP || !server->net_options.auth.has_servers_key)
        return 1;
    return peer->known == THEMIS_OK && (peer->credentials.local || peer->credentials.server);
}

/* Finds the session of a HELLO, or makes it. If that is refused, *text may say why. */
static themis_status_t session_find(themis_server_request_t *request, const peer_t *peer,
                                    themis_server_session_t **session, const char **text)
{
    themis_server_t *server = request->server;
    const themis_proto_hello_t *hello = &request->body.hello;
    const themis_server_identity_limits_t limits = {(uint32_t)server->config.max_nodes,
                                                    (uint32_t)server->config.max_priority};
    themis_sched_job_identity_t identity;
    themis_server_session_t *known = themis_server_sessions_find(server->sessions, hello->session);
    const themis_server_session_t *bound = themis_net_conn_user(request->conn);

    if (themis_server_identity_decide(peer->known, &peer->credentials, hello, &limits, &identity) != THEMIS_OK) {
        *text = "a process on the server's host has to use its local socket";
        return THEMIS_REFUSED;
    }
    if (hello->role == THEMIS_SERVER_ROLE_SERVER && !may_be_server(server, peer))
        return THEMIS_ACCESS;
    if (bound && bound != known)
        return THEMIS_REFUSED; /* one session for each connection */
    if (!known)
        return session_create(server, hello, &identity, session);
    if (known->identity.uid != identity.uid || strcmp(known->identity.id, identity.id) != 0 ||
        known->role != hello->role)
        return THEMIS_REFUSED;
    session_raise_job(server, known, &identity);
    *session = known;
    return THEMIS_OK;
}

static themis_status_t session_connect(themis_server_t *server, themis_server_session_t *session,
                                       themis_net_conn_t *conn)
{
    if (session->conn == conn)
        return THEMIS_OK;
    /* The client has come back before its old connection was seen to be lost: it will repeat its requests, and the
     * memory that they named may be in other use by then. */
    if (session->conn)
        themis_server_session_disconnect(server, session);
    session->conn = conn;
    themis_net_conn_ref(conn);
    themis_net_conn_set_user(conn, session);
    return themis_server_session_touch(server, session);
}

/* `text` and `error`: of THEMIS_PROTO_MAX_POLICY + 1 and THEMIS_PROTO_MAX_TEXT + 1 bytes, borrowed by the result. */
static themis_proto_welcome_t welcome_make(themis_server_t *server, const themis_server_session_t *session,
                                           const themis_proto_hello_t *hello, char *policy, char *error)
{
    const themis_server_config_t *config = &server->config;
    themis_proto_welcome_t welcome = {
        .incarnation = session->incarnation,
        .index = (uint32_t)config->index,
        .servers = (uint32_t)config->count,
        .heartbeat = config->heartbeat,
        .layout = {.stripe_size = config->stripe_size,
                   .count = (uint32_t)(config->stripe_count ? config->stripe_count : config->count),
                   .first = UINT32_MAX},
        .name = {config->name, (uint32_t)strlen(config->name)}};

    memcpy(welcome.store, server->identity.bytes, sizeof welcome.store);
    memcpy(welcome.boot, server->boot.bytes, sizeof welcome.boot);
    welcome.policy_granted = (uint8_t)themis_server_policy_request(server, &hello->policy, &session->identity, error,
                                                                   THEMIS_PROTO_MAX_TEXT + 1);
    snprintf(policy, THEMIS_PROTO_MAX_POLICY + 1, "%s", themis_sched_policy(server->sched));
    welcome.policy = (themis_proto_text_t){policy, (uint32_t)strlen(policy)};
    welcome.fault = (themis_proto_text_t){error, (uint32_t)strlen(error)};
    return welcome;
}

themis_status_t themis_server_session_requests_hello(themis_server_request_t *request)
{
    themis_server_t *server = request->server;
    const themis_proto_hello_t *hello = &request->body.hello;
    char policy[THEMIS_PROTO_MAX_POLICY + 1], error[THEMIS_PROTO_MAX_TEXT + 1] = "";
    themis_proto_welcome_t welcome = {0};
    themis_server_session_t *session = NULL;
    themis_status_t status = THEMIS_OK;
    const char *text = NULL;
    peer_t peer;

    peer.known = themis_net_conn_credentials(request->conn, &peer.credentials);
    pthread_mutex_lock(&server->lock);
    if (server->drain.active)
        status = THEMIS_SHUTTING_DOWN;
    else if (request->session && themis_server_request_is_orphan(request))
        status = THEMIS_DISCONNECTED; /* while it was queued */
    if (status == THEMIS_OK)
        status = session_find(request, &peer, &session, &text);
    if (status == THEMIS_OK)
        status = session_connect(server, session, request->conn);
    if (status == THEMIS_OK)
        themis_server_pending_forget(server, request->conn);
    if (status == THEMIS_OK)
        welcome = welcome_make(server, session, hello, policy, error);
    pthread_mutex_unlock(&server->lock);
    themis_server_reply_send_unsaved(request->conn, &request->header, status, &welcome, text);
    return status;
}

void themis_server_session_requests_serve(themis_server_request_t *request)
{
    themis_server_t *server = request->server;
    unsigned opcode = request->header.opcode;
    themis_status_t status = opcode == THEMIS_OP_HELLO ? themis_server_session_requests_hello(request) : THEMIS_OK;
    int64_t user = opcode == THEMIS_OP_GOODBYE ? themis_server_pending_user(request->conn) : 0;

    pthread_mutex_lock(&server->lock);
    if (status != THEMIS_OK)
        themis_server_session_count_discarded(server, request->conn);
    if (opcode == THEMIS_OP_GOODBYE && request->session->listed) {
        int connected = request->session->conn == request->conn; /* not lost while the request was queued */
        themis_server_direct_finish(request->session);
        themis_server_session_end(server, request->session);
        if (connected)
            themis_server_pending_add(server, request->conn, user);
    }
    pthread_mutex_unlock(&server->lock);
    if (opcode != THEMIS_OP_HELLO)
        themis_server_reply_send(request, THEMIS_OK, NULL, NULL);
}
