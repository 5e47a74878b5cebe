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

/* The attributes that a client brings with CREATE have to be those that a server gave it. Those of a symbolic link give
 * access to nothing, and its owner could make it anew. */
static themis_status_t adoption_check(const themis_server_request_t *request)
{
    const themis_proto_create_t *create = &request->body.create;

    if (request->header.opcode != THEMIS_OP_CREATE || !(create->flags & THEMIS_PROTO_CREATE_ADOPT) ||
        create->attr.type == THEMIS_PROTO_SYMLINK)
        return THEMIS_OK;
    return themis_server_access_adopt(request->server->capabilities, &request->session->identity, &create->attr);
}

void themis_server_name_requests_serve(themis_server_request_t *request)
{
    const themis_sched_job_identity_t *who = &request->session->identity;
    themis_server_t *server = request->server;
    unsigned opcode = request->header.opcode;
    themis_proto_body_t reply = {.attr = {0}};

    if (opcode == THEMIS_OP_READDIR) {
        readdir_serve(request);
        return;
    }
    if (opcode == THEMIS_OP_EXTRA) {
        extra_serve(request);
        return;
    }
    themis_status_t status = adoption_check(request);
    if (status == THEMIS_OK)
        status = themis_server_namespace_serve(server->names, who, opcode, &request->body, &reply.attr);
    if (status == THEMIS_OK && opcode == THEMIS_OP_ENTRY_ADD) {
        const themis_proto_attr_t directory = reply.attr;
        reply.added = (themis_proto_added_t){directory.layout, directory.mode, directory.gid};
    } else if (status == THEMIS_OK && opcode != THEMIS_OP_ENTRY_REMOVE && opcode != THEMIS_OP_SETXATTR) {
        themis_server_capabilities_sign(server->capabilities, who->uid, &reply.attr);
    }
    themis_server_reply_send(request, status, &reply, NULL);
}
