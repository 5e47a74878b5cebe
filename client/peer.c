/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/peer.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "client/call.h"
#include "client/error.h"
#include "util/clock.h"
#include "util/log.h"

static const uint64_t attempt_limit = 2 * THEMIS_NS_PER_S; /* of one attempt to connect */
static const uint64_t least_attempt = 500 * THEMIS_NS_PER_MS;
static const uint64_t retry_pause = 50 * THEMIS_NS_PER_MS; /* between two attempts */
static const uint64_t step_pause = 20 * THEMIS_NS_PER_MS;  /* an answer ends it */
static const uint64_t tick_limit = THEMIS_NS_PER_S;

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static themis_proto_text_t text_of(const char *text)
{
    return (themis_proto_text_t){text, (uint32_t)strlen(text)};
}

void themis_client_peer_lose(themis_client_peer_t *peer, themis_status_t why)
{
    themis_net_conn_t *conn = peer->conn;

    peer->conn = NULL;
    peer->hello_id = 0;
    peer->why = why;
    if (peer->state == THEMIS_CLIENT_PEER_READY) /* else reach() sees how the attempt has ended */
        peer->state = THEMIS_CLIENT_PEER_IDLE;
    if (!peer->lost && peer->first)
        peer->lost = themis_util_clock_now();
    if (conn) {
        themis_net_conn_set_user(conn, NULL);
        themis_net_conn_close(conn);
        themis_net_conn_unref(conn);
    }
    themis_client_call_unsend(peer, why);
    peer->session->attention |= peer->first != NULL;
}

themis_status_t themis_client_peer_send(themis_client_peer_t *peer, const void *bytes, size_t length)
{
    themis_status_t status = themis_net_send(peer->conn, bytes, length);

    peer->sent = 1;
    if (status != THEMIS_OK)
        themis_client_peer_lose(peer, status);
    return status;
}

/* --- what arrives ------------------------------------------------------------------------------------------------- */

static void copy_text(char *out, size_t size, const themis_proto_text_t *text)
{
    snprintf(out, size, "%.*s", (int)text->length, text->length ? text->bytes : "");
}

/* The same list in another order would be another file system. */
static themis_status_t check_place(const themis_client_peer_t *peer, const themis_proto_welcome_t *welcome)
{
    uint32_t servers = peer->session->settings.server_count;

    if (welcome->index == peer->index && welcome->servers == servers)
        return THEMIS_OK;
    return themis_client_fail(THEMIS_CONFIG, "server %s is number %u of %u, but number %u of %u in the list %s",
                              peer->name, welcome->index + 1, welcome->servers, peer->index + 1, servers,
                              peer->session->settings.server_list);
}

static void take_welcome(themis_client_peer_t *peer, const void *bytes, size_t length)
{
    themis_proto_header_t header;
    themis_proto_body_t body;
    themis_status_t status = themis_proto_decode(bytes, length, &header, &body);

    if (status == THEMIS_OK && header.status < 0)
        status = themis_client_fail((themis_status_t)header.status, "server %s: %.*s", peer->name,
                                    (int)body.text.text.length, body.text.text.length ? body.text.text.bytes : "");
    else if (status == THEMIS_OK)
        status = check_place(peer, &body.welcome);
    if (status != THEMIS_OK) {
        snprintf(peer->cause, sizeof peer->cause, "%s", themis_last_error());
        peer->refused = 1;
        themis_client_peer_lose(peer, status);
        return;
    }
    peer->cause[0] = '\0';
    peer->hello_id = 0;
    peer->incarnation = body.welcome.incarnation;
    peer->heartbeat = body.welcome.heartbeat ? body.welcome.heartbeat : tick_limit;
    peer->layout =
        (themis_layout_t){body.welcome.layout.stripe_size, body.welcome.layout.count, body.welcome.layout.first};
    peer->policy_granted = body.welcome.policy_granted;
    copy_text(peer->policy, sizeof peer->policy, &body.welcome.policy);
    copy_text(peer->policy_fault, sizeof peer->policy_fault, &body.welcome.fault);
    peer->silent_since = 0;
    peer->wanted = 0;
    if (!peer->first)
        peer->lost = 0;
    peer->state = THEMIS_CLIENT_PEER_READY;
    themis_client_call_flush(peer);
}

/* A server that drains answers nothing new; what it refuses waits for its successor. */
static int refuses_to_work(const themis_proto_header_t *header)
{
    return header->status == THEMIS_SHUTTING_DOWN && header->opcode != THEMIS_OP_SHUTDOWN;
}

static void take_message(themis_client_peer_t *peer, const void *bytes, size_t length)
{
    themis_proto_header_t header;
    themis_status_t status = themis_proto_decode_header(bytes, length, &header);

    peer->heard = 1;
    if (status != THEMIS_OK) {
        themis_warn("server %s: %s", peer->name, themis_status_string(status));
        themis_client_peer_lose(peer, status);
    } else if (header.kind != THEMIS_PROTO_REPLY) {
        return;
    } else if (peer->hello_id && header.id == peer->hello_id) {
        take_welcome(peer, bytes, length);
    } else if (refuses_to_work(&header)) {
        themis_client_peer_lose(peer, THEMIS_SHUTTING_DOWN);
    } else if (themis_client_call_answer(peer, &header, bytes, length)) {
        peer->lost = 0;
    }
}

