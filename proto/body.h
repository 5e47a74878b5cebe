/* SPDX-License-Identifier: BSD-3-Clause */
/* The bodies of messages. Internal to proto/. */
#pragma once
#include "proto/coder.h"

/* The body that the header's kind, opcode and status name; `body` points to its struct. */
void themis_proto_code_body(themis_proto_coder_t *coder, const themis_proto_header_t *header, void *body);
