/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/peer.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <xxhash.h>
#include "client/convert.h"
#include "client/error.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/min.h"

static const uint64_t max_attempt = 2 * THEMIS_NS_PER_S;
static const uint64_t min_attempt = 500 * THEMIS_NS_PER_MS;
static const uint64_t retry_pause = 50 * THEMIS_NS_PER_MS; /* between two attempts */
static const uint64_t step_pause = 20 * THEMIS_NS_PER_MS;  /* between two steps of an attempt; a reply ends it */
static const uint64_t default_heartbeat = THEMIS_NS_PER_S;

static void connection_close(themis_client_peer_t *peer)
{
    if (peer->conn && peer->state != THEMIS_CLIENT_PEER_CONNECTING)
        themis_net_conn_set_user(peer->conn, NULL);
    themis_net_conn_close(peer->conn);
    themis_net_conn_unref(peer->conn);
    peer->conn = NULL;
}

void themis_client_peer_free(themis_client_peer_t *peer)
{
    connection_close(peer);
    free(peer->name);
}

/* How long calls wait for it: one that was there will be started again, another may be a mistake in the list. */
static uint64_t patience(const themis_client_peer_t *peer)
{
    return peer->incarnation ? peer->common->settings->timeout : peer->common->settings->meeting;
}

/* Ends the calls if their time is up, or if the server refused the session. */
static void attempt_failed(themis_client_peer_t *peer)
{
    uint64_t now = themis_util_clock_now();

    if (peer->state == THEMIS_CLIENT_PEER_REFUSED || now - peer->unreachable_since + retry_pause >= patience(peer))
        peer->common->events->ended(peer, peer->why == THEMIS_NO_SERVER ? THEMIS_UNREACHABLE : peer->why);
    peer->retry_at = now + retry_pause;
}

static void peer_lose(themis_client_peer_t *peer, themis_status_t why, themis_client_peer_state_t state)
{
    int attempted = themis_client_peer_is_connecting(peer);

    connection_close(peer);
    peer->connection++;
    peer->hello_id = 0;
    peer->why = why;
    peer->state = state;
    if (!peer->unreachable_since && peer->queue.first)
        peer->unreachable_since = themis_util_clock_now();
    peer->common->events->lost(peer, why);
    if (attempted)
        attempt_failed(peer);
    peer->common->poller->due |= peer->queue.first != NULL;
}

void themis_client_peer_lose(themis_client_peer_t *peer, themis_status_t why)
{
    peer_lose(peer, why, THEMIS_CLIENT_PEER_IDLE);
}

void themis_client_peer_send(themis_client_peer_t *peer, const void *bytes, size_t length)
{
    themis_status_t status = themis_net_send(peer->conn, bytes, length);

    peer->heartbeat.sent = 1;
    if (status != THEMIS_OK)
        themis_client_peer_lose(peer, status);
}

/* --- what arrives ------------------------------------------------------------------------------------------------- */

static void copy_text(char *out, size_t size, const themis_proto_text_t *text)
{
    snprintf(out, size, "%.*s", (int)text->length, text->length ? text->bytes : "");
}

/* The same servers in another order are another file system. */
static themis_status_t check_index(const themis_client_peer_t *peer, const themis_proto_welcome_t *welcome)
{
    const themis_client_settings_t *settings = peer->common->settings;

    if (welcome->index == peer->index && welcome->servers == settings->server_count)
        return THEMIS_OK;
    return themis_client_fail(THEMIS_CONFIG, "server %s is number %u of %u, but number %u of %u in the list %s",
                              peer->name, welcome->index + 1, welcome->servers, peer->index + 1, settings->server_count,
                              settings->server_list);
}

/* Never 0. */
static uint64_t identity_hash(const uint8_t identity[THEMIS_PROTO_IDENTITY_BYTES])
{
    uint64_t hash = XXH3_64bits(identity, THEMIS_PROTO_IDENTITY_BYTES);

    return hash ? hash : 1;
}

static void handle_welcome(themis_client_peer_t *peer, const void *bytes, size_t length)
{
    themis_proto_header_t header;
    themis_proto_body_t body;
    const themis_proto_welcome_t *welcome = &body.welcome;
    themis_status_t status = themis_proto_decode(bytes, length, &header, &body);

    if (status == THEMIS_OK && header.status < 0)
        status = themis_client_fail((themis_status_t)header.status, "server %s: %.*s", peer->name,
                                    (int)body.text.text.length, body.text.text.length ? body.text.text.bytes : "");
    else if (status == THEMIS_OK)
        status = check_index(peer, welcome);
    if (status != THEMIS_OK) {
        snprintf(peer->cause, sizeof peer->cause, "%s", themis_last_error());
        peer_lose(peer, status, THEMIS_CLIENT_PEER_REFUSED);
        return;
    }
    peer->cause[0] = '\0';
    peer->hello_id = 0;
    peer->incarnation = welcome->incarnation;
    peer->store = identity_hash(welcome->store);
    peer->boot = identity_hash(welcome->boot);
    if (peer->wanted)
        themis_client_poller_notify(peer->common->poller);
    peer->wanted = 0;
    peer->layout = themis_client_convert_layout(&welcome->layout);
    peer->policy_granted = welcome->policy_granted;
    copy_text(peer->policy, sizeof peer->policy, &welcome->policy);
    copy_text(peer->policy_fault, sizeof peer->policy_fault, &welcome->fault);
    peer->heartbeat.interval = welcome->heartbeat ? welcome->heartbeat : default_heartbeat;
    peer->heartbeat.silent_since = 0;
    if (!peer->queue.first)
        peer->unreachable_since = 0;
    peer->state = THEMIS_CLIENT_PEER_READY;
    peer->common->events->ready(peer);
}

