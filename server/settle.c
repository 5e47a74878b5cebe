/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/settle.h"
#include "server/access.h"
#include "server/object_requests.h"
#include "server/reply.h"

/* REMOVE for the user who has renamed the file. */
static themis_status_t name_settle(themis_server_t *server, const themis_proto_settle_step_t *step)
{
    const themis_sched_job_identity_t who = {.uid = step->uid, .gid = step->gid};
    const themis_proto_body_t body = {.remove = {.path = step->path,
                                                 .type = THEMIS_PROTO_FILE,
                                                 .renamed = step->renamed,
                                                 .object = step->object,
                                                 .generation = step->generation}};
    themis_proto_attr_t attr;

    if (step->renamed.length == 0)
        return THEMIS_INVALID;
    return themis_server_namespace_serve(server->names, &who, THEMIS_OP_REMOVE, &body, NULL, &attr);
}

themis_status_t themis_server_settle_step(themis_server_t *server, const themis_proto_settle_step_t *step)
{
    switch (step->action) {
    case THEMIS_PROTO_SETTLE_DESTROY:
        return themis_server_object_requests_remove(server, step->object);
    case THEMIS_PROTO_SETTLE_ENTRY:
        return themis_server_namespace_settle_entry(server->names, &step->path);
    case THEMIS_PROTO_SETTLE_NAME:
        return name_settle(server, step);
    default:
        return THEMIS_UNSUPPORTED;
    }
}

void themis_server_settle_serve(themis_server_request_t *request)
{
    const themis_proto_settle_t *settle = &request->body.settle;
    themis_status_t statuses[THEMIS_PROTO_MAX_SETTLE];
    themis_proto_settled_t settled = {.bytes = (const uint8_t *)statuses};
    themis_proto_settle_step_t step;
    uint32_t cursor = 0;
    themis_status_t status = themis_server_access_admin(&request->session->identity);

    if (status == THEMIS_OK && request->session->role != THEMIS_SERVER_ROLE_SERVER)
        status = THEMIS_ACCESS;
    while (status == THEMIS_OK && settled.count < THEMIS_PROTO_MAX_SETTLE &&
           themis_proto_settle_next(settle, &cursor, &step))
        statuses[settled.count++] = themis_server_settle_step(request->server, &step);
    themis_server_reply_send(request, status, &settled, NULL);
}
