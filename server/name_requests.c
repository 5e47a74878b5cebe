/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/name_requests.h"
#include <stdlib.h>
#include "server/reply.h"

enum { ENTRIES_BYTES = 256 << 10 };

static void readdir_serve(themis_request_t *request)
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

void themis_server_name_requests_serve(themis_request_t *request)
{
    themis_server_namespace_t *names = request->server->names;
    const themis_sched_job_identity_t *who = &request->session->identity;
    const themis_proto_body_t *body = &request->body;
    themis_proto_body_t reply;
    themis_status_t status = THEMIS_OPCODE;

    switch (request->header.opcode) {
    case THEMIS_OP_LOOKUP:
        status = themis_server_namespace_lookup(names, &body->path.path, &reply.attr);
        break;
    case THEMIS_OP_CREATE:
        status = themis_server_namespace_make(names, who, &body->create, &reply.attr);
        break;
    case THEMIS_OP_REMOVE:
        status = themis_server_namespace_remove(names, who, &body->remove, &reply.attr);
        break;
    case THEMIS_OP_SETATTR:
        status = themis_server_namespace_setattr(names, who, &body->setattr, &reply.attr);
        break;
    case THEMIS_OP_ENTRY_ADD:
        status = themis_server_namespace_entry_add(names, who, &body->entry);
        break;
    case THEMIS_OP_ENTRY_REMOVE:
        status = themis_server_namespace_entry_remove(names, who, &body->entry);
        break;
    case THEMIS_OP_READDIR:
        readdir_serve(request);
        return;
    }
    themis_server_reply_send(request, status, &reply, NULL);
}
