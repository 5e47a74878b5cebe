/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sending by a local connection. A message in the ring is its length in 8 bytes, then its bytes, padded to 8. Bulk data
 * that cannot be copied between the processes goes the same way: THEMIS_NET_RING_FRAME is set in the length then, and
 * the bytes are a frame and its payload. THEMIS_NET_RING_DESCRIPTOR: a file descriptor belongs to the message; it has
 * been sent by the socket, in the same order.
 */
#pragma once
#include "net/local/channel.h"

/* Sends a message. Any thread, lock not held. */
themis_status_t themis_net_writer_send(themis_net_conn_t *conn, const void *bytes, size_t length);
/* The same with a file descriptor, which stays the caller's. THEMIS_BUSY: the socket takes none now. */
themis_status_t themis_net_writer_send_descriptor(themis_net_conn_t *conn, const void *bytes, size_t length, int fd);
/* Sends a frame of bulk data, with a copy of its payload: `done` is called before this returns. Lock held. */
themis_status_t themis_net_writer_post(themis_net_conn_t *conn, const themis_net_frame_t *frame, const void *payload,
                                       size_t length, themis_net_done_fn done, void *arg);
/* Moves what waits for room to the ring, as far as there is room now. */
void themis_net_writer_progress(themis_net_channel_t *channel);
