/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps of intents that one server is to do, as many as fit into a message. */
#pragma once
#include "proto/proto.h"
#include "server/intents.h"

typedef struct themis_server_settle_batch {
    uint32_t count;
    size_t bytes;   /* of the message */
    uint64_t begun; /* ns; when the first step was added */
    themis_proto_settle_step_t steps[THEMIS_PROTO_MAX_SETTLE];
    themis_server_intent_entry_t *owners[THEMIS_PROTO_MAX_SETTLE];
    themis_status_t statuses[THEMIS_PROTO_MAX_SETTLE]; /* how the steps have ended */
} themis_server_settle_batch_t;

/* Returns 0 if the step does not fit any more; an empty batch has room for any. The step is copied, its texts are
 * borrowed. */
int themis_server_settle_batch_add(themis_server_settle_batch_t *batch, themis_server_intent_entry_t *owner,
                                   const themis_proto_settle_step_t *step);
/* Encodes SETTLE into THEMIS_PROTO_MAX_MESSAGE bytes. */
themis_status_t themis_server_settle_batch_encode(const themis_server_settle_batch_t *batch, uint64_t id,
                                                  uint8_t *message, size_t *length);
/* Tells the owners: the first failure of its steps becomes an intent's status. `status`, unless THEMIS_OK, is that of
 * all steps. The batch is empty then. */
void themis_server_settle_batch_end(themis_server_settle_batch_t *batch, themis_status_t status);
