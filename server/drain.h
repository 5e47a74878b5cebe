/* SPDX-License-Identifier: BSD-3-Clause */
/* Stopping a server: new requests are refused, and the queued ones are served for at most config.drain. */
#pragma once
#include "server/server.h"

/* Begins to drain; the workers end when it is done. From any thread, without the lock; a second call does nothing. */
void themis_server_drain_start(themis_server_t *server);

/* The others with the lock. 1 if a server that drains takes no request of this opcode any more. */
int themis_server_drain_refuses(const themis_server_t *server, unsigned opcode);
/* 1 if nothing is left to be served, or the time is over and nothing is in service. */
int themis_server_drain_is_done(const themis_server_t *server);
