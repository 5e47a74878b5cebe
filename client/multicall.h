/* SPDX-License-Identifier: BSD-3-Clause */
/* One call to each server of a file at once. */
#pragma once
#include "client/call.h"
#include "themis/themis.h"

typedef struct themis_client_multicall {
    const themis_layout_t *layout;
    themis_proto_opcode_t opcode;
    const char *subject;      /* path, for error texts */
    themis_file_t *file;      /* the handle, whose capability is filled in; NULL: none */
    themis_proto_body_t body; /* of each call */
    /* Both may be NULL. `index` is that of the object; that of `call`, which has ended. Replies last until all are
     * collected, which is in their order. */
    void (*fill)(void *arg, uint32_t index, themis_proto_body_t *body); /* changes the body of one call */
    void (*collect)(void *arg, uint32_t index, const themis_client_call_t *call, const themis_proto_body_t *reply);
    void *arg;
} themis_client_multicall_t;

/* Waits for all calls, also after a failure; the first failure. All are made again if the capability has expired, or
 * servers want to be listed (enlist.h) before they make an object. */
themis_status_t themis_client_multicall(themis_client_calls_t *calls, const themis_client_multicall_t *multicall);
