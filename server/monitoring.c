/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/monitoring.h"
#include <stdlib.h>
#include <string.h>
#include "server/history.h"
#include "server/metrics_http.h"
#include "server/open_metrics.h"
#include "server/peers.h"
#include "util/clock.h"

struct themis_server_monitoring {
    themis_server_metrics_http_t *http; /* NULL: off */
    char *text;                         /* the last one, or NULL; this and the next with the server's lock */
    uint64_t due;                       /* ns; until then `text` is repeated */
};

/* With the lock. */
static char *text_compose(themis_server_t *server, const themis_store_usage_t *usage)
{
    themis_server_open_metrics_t metrics = {.name = server->config.name,
                                            .index = (uint32_t)server->config.index,
                                            .uptime = themis_util_clock_now() - server->started,
                                            .workers = server->workers.count,
                                            .sessions = themis_server_sessions_count(server->sessions),
                                            .capacity = usage->capacity,
                                            .used = usage->used};

    themis_server_direct_usage(server, &metrics.direct);
    themis_server_history_counts(server, &metrics.history);
    themis_server_peers_progress(server, &metrics.known, &metrics.rounds);
    return themis_server_open_metrics_text(&metrics, server->jobs, server->sched);
}

char *themis_server_monitoring_text(themis_server_t *server)
{
    struct themis_server_monitoring *monitoring = server->monitoring;
    themis_store_usage_t usage = {0};

    themis_store_usage(server->store, &usage);
    pthread_mutex_lock(&server->lock);
    uint64_t now = themis_util_clock_now(), started = themis_util_clock_thread();
    if (now >= monitoring->due || !monitoring->text) {
        free(monitoring->text);
        monitoring->text = text_compose(server, &usage);
        monitoring->due = now + THEMIS_SCHED_CONTROL_DIVISOR * (themis_util_clock_thread() - started);
    }
    char *text = monitoring->text ? strdup(monitoring->text) : NULL;
    pthread_mutex_unlock(&server->lock);
    return text;
}

static char *on_scrape(void *server)
{
    return themis_server_monitoring_text(server);
}

static const char *on_health(void *arg)
{
    themis_server_t *server = arg;

    pthread_mutex_lock(&server->lock);
    int draining = server->drain.active;
    pthread_mutex_unlock(&server->lock);
    return draining ? "draining\n" : NULL;
}

themis_status_t themis_server_monitoring_create(themis_server_t *server)
{
    const themis_server_config_t *config = &server->config;

    server->monitoring = calloc(1, sizeof *server->monitoring);
    if (!server->monitoring)
        return THEMIS_NO_MEMORY;
    if (config->metrics_port == 0)
        return THEMIS_OK;
    return themis_server_metrics_http_start(config->metrics_listen, (uint16_t)config->metrics_port, on_scrape,
                                            on_health, server, &server->monitoring->http);
}

void themis_server_monitoring_destroy(themis_server_t *server)
{
    if (!server->monitoring)
        return;
    themis_server_metrics_http_stop(server->monitoring->http);
    free(server->monitoring->text);
    free(server->monitoring);
    server->monitoring = NULL;
}
