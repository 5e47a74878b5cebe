/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/multicall.h"
#include <stdlib.h>
#include "client/call.h"
#include "client/error.h"
#include "client/placement.h"

static themis_status_t start(themis_t *session, const themis_client_multicall_t *fan, uint32_t slot,
                             uint32_t *remaining, themis_client_call_t **result)
{
    uint32_t server = themis_client_placement_server(fan->layout, slot, session->settings.server_count);
    themis_proto_body_t request;
    themis_client_call_t *call;
    themis_status_t status = themis_client_call_get(session, server, &call);

    if (status != THEMIS_OK)
        return status;
    fan->fill(fan->arg, slot, &request);
    if ((status = themis_client_call_start(call, fan->opcode, &request, remaining)) == THEMIS_OK)
        *result = call;
    else
        themis_client_call_put(call);
    return status;
}

static themis_status_t gather(const themis_client_multicall_t *fan, themis_client_call_t **calls, uint32_t count)
{
    themis_status_t first = THEMIS_OK;
    themis_proto_body_t reply;

    for (uint32_t slot = 0; slot < count; slot++) {
        themis_status_t status =
            first == THEMIS_OK ? themis_client_call_result(calls[slot], fan->subject, &reply) : first;
        if (status == THEMIS_OK && fan->take)
            fan->take(fan->arg, slot, &reply);
        first = status;
        themis_client_call_put(calls[slot]);
    }
    return first;
}

/* What is under way is counted here, in place, since a failed start must not wait for more than was started. */
themis_status_t themis_client_multicall(themis_t *session, const themis_client_multicall_t *fan)
{
    uint32_t count = fan->layout->count, remaining = count, started = 0;
    themis_client_call_t **calls = malloc(count * sizeof(*calls));
    themis_status_t status = THEMIS_OK;

    if (!calls)
        return themis_client_fail(THEMIS_NO_MEMORY, "out of memory for %u requests", count);
    while (started < count && status == THEMIS_OK) {
        status = start(session, fan, started, &remaining, &calls[started]);
        started += status == THEMIS_OK;
    }
    pthread_mutex_lock(&session->lock);
    remaining -= count - started;
    pthread_mutex_unlock(&session->lock);
    themis_client_wait(session, &remaining);
    themis_status_t outcome = gather(fan, calls, started);
    free(calls);
    return status != THEMIS_OK ? status : outcome;
}
