/* SPDX-License-Identifier: BSD-3-Clause */
/* A running server seen from outside: its metrics as a text, and over HTTP where the configuration says so. */
#ifndef THEMIS_SERVER_MONITORING_H
#define THEMIS_SERVER_MONITORING_H
#include "server/server.h"

/* OpenMetrics of this server; owned by the caller (free), NULL when memory is short. Without the server's lock. */
char *themis_server_watch_metrics(themis_server_t *server);

/* Serves them at metrics_listen and metrics_port; nothing to do when the port is 0. */
themis_status_t themis_server_watch_start(themis_server_t *server);
void themis_server_watch_stop(themis_server_t *server);
#endif
