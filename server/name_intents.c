/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/name_intents.h"
#include <stdlib.h>
#include <string.h>
#include "server/name_record.h"

const themis_server_name_db_record_t *themis_server_name_intents_record(themis_server_intent_entry_t *left,
                                                                        const themis_server_name_db_record_t *others)
{
    if (!left)
        return others;
    left->record.next = others;
    return &left->record;
}

themis_status_t themis_server_name_intents_removal(themis_server_intents_t *intents, const themis_proto_text_t *path,
                                                   const themis_proto_attr_t *old, const themis_proto_text_t *renamed,
                                                   uint64_t rename, themis_server_intent_entry_t **left)
{
    themis_server_intent_t intent = {.kind = THEMIS_SERVER_INTENT_REMOVAL,
                                     .path = *path,
                                     .other = *renamed,
                                     .ended = old->generation,
                                     .rename = rename,
                                     .layout = old->layout};

    if (old->type == THEMIS_PROTO_FILE && renamed->length == 0)
        intent.destroyed = old->id;
    return themis_server_intents_begin(intents, &intent, left);
}

themis_status_t themis_server_name_intents_bytes(themis_server_intents_t *intents, const themis_proto_text_t *path,
                                                 const themis_proto_attr_t *old, themis_server_intent_entry_t **left)
{
    const themis_server_intent_t intent = {
        .kind = THEMIS_SERVER_INTENT_REMOVAL, .path = *path, .destroyed = old->id, .layout = old->layout};

    return themis_server_intents_begin(intents, &intent, left);
}

themis_status_t themis_server_name_intents_rename(themis_server_intents_t *intents, themis_server_name_db_t *db,
                                                  const themis_sched_job_identity_t *who,
                                                  const themis_proto_create_t *create, const themis_proto_attr_t *old,
                                                  const themis_proto_attr_t *made, themis_server_intent_entry_t **left)
{
    themis_server_intent_t intent = {.kind = THEMIS_SERVER_INTENT_RENAME,
                                     .path = create->path,
                                     .other = create->origin,
                                     .object = made->id,
                                     .old_generation = create->attr.generation,
                                     .rename = made->generation,
                                     .uid = who->uid,
                                     .gid = who->gid};
    void *record = NULL;
    themis_status_t status = THEMIS_OK;

    if (old) {
        status = themis_server_name_db_get_record(db, &create->path, &record, &intent.replaced_length);
        intent.replaced = record;
        intent.ended = old->generation;
        intent.layout = old->layout;
        intent.destroyed = old->type == THEMIS_PROTO_FILE && old->id != made->id ? old->id : 0;
    }
    if (status == THEMIS_OK)
        status = themis_server_intents_begin(intents, &intent, left);
    free(record);
    return status;
}

/* The record of the name that was replaced, with another generation: a late message of who has renamed or removed that
 * name before must not mean the one that is there again. */
static themis_status_t replaced_record(themis_server_name_db_t *db, const themis_server_intent_t *intent, void **record,
                                       size_t *length)
{
    themis_proto_attr_t attr;
    themis_proto_extra_t extra;
    themis_status_t status = themis_server_name_record_attr(intent->replaced, intent->replaced_length, &attr);

    if (status == THEMIS_OK)
        status = themis_server_name_record_extra(intent->replaced, intent->replaced_length, &extra);
    if (status == THEMIS_OK)
        status = themis_server_name_db_new_id(db, &attr.generation);
    return status == THEMIS_OK ? themis_server_name_record_make(&attr, &extra, record, length) : status;
}

themis_status_t themis_server_name_intents_restore(themis_server_intents_t *intents, themis_server_name_db_t *db,
                                                   const themis_server_intent_entry_t *entry)
{
    static const themis_proto_text_t none;
    const themis_server_intent_t *intent = &entry->intent;
    themis_server_name_db_record_t gone = {.key = entry->key, .key_length = sizeof entry->key};
    themis_server_name_db_record_t name = {.key_length = intent->path.length + 1, .next = &gone};
    themis_server_intent_entry_t *left = NULL;
    char key[THEMIS_PROTO_MAX_PATH + 1] = {THEMIS_SERVER_NAME_DB_NAME};
    themis_status_t status = THEMIS_OK;
    void *record = NULL;

    memcpy(key + 1, intent->path.bytes, intent->path.length);
    name.key = key;
    if (intent->replaced_length)
        status = replaced_record(db, intent, &record, &name.value_length);
    else
        status = themis_server_name_intents_removal(
            intents, &intent->path, &(themis_proto_attr_t){.generation = intent->rename}, &none, 0, &left);
    name.value = record;
    if (status == THEMIS_OK)
        status = themis_server_name_db_write_end(db, themis_server_name_intents_record(left, &name));
    themis_server_intents_end(intents, left, status);
    free(record);
    return status;
}

int themis_server_name_intents_is_refusal(themis_status_t status)
{
    return status == THEMIS_ACCESS || status == THEMIS_NOT_DIRECTORY || status == THEMIS_IS_DIRECTORY ||
           status == THEMIS_BAD_NAME || status == THEMIS_NAME_TOO_LONG || status == THEMIS_INVALID;
}
