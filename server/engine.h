/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The workers: who polls the network, who serves requests, who sleeps.
 *
 * Leader and followers: one worker at a time polls the network. What it receives is queued, and when polling returns
 * the same worker serves it. Another one is woken only if more requests wait, or if the request may take long.
 */
#pragma once
#include "server/server.h"

/* Starts workers.count threads, which end when the server is drained. If the system refuses some of them, the others
 * are enough, and workers.count is lowered. */
themis_status_t themis_server_engine_start(themis_server_t *server);
/* Ends them at once, whatever is queued. */
void themis_server_engine_stop(themis_server_t *server);
/* Waits until all workers have ended. */
void themis_server_engine_join(themis_server_t *server);
