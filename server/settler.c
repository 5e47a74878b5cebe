/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In rounds: takes intents that are due, first has old names of renames removed, then takes renames back whose old name
 * has ended in another way, and at last has bytes freed and entries removed. A server gets all its steps of a round in
 * as few messages as they need; the thread waits for each reply.
 */
#define _GNU_SOURCE
#include "server/settler.h"
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include "server/peers.h"
#include "server/server.h"
#include "server/settle.h"
#include "util/clock.h"
#include "util/hash_ring.h"
#include "util/log.h"

enum { ROUND = 512, SHOWN_BYTES = 256 };
#define CONNECT_TIMEOUT (THEMIS_NS_PER_S / 2)
#define REPLY_TIMEOUT (10 * THEMIS_NS_PER_S)
#define RETRY_AFTER (2 * THEMIS_NS_PER_S)

typedef struct peer {
    themis_net_conn_t *conn; /* a reference, or NULL */
    uint64_t next_try, next_id;
} peer_t;

typedef struct themis_server_settler {
    pthread_t thread;
    int started;
    themis_util_hash_ring_t *ring;
    uint64_t session;
    uint8_t *message; /* THEMIS_PROTO_MAX_MESSAGE bytes */
    /* steps of one message, and the intents that they are of */
    themis_proto_settle_step_t steps[THEMIS_PROTO_MAX_SETTLE];
    themis_server_intent_entry_t *owners[THEMIS_PROTO_MAX_SETTLE];
    themis_status_t statuses[THEMIS_PROTO_MAX_SETTLE];
    uint32_t step_count;
    pthread_mutex_t lock; /* of the rest */
    pthread_cond_t changed;
    int stop;
    /* the call that waits for its reply; conn NULL: none does */
    const themis_net_conn_t *awaited;
    uint64_t awaited_id;
    themis_status_t outcome; /* THEMIS_IN_PROGRESS: not yet known */
    uint32_t count, self;
    peer_t peers[];
} themis_server_settler_t;

/* --- calls of other servers --------------------------------------------------------------------------------------- */

static void peer_disconnect(themis_server_settler_t *settler, peer_t *peer)
{
    pthread_mutex_lock(&settler->lock);
    themis_net_conn_t *conn = peer->conn;
    peer->conn = NULL;
    pthread_mutex_unlock(&settler->lock);
    if (conn) {
        themis_net_conn_close(conn);
        themis_net_conn_unref(conn);
    }
    peer->next_try = themis_util_clock_now() + RETRY_AFTER;
}

static themis_status_t peer_connect(themis_server_t *server, uint32_t index)
{
    themis_server_settler_t *settler = server->settler;
    peer_t *peer = &settler->peers[index];
    themis_net_conn_t *conn = NULL;
    char host[256];
    uint16_t port;

    if (peer->conn)
        return THEMIS_OK;
    if (!*server->config.servers)
        return THEMIS_UNSUPPORTED; /* nobody has said where it is */
    if (themis_util_clock_now() < peer->next_try)
        return THEMIS_UNREACHABLE;
    themis_server_config_address(&server->config, index, host, &port);
    themis_status_t status = themis_net_connect(server->net, host, port, CONNECT_TIMEOUT, &conn);
    if (status != THEMIS_OK) {
        peer->next_try = themis_util_clock_now() + RETRY_AFTER;
        return status;
    }
    pthread_mutex_lock(&settler->lock);
    peer->conn = conn;
    pthread_mutex_unlock(&settler->lock);
    return themis_server_peers_hello(server, settler->session, peer->next_id++, conn);
}

/* Waits until the reply is there, or never will be. */
static themis_status_t reply_await(themis_server_settler_t *settler)
{
    uint64_t due = themis_util_clock_now() + REPLY_TIMEOUT;
    struct timespec until = {.tv_sec = (time_t)(due / THEMIS_NS_PER_S), .tv_nsec = (long)(due % THEMIS_NS_PER_S)};
    int late = 0;

    pthread_mutex_lock(&settler->lock);
    while (settler->outcome == THEMIS_IN_PROGRESS && !settler->stop && !late)
        late = pthread_cond_clockwait(&settler->changed, &settler->lock, CLOCK_MONOTONIC, &until) != 0;
    themis_status_t status = settler->outcome == THEMIS_IN_PROGRESS ? THEMIS_TIMED_OUT : settler->outcome;
    settler->awaited = NULL;
    pthread_mutex_unlock(&settler->lock);
    return status;
}

