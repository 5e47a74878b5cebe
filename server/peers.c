/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/peers.h"
#include "server/server.h"

themis_status_t themis_peers_create(themis_server_t *server)
{
    server->peers = NULL;
    return THEMIS_OK;
}

void themis_peers_destroy(themis_server_t *server)
{
    server->peers = NULL;
}

uint64_t themis_peers_tick(themis_server_t *server, uint64_t now)
{
    (void)server, (void)now;
    return UINT64_MAX;
}
