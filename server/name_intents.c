/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/name_intents.h"
#include <stdlib.h>

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
                                                   themis_server_intent_entry_t **left)
{
    themis_server_intent_t intent = {.kind = THEMIS_SERVER_INTENT_REMOVAL,
                                     .path = *path,
                                     .other = *renamed,
                                     .ended = old->generation,
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
                                     .new_generation = made->generation,
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

int themis_server_name_intents_is_refusal(themis_status_t status)
{
    return status == THEMIS_ACCESS || status == THEMIS_NOT_DIRECTORY || status == THEMIS_IS_DIRECTORY ||
           status == THEMIS_BAD_NAME || status == THEMIS_NAME_TOO_LONG || status == THEMIS_INVALID;
}
