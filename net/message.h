/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages that travel as frames, in their order. UCX may deliver a large message (rendezvous, or several lanes) later
 * than a small one that was sent after it, so these messages carry numbers, and one that is early or not complete waits
 * in conn->arrivals.
 */
#pragma once
#include "net/transport.h"

/* A frame that has arrived; the connection is lost if it is out of order or too much. Lock held. */
void themis_net_message_on_frame(themis_net_conn_t *conn, const themis_net_frame_t *frame,
                                 themis_net_payload_t *payload);
