/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From messages to requests. Called by the worker that polls the network, so nothing here waits for a disk. The first
 * HELLO of a connection is handled at once and replays are answered with the saved reply; other requests are queued.
 */
#pragma once
#include "net/net.h"

extern const themis_net_handlers_t themis_server_dispatch_handlers; /* arg: the server */
