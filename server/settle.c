/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/settle.h"
#include <stdatomic.h>
#include "server/access.h"
#include "server/name_intents.h"
#include "server/object_requests.h"
#include "server/reply.h"

static themis_status_t name_settle(themis_server_t *server, const themis_proto_settle_step_t *step)
{
    const themis_sched_job_identity_t who = {.uid = step->uid, .gid = step->gid};
    const themis_proto_remove_t remove = {.path = step->path,
                                          .type = THEMIS_PROTO_FILE,
                                          .renamed = step->renamed,
                                          .object = step->object,
                                          .generation = step->generation,
                                          .rename = step->rename};

    return step->renamed.length && step->rename ? themis_server_namespace_settle_name(server->names, &who, &remove)
                                                : THEMIS_INVALID;
}

static themis_status_t step_do(themis_server_t *server, const themis_proto_settle_step_t *step, uint64_t asked)
{
    switch (step->action) {
    case THEMIS_PROTO_SETTLE_DESTROY:
        return themis_server_object_requests_remove(server, step->object);
    case THEMIS_PROTO_SETTLE_ENTRY:
        return themis_server_namespace_settle_entry(server->names, &step->path, asked);
    case THEMIS_PROTO_SETTLE_NAME:
        return name_settle(server, step);
    case THEMIS_PROTO_SETTLE_RENAME:
        return themis_server_intents_rename_settled(themis_server_namespace_intents(server->names), step->rename);
    default:
        return THEMIS_UNSUPPORTED;
    }
}

/* Will the other server do something that cannot be undone if this one loses what it has not synced? A rename is ended
 * by what is said of its old name; what is said of a rename, by the removal of its record, lets the other one forget
 * how the old name has ended. */
static int is_final(const themis_proto_settle_step_t *step, themis_status_t status)
{
    if (step->action == THEMIS_PROTO_SETTLE_NAME)
        return status == THEMIS_OK || status == THEMIS_NO_ENTRY || themis_server_name_intents_is_refusal(status);
    return step->action == THEMIS_PROTO_SETTLE_RENAME && status == THEMIS_OK;
}

themis_status_t themis_server_settle_steps(themis_server_t *server, const themis_proto_settle_step_t *steps,
                                           uint32_t count, uint64_t asked, themis_status_t *statuses)
{
    int is_relied_on = 0;

    for (uint32_t i = 0; i < count; i++) {
        statuses[i] = step_do(server, &steps[i], asked);
        is_relied_on |= is_final(&steps[i], statuses[i]);
    }
    return is_relied_on ? themis_server_namespace_sync(server->names) : THEMIS_OK;
}

void themis_server_settle_serve(themis_server_request_t *request)
{
    themis_server_t *server = request->server;
    const themis_proto_settle_t *settle = &request->body.settle;
    themis_proto_settle_step_t steps[THEMIS_PROTO_MAX_SETTLE];
    themis_status_t statuses[THEMIS_PROTO_MAX_SETTLE];
    themis_proto_settled_t settled = {.bytes = (const uint8_t *)statuses};
    uint32_t cursor = 0;
    themis_status_t status = themis_server_access_admin(&request->session->identity);

    if (status == THEMIS_OK && request->session->role != THEMIS_SERVER_ROLE_SERVER)
        status = THEMIS_ACCESS;
    while (status == THEMIS_OK && settled.count < THEMIS_PROTO_MAX_SETTLE &&
           themis_proto_settle_next(settle, &cursor, &steps[settled.count]))
        settled.count++;
    /* those that may take long leave workers for clients */
    int is_long = status == THEMIS_OK && steps[0].action == THEMIS_PROTO_SETTLE_DESTROY;
    uint32_t others = is_long ? atomic_fetch_add(&server->settling, 1) : 0;
    if (others && others >= server->workers.count / 2)
        status = THEMIS_BUSY;
    if (status == THEMIS_OK)
        status = themis_server_settle_steps(server, steps, settled.count, request->arrived, statuses);
    if (is_long)
        atomic_fetch_sub(&server->settling, 1);
    themis_server_reply_send(request, status, &settled, NULL);
}
