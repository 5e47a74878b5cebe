/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames as UCX's active messages. Contracts of post and fetch: net/transport.h. */
#pragma once
#include "net/ucx/ucx.h"

themis_status_t themis_net_active_message_status(ucs_status_t status);
/* From now on frames that arrive go to net->on_frame. */
ucs_status_t themis_net_active_message_receive(themis_net_t *net);
themis_status_t themis_net_active_message_post(themis_net_conn_t *conn, const themis_net_frame_t *frame,
                                               const void *payload, size_t length, themis_net_done_fn done, void *arg);
void themis_net_active_message_fetch(themis_net_conn_t *conn, const themis_net_payload_t *payload, void *buffer,
                                     themis_net_done_fn done, void *arg);
