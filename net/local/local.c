/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/local/local.h"
#include <errno.h>
#include <stdlib.h>
#include "net/event.h"
#include "net/local/channel.h"
#include "net/local/connector.h"
#include "net/local/process_vm.h"
#include "net/local/reader.h"
#include "net/local/staging.h"
#include "net/local/writer.h"
#include "net/transfer.h"
#include "util/log.h"

/* --- of a net ---------------------------------------------------------------------------------------------------- */

static themis_status_t local_create(themis_net_t *net)
{
    net->local = calloc(1, sizeof *net->local);
    if (net->local == NULL)
        return THEMIS_NO_MEMORY;
    themis_net_listener_init(&net->local->listener);
    net->local->scratch = malloc(THEMIS_NET_LOCAL_SCRATCH);
    return net->local->scratch != NULL ? THEMIS_OK : THEMIS_NO_MEMORY;
}

static void local_destroy(themis_net_t *net)
{
    themis_net_local_t *local = net->local;

    if (local == NULL)
        return;
    themis_net_listener_close(&local->listener);
    for (size_t i = 0; i < local->polled_count; i++)
        themis_net_conn_unref(local->polled[i]);
    free(local->polled);
    free(local->scratch);
    free(local);
}

static themis_status_t local_listen(themis_net_t *net, const char *host, struct sockaddr_in *address)
{
    return net->options.local_copy ? themis_net_listener_open(net) : THEMIS_OK;
}

static int local_progress(themis_net_t *net, int thorough)
{
    if (thorough)
        net->loop.short_sleep |= themis_net_listener_expire(net);
    return 0;
}

/* Brings local->polled up to date. */
static void list_polled(themis_net_t *net)
{
    themis_net_local_t *local = net->local;
    themis_net_conn_t *conn, *next, **list;
    size_t count = 0;

    themis_net_lock(net);
    local->polled_version = net->conns_version;
    list = calloc(HASH_COUNT(net->conns) + 1, sizeof *list);
    if (list == NULL)
        local->polled_version--; /* again next time */
    HASH_ITER(hh, net->conns, conn, next)
    {
        if (list == NULL || conn->channel == NULL)
            continue;
        themis_net_conn_ref(conn);
        list[count++] = conn;
    }
    themis_net_unlock(net);
    if (list == NULL)
        return;
    for (size_t i = 0; i < local->polled_count; i++)
        themis_net_conn_unref(local->polled[i]);
    free(local->polled);
    local->polled = list;
    local->polled_count = count;
}

static unsigned local_receive(themis_net_t *net)
{
    unsigned handled = 0;

    if (net->local->polled_version != net->conns_version)
        list_polled(net);
    for (size_t i = 0; i < net->local->polled_count; i++) {
        themis_net_writer_progress(net->local->polled[i]->channel);
        handled += themis_net_reader_progress(net->local->polled[i]);
    }
    return handled;
}

static int local_arm(themis_net_t *net)
{
    int armed = net->local->polled_version == net->conns_version;

    for (size_t i = 0; armed && i < net->local->polled_count; i++)
        armed = themis_net_channel_arm(net->local->polled[i]);
    return armed;
}

static void local_disarm(themis_net_t *net)
{
    for (size_t i = 0; i < net->local->polled_count; i++)
        themis_net_channel_disarm(net->local->polled[i]->channel);
}

/* A connection's socket or process has ended. A key may be that of a connection that has just gone. */
static void on_peer_gone(themis_net_t *net, uint64_t key)
{
    themis_net_conn_t *conn;

    themis_net_lock(net);
    HASH_FIND(hh, net->conns, &key, sizeof key, conn);
    if (conn != NULL && conn->channel != NULL)
        themis_net_channel_hang_up(conn);
    themis_net_unlock(net);
}

static void local_on_event(themis_net_t *net, uint64_t what)
{
    if (what < THEMIS_NET_EPOLL_KEYS)
        themis_net_listener_on_event(net, what);
    else
        on_peer_gone(net, what & ~THEMIS_NET_EPOLL_PROCESS);
}

/* --- of a connection --------------------------------------------------------------------------------------------- */

static void local_fetch(themis_net_conn_t *conn, const themis_net_payload_t *payload, void *buffer,
                        themis_net_done_fn done, void *arg)
{
    memcpy(buffer, payload->data, payload->length);
    done(arg, THEMIS_OK);
}

/* The kernel has refused, and will not change its mind. Reported once, with what an administrator can do about it. */
static void forgo_copies(themis_net_conn_t *conn, int error)
{
    char cause[80];

    conn->channel->may_copy = 0;
    if (atomic_exchange(&conn->net->local->refusal_reported, 1))
        return;
    themis_net_process_vm_cause(error, cause, sizeof cause);
    themis_warn("data of %s go by messages: process %d may not be copied from and to (%s)", conn->peer,
                (int)conn->channel->peer.pid, cause);
}

static themis_status_t local_copy(themis_net_conn_t *conn, const themis_net_copy_t *copy)
{
    if (copy->remote->flags & THEMIS_NET_STAGED)
        return themis_net_staging_copy(conn, copy);
    if (!conn->channel->may_copy)
        return THEMIS_UNSUPPORTED;
    themis_status_t status = themis_net_process_vm_copy(conn->channel->peer.pid, copy);
    if (status == THEMIS_UNSUPPORTED)
        forgo_copies(conn, errno);
    return status;
}

static int local_take_descriptor(themis_net_conn_t *conn)
{
    int fd = conn->channel->delivered;

    conn->channel->delivered = -1;
    return fd;
}

static void local_free(themis_net_conn_t *conn)
{
    themis_net_channel_free(conn->channel);
}

static void local_close(themis_net_conn_t *conn, int flush)
{
    if (conn->channel == NULL)
        return;
    themis_net_writer_progress(conn->channel);
    themis_net_channel_close(conn);
}

const themis_net_transport_t themis_net_local_transport = {
    .create = local_create,
    .destroy = local_destroy,
    .listen = local_listen,
    .progress = local_progress,
    .receive = local_receive,
    .arm = local_arm,
    .disarm = local_disarm,
    .on_event = local_on_event,
    /* all chunks of a transfer that are under way fit into the ring */
    .chunk_bytes = THEMIS_NET_RING_BYTES / THEMIS_NET_TRANSFER_CHUNKS - 4096,
    .connect = themis_net_connector_connect,
    .send = themis_net_writer_send,
    .send_descriptor = themis_net_writer_send_descriptor,
    .take_descriptor = local_take_descriptor,
    .post = themis_net_writer_post,
    .fetch = local_fetch,
    .stage = themis_net_staging_take,
    .unstage = themis_net_staging_put,
    .copy = local_copy,
    .close = local_close,
    .free = local_free,
};
