/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a connection begins. The client sends HELLO with its key, over an endpoint by which the server knows it; the
 * server answers WELCOME with its own key and with the name of its local socket. A client that can reach that socket is
 * on the server's host: its connection is made anew there, and the endpoint is closed. Any other client sends READY.
 * Keys are random and known to the two sides only: later frames have to carry the key of the receiver. What
 * connects and is not Themis never gets that far.
 */
#pragma once
#include "net/transport.h"

/* Frames that have arrived; those that are not expected have no effect. Lock held. */
void themis_net_connect_on_hello(themis_net_conn_t *conn, const themis_net_frame_t *frame,
                                 themis_net_payload_t *payload);
void themis_net_connect_on_welcome(themis_net_conn_t *conn, const themis_net_frame_t *frame,
                                   themis_net_payload_t *payload);
void themis_net_connect_on_ready(themis_net_conn_t *conn, const themis_net_frame_t *frame,
                                 themis_net_payload_t *payload);
