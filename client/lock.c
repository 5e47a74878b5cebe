/* SPDX-License-Identifier: BSD-3-Clause */
/* Byte-range locks and the counter of a file, both kept by the file's first server. */
#include "client/call.h"
#include "client/error.h"
#include "client/file.h"
#include "client/placement.h"

/* A call to the file's first server. */
static themis_status_t ask_first(themis_file_t *file, themis_proto_opcode_t opcode, const void *request,
                                 themis_proto_body_t *body)
{
    uint32_t server = themis_client_place_server(&file->layout, 0, file->session->settings.server_count);
    themis_client_call_t *call;
    themis_status_t status = themis_client_call_do(file->session, server, opcode, request, file->path, &call, body);

    if (status == THEMIS_OK)
        themis_client_call_put(call);
    return status;
}

static themis_status_t change_lock(themis_file_t *file, themis_proto_opcode_t opcode, uint64_t offset, uint64_t length,
                                   int flags)
{
    themis_proto_lock_t request = {.object = file->object,
                                   .offset = offset,
                                   .length = length,
                                   .owner = file->owner,
                                   .exclusive = (flags & THEMIS_LOCK_EXCLUSIVE) != 0,
                                   .wait = (flags & THEMIS_LOCK_TRY) == 0};
    themis_proto_body_t body;

    if (length == 0)
        return THEMIS_OK;
    if (offset > INT64_MAX)
        return themis_client_fail(THEMIS_RANGE, "%s: an offset of 2^63 or more", file->path);
    return ask_first(file, opcode, &request, &body);
}

themis_status_t themis_lock(themis_file_t *file, uint64_t offset, uint64_t length, int flags)
{
    file->locked = 1;
    return change_lock(file, THEMIS_OP_LOCK, offset, length, flags);
}

themis_status_t themis_unlock(themis_file_t *file, uint64_t offset, uint64_t length)
{
    return change_lock(file, THEMIS_OP_UNLOCK, offset, length, 0);
}

static themis_status_t count(themis_file_t *file, uint8_t action, int64_t operand, int64_t *before)
{
    themis_proto_counter_t request = {file->object, action, operand};
    themis_proto_body_t body;
    themis_status_t status = ask_first(file, THEMIS_OP_COUNTER, &request, &body);

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
