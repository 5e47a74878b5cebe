/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/settle_batch.h"
#include "util/clock.h"

/* Of a message without steps, and of a step without its texts, or more. */
enum { HEAD_BYTES = 64, STEP_BYTES = 48 };

int themis_server_settle_batch_add(themis_server_settle_batch_t *batch, themis_server_intent_entry_t *owner,
                                   const themis_proto_settle_step_t *step)
{
    size_t bytes = STEP_BYTES + step->renamed.length + step->path.length;

    if (batch->count == 0) {
        batch->bytes = HEAD_BYTES;
        batch->begun = themis_util_clock_now();
    }
    if (batch->count == THEMIS_PROTO_MAX_SETTLE || batch->bytes + bytes > THEMIS_PROTO_MAX_MESSAGE)
        return 0;
    batch->bytes += bytes;
    batch->steps[batch->count] = *step;
    batch->owners[batch->count++] = owner;
    return 1;
}

themis_status_t themis_server_settle_batch_encode(const themis_server_settle_batch_t *batch, uint64_t id,
                                                  uint8_t *message, size_t *length)
{
    const themis_proto_settle_t settle = {.count = batch->count, .bytes = (const uint8_t *)batch->steps};
    const themis_proto_header_t header = {
        .version = THEMIS_PROTO_VERSION, .kind = THEMIS_PROTO_REQUEST, .opcode = THEMIS_OP_SETTLE, .id = id};

    return themis_proto_encode(&header, &settle, message, THEMIS_PROTO_MAX_MESSAGE, length);
}

void themis_server_settle_batch_end(themis_server_settle_batch_t *batch, themis_status_t status)
{
    for (uint32_t i = 0; i < batch->count; i++) {
        themis_status_t own = status == THEMIS_OK ? batch->statuses[i] : status;
        if (own != THEMIS_OK && batch->owners[i]->status == THEMIS_OK)
            batch->owners[i]->status = own;
    }
    batch->count = 0;
}
