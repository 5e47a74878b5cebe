/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In rounds: takes intents that are due, first has old names of renames removed, then takes renames back whose old name
 * has ended in another way, then has bytes freed, and at last entries removed. All servers work on their steps at the
 * same time.
 */
#include "server/settler.h"
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include "server/name_intents.h"
#include "server/name_path.h"
#include "server/server.h"
#include "server/settle_peers.h"
#include "util/clock.h"
#include "util/hash_ring.h"
#include "util/log.h"

enum { ROUND = 512 };
#define REPORT_INTERVAL (60 * THEMIS_NS_PER_S)
/* For replies: a client waits for its rename, nobody for bytes to be freed. */
#define SHORT_WAIT (3 * THEMIS_NS_PER_S)
#define LONG_WAIT (5 * THEMIS_NS_PER_S)

typedef struct themis_server_settler {
    pthread_t thread;
    int started;
    uint32_t count; /* of servers */
    themis_util_hash_ring_t *ring;
    themis_server_settle_peers_t *peers;
    uint64_t taken_back, report_at; /* renames that are not reported yet; ns */
} themis_server_settler_t;

/* --- steps -------------------------------------------------------------------------------------------------------- */

static uint32_t home_of(const themis_server_settler_t *settler, const themis_proto_text_t *path)
{
    return themis_util_hash_ring_home(settler->ring, path->bytes, path->length);
}

static uint32_t home_of_directory(const themis_server_settler_t *settler, const themis_proto_text_t *path)
{
    const themis_proto_text_t directory = themis_server_name_path_directory(path);

    return home_of(settler, &directory);
}

static int is_open_rename(const themis_server_intent_entry_t *entry)
{
    return entry->intent.kind == THEMIS_SERVER_INTENT_RENAME && !entry->intent.old_is_gone;
}

static void old_name_remove(themis_server_t *server, themis_server_intent_entry_t *entry)
{
    const themis_server_intent_t *intent = &entry->intent;
    const themis_proto_settle_step_t step = {.action = THEMIS_PROTO_SETTLE_NAME,
                                             .object = intent->object,
                                             .generation = intent->old_generation,
                                             .rename = intent->rename,
                                             .uid = intent->uid,
                                             .gid = intent->gid,
                                             .renamed = intent->path,
                                             .path = intent->other};

    if (is_open_rename(entry))
        themis_server_settle_peers_add(server->settler->peers, home_of(server->settler, &intent->other), entry, &step);
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
        themis_server_settle_peers_add(server->settler->peers, (intent->layout.first % count + i) % count, entry,
                                       &step);
}

/* These steps are in messages without those that take long: whether there is a name may change meanwhile. */
static void entry_remove(themis_server_t *server, themis_server_intent_entry_t *entry)
{
    const themis_server_intent_t *intent = &entry->intent;
    const themis_proto_settle_step_t remove = {.action = THEMIS_PROTO_SETTLE_ENTRY, .path = intent->path};
    const themis_proto_settle_step_t ask = {
        .action = THEMIS_PROTO_SETTLE_RENAME, .rename = intent->rename, .path = intent->other};

    if (intent->kind != THEMIS_SERVER_INTENT_REMOVAL)
        return;
    if (themis_server_namespace_find(server->names, &intent->path) == THEMIS_NO_ENTRY)
        themis_server_settle_peers_add(server->settler->peers, home_of_directory(server->settler, &intent->path), entry,
                                       &remove);
    if (intent->other.length)
        themis_server_settle_peers_add(server->settler->peers, home_of(server->settler, &intent->other), entry, &ask);
}

/* --- what becomes of a rename ------------------------------------------------------------------------------------- */

