/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A running server's metrics as OpenMetrics text: for STATUS, and over HTTP where the configuration says so. However
 * often it is requested, composing the text takes no more of a worker's time than control requests may; meanwhile the
 * last text is repeated. Without the lock.
 */
#pragma once
#include "server/server.h"

/* Serves the metrics at metrics_listen and metrics_port (0: not over HTTP). */
themis_status_t themis_server_monitoring_create(themis_server_t *server);
void themis_server_monitoring_destroy(themis_server_t *server); /* if it was created */

/* The text, owned by the caller (free); NULL when memory is short. */
char *themis_server_monitoring_text(themis_server_t *server);
