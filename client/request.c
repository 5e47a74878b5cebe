/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/request.h"
#include <stdlib.h>
#include <string.h>
#include "client/array.h"
#include "client/file.h"
#include "client/striping.h"

static pthread_mutex_t *lock_of(const themis_client_requests_t *requests)
{
    return &requests->calls->peers->common.poller->lock;
}

themis_request_t *themis_client_request_get(themis_client_requests_t *requests)
{
    pthread_mutex_lock(lock_of(requests));
    themis_request_t *request = requests->free;
    if (request)
        requests->free = request->next;
    pthread_mutex_unlock(lock_of(requests));
    if (!request && !(request = calloc(1, sizeof *request)))
        return NULL;
    request->requests = requests;
    request->phase = THEMIS_CLIENT_PHASE_DATA;
    request->status = THEMIS_OK;
    request->moved = 0;
    request->direct = 0;
    request->renewals = 0;
    return request;
}

void themis_client_request_put_calls(themis_request_t *request)
{
    for (size_t i = 0; i < request->call_count; i++)
        themis_client_call_put(request->calls[i]);
    request->call_count = 0;
}

void themis_client_request_put(themis_request_t *request)
{
    themis_client_requests_t *requests = request->requests;

    themis_client_request_put_calls(request);
    free(request->ends);
    request->ends = NULL;
    pthread_mutex_lock(lock_of(requests));
    request->next = requests->free;
    requests->free = request;
    pthread_mutex_unlock(lock_of(requests));
}

void themis_client_requests_free(themis_client_requests_t *requests)
{
    themis_request_t *next;

    for (themis_request_t *request = requests->free; request; request = next) {
        next = request->next;
        free(request->calls);
        free(request->open);
        free(request->runs);
        free(request->memory);
        free(request);
    }
}

themis_status_t themis_client_request_keep_list(themis_request_t *request, const themis_list_t *list)
{
    themis_status_t status =
        themis_client_array_reserve(&request->runs, &request->run_capacity, list->run_count, sizeof *request->runs);

    if (status == THEMIS_OK)
        status = themis_client_array_reserve(&request->memory, &request->memory_capacity, list->memory_count,
                                             sizeof *request->memory);
    if (status != THEMIS_OK)
        return status;
    if (list->run_count)
        memcpy(request->runs, list->runs, list->run_count * sizeof *request->runs);
    if (list->memory_count)
        memcpy(request->memory, list->memory, list->memory_count * sizeof *request->memory);
    request->run_count = list->run_count;
    request->memory_count = list->memory_count;
    return THEMIS_OK;
}

themis_status_t themis_client_request_add_call(themis_request_t *request, uint32_t index, themis_client_call_t **result)
{
    themis_client_calls_t *calls = request->requests->calls;
    uint32_t server = themis_client_striping_server(request->layout, index, calls->peers->count);
    themis_status_t status = themis_client_array_reserve(&request->calls, &request->call_capacity,
                                                         request->call_count + 1, sizeof(*request->calls));

    if (status != THEMIS_OK || (status = themis_client_call_get(calls, server, result)) != THEMIS_OK)
        return status;
    request->calls[request->call_count++] = *result;
    (*result)->index = index;
    (*result)->binding = &request->file->bindings[index];
    (*result)->object = request->object;
    (*result)->epoch = request->epoch;
    (*result)->capability = &request->file->attr.capability;
    return THEMIS_OK;
}
