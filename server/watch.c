/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/watch.h"
#include <stdlib.h>
#include <string.h>
#include "server/metrics.h"
#include "server/report.h"
#include "util/clock.h"

/* With the lock. */
static char *compose(themis_server_t *server, const themis_store_usage_t *usage)
{
    themis_server_report_server_t about = {.name = server->config.name,
                                           .index = (uint32_t)server->config.index,
                                           .servers = (uint32_t)server->config.count,
                                           .uptime = themis_util_clock_now() - server->began,
                                           .workers = server->thread_count,
                                           .sessions = themis_server_sessions_count(server->sessions),
                                           .capacity = usage->capacity,
                                           .used = usage->used};
    themis_server_peers_report(server, &about);
    about.lambda = server->config.lambda;
    return themis_server_report_metrics(&about, server->jobs, server->sched);
}

/* Whoever asks, and however often: composing takes no more than control requests may. */
char *themis_server_watch_metrics(themis_server_t *server)
{
    themis_store_usage_t usage = {0};

    themis_store_usage(server->store, &usage);
    pthread_mutex_lock(&server->lock);
    uint64_t now = themis_util_clock_now(), began = themis_util_clock_thread();
    if (now >= server->metrics_due || server->metrics_text == NULL) {
        free(server->metrics_text);
        server->metrics_text = compose(server, &usage);
        server->metrics_due = now + THEMIS_SCHED_CONTROL_DIVISOR * (themis_util_clock_thread() - began);
    }
    char *text = server->metrics_text ? strdup(server->metrics_text) : NULL;
    pthread_mutex_unlock(&server->lock);
    return text;
}

static char *metrics_text(void *server)
{
    return themis_server_watch_metrics(server);
}

themis_status_t themis_server_watch_start(themis_server_t *server)
{
    const themis_server_config_t *config = &server->config;

    if (config->metrics_port == 0)
        return THEMIS_OK;
    return themis_server_metrics_start(config->metrics_listen, (uint16_t)config->metrics_port, metrics_text, server,
                                       &server->metrics);
}

void themis_server_watch_stop(themis_server_t *server)
{
    themis_server_metrics_stop(server->metrics);
    server->metrics = NULL;
    free(server->metrics_text);
    server->metrics_text = NULL;
}
