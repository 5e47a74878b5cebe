/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/capability.h"
#include "client/error.h"
#include "client/namespace.h"

void themis_client_capability_get(themis_file_t *file, themis_proto_capability_t *capability)
{
    pthread_mutex_lock(&file->session->poller.lock);
    *capability = file->attr.capability;
    pthread_mutex_unlock(&file->session->poller.lock);
}

uint32_t themis_client_capability_rights(int flags)
{
    return (flags & THEMIS_OPEN_READ ? (uint32_t)THEMIS_PROTO_RIGHT_READ : 0) |
           (flags & THEMIS_OPEN_WRITE ? (uint32_t)THEMIS_PROTO_RIGHT_WRITE : 0);
}

themis_status_t themis_client_capability_renew(themis_file_t *file)
{
    themis_proto_attr_t attr;
    themis_status_t status = themis_client_namespace_lookup(
        file->session, file->path, themis_client_capability_rights(file->flags), &attr);

    if (status == THEMIS_NO_ENTRY || (status == THEMIS_OK && attr.id != file->attr.id))
        return themis_client_fail(THEMIS_STALE, "%s: %s, and the name is gone or another file's", file->path,
                                  themis_status_string(THEMIS_EXPIRED));
    if (status != THEMIS_OK)
        return status;
    pthread_mutex_lock(&file->session->poller.lock);
    file->attr.capability = attr.capability;
    pthread_mutex_unlock(&file->session->poller.lock);
    return THEMIS_OK;
}

int themis_client_capability_retry(themis_file_t *file, unsigned *renewals, themis_status_t *status)
{
    if (*status != THEMIS_EXPIRED || (*renewals)++ >= THEMIS_CLIENT_MAX_RENEWALS)
        return 0;
    themis_status_t renewed = themis_client_capability_renew(file);
    if (renewed != THEMIS_OK)
        *status = renewed;
    return renewed == THEMIS_OK;
}

static themis_status_t call_once(themis_file_t *file, uint32_t server, themis_client_binding_t *binding,
                                 themis_proto_opcode_t opcode, const themis_proto_body_t *body, themis_proto_body_t *reply,
                                 uint64_t *incarnation)
{
    themis_client_call_t *call;
    themis_status_t status = themis_client_call_get(&file->session->calls, server, &call);

    if (status != THEMIS_OK)
        return status;
    call->binding = binding;
    status = themis_client_call_do(call, opcode, body, file->path, reply);
    if (status == THEMIS_OK && incarnation)
        *incarnation = call->incarnation;
    themis_client_call_put(call);
    return status;
}

themis_status_t themis_client_capability_call(themis_file_t *file, uint32_t server, themis_client_binding_t *binding,
                                              themis_proto_opcode_t opcode, themis_proto_body_t *body,
                                              themis_proto_body_t *reply, uint64_t *incarnation)
{
    themis_status_t status;
    unsigned renewals = 0;

    do {
        /* all bodies about an object begin with its id and the capability */
        themis_client_capability_get(file, &body->object.capability);
        status = call_once(file, server, binding, opcode, body, reply, incarnation);
    } while (themis_client_capability_retry(file, &renewals, &status));
    return status;
}