int themis_server_settler_decide(themis_server_namespace_t *names, themis_server_intent_entry_t *entry)
{
    themis_server_intents_t *intents = themis_server_namespace_intents(names);
    themis_status_t status = entry->status;

    if (status == THEMIS_NO_ENTRY || themis_server_name_intents_is_refusal(status)) {
        status = themis_server_namespace_take_back(names, entry);
        if (status == THEMIS_OK) {
            themis_server_intents_drop(intents, entry);
            return 1;
        }
        themis_server_intents_set_certain(intents, entry, status == THEMIS_STALE); /* it may have been done */
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

static void steps_run(themis_server_t *server, steps_fn steps, themis_server_intent_entry_t **entries, size_t count,
                      uint64_t wait)
{
    themis_server_settle_peers_set_wait(server->settler->peers, wait);
    for (size_t i = 0; i < count; i++)
        if (!entries[i]->is_doubtful && entries[i]->is_synced)
            steps(server, entries[i]);
    themis_server_settle_peers_flush(server->settler->peers);
}

/* Was a doubtful one written? Those that were not are forgotten; how many are left. */
static size_t doubts_end(themis_server_t *server, themis_server_intent_entry_t **entries, size_t count)
{
    themis_server_intents_t *intents = themis_server_namespace_intents(server->names);
    size_t left = 0;

    for (size_t i = 0; i < count; i++) {
        themis_status_t status =
            entries[i]->is_doubtful ? themis_server_intents_find_record(intents, entries[i]) : THEMIS_OK;
        if (status == THEMIS_NO_ENTRY) {
            themis_server_intents_drop(intents, entries[i]);
            continue;
        }
        themis_server_intents_set_certain(intents, entries[i], status == THEMIS_OK);
        entries[i]->status = status;
        entries[left++] = entries[i];
    }
    return left;
}

/* The other servers lose nothing of what they are asked for now, so neither may this one of why it asks. */
static void renames_sync(themis_server_t *server, themis_server_intent_entry_t **entries, size_t count)
{
    themis_status_t status = THEMIS_OK;
    int is_due = 0;

    for (size_t i = 0; i < count; i++)
        is_due |= is_open_rename(entries[i]) && !entries[i]->is_synced;
    if (is_due)
        status = themis_server_namespace_sync(server->names);
    for (size_t i = 0; i < count; i++) {
        entries[i]->is_synced |= status == THEMIS_OK;
        if (entries[i]->status == THEMIS_OK && !entries[i]->is_synced)
            entries[i]->status = status;
    }
}

/* At most once a minute: users make as many as they like. */
static void report(themis_server_settler_t *settler)
{
    if (!settler->taken_back || themis_util_clock_now() < settler->report_at)
        return;
    themis_info("%" PRIu64 " renames were taken back: the old names could not be removed", settler->taken_back);
    settler->taken_back = 0;
    settler->report_at = themis_util_clock_now() + REPORT_INTERVAL;
}

static void round_run(themis_server_t *server, themis_server_intent_entry_t **entries, size_t count)
{
    size_t left = 0;

    count = doubts_end(server, entries, count);
    renames_sync(server, entries, count);
    steps_run(server, old_name_remove, entries, count, SHORT_WAIT);
    for (size_t i = 0; i < count; i++)
        if (!is_open_rename(entries[i]) || !themis_server_settler_decide(server->names, entries[i]))
            entries[left++] = entries[i];
    server->settler->taken_back += count - left;
    report(server->settler);
    steps_run(server, bytes_destroy, entries, left, LONG_WAIT);
    steps_run(server, entry_remove, entries, left, LONG_WAIT);
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

void themis_server_settler_stop(themis_server_t *server)
{
    themis_server_settler_t *settler = server->settler;

    if (!settler || !settler->started)
        return;
    themis_server_settle_peers_stop(settler->peers);
    themis_server_intents_stop(themis_server_namespace_intents(server->names));
    pthread_join(settler->thread, NULL);
    settler->started = 0;
}

void themis_server_settler_destroy(themis_server_t *server)
{
    themis_server_settler_t *settler = server->settler;

    if (!settler)
        return;
    themis_server_settler_stop(server);
    themis_server_settle_peers_destroy(settler->peers);
    themis_util_hash_ring_destroy(settler->ring);
    free(settler);
    server->settler = NULL;
}