static void handle_message(themis_client_peer_t *peer, const void *bytes, size_t length)
{
    themis_proto_header_t header;
    themis_status_t status = themis_proto_decode_header(bytes, length, &header);

    peer->heartbeat.received = 1;
    if (status != THEMIS_OK) {
        themis_warn("server %s: %s; the connection is closed", peer->name, themis_status_string(status));
        themis_client_peer_lose(peer, status);
    } else if (header.kind != THEMIS_PROTO_REPLY) {
        return;
    } else if (peer->hello_id && header.id == peer->hello_id) {
        handle_welcome(peer, bytes, length);
    } else if (header.status == THEMIS_SHUTTING_DOWN && header.opcode != THEMIS_OP_SHUTDOWN) {
        themis_client_peer_lose(peer, THEMIS_SHUTTING_DOWN); /* the calls wait for its successor */
    } else if (peer->common->events->replied(peer, &header, bytes, length)) {
        peer->unreachable_since = 0;
    }
}

static void on_message(void *arg, themis_net_conn_t *conn, const void *bytes, size_t length)
{
    themis_client_poller_t *poller = arg;

    pthread_mutex_lock(&poller->lock);
    themis_client_peer_t *peer = themis_net_conn_user(conn);
    if (peer && peer->conn == conn)
        handle_message(peer, bytes, length);
    pthread_mutex_unlock(&poller->lock);
}

static void on_closed(void *arg, themis_net_conn_t *conn, themis_status_t why)
{
    themis_client_poller_t *poller = arg;

    pthread_mutex_lock(&poller->lock);
    themis_client_peer_t *peer = themis_net_conn_user(conn);
    if (peer && peer->conn == conn)
        themis_client_peer_lose(peer, why);
    pthread_mutex_unlock(&poller->lock);
}

const themis_net_handlers_t themis_client_peer_handlers = {.message = on_message, .closed = on_closed};

/* --- messages of the session itself ------------------------------------------------------------------------------- */

/* Encodes and sends a request that is no call; *id, written before, names its reply. */
static themis_status_t send_request(themis_client_peer_t *peer, themis_proto_opcode_t opcode, const void *body,
                                    uint64_t *id)
{
    unsigned char message[THEMIS_PROTO_MAX_POLICY + 6 * THEMIS_PROTO_MAX_TEXT];
    themis_proto_header_t header = {
        .version = THEMIS_PROTO_VERSION, .kind = THEMIS_PROTO_REQUEST, .opcode = opcode, .id = peer->common->next_id++};
    size_t length;
    themis_status_t status = themis_proto_encode(&header, body, message, sizeof message, &length);

    if (status != THEMIS_OK)
        return status;
    *id = header.id;
    themis_client_peer_send(peer, message, length);
    return THEMIS_OK;
}

static themis_status_t send_hello(themis_client_peer_t *peer)
{
    const themis_client_settings_t *settings = peer->common->settings;
    themis_proto_hello_t hello = {.session = peer->common->id,
                                  .job = themis_client_convert_text(settings->job),
                                  .uid = geteuid(),
                                  .gid = getegid(),
                                  .nodes = settings->nodes,
                                  .priority = settings->priority,
                                  .host = themis_client_convert_text(peer->common->host),
                                  .pid = (uint32_t)getpid(),
                                  .policy = themis_client_convert_text(settings->policy),
                                  .application = themis_client_convert_text(settings->application),
                                  .project = themis_client_convert_text(settings->project),
                                  .locks = peer->locks};

    return send_request(peer, THEMIS_OP_HELLO, &hello, &peer->hello_id);
}

void themis_client_peer_update(themis_client_peer_t *peer)
{
    if (peer->state == THEMIS_CLIENT_PEER_READY)
        send_hello(peer);
}