/* Has the steps done by server `index`; their statuses follow only from success. */
static themis_status_t peer_call(themis_server_t *server, uint32_t index)
{
    themis_server_settler_t *settler = server->settler;
    peer_t *peer = &settler->peers[index];
    const themis_proto_settle_t settle = {.count = settler->step_count, .bytes = (const uint8_t *)settler->steps};
    size_t length;
    themis_status_t status = peer_connect(server, index);

    if (status != THEMIS_OK && !peer->conn)
        return status;
    const themis_proto_header_t header = {.version = THEMIS_PROTO_VERSION,
                                          .kind = THEMIS_PROTO_REQUEST,
                                          .opcode = THEMIS_OP_SETTLE,
                                          .id = peer->next_id++};
    if (status == THEMIS_OK)
        status = themis_proto_encode(&header, &settle, settler->message, THEMIS_PROTO_MAX_MESSAGE, &length);
    if (status == THEMIS_OK) {
        pthread_mutex_lock(&settler->lock);
        settler->awaited = peer->conn;
        settler->awaited_id = header.id;
        settler->outcome = THEMIS_IN_PROGRESS;
        pthread_mutex_unlock(&settler->lock);
        status = themis_net_send(peer->conn, settler->message, length);
    }
    if (status == THEMIS_OK)
        status = reply_await(settler);
    if (status != THEMIS_OK)
        peer_disconnect(settler, peer);
    return status;
}

/* With the settler's lock. */
static int is_own(const themis_server_settler_t *settler, const themis_net_conn_t *conn)
{
    for (uint32_t i = 0; i < settler->count; i++)
        if (settler->peers[i].conn == conn)
            return 1;
    return 0;
}

int themis_server_settler_answer(themis_server_t *server, const themis_net_conn_t *conn,
                                 const themis_proto_header_t *header, const themis_proto_body_t *body)
{
    themis_server_settler_t *settler = server->settler;

    if (!settler)
        return 0;
    pthread_mutex_lock(&settler->lock);
    int own = is_own(settler, conn);
    if (own && conn == settler->awaited && header->opcode == THEMIS_OP_SETTLE && header->id == settler->awaited_id) {
        settler->outcome = header->status < 0                           ? header->status
                           : body->settled.count != settler->step_count ? THEMIS_PROTOCOL
                                                                        : THEMIS_OK;
        for (uint32_t i = 0; settler->outcome == THEMIS_OK && i < settler->step_count; i++)
            settler->statuses[i] = themis_proto_settled_get(&body->settled, i);
        pthread_cond_signal(&settler->changed);
    }
    pthread_mutex_unlock(&settler->lock);
    return own;
}

