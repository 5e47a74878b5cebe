/* SPDX-License-Identifier: BSD-3-Clause */
/* One call to each server of a file at once. */
#ifndef THEMIS_CLIENT_MULTICALL_H
#define THEMIS_CLIENT_MULTICALL_H
#include "client/session.h"

typedef struct themis_client_multicall {
    const themis_layout_t *layout;
    themis_proto_opcode_t opcode;
    const char *subject; /* path, for error texts */
    void (*fill)(void *arg, uint32_t slot, themis_proto_body_t *request);
    void (*take)(void *arg, uint32_t slot, const themis_proto_body_t *reply); /* may be NULL */
    void *arg;
} themis_client_multicall_t;

/* The first failure, after all calls have ended. */
themis_status_t themis_client_multicall(themis_t *session, const themis_client_multicall_t *fan);
#endif
