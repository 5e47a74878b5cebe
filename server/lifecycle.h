/* SPDX-License-Identifier: BSD-3-Clause */
/* A server from its creation to its end. drain.h stops it. */
#pragma once
#include "server/server.h"

/* Makes all parts and listens; nothing is served before themis_server_start. `config` has been checked, and is copied.
 */
themis_status_t themis_server_create(const themis_server_config_t *config, themis_server_t **server);
void themis_server_destroy(themis_server_t *server); /* NULL is allowed; not while it runs */
/* Starts the threads and returns; themis_server_engine_join waits for their end. After a failure the workers have
 * ended, and the server is to be destroyed. */
themis_status_t themis_server_start(themis_server_t *server);
/* Takes over from `fresh` what a running server can change; logs which other keys differ. */
void themis_server_reload(themis_server_t *server, const themis_server_config_t *fresh);