void themis_server_settler_closed(themis_server_t *server, const themis_net_conn_t *conn)
{
    themis_server_settler_t *settler = server->settler;

    if (!settler)
        return;
    pthread_mutex_lock(&settler->lock);
    if (conn == settler->awaited && settler->outcome == THEMIS_IN_PROGRESS) {
        settler->outcome = THEMIS_DISCONNECTED;
        pthread_cond_signal(&settler->changed);
    }
    pthread_mutex_unlock(&settler->lock);
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

static uint32_t home_of(const themis_server_settler_t *settler, const themis_proto_text_t *path)
{
    return themis_util_hash_ring_home(settler->ring, path->bytes, path->length);
}

static uint32_t home_of_directory(const themis_server_settler_t *settler, const themis_proto_text_t *path)
{
    uint32_t length = path->length;

    while (length > 1 && path->bytes[length - 1] != '/')
        length--;
    return themis_util_hash_ring_home(settler->ring, path->bytes, length > 1 ? length - 1 : 1);
}

static int has_bytes(const themis_server_settler_t *settler, const themis_server_intent_t *intent, uint32_t index)
{
    const themis_proto_layout_t *layout = &intent->layout;

    return intent->destroyed &&
           (index + settler->count - layout->first % settler->count) % settler->count < layout->count;
}

/* Sends the steps that are collected, or does them. */
static void steps_flush(themis_server_t *server, uint32_t index)
{
    themis_server_settler_t *settler = server->settler;
    themis_status_t status = THEMIS_OK;

    if (settler->step_count == 0)
        return;
    if (index != settler->self)
        status = peer_call(server, index);
    for (uint32_t i = 0; i < settler->step_count; i++) {
        if (index == settler->self)
            settler->statuses[i] = themis_server_settle_step(server, &settler->steps[i]);
        themis_status_t own = status == THEMIS_OK ? settler->statuses[i] : THEMIS_UNREACHABLE;
        if (own != THEMIS_OK && settler->owners[i]->status == THEMIS_OK)
            settler->owners[i]->status = own;
    }
    settler->step_count = 0;
}

static void step_add(themis_server_t *server, uint32_t index, themis_server_intent_entry_t *owner,
                     const themis_proto_settle_step_t *step)
{
    themis_server_settler_t *settler = server->settler;

    settler->steps[settler->step_count] = *step;
    settler->owners[settler->step_count++] = owner;
    if (settler->step_count == THEMIS_PROTO_MAX_SETTLE)
        steps_flush(server, index);
}

static void old_name_remove(themis_server_t *server, uint32_t index, themis_server_intent_entry_t *entry)
{
    const themis_server_intent_t *intent = &entry->intent;
    const themis_proto_settle_step_t step = {.action = THEMIS_PROTO_SETTLE_NAME,
                                             .object = intent->object,
                                             .generation = intent->old_generation,
                                             .uid = intent->uid,
                                             .gid = intent->gid,
                                             .renamed = intent->path,
                                             .path = intent->other};

    if (intent->kind == THEMIS_SERVER_INTENT_RENAME && entry->state == THEMIS_SERVER_INTENT_OPEN &&
        home_of(server->settler, &intent->other) == index)
        step_add(server, index, entry, &step);
}

static void rest_remove(themis_server_t *server, uint32_t index, themis_server_intent_entry_t *entry)
{
    const themis_server_intent_t *intent = &entry->intent;
    const themis_proto_settle_step_t destroy = {
        .action = THEMIS_PROTO_SETTLE_DESTROY, .object = intent->destroyed, .path = {"/", 1}};
    const themis_proto_settle_step_t remove = {.action = THEMIS_PROTO_SETTLE_ENTRY, .path = intent->path};

    if (intent->kind == THEMIS_SERVER_INTENT_RENAME && entry->state == THEMIS_SERVER_INTENT_OPEN)
        return;
    if (has_bytes(server->settler, intent, index))
        step_add(server, index, entry, &destroy);
    if (intent->kind == THEMIS_SERVER_INTENT_REMOVAL && home_of_directory(server->settler, &intent->path) == index &&
        themis_server_namespace_find(server->names, &intent->path) == THEMIS_NO_ENTRY)
        step_add(server, index, entry, &remove);
}

/* --- what becomes of a rename ------------------------------------------------------------------------------------- */

/* A path as a log may have it: users choose its bytes, and how many there are. */
static const char *path_show(const themis_proto_text_t *path, char shown[SHOWN_BYTES])
{
    uint32_t length = path->length < SHOWN_BYTES - 4 ? path->length : SHOWN_BYTES - 4;

    for (uint32_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)path->bytes[i];
        shown[i] = (char)(byte < ' ' || byte == 0x7f ? '?' : byte);
    }
    strcpy(shown + length, length < path->length ? "..." : "");
    return shown;
}

/* Does the refusal say that the old name is there, and may not be removed, however often one asks? */
static int is_definite(themis_status_t status)
{
    return status == THEMIS_ACCESS || status == THEMIS_NOT_DIRECTORY || status == THEMIS_IS_DIRECTORY ||
           status == THEMIS_BAD_NAME || status == THEMIS_NAME_TOO_LONG || status == THEMIS_INVALID;
}

