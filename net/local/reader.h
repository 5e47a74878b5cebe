/* SPDX-License-Identifier: BSD-3-Clause */
/* Receiving by a local connection: what net/local/writer.h describes. */
#pragma once
#include "net/local/channel.h"

/* Reads what has come and hands messages to the handler, frames to net->on_frame. As the progressing thread, lock not
 * held. Returns how many there were. */
unsigned themis_net_reader_progress(themis_net_conn_t *conn);
