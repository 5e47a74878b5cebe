/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/drain.h"
#include <inttypes.h>
#include "server/direct.h"
#include "server/notify.h"
#include "util/clock.h"
#include "util/log.h"

void themis_server_drain_start(themis_server_t *server)
{
    pthread_mutex_lock(&server->lock);
    int begins = !server->drain.active;
    if (begins) {
        server->drain.active = 1;
        server->drain.end = themis_util_clock_now() + server->config.drain;
        themis_server_direct_stop(server);
        themis_info("stopping: %" PRIu64 " requests are queued", themis_sched_queued(server->sched));
        if (server->workers.idle_count)
            pthread_cond_signal(&server->workers.idle);
        themis_net_wake(server->net);
    }
    pthread_mutex_unlock(&server->lock);
    if (begins)
        themis_server_notify("STOPPING=1\nSTATUS=drains, then ends");
}

int themis_server_drain_refuses(const themis_server_t *server, unsigned opcode)
{
    /* requests about sessions and locks, and administration, are served to the end */
    int is_allowed = opcode >= THEMIS_OP_LOCK || opcode <= THEMIS_OP_GOODBYE;

    return server->drain.active && (!is_allowed || themis_util_clock_now() >= server->drain.end);
}

int themis_server_drain_is_done(const themis_server_t *server)
{
    return server->drain.active && !server->ready && server->slices.in_service == 0 &&
           (themis_sched_queued(server->sched) + server->control.queued == 0 ||
            themis_util_clock_now() >= server->drain.end);
}
