/* SPDX-License-Identifier: BSD-3-Clause */
/* Making and ending a net: its transports, and where the frames go that they receive. */
#include "net/net.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "net/address.h"
#include "net/connect.h"
#include "net/event.h"
#include "net/exposed_memory.h"
#include "net/local/local.h"
#include "net/message.h"
#include "net/reaper.h"
#include "net/tcp/tcp.h"
#include "net/transfer.h"
#include "net/ucx/ucx.h"
#include "util/clock.h"

enum { MAX_PASSES = 100 };
#define DEFAULT_SPIN (20 * THEMIS_NS_PER_US)
#define FAREWELL (200 * THEMIS_NS_PER_MS) /* for peers to take what was sent to them last */

static const themis_net_on_frame_fn frame_handlers[] = {
    [THEMIS_NET_HELLO] = themis_net_connect_on_hello, [THEMIS_NET_WELCOME] = themis_net_connect_on_welcome,
    [THEMIS_NET_READY] = themis_net_connect_on_ready, [THEMIS_NET_MESSAGE] = themis_net_message_on_frame,
    [THEMIS_NET_PULL] = themis_net_exposed_on_pull,   [THEMIS_NET_DATA] = themis_net_transfer_on_data,
    [THEMIS_NET_PUSH] = themis_net_exposed_on_push,   [THEMIS_NET_ACK] = themis_net_transfer_on_ack,
};

static void on_frame(themis_net_conn_t *conn, const themis_net_frame_t *frame, themis_net_payload_t *payload)
{
    if (frame->type >= THEMIS_NET_HELLO && frame->type <= THEMIS_NET_ACK)
        frame_handlers[frame->type](conn, frame, payload);
    else
        themis_net_conn_lose(conn, THEMIS_PROTOCOL);
}

void themis_net_options_default(themis_net_options_t *options)
{
    *options = (themis_net_options_t){.spin = DEFAULT_SPIN, .local_copy = 1, .yield = 1};
}

themis_status_t themis_net_create(const themis_net_options_t *options, const themis_net_handlers_t *handlers, void *arg,
                                  themis_net_t **net)
{
    themis_net_t *new = calloc(1, sizeof *new);

    if (new == NULL)
        return THEMIS_NO_MEMORY;
    if (options != NULL)
        new->options = *options;
    else
        themis_net_options_default(&new->options);
    new->handlers = *handlers;
    new->arg = arg;
    new->on_frame = on_frame;
    new->transports[THEMIS_NET_NETWORK] =
        new->options.network == THEMIS_NET_UCX ? &themis_net_ucx_transport : &themis_net_tcp_transport;
    new->transports[THEMIS_NET_LOCAL] = &themis_net_local_transport;
    pthread_mutex_init(&new->lock, NULL);
    themis_net_loop_init(&new->loop);
    themis_status_t status = themis_net_open_events(new);
    for (int i = 0; status == THEMIS_OK && i < THEMIS_NET_TRANSPORTS; i++)
        status = new->transports[i]->create(new);
    if (status == THEMIS_OK)
        *net = new;
    else
        themis_net_destroy(new);
    return status;
}

themis_status_t themis_net_listen(themis_net_t *net, const char *host, uint16_t port, uint16_t *bound)
{
    struct sockaddr_in address;

    themis_status_t status = themis_net_address_resolve(host, port, 1, &address);
    if (status != THEMIS_OK)
        return status;
    themis_net_lock(net);
    if (net->listening)
        status = THEMIS_INVALID;
    for (int i = 0; status == THEMIS_OK && i < THEMIS_NET_TRANSPORTS; i++)
        status = net->transports[i]->listen(net, host, &address);
    if (status == THEMIS_OK && bound != NULL)
        *bound = ntohs(address.sin_port);
    themis_net_unlock(net);
    return status;
}

/* Ends connections and waits until their transport has closed them, but not for long: a peer may be stopped. */
static void close_all(themis_net_t *net)
{
    uint64_t until = themis_util_clock_now() + FAREWELL;
    themis_net_conn_t *conn, *next;
    unsigned closing;

    HASH_ITER(hh, net->conns, conn, next)
    {
        themis_net_conn_close(conn);
    }
    do {
        themis_net_lock(net);
        themis_net_reap(net);
        for (int i = 0; i < MAX_PASSES && net->transports[THEMIS_NET_NETWORK]->progress(net, 1); i++)
            ;
        while (net->events != NULL) {
            themis_net_event_t *event = net->events;
            DL_DELETE(net->events, event);
            if (event->type == THEMIS_NET_EVENT_MOVED)
                event->moved(event->arg, event->status);
            themis_net_event_free(event);
        }
        closing = net->closing;
        themis_net_unlock(net);
        if (closing > 0)
            usleep(100);
    } while (closing > 0 && themis_util_clock_now() < until);
}

void themis_net_destroy(themis_net_t *net)
{
    if (net == NULL)
        return;
    if (net->ucx != NULL || net->tcp != NULL)
        close_all(net);
    for (int i = THEMIS_NET_TRANSPORTS - 1; i >= 0; i--)
        net->transports[i]->destroy(net);
    themis_net_close_events(net);
    themis_net_loop_destroy(&net->loop);
    pthread_mutex_destroy(&net->lock);
    themis_net_auth_wipe(&net->options.auth);
    free(net);
}
