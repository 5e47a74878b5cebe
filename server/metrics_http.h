/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Metrics over HTTP: GET /metrics returns what `text` gives, as OpenMetrics, GET /healthz 200 or 503; other paths 404,
 * other methods 405. Served by a thread of libmicrohttpd, at most eight connections at a time.
 */
#pragma once
#include <stdint.h>
#include "themis/status.h"

typedef struct themis_server_metrics_http themis_server_metrics_http_t;

/* The text of one answer, which is freed with free(); NULL gives 503. Called by the thread that serves. */
typedef char *(*themis_server_metrics_text_fn)(void *arg);

/* NULL: the server takes requests; else, in a word or two, why it does not, a line that lasts. The same thread. */
typedef const char *(*themis_server_metrics_health_fn)(void *arg);

/* Listens on the IPv4 address `host` (NULL or "": 127.0.0.1). THEMIS_CONFIG: not an address, or it cannot be listened
 * at. */
themis_status_t themis_server_metrics_http_start(const char *host, uint16_t port, themis_server_metrics_text_fn text,
                                                 themis_server_metrics_health_fn health, void *arg,
                                                 themis_server_metrics_http_t **http);
void themis_server_metrics_http_stop(themis_server_metrics_http_t *http); /* NULL is allowed */
