/* SPDX-License-Identifier: BSD-3-Clause */
/* Records: 'R' session (8 bytes) place (1) -> id of the request (8), uid (4), message; little-endian. */
#include "server/durable_replies.h"
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>
#include "server/reply.h"
#include "util/log.h"

enum { PREFIX_BYTES = 9, KEY_BYTES = 10, HEAD_BYTES = 12 };

/* What an earlier process has kept for a session. */
typedef struct kept {
    uint64_t session;
    uint32_t uid;
    themis_server_saved_replies_t replies;
    UT_hash_handle hh;
} kept_t;

typedef struct ended {
    uint64_t session;
    struct ended *next;
} ended_t;

struct themis_server_durable_replies {
    themis_server_name_db_t *db;
    kept_t *kept;
    ended_t *ended; /* whose records are to be removed */
};

static void key_make(uint64_t session, int place, uint8_t key[KEY_BYTES])
{
    uint64_t word = htole64(session);

    key[0] = THEMIS_SERVER_NAME_DB_REPLY;
    memcpy(key + 1, &word, sizeof word);
    key[PREFIX_BYTES] = (uint8_t)place;
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

/* Finds it or makes it; NULL when memory is short. */
static kept_t *kept_get(themis_server_durable_replies_t *replies, uint64_t session)
{
    kept_t *kept;

    HASH_FIND(hh, replies->kept, &session, sizeof session, kept);
    if (kept)
        return kept;
    kept = calloc(1, sizeof *kept);
    if (!kept)
        return NULL;
    kept->session = session;
    HASH_ADD(hh, replies->kept, session, sizeof kept->session, kept);
    if (kept->hh.tbl)
        return kept;
    free(kept);
    return NULL;
}

static void kept_remove(themis_server_durable_replies_t *replies, kept_t *kept)
{
    HASH_DELETE(hh, replies->kept, kept);
    themis_server_saved_replies_clear(&kept->replies);
    free(kept);
}

static themis_status_t record_load(void *arg, const themis_server_name_db_record_t *record)
{
    const uint8_t *key = record->key, *value = record->value;
    uint64_t session, id;
    uint32_t uid;

    if (record->key_length != KEY_BYTES || record->value_length <= HEAD_BYTES || key[PREFIX_BYTES] == 0 ||
        key[PREFIX_BYTES] > THEMIS_SERVER_SAVED_REPLIES)
        return THEMIS_CORRUPT;
    memcpy(&session, key + 1, sizeof session);
    memcpy(&id, value, sizeof id);
    memcpy(&uid, value + sizeof id, sizeof uid);
    kept_t *kept = kept_get(arg, le64toh(session));
    if (!kept)
        return THEMIS_NO_MEMORY;
    kept->uid = le32toh(uid);
    themis_server_saved_replies_restore(&kept->replies, key[PREFIX_BYTES], le64toh(id), value + HEAD_BYTES,
                                        record->value_length - HEAD_BYTES);
    return THEMIS_OK;
}

themis_status_t themis_server_durable_replies_create(themis_server_name_db_t *db,
                                                     themis_server_durable_replies_t **replies)
{
    static const char prefix = THEMIS_SERVER_NAME_DB_REPLY;
    themis_server_durable_replies_t *made = calloc(1, sizeof *made);

    if (!made)
        return THEMIS_NO_MEMORY;
    made->db = db;
    themis_status_t status = db ? themis_server_name_db_scan(db, &prefix, 1, record_load, made) : THEMIS_OK;
    if (status != THEMIS_OK) {
        themis_error("the replies that the last server process has saved cannot be read: %s",
                     themis_status_string(status));
        themis_server_durable_replies_destroy(made);
        return status;
    }
    *replies = made;
    return THEMIS_OK;
}

void themis_server_durable_replies_destroy(themis_server_durable_replies_t *replies)
{
    if (!replies)
        return;
    while (replies->kept)
        kept_remove(replies, replies->kept);
    while (themis_server_durable_replies_next_ended(replies))
        ;
    free(replies);
}

/* --- writing ------------------------------------------------------------------------------------------------------ */

const themis_server_name_db_record_t *themis_server_durable_replies_record(const struct themis_server_request *request,
                                                                           const void *body,
                                                                           themis_server_durable_reply_t *made)
{
    uint64_t id = htole64(request->header.id);
    uint32_t uid = htole32(request->session->identity.uid);
    size_t length;

    if (!request->saves_reply || !request->server->durable_replies->db)
        return NULL;
    key_make(request->session->number, request->saves_reply, made->key);
    memcpy(made->value, &id, sizeof id);
    memcpy(made->value + sizeof id, &uid, sizeof uid);
    if (themis_server_reply_encode(&request->header, body, made->value + HEAD_BYTES, THEMIS_SERVER_DURABLE_REPLY_BYTES,
                                   &length) != THEMIS_OK)
        return NULL;
    request->session->durable = 1;
    made->record = (themis_server_name_db_record_t){
        .key = made->key, .key_length = KEY_BYTES, .value = made->value, .value_length = HEAD_BYTES + length};
    return &made->record;
}

/* --- sessions ----------------------------------------------------------------------------------------------------- */

void themis_server_durable_replies_take(themis_server_durable_replies_t *replies, uint64_t session, uint32_t uid,
                                        themis_server_saved_replies_t *to)
{
    kept_t *kept;

    HASH_FIND(hh, replies->kept, &session, sizeof session, kept);
    if (!kept || kept->uid != uid)
        return;
    *to = kept->replies;
    memset(&kept->replies, 0, sizeof kept->replies);
    kept_remove(replies, kept);
}

void themis_server_durable_replies_forget(themis_server_durable_replies_t *replies, uint64_t session)
{
    ended_t *ended = replies->db && session ? malloc(sizeof *ended) : NULL;

    if (!ended)
        return; /* the next server process removes them */
    ended->session = session;
    LL_PREPEND(replies->ended, ended);
}

void themis_server_durable_replies_expire(themis_server_durable_replies_t *replies)
{
    while (replies->kept) {
        themis_server_durable_replies_forget(replies, replies->kept->session);
        kept_remove(replies, replies->kept);
    }
}

uint64_t themis_server_durable_replies_next_ended(themis_server_durable_replies_t *replies)
{
    ended_t *ended = replies->ended;
    uint64_t session = ended ? ended->session : 0;

    if (ended)
        LL_DELETE(replies->ended, ended);
    free(ended);
    return session;
}

void themis_server_durable_replies_erase(themis_server_durable_replies_t *replies, uint64_t session)
{
    uint8_t prefix[KEY_BYTES];

    key_make(session, 0, prefix);
    themis_server_name_db_erase(replies->db, prefix, PREFIX_BYTES);
}
