/* SPDX-License-Identifier: BSD-3-Clause */
/* The other servers of the list, with which job tables are exchanged every lambda. */
#ifndef THEMIS_SERVER_PEERS_H
#define THEMIS_SERVER_PEERS_H
#include <stdint.h>
#include "themis/status.h"

struct themis_server;

themis_status_t themis_peers_create(struct themis_server *server);
void themis_peers_destroy(struct themis_server *server);
/* Does what is due at `now`; returns the ns until it wants to be called again. With the server's lock. */
uint64_t themis_peers_tick(struct themis_server *server, uint64_t now);
#endif
