/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Client side of bulk data: memory that the peer may pull from or push to. A peer of the same host and user copies by
 * itself, small memory by way of a staging buffer; others send PULL and PUSH frames, which are answered here.
 */
#pragma once
#include "net/transport.h"

/* A frame that has arrived; lock held. */
void themis_net_exposed_on_pull(themis_net_conn_t *conn, const themis_net_frame_t *frame,
                                themis_net_payload_t *payload);
void themis_net_exposed_on_push(themis_net_conn_t *conn, const themis_net_frame_t *frame,
                                themis_net_payload_t *payload);
