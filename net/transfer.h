/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Server side of bulk data: pull and push. What the transport cannot copy at once is cut into chunks, of which a few
 * are under way at a time: for a pull a PULL frame goes out and DATA comes back; for a push a PUSH frame with the bytes
 * goes out and ACK comes back. A chunk ends when the peer has answered and the transport has released our memory; the
 * transfer ends with its last chunk.
 */
#pragma once
#include "net/transport.h"

enum { THEMIS_NET_TRANSFER_CHUNKS = 4 }; /* under way at a time */

/* Frames that have arrived; those that are not expected have no effect. Lock held for all of these. */
void themis_net_transfer_on_data(themis_net_conn_t *conn, const themis_net_frame_t *frame,
                                 themis_net_payload_t *payload);
void themis_net_transfer_on_ack(themis_net_conn_t *conn, const themis_net_frame_t *frame,
                                themis_net_payload_t *payload);
/* Ends the chunks of a dead connection that wait for the peer. */
void themis_net_transfers_abandon(themis_net_conn_t *conn);
