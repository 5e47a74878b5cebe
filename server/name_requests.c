/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/name_requests.h"
#include <stdlib.h>
#include "server/access.h"
#include "server/reply.h"

enum { ENTRIES_BYTES = 256 << 10 };

static void readdir_serve(themis_server_request_t *request)
{
    themis_proto_entries_t entries;
    void *buffer = malloc(ENTRIES_BYTES);
    themis_status_t status = THEMIS_NO_MEMORY;

    if (buffer)
        status = themis_server_namespace_readdir(request->server->names, &request->session->identity,
                                                 &request->body.readdir, buffer, ENTRIES_BYTES, &entries);
    themis_server_reply_send(request, status, &entries, NULL);
    free(buffer);
}

static void extra_serve(themis_server_request_t *request)
{
    themis_proto_extra_t extra;
    void *memory = NULL;
    themis_status_t status = themis_server_namespace_extra(request->server->names, &request->session->identity,
                                                           &request->body.lookup, &extra, &memory);

    themis_server_reply_send(request, status, &extra, NULL);
    free(memory);
}

/* The attributes that a client brings with CREATE have to be those that a server gave it. */
static themis_status_t adoption_check(const themis_server_request_t *request)
{
    const themis_proto_create_t *create = &request->body.create;

    if (request->header.opcode != THEMIS_OP_CREATE || !(create->flags & THEMIS_PROTO_CREATE_ADOPT))
        return THEMIS_OK;
    return themis_server_access_adopt(request->server->capabilities, &request->session->identity, &create->attr);
}

/* A reply that is saved together with the change that it tells of. */
typedef struct saving {
    const themis_server_request_t *request;
    int is_complete;
    themis_proto_body_t body;
    themis_server_durable_reply_t reply;
} saving_t;

/* The reply of a success, once. */
static void reply_complete(saving_t *saving, const themis_proto_attr_t *attr)
{
    const themis_server_request_t *request = saving->request;

    if (saving->is_complete)
        return;
    saving->is_complete = 1;
    switch (request->header.opcode) {
    case THEMIS_OP_ENTRY_ADD:
        saving->body.added = (themis_proto_added_t){attr->layout, attr->mode, attr->gid};
        break;
    case THEMIS_OP_ENTRY_REMOVE:
    case THEMIS_OP_SETXATTR:
        break;
    default:
        saving->body.attr = *attr;
        themis_server_capabilities_sign(request->server->capabilities, request->session->identity.uid,
                                        &saving->body.attr);
    }
}

static const themis_server_name_db_record_t *reply_make(void *arg, const themis_proto_attr_t *attr)
{
    saving_t *saving = arg;

    reply_complete(saving, attr);
    return themis_server_durable_replies_record(saving->request, &saving->body, &saving->reply);
}

int themis_server_name_requests_is_rename(const themis_server_request_t *request)
{
    return (request->header.opcode == THEMIS_OP_CREATE && request->body.create.origin.length) ||
           (request->header.opcode == THEMIS_OP_REMOVE && request->body.remove.renamed.length);
}

void themis_server_name_requests_serve(themis_server_request_t *request)
{
    const themis_sched_job_identity_t *who = &request->session->identity;
    themis_server_t *server = request->server;
    unsigned opcode = request->header.opcode;
    themis_proto_attr_t attr = {0};
    const char *text = NULL;
    saving_t saving = {.request = request};
    const themis_server_namespace_with_t with = {reply_make, &saving};

    if (opcode == THEMIS_OP_READDIR) {
        readdir_serve(request);
        return;
    }
    if (opcode == THEMIS_OP_EXTRA) {
        extra_serve(request);
        return;
    }
    if (opcode == THEMIS_OP_RENAME_END) {
        themis_server_reply_send(
            request, themis_server_namespace_rename_end(server->names, who, &request->body.rename_end), NULL, NULL);
        return;
    }
    themis_status_t status = adoption_check(request);
    if (status == THEMIS_OK)
        status = themis_server_namespace_serve(server->names, who, opcode, &request->body, &with, &attr);
    /* its client goes on with what cannot be undone, perhaps at servers that lose nothing */
    if (status == THEMIS_OK && themis_server_name_requests_is_rename(request))
        status = themis_server_namespace_sync(server->names);
    if (status == THEMIS_OK)
        reply_complete(&saving, &attr);
    if (status == THEMIS_QUOTA &&
        themis_server_intents_room(themis_server_namespace_intents(server->names)) == THEMIS_QUOTA)
        text = "too many changes of names wait for servers that cannot be reached";
    themis_server_reply_send(request, status, &saving.body, text);
}
