/* SPDX-License-Identifier: BSD-3-Clause */
/* Byte-range locks and the counter of a file, both kept by the file's first server. */
#include "client/call.h"
#include "client/error.h"
#include "client/file.h"
#include "client/placement.h"

static uint32_t first_server(const themis_file_t *file)
{
    return themis_client_placement_server(&file->layout, 0, file->session->settings.server_count);
}

/* A call to the file's first server; *incarnation (may be NULL): of the session there when it answered. */
static themis_status_t ask_first(themis_file_t *file, themis_proto_opcode_t opcode, const void *request,
                                 themis_proto_body_t *body, uint64_t *incarnation)
{
    themis_client_call_t *call;
    themis_status_t status =
        themis_client_call_do(file->session, first_server(file), opcode, request, file->path, &call, body);

    if (status != THEMIS_OK)
        return status;
    if (incarnation)
        *incarnation = call->incarnation;
    themis_client_call_put(call);
    return THEMIS_OK;
}

static themis_status_t change_lock(themis_file_t *file, themis_proto_opcode_t opcode,
                                   const themis_proto_lock_t *request, uint64_t *incarnation)
{
    themis_proto_body_t body;

    if (request->offset > INT64_MAX)
        return themis_client_fail(THEMIS_RANGE, "%s: an offset of 2^63 or more", file->path);
    return ask_first(file, opcode, request, &body, incarnation);
}

/* --- locks that were lost ----------------------------------------------------------------------------------------- */

static themis_status_t tell_lost(const themis_file_t *file)
{
    return themis_client_fail(THEMIS_STALE, "%s: server %s has lost the locks of this file", file->path,
                              file->session->peers[first_server(file)].name);
}

themis_status_t themis_client_file_check_locks(themis_file_t *file)
{
    themis_t *session = file->session;

    if (!file->locked)
        return THEMIS_OK;
    pthread_mutex_lock(&session->lock);
    int lost = file->locks && themis_client_peer(session, first_server(file))->incarnation != file->locked_under;
    pthread_mutex_unlock(&session->lock);
    return lost ? tell_lost(file) : THEMIS_OK;
}

/* Counts a lock that was granted; 0 if those before it were lost. */
static int count_lock(themis_file_t *file, uint64_t incarnation)
{
    pthread_mutex_lock(&file->session->lock);
    if (file->locks == 0)
        file->locked_under = incarnation;
    int together = file->locked_under == incarnation;
    file->locks += (uint64_t)together;
    pthread_mutex_unlock(&file->session->lock);
    return together;
}

static void uncount_lock(themis_file_t *file, int all)
{
    pthread_mutex_lock(&file->session->lock);
    file->locks = all || !file->locks ? 0 : file->locks - 1;
    pthread_mutex_unlock(&file->session->lock);
}

/* --- entry points ------------------------------------------------------------------------------------------------- */

themis_status_t themis_lock(themis_file_t *file, uint64_t offset, uint64_t length, int flags)
{
    themis_proto_lock_t request = {.object = file->object,
                                   .offset = offset,
                                   .length = length,
                                   .owner = file->owner,
                                   .exclusive = (flags & THEMIS_LOCK_EXCLUSIVE) != 0,
                                   .wait = (flags & THEMIS_LOCK_TRY) == 0};
    themis_status_t status = themis_client_file_check_locks(file);
    uint64_t incarnation = 0;

    if (status != THEMIS_OK || length == 0)
        return status;
    file->locked = 1;
    status = change_lock(file, THEMIS_OP_LOCK, &request, &incarnation);
    if (status != THEMIS_OK || count_lock(file, incarnation))
        return status;
    change_lock(file, THEMIS_OP_UNLOCK, &request, NULL);
    return tell_lost(file);
}

themis_status_t themis_unlock(themis_file_t *file, uint64_t offset, uint64_t length)
{
    themis_proto_lock_t request = {.object = file->object, .offset = offset, .length = length, .owner = file->owner};

    if (length == 0)
        return THEMIS_OK;
    themis_status_t status = change_lock(file, THEMIS_OP_UNLOCK, &request, NULL);
    if (status == THEMIS_OK)
        status = themis_client_file_check_locks(file);
    if (status == THEMIS_OK || status == THEMIS_STALE)
        uncount_lock(file, offset == 0 && length == UINT64_MAX);
    return status;
}

static themis_status_t count(themis_file_t *file, uint8_t action, int64_t operand, int64_t *before)
{
    themis_proto_counter_t request = {file->object, action, operand};
    themis_proto_body_t body;
    themis_status_t status = ask_first(file, THEMIS_OP_COUNTER, &request, &body, NULL);

    if (status == THEMIS_OK && before)
        *before = body.counter.value;
    return status;
}

themis_status_t themis_counter_get(themis_file_t *file, int64_t *value)
{
    return count(file, THEMIS_PROTO_COUNTER_GET, 0, value);
}

themis_status_t themis_counter_set(themis_file_t *file, int64_t value)
{
    return count(file, THEMIS_PROTO_COUNTER_SET, value, NULL);
}

themis_status_t themis_counter_add(themis_file_t *file, int64_t delta, int64_t *before)
{
    return count(file, THEMIS_PROTO_COUNTER_ADD, delta, before);
}
