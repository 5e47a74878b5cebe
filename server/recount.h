/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread that counts what an earlier process has left in the store (themis_store_recount), while the server serves.
 */
#pragma once
#include "themis/status.h"

struct themis_server;

/* Nothing is begun where the store knows what it has. */
themis_status_t themis_server_recount_start(struct themis_server *server);
/* Ends it before its time. */
void themis_server_recount_stop(struct themis_server *server);
