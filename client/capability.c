/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/capability.h"
#include <time.h>
#include "client/error.h"
#include "client/namespace.h"
#include "util/clock.h"
#include "util/min.h"

void themis_client_capability_get(themis_file_t *file, themis_proto_capability_t *capability)
{
    pthread_mutex_lock(&file->session->poller.lock);
    *capability = file->attr.capability;
    pthread_mutex_unlock(&file->session->poller.lock);
}

uint64_t themis_client_capability_expires(themis_file_t *file)
{
    themis_proto_capability_t capability;

    themis_client_capability_get(file, &capability);
    return capability.expires;
}

uint32_t themis_client_capability_rights(int flags)
{
    return (flags & THEMIS_OPEN_READ ? (uint32_t)THEMIS_PROTO_RIGHT_READ : 0) |
           (flags & THEMIS_OPEN_WRITE ? (uint32_t)THEMIS_PROTO_RIGHT_WRITE : 0);
}

/* A new capability that is refused as well shows that clocks differ; looking up at once again would not help. */
static void renewal_pause(unsigned earlier)
{
    enum { MAX_DOUBLINGS = 10 };

    if (earlier == 0)
        return;
    uint64_t ns = THEMIS_NS_PER_MS << themis_util_min(earlier - 1, MAX_DOUBLINGS);
    ns = themis_util_min(ns, THEMIS_NS_PER_S);
    struct timespec pause = {(time_t)(ns / THEMIS_NS_PER_S), (long)(ns % THEMIS_NS_PER_S)};
    nanosleep(&pause, NULL);
}

themis_status_t themis_client_capability_renew(themis_file_t *file, uint64_t expires, unsigned earlier)
{
    themis_proto_attr_t attr;

    if (themis_client_capability_expires(file) != expires)
        return THEMIS_OK;
    renewal_pause(earlier);
    themis_status_t status =
        themis_client_namespace_lookup(file->session, file->path, themis_client_capability_rights(file->flags), &attr);

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

int themis_client_capability_retry(themis_file_t *file, uint64_t expires, unsigned *renewals, themis_status_t *status)
{
    if (*status != THEMIS_EXPIRED || (*renewals)++ >= THEMIS_CLIENT_MAX_RENEWALS)
        return 0;
    themis_status_t renewed = themis_client_capability_renew(file, expires, *renewals - 1);
    if (renewed != THEMIS_OK)
        *status = renewed;
    return renewed == THEMIS_OK;
}

static themis_status_t call_once(themis_file_t *file, uint32_t server, themis_client_binding_t *binding,
                                 themis_proto_opcode_t opcode, const themis_proto_body_t *body,
                                 themis_proto_body_t *reply, uint64_t *incarnation)
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
    } while (themis_client_capability_retry(file, body->object.capability.expires, &renewals, &status));
    return status;
}