void themis_client_peer_tick(themis_client_peer_t *peer, uint64_t now, int away)
{
    int owes = peer->queue.first != NULL;
    int silent = owes && !peer->heartbeat.received && !away;
    int probe = silent && !peer->heartbeat.silent_since;
    themis_proto_none_t none = {0};
    uint64_t id;

    if (!silent)
        peer->heartbeat.silent_since = 0;
    if (peer->heartbeat.sent)
        peer->heartbeat.sent_at = now;
    peer->heartbeat.sent = peer->heartbeat.received = 0;
    if (peer->heartbeat.silent_since && now - peer->heartbeat.silent_since > peer->common->settings->meeting) {
        themis_client_peer_lose(peer, THEMIS_TIMED_OUT);
        return;
    }
    if (probe)
        peer->heartbeat.silent_since = now;
    if (probe || now - peer->heartbeat.sent_at >= peer->heartbeat.interval)
        send_request(peer, THEMIS_OP_HEARTBEAT, &none, &id);
}

/* --- connecting --------------------------------------------------------------------------------------------------- */

/* An attempt may last as long as the time that is left, within bounds. */
static uint64_t end_of_attempt(const themis_client_peer_t *peer, uint64_t now)
{
    uint64_t timeout = patience(peer), until = peer->unreachable_since + timeout;
    uint64_t left = until > now ? until - now : 0;

    return now + themis_util_min(themis_util_min(max_attempt, left > min_attempt ? left : min_attempt), timeout);
}

/* The lock is released meanwhile, since names are resolved. */
static themis_status_t attempt_begin(themis_client_peer_t *peer, uint64_t now)
{
    const themis_client_server_t *server = &peer->common->settings->servers[peer->index];
    themis_client_poller_t *poller = peer->common->poller;
    int is_young = now - peer->common->started < peer->common->settings->meeting;
    themis_net_conn_t *conn = NULL;

    /* the time of a call that comes later begins then */
    if (!peer->unreachable_since && (peer->queue.first || !peer->wanted))
        peer->unreachable_since = is_young ? now - peer->common->delay : now;
    peer->state = THEMIS_CLIENT_PEER_CONNECTING;
    peer->attempt_until = end_of_attempt(peer, now);
    pthread_mutex_unlock(&poller->lock);
    themis_status_t status = themis_net_connect_start(poller->net, server->host, server->port, &conn);
    pthread_mutex_lock(&poller->lock);
    peer->conn = status == THEMIS_OK ? conn : NULL;
    return status;
}

/* THEMIS_IN_PROGRESS: the server has not answered yet. Handlers may run, so the lock is released meanwhile. */
static themis_status_t attempt_go_on(themis_client_peer_t *peer)
{
    themis_net_peer_credentials_t credentials;
    themis_net_conn_t *conn = peer->conn;

    pthread_mutex_unlock(&peer->common->poller->lock);
    themis_status_t status = themis_net_connect_progress(conn, 0);
    pthread_mutex_lock(&peer->common->poller->lock);
    if (status != THEMIS_OK) {
        if (status != THEMIS_IN_PROGRESS)
            peer->conn = NULL; /* the net has closed it */
        return status;
    }
    peer->state = THEMIS_CLIENT_PEER_HELLO;
    themis_net_conn_set_user(conn, peer);
    peer->local = themis_net_conn_credentials(conn, &credentials) == THEMIS_OK && credentials.local &&
                  credentials.uid == geteuid();
    status = send_hello(peer);
    return status == THEMIS_OK ? THEMIS_IN_PROGRESS : status;
}

/* A server that this process has never been served by, and that does not believe it, or is not to be believed, will not
 * be another one soon. */
static void attempt_end(themis_client_peer_t *peer, themis_status_t status)
{
    if (status != THEMIS_ACCESS || peer->incarnation) {
        themis_client_peer_lose(peer, status);
        return;
    }
    snprintf(peer->cause, sizeof peer->cause,
             "server %s: it and this process have not shown each other who they are; the lines before say why",
             peer->name);
    peer_lose(peer, status, THEMIS_CLIENT_PEER_REFUSED);
}

uint64_t themis_client_peer_connect(themis_client_peer_t *peer, uint64_t now)
{
    themis_status_t status = THEMIS_IN_PROGRESS;

    if (!themis_client_peer_is_connecting(peer)) {
        if (now < peer->retry_at)
            return peer->retry_at - now;
        status = attempt_begin(peer, now);
    }
    if (peer->conn && peer->state == THEMIS_CLIENT_PEER_CONNECTING)
        status = attempt_go_on(peer);
    now = themis_util_clock_now();
    if (status == THEMIS_IN_PROGRESS && now >= peer->attempt_until)
        status = THEMIS_TIMED_OUT;
    if (status != THEMIS_IN_PROGRESS && themis_client_peer_is_connecting(peer))
        attempt_end(peer, status);
    if (themis_client_peer_is_connecting(peer))
        return step_pause;
    return peer->state != THEMIS_CLIENT_PEER_READY && peer->queue.first ? retry_pause : 0;
}
