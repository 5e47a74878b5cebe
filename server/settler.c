/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In rounds: takes intents that are due, first has old names of renames removed, then takes renames back whose old name
 * has ended in another way, then has bytes freed, and at last entries removed. All servers work on their steps at the
 * same time.
 */
#include "server/settler.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "server/name_intents.h"
#include "server/server.h"
#include "server/settle_peers.h"
#include "util/hash_ring.h"
#include "util/log.h"

enum { ROUND = 512, SHOWN_BYTES = 256 };

typedef struct themis_server_settler {
    pthread_t thread;
    int started;
    uint32_t count; /* of servers */
    themis_util_hash_ring_t *ring;
    themis_server_settle_peers_t *peers;
} themis_server_settler_t;

/* --- steps -------------------------------------------------------------------------------------------------------- */

/* Nobody knows where some servers are: their steps are left to clients. */
static void step_add(themis_server_t *server, uint32_t index, themis_server_intent_entry_t *entry,
                     const themis_proto_settle_step_t *step)
{
    if (themis_server_settle_peers_has_address(server->settler->peers, index))
        themis_server_settle_peers_add(server->settler->peers, index, entry, step);
}

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

static int is_open_rename(const themis_server_intent_entry_t *entry)
{
    return entry->intent.kind == THEMIS_SERVER_INTENT_RENAME && entry->state == THEMIS_SERVER_INTENT_OPEN;
}

static void old_name_remove(themis_server_t *server, themis_server_intent_entry_t *entry)
{
    const themis_server_intent_t *intent = &entry->intent;
    const themis_proto_settle_step_t step = {.action = THEMIS_PROTO_SETTLE_NAME,
                                             .object = intent->object,
                                             .generation = intent->old_generation,
                                             .uid = intent->uid,
                                             .gid = intent->gid,
                                             .renamed = intent->path,
                                             .path = intent->other};

    if (is_open_rename(entry))
        step_add(server, home_of(server->settler, &intent->other), entry, &step);
}

static void bytes_destroy(themis_server_t *server, themis_server_intent_entry_t *entry)
{
    const themis_server_intent_t *intent = &entry->intent;
    const themis_proto_settle_step_t step = {
        .action = THEMIS_PROTO_SETTLE_DESTROY, .object = intent->destroyed, .path = {"/", 1}};
    uint32_t count = server->settler->count;

    if (is_open_rename(entry) || !intent->destroyed)
        return;
    for (uint32_t i = 0; i < intent->layout.count && i < count; i++)
        step_add(server, (intent->layout.first % count + i) % count, entry, &step);
}

/* These steps are in messages without those that take long: whether there is a name may change meanwhile. */
static void entry_remove(themis_server_t *server, themis_server_intent_entry_t *entry)
{
    const themis_server_intent_t *intent = &entry->intent;
    const themis_proto_settle_step_t remove = {.action = THEMIS_PROTO_SETTLE_ENTRY, .path = intent->path};
    const themis_proto_settle_step_t ask = {
        .action = THEMIS_PROTO_SETTLE_RENAME, .generation = intent->ended, .path = intent->other};

    if (intent->kind != THEMIS_SERVER_INTENT_REMOVAL)
        return;
    if (themis_server_namespace_find(server->names, &intent->path) == THEMIS_NO_ENTRY)
        step_add(server, home_of_directory(server->settler, &intent->path), entry, &remove);
    if (intent->other.length)
        step_add(server, home_of(server->settler, &intent->other), entry, &ask);
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

int themis_server_settler_decide(themis_server_namespace_t *names, themis_server_intent_entry_t *entry)
{
    themis_server_intents_t *intents = themis_server_namespace_intents(names);
    themis_status_t status = entry->status;
    char path[SHOWN_BYTES], other[SHOWN_BYTES];

    if (status == THEMIS_NO_ENTRY || themis_server_name_intents_is_refusal(status)) {
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

typedef void (*steps_fn)(themis_server_t *server, themis_server_intent_entry_t *entry);

static void steps_run(themis_server_t *server, steps_fn steps, themis_server_intent_entry_t **entries, size_t count)
{
    for (size_t i = 0; i < count; i++)
        steps(server, entries[i]);
    themis_server_settle_peers_flush(server->settler->peers);
}

static void round_run(themis_server_t *server, themis_server_intent_entry_t **entries, size_t count)
{
    size_t left = 0;

    steps_run(server, old_name_remove, entries, count);
    for (size_t i = 0; i < count; i++)
        if (!is_open_rename(entries[i]) || !themis_server_settler_decide(server->names, entries[i]))
            entries[left++] = entries[i];
    steps_run(server, bytes_destroy, entries, left);
    steps_run(server, entry_remove, entries, left);
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

/* --- creation, and calls of the server ---------------------------------------------------------------------------- */

themis_status_t themis_server_settler_create(themis_server_t *server)
{
    themis_server_settler_t *settler = calloc(1, sizeof *settler);

    if (!settler)
        return THEMIS_NO_MEMORY;
    settler->count = (uint32_t)server->config.count;
    server->settler = settler;
    themis_status_t status = themis_server_settle_peers_create(server, &settler->peers);
    return status == THEMIS_OK ? themis_util_hash_ring_create(settler->count, &settler->ring) : status;
}

themis_status_t themis_server_settler_start(themis_server_t *server)
{
    themis_server_settler_t *settler = server->settler;

    int cause = pthread_create(&settler->thread, NULL, settler_main, server);
    settler->started = cause == 0;
    if (cause)
        themis_error("cannot start a thread for changes of names: %s", strerror(cause));
    return cause ? THEMIS_NO_MEMORY : THEMIS_OK;
}

int themis_server_settler_answer(themis_server_t *server, const themis_net_conn_t *conn,
                                 const themis_proto_header_t *header, const themis_proto_body_t *body)
{
    return server->settler && themis_server_settle_peers_answer(server->settler->peers, conn, header, body);
}

void themis_server_settler_closed(themis_server_t *server, const themis_net_conn_t *conn)
{
    if (server->settler)
        themis_server_settle_peers_closed(server->settler->peers, conn);
}

void themis_server_settler_destroy(themis_server_t *server)
{
    themis_server_settler_t *settler = server->settler;

    if (!settler)
        return;
    if (settler->started) {
        themis_server_settle_peers_stop(settler->peers);
        themis_server_intents_stop(themis_server_namespace_intents(server->names));
        pthread_join(settler->thread, NULL);
    }
    themis_server_settle_peers_destroy(settler->peers);
    themis_util_hash_ring_destroy(settler->ring);
    free(settler);
    server->settler = NULL;
}
