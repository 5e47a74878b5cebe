/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/metrics_http.h"
#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include "util/log.h"

enum { MAX_CONNECTIONS = 8, TIMEOUT_SECONDS = 10 };

struct themis_server_metrics_http {
    struct MHD_Daemon *daemon;
    themis_server_metrics_text_fn text;
    themis_server_metrics_health_fn health;
    void *arg;
};

/* Answers with `text`, which the response takes over if `mode` says so. */
static enum MHD_Result answer(struct MHD_Connection *connection, unsigned status, const char *type, const char *text,
                              enum MHD_ResponseMemoryMode mode)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text, mode);

    if (response == NULL) {
        if (mode == MHD_RESPMEM_MUST_FREE)
            free((void *)(uintptr_t)text);
        return MHD_NO;
    }
    if (type != NULL)
        MHD_add_response_header(response, "Content-Type", type);
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

/* A text that lasts. */
static enum MHD_Result plain_answer(struct MHD_Connection *connection, unsigned status, const char *text)
{
    return answer(connection, status, NULL, text, MHD_RESPMEM_PERSISTENT);
}

static enum MHD_Result on_get(void *arg, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *upload, size_t *upload_size, void **state)
{
    static const char *const type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    themis_server_metrics_http_t *http = arg;

    if (strcmp(method, "GET") != 0)
        return plain_answer(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET is served\n");
    if (strcmp(url, "/healthz") == 0) {
        const char *fault = http->health(http->arg);
        return plain_answer(connection, fault ? MHD_HTTP_SERVICE_UNAVAILABLE : MHD_HTTP_OK, fault ? fault : "ok\n");
    }
    if (strcmp(url, "/metrics") != 0)
        return plain_answer(connection, MHD_HTTP_NOT_FOUND, "only /metrics and /healthz are served\n");
    char *text = http->text(http->arg);
    if (text == NULL)
        return plain_answer(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory\n");
    return answer(connection, MHD_HTTP_OK, type, text, MHD_RESPMEM_MUST_FREE);
}

themis_status_t themis_server_metrics_http_start(const char *host, uint16_t port, themis_server_metrics_text_fn text,
                                                 themis_server_metrics_health_fn health, void *arg,
                                                 themis_server_metrics_http_t **http)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};

    if (host == NULL || *host == '\0' || strcmp(host, "localhost") == 0)
        host = "127.0.0.1";
    if (inet_pton(AF_INET, host, &address.sin_addr) != 1) {
        themis_error("metrics_listen = %s is not an IPv4 address", host);
        return THEMIS_CONFIG;
    }
    themis_server_metrics_http_t *made = calloc(1, sizeof *made);
    if (made == NULL)
        return THEMIS_NO_MEMORY;
    made->text = text;
    made->health = health;
    made->arg = arg;
    made->daemon =
        MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, port, NULL, NULL, on_get, made, MHD_OPTION_SOCK_ADDR,
                         (struct sockaddr *)&address, MHD_OPTION_CONNECTION_LIMIT, (unsigned)MAX_CONNECTIONS,
                         MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)TIMEOUT_SECONDS, MHD_OPTION_END);
    if (made->daemon == NULL) {
        themis_error("cannot serve metrics at %s:%u: %s", host, port, strerror(errno));
        free(made);
        return THEMIS_CONFIG;
    }
    *http = made;
    return THEMIS_OK;
}

void themis_server_metrics_http_stop(themis_server_metrics_http_t *http)
{
    if (http == NULL)
        return;
    MHD_stop_daemon(http->daemon);
    free(http);
}
