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
    void *arg;
    uint16_t port;
};

static enum MHD_Result answer_text(struct MHD_Connection *connection, unsigned status, const char *text)
{
    struct MHD_Response *response =
        MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);
    if (response == NULL)
        return MHD_NO;
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result answer_metrics(themis_server_metrics_http_t *http, struct MHD_Connection *connection)
{
    char *text = http->text(http->arg);

    if (text == NULL)
        return answer_text(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "out of memory\n");
    struct MHD_Response *response = MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE);
    if (response == NULL) {
        free(text);
        return MHD_NO;
    }
    MHD_add_response_header(response, "Content-Type", "application/openmetrics-text; version=1.0.0; charset=utf-8");
    enum MHD_Result result = MHD_queue_response(connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result handle(void *arg, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *upload, size_t *upload_size, void **state)
{
    if (strcmp(method, "GET") != 0)
        return answer_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET\n");
    if (strcmp(url, "/metrics") != 0)
        return answer_text(connection, MHD_HTTP_NOT_FOUND, "only /metrics is here\n");
    return answer_metrics(arg, connection);
}

themis_status_t themis_server_metrics_start(const char *host, uint16_t port, themis_server_metrics_text_fn text,
                                            void *arg, themis_server_metrics_http_t **http)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};

    if (host == NULL || *host == '\0' || strcmp(host, "localhost") == 0)
        host = "127.0.0.1";
    if (inet_pton(AF_INET, host, &address.sin_addr) != 1) {
        themis_error("metrics: \"%s\" is not an IPv4 address", host);
        return THEMIS_CONFIG;
    }
    themis_server_metrics_http_t *made = calloc(1, sizeof *made);
    if (made == NULL)
        return THEMIS_NO_MEMORY;
    made->text = text;
    made->arg = arg;
    made->daemon =
        MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD, port, NULL, NULL, handle, made, MHD_OPTION_SOCK_ADDR,
                         (struct sockaddr *)&address, MHD_OPTION_CONNECTION_LIMIT, (unsigned)MAX_CONNECTIONS,
                         MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)TIMEOUT_SECONDS, MHD_OPTION_END);
    if (made->daemon == NULL) {
        themis_error("metrics: nobody can listen on %s:%u: %s", host, port, strerror(errno));
        free(made);
        return THEMIS_CONFIG;
    }
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(made->daemon, MHD_DAEMON_INFO_BIND_PORT);
    made->port = info == NULL ? port : info->port;
    *http = made;
    return THEMIS_OK;
}

uint16_t themis_server_metrics_port(const themis_server_metrics_http_t *http)
{
    return http->port;
}

void themis_server_metrics_stop(themis_server_metrics_http_t *http)
{
    if (http == NULL)
        return;
    MHD_stop_daemon(http->daemon);
    free(http);
}
