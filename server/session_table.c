/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/session_table.h"
#include <stdlib.h>
#include <string.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>
#include "util/clock.h"

/* Apart from the session, so that the header needs no uthash. */
typedef struct entry {
    uint64_t number;
    themis_server_session_t *session;
    UT_hash_handle hh;
} entry_t;

struct themis_server_sessions {
    entry_t *entries;
    themis_server_session_t *list;
};

themis_status_t themis_server_sessions_create(themis_server_sessions_t **sessions)
{
    themis_server_sessions_t *made = calloc(1, sizeof *made);

    if (!made)
        return THEMIS_NO_MEMORY;
    *sessions = made;
    return THEMIS_OK;
}

void themis_server_sessions_destroy(themis_server_sessions_t *sessions)
{
    if (!sessions)
        return;
    while (sessions->list) {
        themis_server_session_t *session = sessions->list;
        themis_server_sessions_unlist(sessions, session);
        if (themis_server_session_unref(session))
            themis_server_session_free(session);
    }
    free(sessions);
}

static entry_t *entry_of(themis_server_sessions_t *sessions, uint64_t number)
{
    entry_t *entry;

    HASH_FIND(hh, sessions->entries, &number, sizeof number, entry);
    return entry;
}

themis_server_session_t *themis_server_sessions_find(themis_server_sessions_t *sessions, uint64_t number)
{
    entry_t *entry = entry_of(sessions, number);

    return entry ? entry->session : NULL;
}

themis_status_t themis_server_sessions_add(themis_server_sessions_t *sessions, uint64_t number,
                                           themis_server_session_t **session)
{
    themis_server_session_t *made = calloc(1, sizeof *made);
    entry_t *entry = calloc(1, sizeof *entry);

    if (made && entry) {
        entry->number = number;
        entry->session = made;
        HASH_ADD(hh, sessions->entries, number, sizeof number, entry);
    }
    if (!made || !entry || !entry->hh.tbl) {
        free(made);
        free(entry);
        return THEMIS_NO_MEMORY;
    }
    made->number = number;
    made->references = 1;
    made->listed = 1;
    DL_APPEND(sessions->list, made);
    *session = made;
    return THEMIS_OK;
}

void themis_server_sessions_unlist(themis_server_sessions_t *sessions, themis_server_session_t *session)
{
    entry_t *entry = entry_of(sessions, session->number);

    HASH_DELETE(hh, sessions->entries, entry);
    free(entry);
    DL_DELETE(sessions->list, session);
    session->listed = 0;
}

themis_status_t themis_server_session_admit(themis_server_session_t *session, size_t bytes)
{
    if (session->requests >= THEMIS_SERVER_SESSION_REQUESTS ||
        session->request_bytes + bytes > THEMIS_SERVER_SESSION_BYTES)
        return THEMIS_BUSY;
    session->requests++;
    session->request_bytes += bytes;
    session->references++;
    return THEMIS_OK;
}

void themis_server_session_dismiss(themis_server_session_t *session, size_t bytes)
{
    session->requests--;
    session->request_bytes -= bytes;
}

int themis_server_waste_add(themis_server_waste_t *waste, uint64_t now)
{
    if (now - waste->since >= THEMIS_NS_PER_S)
        *waste = (themis_server_waste_t){.since = now};
    return ++waste->count > THEMIS_SERVER_SESSION_WASTE;
}

int themis_server_session_unref(themis_server_session_t *session)
{
    return --session->references == 0;
}

void themis_server_session_free(themis_server_session_t *session)
{
    if (session->conn)
        themis_net_conn_unref(session->conn);
    for (int i = 0; i < THEMIS_SERVER_SESSION_REPLIES; i++)
        free(session->replies[i].bytes);
    free(session);
}

themis_server_session_t *themis_server_sessions_first(themis_server_sessions_t *sessions)
{
    return sessions->list;
}

uint32_t themis_server_sessions_count(const themis_server_sessions_t *sessions)
{
    return HASH_COUNT(sessions->entries);
}

themis_server_remembered_t *themis_server_session_recall(themis_server_session_t *session, uint64_t id)
{
    for (int i = 0; i < THEMIS_SERVER_SESSION_REPLIES; i++)
        if (session->replies[i].used && session->replies[i].id == id)
            return &session->replies[i];
    return NULL;
}

static void forget(themis_server_remembered_t *remembered)
{
    free(remembered->bytes);
    memset(remembered, 0, sizeof *remembered);
}

themis_server_remembered_t *themis_server_session_begin(themis_server_session_t *session, uint64_t id)
{
    for (uint32_t i = 0; i < THEMIS_SERVER_SESSION_REPLIES; i++) {
        themis_server_remembered_t *place = &session->replies[session->next_reply++ % THEMIS_SERVER_SESSION_REPLIES];
        if (place->used && !place->done)
            continue;
        forget(place);
        place->used = 1;
        place->id = id;
        return place;
    }
    return NULL;
}

void themis_server_session_keep(themis_server_session_t *session, uint64_t id, const void *bytes, size_t length)
{
    themis_server_remembered_t *place = themis_server_session_recall(session, id);

    if (!place)
        return;
    void *copy = bytes ? malloc(length) : NULL;
    if (!copy) {
        forget(place);
        return;
    }
    memcpy(copy, bytes, length);
    place->bytes = copy;
    place->length = length;
    place->done = 1;
}