static void on_message(void *arg, themis_net_conn_t *conn, const void *bytes, size_t length)
{
    themis_t *session = arg;

    pthread_mutex_lock(&session->lock);
    themis_client_peer_t *peer = themis_net_conn_user(conn);
    if (peer && peer->conn == conn)
        take_message(peer, bytes, length);
    pthread_mutex_unlock(&session->lock);
}

static void on_closed(void *arg, themis_net_conn_t *conn, themis_status_t why)
{
    themis_t *session = arg;

    pthread_mutex_lock(&session->lock);
    themis_client_peer_t *peer = themis_net_conn_user(conn);
    if (peer && peer->conn == conn)
        themis_client_peer_lose(peer, why);
    pthread_mutex_unlock(&session->lock);
}

const themis_net_handlers_t themis_client_peer_handlers = {.message = on_message, .closed = on_closed};

/* --- connecting --------------------------------------------------------------------------------------------------- */

static themis_status_t send_hello(themis_client_peer_t *peer)
{
    unsigned char message[THEMIS_PROTO_MAX_POLICY + 4 * THEMIS_PROTO_MAX_TEXT];
    themis_t *session = peer->session;
    const themis_client_settings_t *settings = &session->settings;
    themis_proto_hello_t hello = {.session = session->id,
                                  .job = text_of(settings->job),
                                  .uid = geteuid(),
                                  .gid = getegid(),
                                  .nodes = settings->nodes,
                                  .priority = settings->priority,
                                  .host = text_of(session->host),
                                  .pid = (uint32_t)getpid(),
                                  .policy = text_of(settings->policy)};
    themis_proto_header_t header = {.version = THEMIS_PROTO_VERSION,
                                    .kind = THEMIS_PROTO_REQUEST,
                                    .opcode = THEMIS_OP_HELLO,
                                    .id = session->next_id++};
    size_t length;
    themis_status_t status = themis_proto_encode(&header, &hello, message, sizeof message, &length);

    if (status != THEMIS_OK)
        return status;
    peer->hello_id = header.id;
    return themis_client_peer_send(peer, message, length);
}

void themis_client_peer_introduce(themis_client_peer_t *peer)
{
    if (peer->state == THEMIS_CLIENT_PEER_READY)
        send_hello(peer);
}

/* The network has connected: HELLO follows. */
static themis_status_t adopt(themis_client_peer_t *peer, themis_net_conn_t *conn)
{
    themis_net_peer_credentials_t credentials;

    peer->conn = conn;
    themis_net_conn_set_user(conn, peer);
    peer->local = themis_net_conn_credentials(conn, &credentials) == THEMIS_OK && credentials.uid == geteuid();
    return send_hello(peer);
}

/* The lock is given up meanwhile, here and below: names are resolved, and handlers may run. */
static themis_status_t begin(themis_client_peer_t *peer, uint64_t until)
{
    themis_t *session = peer->session;
    const themis_client_server_t *server = &session->settings.servers[peer->index];
    themis_net_conn_t *conn = NULL;

    peer->refused = 0;
    peer->state = THEMIS_CLIENT_PEER_CONNECTING;
    peer->attempt_until = until;
    pthread_mutex_unlock(&session->lock);
    themis_status_t status = themis_net_connect_start(session->net, server->host, server->port, &conn);
    pthread_mutex_lock(&session->lock);
    if (status == THEMIS_OK)
        peer->attempt = conn;
    return status;
}

/* A look at an attempt. THEMIS_IN_PROGRESS: the server has not answered yet. */
static themis_status_t go_on(themis_client_peer_t *peer)
{
    themis_t *session = peer->session;
    themis_net_conn_t *conn = peer->attempt;

    if (conn) {
        pthread_mutex_unlock(&session->lock);
        themis_status_t status = themis_net_connect_progress(conn, 0);
        pthread_mutex_lock(&session->lock);
        if (status == THEMIS_IN_PROGRESS)
            return status;
        peer->attempt = NULL;
        if (status == THEMIS_OK)
            status = adopt(peer, conn);
        if (status != THEMIS_OK)
            return status;
    }
    if (peer->state == THEMIS_CLIENT_PEER_READY)
        return THEMIS_OK;
    return peer->hello_id ? THEMIS_IN_PROGRESS : peer->why;
}

static void give_up(themis_client_peer_t *peer, themis_status_t why)
{
    themis_net_conn_t *attempt = peer->attempt;

    peer->attempt = NULL;
    themis_net_conn_close(attempt);
    themis_net_conn_unref(attempt);
    themis_client_peer_lose(peer, why);
    peer->state = THEMIS_CLIENT_PEER_IDLE;
}

