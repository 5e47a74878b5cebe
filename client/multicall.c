/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/multicall.h"
#include <stdlib.h>
#include "client/capability.h"
#include "client/enlist.h"
#include "client/error.h"
#include "client/striping.h"

static themis_status_t call_begin(themis_client_calls_t *calls, const themis_client_multicall_t *multicall,
                                  uint32_t index, uint32_t *remaining, themis_client_call_t **call)
{
    uint32_t server = themis_client_striping_server(multicall->layout, index, calls->peers->count);
    themis_proto_body_t body = multicall->body;
    themis_status_t status = themis_client_call_get(calls, server, call);

    if (status != THEMIS_OK)
        return status;
    if (multicall->file) {
        (*call)->binding = &multicall->file->bindings[index];
        themis_client_capability_get(multicall->file, &body.object.capability);
    }
    if (multicall->fill)
        multicall->fill(multicall->arg, index, &body);
    status = themis_client_call_start(*call, multicall->opcode, &body, remaining);
    if (status != THEMIS_OK)
        themis_client_call_put(*call);
    return status;
}

/* Nothing is collected unless all have succeeded: the calls may be made again. */
static themis_status_t replies_collect(const themis_client_multicall_t *multicall, themis_client_call_t **array,
                                       uint32_t count)
{
    themis_status_t status = THEMIS_OK;
    themis_proto_body_t reply;

    for (uint32_t index = 0; index < count && status == THEMIS_OK; index++)
        status = themis_client_call_result(array[index], multicall->subject, &reply);
    for (uint32_t index = 0; index < count; index++) {
        if (status == THEMIS_OK && multicall->collect) {
            themis_client_call_result(array[index], multicall->subject, &reply);
            multicall->collect(multicall->arg, index, array[index], &reply);
        }
    }
    for (uint32_t index = 0; index < count; index++)
        themis_client_call_put(array[index]);
    return status;
}

static themis_status_t calls_make(themis_client_calls_t *calls, const themis_client_multicall_t *multicall)
{
    uint32_t count = multicall->layout->count, remaining = 0, started = 0;
    themis_client_call_t **array = malloc(count * sizeof(*array));
    themis_status_t status = THEMIS_OK;

    if (!array)
        return themis_client_fail(THEMIS_NO_MEMORY, "out of memory for %u requests", count);
    while (started < count && status == THEMIS_OK) {
        status = call_begin(calls, multicall, started, &remaining, &array[started]);
        started += status == THEMIS_OK;
    }
    themis_client_poller_wait(calls->peers->common.poller, &remaining);
    themis_status_t outcome = replies_collect(multicall, array, started);
    free(array);
    return status != THEMIS_OK ? status : outcome;
}

themis_status_t themis_client_multicall(themis_client_calls_t *calls, const themis_client_multicall_t *multicall)
{
    themis_status_t status;
    uint64_t expires;
    unsigned renewals = 0;

    do {
        expires = multicall->file ? themis_client_capability_expires(multicall->file) : 0;
        status = calls_make(calls, multicall);
    } while (multicall->file && (themis_client_capability_retry(multicall->file, expires, &renewals, &status) ||
                                 themis_client_enlist_retry(multicall->file, &renewals, &status)));
    return status;
}
