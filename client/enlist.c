/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/enlist.h"
#include <stdlib.h>
#include "client/capability.h"
#include "client/error.h"
#include "client/striping.h"

/* Entries of one ENLIST. */
typedef struct entries {
    themis_file_t *file;
    themis_proto_listed_t *array; /* owned */
    uint32_t count;
} entries_t;

static themis_status_t entries_begin(themis_file_t *file, entries_t *entries)
{
    *entries = (entries_t){.file = file, .array = malloc(file->layout.count * sizeof *entries->array)};
    return entries->array ? THEMIS_OK
                          : themis_client_fail(THEMIS_NO_MEMORY, "%s: out of memory for a list", file->path);
}

static uint32_t server_of(const themis_file_t *file, uint32_t index)
{
    return themis_client_striping_server(&file->layout, index, file->session->peers.count);
}

static themis_status_t fail_lost(themis_t *session, const char *path, uint32_t server)
{
    return themis_client_fail(THEMIS_LOST, "%s: server %s: %s", path, session->peers.array[server].name,
                              themis_status_string(THEMIS_LOST));
}

themis_status_t themis_client_enlist_fail(const themis_file_t *file, uint32_t index)
{
    return fail_lost(file->session, file->path, server_of(file, index));
}

/* Sends them, if there are any. */
static themis_status_t entries_send(const entries_t *entries, int drop)
{
    themis_file_t *file = entries->file;
    themis_proto_body_t body = {.enlist = {.object = file->attr.id,
                                           .drop = (uint8_t)drop,
                                           .count = entries->count,
                                           .list = (const uint8_t *)entries->array}};
    themis_proto_body_t reply;

    if (entries->count == 0)
        return THEMIS_OK;
    themis_status_t status = themis_client_capability_call(file, server_of(file, 0), &file->bindings[0],
                                                           THEMIS_OP_ENLIST, &body, &reply, NULL);
    if (status != THEMIS_OK)
        return status;
    if (reply.enlisted.lost < file->layout.count)
        return themis_client_enlist_fail(file, reply.enlisted.lost);
    file->bindings[0].dirty = 1; /* the list is to be as durable as the objects */
    for (uint32_t i = 0; i < entries->count; i++)
        file->bindings[entries->array[i].index].listed = drop ? THEMIS_CLIENT_LISTED_UNKNOWN : THEMIS_CLIENT_LISTED;
    return THEMIS_OK;
}

themis_status_t themis_client_enlist(themis_file_t *file)
{
    entries_t entries;
    themis_status_t status = entries_begin(file, &entries);

    for (uint32_t i = 0; status == THEMIS_OK && i < file->layout.count; i++)
        if (file->bindings[i].listed == THEMIS_CLIENT_LISTED_ASKED)
            entries.array[entries.count++] = (themis_proto_listed_t){i, file->bindings[i].store};
    if (status == THEMIS_OK)
        status = entries_send(&entries, 0);
    free(entries.array);
    return status;
}

int themis_client_enlist_retry(themis_file_t *file, unsigned *renewals, themis_status_t *status)
{
    if (*status != THEMIS_NOT_LISTED || (*renewals)++ >= THEMIS_CLIENT_MAX_RENEWALS)
        return 0;
    themis_status_t enlisted = themis_client_enlist(file);
    if (enlisted != THEMIS_OK)
        *status = enlisted;
    return enlisted == THEMIS_OK;
}

/* --- what is lost ------------------------------------------------------------------------------------------------- */

/* The store that the list says; 0: it is not listed. */
static uint64_t listed_store(const themis_proto_size_t *first, uint32_t index)
{
    for (uint32_t i = 0; i < first->listed; i++) {
        themis_proto_listed_t listed = themis_proto_listed_get(first->list, i);
        if (listed.index == index)
            return listed.store;
    }
    return 0;
}

int themis_client_enlist_survey_add(themis_client_enlist_survey_t *survey, uint32_t index, int exists, uint64_t store,
                                    const themis_proto_size_t *size)
{
    if (index == 0)
        survey->first = *size;
    /* an object 0 of another store was not made by who knows the file */
    uint64_t listed = index == 0 ? survey->store : exists ? 0 : listed_store(&survey->first, index);
    int is_lost = listed != 0 && listed != store;

    if (is_lost && survey->lost++ == 0)
        survey->lost_index = index;
    return is_lost;
}

/* Takes from `absent` what the first server lists with another store. */
static void entries_choose(entries_t *entries, const themis_proto_size_t *first, const themis_proto_listed_t *absent,
                           uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t listed = listed_store(first, absent[i].index);
        if (listed && listed != absent[i].store)
            entries->array[entries->count++] = (themis_proto_listed_t){absent[i].index, listed};
    }
}

themis_status_t themis_client_enlist_drop(themis_file_t *file, const themis_proto_listed_t *absent, uint32_t count)
{
    themis_proto_object_t body = {.object = file->attr.id};
    themis_client_call_t *call;
    themis_proto_body_t reply;
    entries_t entries;
    themis_status_t status = themis_client_call_get(&file->session->calls, server_of(file, 0), &call);

    if (status != THEMIS_OK)
        return status;
    themis_client_capability_get(file, &body.capability); /* good enough for the cut just now */
    call->binding = &file->bindings[0];
    status = themis_client_call_do(call, THEMIS_OP_SIZE, &body, file->path, &reply);
    if (status == THEMIS_OK && (status = entries_begin(file, &entries)) == THEMIS_OK) {
        entries_choose(&entries, &reply.size, absent, count);
        status = entries_send(&entries, 1);
        free(entries.array);
    }
    themis_client_call_put(call);
    return status;
}

themis_status_t themis_client_enlist_check_first(themis_t *session, const char *path, const themis_proto_attr_t *attr)
{
    const themis_proto_object_t body = {.object = attr->id, .capability = attr->capability};
    uint32_t server = attr->layout.first % session->peers.count;
    themis_client_call_t *call;
    themis_proto_body_t reply;
    themis_status_t status = themis_client_call_get(&session->calls, server, &call);

    if (status != THEMIS_OK)
        return status;
    status = themis_client_call_do(call, THEMIS_OP_SIZE, &body, path, &reply);
    if (status == THEMIS_OK && attr->store && call->store != attr->store)
        status = fail_lost(session, path, server);
    themis_client_call_put(call);
    return status;
}
