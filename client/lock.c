/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/lock.h"
#include "client/error.h"
#include "client/file.h"
#include "client/striping.h"

static uint32_t first_server(const themis_file_t *file)
{
    return themis_client_striping_server(&file->layout, 0, file->session->peers.count);
}

/* *incarnation (may be NULL): of the session at the server, when it replied. */
static themis_status_t ask_first_server(themis_file_t *file, themis_proto_opcode_t opcode, const void *request,
                                        themis_proto_body_t *reply, uint64_t *incarnation)
{
    themis_client_call_t *call;
    themis_status_t status = themis_client_call_get(&file->session->calls, first_server(file), &call);

    if (status != THEMIS_OK)
        return status;
    call->binding = &file->bindings[0];
    status = themis_client_call_do(call, opcode, request, file->path, reply);
    if (status == THEMIS_OK && incarnation)
        *incarnation = call->incarnation;
    themis_client_call_put(call);
    return status;
}

static themis_status_t change_lock(themis_file_t *file, themis_proto_opcode_t opcode,
                                   const themis_proto_lock_t *request, uint64_t *incarnation)
{
    themis_proto_body_t reply;

    if (request->offset > INT64_MAX)
        return themis_client_fail(THEMIS_RANGE, "%s: an offset of 2^63 or more", file->path);
    return ask_first_server(file, opcode, request, &reply, incarnation);
}

/* --- locks that were lost ----------------------------------------------------------------------------------------- */

static themis_status_t fail_lost(const themis_file_t *file)
{
    return themis_client_fail(THEMIS_STALE, "%s: server %s has lost the locks of this file", file->path,
                              file->session->peers.array[first_server(file)].name);
}

themis_status_t themis_client_lock_check(themis_file_t *file)
{
    themis_t *session = file->session;

    if (!file->locks.used)
        return THEMIS_OK;
    pthread_mutex_lock(&session->poller.lock);
    int lost = file->locks.count && session->peers.array[first_server(file)].incarnation != file->locks.incarnation;
    pthread_mutex_unlock(&session->poller.lock);
    return lost ? fail_lost(file) : THEMIS_OK;
}

/* Counts a lock that was granted; returns 0 if those before it were lost. */
static int count_lock(themis_file_t *file, uint64_t incarnation)
{
    pthread_mutex_lock(&file->session->poller.lock);
    if (file->locks.count == 0)
        file->locks.incarnation = incarnation;
    int together = file->locks.incarnation == incarnation;
    file->locks.count += (uint64_t)together;
    pthread_mutex_unlock(&file->session->poller.lock);
    return together;
}

static void uncount_lock(themis_file_t *file, int all)
{
    pthread_mutex_lock(&file->session->poller.lock);
    file->locks.count = all || !file->locks.count ? 0 : file->locks.count - 1;
    pthread_mutex_unlock(&file->session->poller.lock);
}

/* --- entry points ------------------------------------------------------------------------------------------------- */

themis_status_t themis_lock(themis_file_t *file, uint64_t offset, uint64_t length, int flags)
{
    themis_proto_lock_t request = {.object = file->attr.id,
                                   .offset = offset,
                                   .length = length,
                                   .owner = file->locks.owner,
                                   .exclusive = (flags & THEMIS_LOCK_EXCLUSIVE) != 0,
                                   .wait = (flags & THEMIS_LOCK_TRY) == 0};
    themis_status_t status = themis_client_lock_check(file);
    uint64_t incarnation = 0;

    if (status != THEMIS_OK || length == 0)
        return status;
    file->locks.used = 1;
    status = change_lock(file, THEMIS_OP_LOCK, &request, &incarnation);
    if (status != THEMIS_OK || count_lock(file, incarnation))
        return status;
    change_lock(file, THEMIS_OP_UNLOCK, &request, NULL);
    return fail_lost(file);
}

themis_status_t themis_unlock(themis_file_t *file, uint64_t offset, uint64_t length)
{
    themis_proto_lock_t request = {
        .object = file->attr.id, .offset = offset, .length = length, .owner = file->locks.owner};

    if (length == 0)
        return THEMIS_OK;
    themis_status_t status = change_lock(file, THEMIS_OP_UNLOCK, &request, NULL);
    if (status == THEMIS_OK)
        status = themis_client_lock_check(file);
    if (status == THEMIS_OK || status == THEMIS_STALE)
        uncount_lock(file, offset == 0 && length == UINT64_MAX);
    return status;
}

static themis_status_t counter_access(themis_file_t *file, uint8_t action, int64_t operand, int64_t *before)
{
    themis_proto_counter_t request = {file->attr.id, action, operand};
    themis_proto_body_t reply;
    themis_status_t status = ask_first_server(file, THEMIS_OP_COUNTER, &request, &reply, NULL);

    if (status == THEMIS_OK && before)
        *before = reply.counter.value;
    return status;
}

themis_status_t themis_counter_get(themis_file_t *file, int64_t *value)
{
    return counter_access(file, THEMIS_PROTO_COUNTER_GET, 0, value);
}

themis_status_t themis_counter_set(themis_file_t *file, int64_t value)
{
    return counter_access(file, THEMIS_PROTO_COUNTER_SET, value, NULL);
}

themis_status_t themis_counter_add(themis_file_t *file, int64_t delta, int64_t *before)
{
    return counter_access(file, THEMIS_PROTO_COUNTER_ADD, delta, before);
}
