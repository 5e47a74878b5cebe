/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/name_requests.h"
#include <stdlib.h>
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

void themis_server_name_requests_serve(themis_server_request_t *request)
{
    themis_proto_body_t reply;

    if (request->header.opcode == THEMIS_OP_READDIR) {
        readdir_serve(request);
        return;
    }
    themis_status_t status = themis_server_namespace_serve(request->server->names, &request->session->identity,
                                                           request->header.opcode, &request->body, &reply.attr);
    themis_server_reply_send(request, status, &reply, NULL);
}