int themis_server_settler_decide(themis_server_namespace_t *names, themis_server_intent_entry_t *entry)
{
    themis_server_intents_t *intents = themis_server_namespace_intents(names);
    themis_status_t status = entry->status;
    char path[SHOWN_BYTES], other[SHOWN_BYTES];

    if (status == THEMIS_NO_ENTRY || is_definite(status)) {
        status = themis_server_namespace_take_back(names, entry);
        if (status == THEMIS_OK) {
            themis_info("%s is what it was: a rename could not remove %s", path_show(&entry->intent.path, path),
                        path_show(&entry->intent.other, other));
            themis_server_intents_drop(intents, entry);
            return 1;
        }
    }
    if (status == THEMIS_OK || status == THEMIS_STALE) {
        themis_server_intents_set_old_gone(intents, entry);
        entry->status = THEMIS_OK;
    } else {
        entry->status = status;
    }
    return 0;
}

/* --- rounds ------------------------------------------------------------------------------------------------------- */

static void round_run(themis_server_t *server, themis_server_intent_entry_t **entries, size_t count)
{
    themis_server_settler_t *settler = server->settler;
    size_t left = 0;

    for (uint32_t index = 0; index < settler->count; index++) {
        for (size_t i = 0; i < count; i++)
            old_name_remove(server, index, entries[i]);
        steps_flush(server, index);
    }
    for (size_t i = 0; i < count; i++) {
        int decides =
            entries[i]->intent.kind == THEMIS_SERVER_INTENT_RENAME && entries[i]->state == THEMIS_SERVER_INTENT_OPEN;
        if (!decides || !themis_server_settler_decide(server->names, entries[i]))
            entries[left++] = entries[i];
    }
    for (uint32_t index = 0; index < settler->count; index++) {
        for (size_t i = 0; i < left; i++)
            rest_remove(server, index, entries[i]);
        steps_flush(server, index);
    }
    themis_server_intents_give_back(themis_server_namespace_intents(server->names), entries, left);
}

static void *settler_main(void *arg)
{
    themis_server_t *server = arg;
    themis_server_intents_t *intents = themis_server_namespace_intents(server->names);
    themis_server_intent_entry_t *entries[ROUND];

    while (themis_server_intents_wait(intents)) {
        size_t count = themis_server_intents_take(intents, entries, ROUND);
        if (count)
            round_run(server, entries, count);
    }
    return NULL;
}

/* --- creation ----------------------------------------------------------------------------------------------------- */

themis_status_t themis_server_settler_create(themis_server_t *server)
{
    uint32_t count = (uint32_t)server->config.count;
    themis_server_settler_t *settler = calloc(1, sizeof *settler + (size_t)count * sizeof *settler->peers);

    if (!settler)
        return THEMIS_NO_MEMORY;
    pthread_mutex_init(&settler->lock, NULL);
    pthread_cond_init(&settler->changed, NULL);
    settler->count = count;
    settler->self = (uint32_t)server->config.index;
    server->settler = settler;
    if (getrandom(&settler->session, sizeof settler->session, 0) != sizeof settler->session)
        settler->session = server->incarnation + 1;
    if (!(settler->message = malloc(THEMIS_PROTO_MAX_MESSAGE)))
        return THEMIS_NO_MEMORY;
    return themis_util_hash_ring_create(count, &settler->ring);
}

themis_status_t themis_server_settler_start(themis_server_t *server)
{
    themis_server_settler_t *settler = server->settler;

    settler->started = pthread_create(&settler->thread, NULL, settler_main, server) == 0;
    return settler->started ? THEMIS_OK : THEMIS_NO_MEMORY;
}

void themis_server_settler_destroy(themis_server_t *server)
{
    themis_server_settler_t *settler = server->settler;

    if (!settler)
        return;
    if (settler->started) {
        pthread_mutex_lock(&settler->lock);
        settler->stop = 1;
        pthread_cond_signal(&settler->changed);
        pthread_mutex_unlock(&settler->lock);
        themis_server_intents_stop(themis_server_namespace_intents(server->names));
        pthread_join(settler->thread, NULL);
    }
    for (uint32_t i = 0; i < settler->count; i++)
        peer_disconnect(settler, &settler->peers[i]);
    themis_util_hash_ring_destroy(settler->ring);
    pthread_cond_destroy(&settler->changed);
    pthread_mutex_destroy(&settler->lock);
    free(settler->message);
    free(settler);
    server->settler = NULL;
}