/* An attempt may last as long as the time that is left, within bounds. */
static uint64_t end_of_attempt(const themis_client_peer_t *peer, uint64_t now)
{
    uint64_t timeout = peer->session->settings.timeout;
    uint64_t left = peer->lost + timeout > now ? peer->lost + timeout - now : 0;
    uint64_t limit = smaller(attempt_limit, left > least_attempt ? left : least_attempt);

    return now + smaller(limit, timeout);
}

/* Whether the time that the first answer took is no longer to be counted. */
static int started_long_ago(const themis_t *session, uint64_t now)
{
    return now - session->started >= session->settings.timeout;
}

/* A step towards a server that is wanted; ends its calls when their time is up. Returns ns until the next step. */
static uint64_t reach(themis_client_peer_t *peer, uint64_t now)
{
    themis_status_t status = THEMIS_OK;

    if (peer->state == THEMIS_CLIENT_PEER_IDLE) {
        if (now < peer->retry_at)
            return peer->retry_at - now;
        if (!peer->lost)
            peer->lost = started_long_ago(peer->session, now) ? now : now - peer->session->delay;
        status = begin(peer, end_of_attempt(peer, now));
    }
    if (status == THEMIS_OK)
        status = go_on(peer);
    now = themis_util_clock_now();
    if (status == THEMIS_OK || (status == THEMIS_IN_PROGRESS && now < peer->attempt_until))
        return status == THEMIS_OK ? 0 : step_pause;
    if (status == THEMIS_IN_PROGRESS)
        status = THEMIS_TIMED_OUT;
    give_up(peer, status);
    peer->wanted = 0;
    if (peer->refused || now - peer->lost + retry_pause >= peer->session->settings.timeout)
        themis_client_call_fail_all(peer, status);
    peer->retry_at = now + retry_pause;
    return peer->first ? retry_pause : 0;
}

/* --- heartbeats --------------------------------------------------------------------------------------------------- */

static void send_heartbeat(themis_client_peer_t *peer)
{
    unsigned char message[THEMIS_PROTO_HEADER_BYTES];
    themis_proto_header_t header = {.version = THEMIS_PROTO_VERSION,
                                    .kind = THEMIS_PROTO_REQUEST,
                                    .opcode = THEMIS_OP_HEARTBEAT,
                                    .id = peer->session->next_id++};
    themis_proto_none_t none = {0};
    size_t length;

    if (themis_proto_encode(&header, &none, message, sizeof message, &length) == THEMIS_OK)
        themis_client_peer_send(peer, message, length);
}

/*
 * A server that owes answers and has said nothing since the last tick is probed; one that is silent for the timeout
 * after a probe is taken for dead, although its connection stands. `away`: nobody has polled since the last tick, so
 * its silence means nothing.
 */
static void tick(themis_client_peer_t *peer, uint64_t now, int away)
{
    int owes = peer->first != NULL;

    if (peer->heard || away || !owes)
        peer->silent_since = 0;
    if (peer->sent)
        peer->sent_at = now;
    int probe = owes && !peer->heard && !peer->silent_since && !away;
    peer->sent = peer->heard = 0;
    if (peer->silent_since && now - peer->silent_since > peer->session->settings.timeout) {
        themis_client_peer_lose(peer, THEMIS_TIMED_OUT);
        return;
    }
    if (probe)
        peer->silent_since = now;
    if (probe || now - peer->sent_at >= peer->heartbeat)
        send_heartbeat(peer);
}

static void tick_all(themis_t *session, uint64_t now)
{
    int away = now - session->last_tick > 3 * tick_limit;
    uint64_t pause = tick_limit;

    for (uint32_t i = 0; i < session->settings.server_count; i++) {
        themis_client_peer_t *peer = themis_client_peer(session, i);
        if (peer->state != THEMIS_CLIENT_PEER_READY)
            continue;
        tick(peer, now, away);
        pause = smaller(pause, peer->heartbeat / 2 + 1);
    }
    session->last_tick = now;
    session->next_tick = now + pause;
}

static int is_wanted(const themis_client_peer_t *peer)
{
    return (peer->first || peer->wanted) && peer->state != THEMIS_CLIENT_PEER_READY;
}

/* A step for each that is wanted. Returns ns until the next. */
static uint64_t reach_all(themis_t *session, uint64_t now)
{
    uint64_t pause = UINT64_MAX;

    session->attention = 0;
    for (uint32_t i = 0; i < session->settings.server_count; i++) {
        themis_client_peer_t *peer = themis_client_peer(session, i);
        if (!is_wanted(peer))
            continue;
        pause = smaller(pause, reach(peer, now));
        session->attention |= is_wanted(peer);
    }
    return pause;
}

uint64_t themis_client_peer_service(themis_t *session, uint64_t now)
{
    uint64_t pause = UINT64_MAX;

    if (now >= session->next_tick)
        tick_all(session, now);
    if (session->attention) {
        pause = reach_all(session, now);
        now = themis_util_clock_now();
    }
    return smaller(pause, session->next_tick > now ? session->next_tick - now : 1);
}
