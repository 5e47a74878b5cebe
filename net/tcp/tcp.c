/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/tcp/tcp.h"
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include "net/event.h"
#include "net/tcp/connector.h"
#include "net/tcp/listener.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/status.h"

#define MAX_LINGER THEMIS_NS_PER_S
enum { MAX_READY = 64 };

/* --- the event queue ---------------------------------------------------------------------------------------------- */

int themis_net_tcp_add(themis_net_tcp_t *tcp, int fd, uint32_t events, uint64_t what)
{
    struct epoll_event event = {.events = events, .data.u64 = what};

    return epoll_ctl(tcp->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

int themis_net_tcp_change(themis_net_tcp_t *tcp, int fd, uint32_t events, uint64_t what)
{
    struct epoll_event event = {.events = events, .data.u64 = what};

    return epoll_ctl(tcp->epoll_fd, EPOLL_CTL_MOD, fd, &event);
}

void themis_net_tcp_remove(themis_net_tcp_t *tcp, int fd)
{
    epoll_ctl(tcp->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

void themis_net_tcp_watch(themis_net_conn_t *conn)
{
    themis_net_stream_t *stream = conn->stream;
    uint32_t events = EPOLLIN | (themis_net_stream_is_waiting(stream) ? EPOLLOUT : 0);

    if (events == stream->events)
        return;
    stream->events = events;
    if (themis_net_tcp_change(conn->net->tcp, stream->fd, events, conn->key) != 0)
        themis_net_conn_lose(conn, THEMIS_IO);
}

/* --- handshakes ----------------------------------------------------------------------------------------------------
 */

int themis_net_tcp_handshake_read(int fd, themis_net_handshake_t *handshake)
{
    while (handshake->state == THEMIS_NET_HANDSHAKE_READS && handshake->out_length == 0) {
        ssize_t got = recv(fd, handshake->in + handshake->have, themis_net_handshake_wanted(handshake), MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR))
            return 1;
        if (got <= 0)
            return 0;
        themis_net_handshake_take(handshake, (size_t)got);
    }
    return 1;
}

int themis_net_tcp_handshake_write(int fd, themis_net_handshake_t *handshake)
{
    size_t length = handshake->out_length;

    handshake->out_length = 0;
    return length == 0 || send(fd, handshake->out, length, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)length;
}

/* --- of a net ----------------------------------------------------------------------------------------------------- */

static themis_status_t tcp_create(themis_net_t *net)
{
    net->tcp = calloc(1, sizeof *net->tcp);
    if (net->tcp == NULL)
        return THEMIS_NO_MEMORY;
    net->tcp->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    net->tcp->scratch = malloc(THEMIS_NET_STREAM_SCRATCH);
    if (net->tcp->scratch == NULL)
        return THEMIS_NO_MEMORY;
    if (net->tcp->epoll_fd >= 0 && themis_net_watch(net, net->tcp->epoll_fd, EPOLLIN, THEMIS_NET_EPOLL_NETWORK) == 0)
        return THEMIS_OK;
    themis_error("cannot make an event queue: %m");
    return themis_util_status_from_errno(errno);
}

static void tcp_destroy(themis_net_t *net)
{
    themis_net_tcp_t *tcp = net->tcp;
    themis_net_stream_t *stream;

    if (tcp == NULL)
        return;
    themis_net_listening_end(net);
    while ((stream = tcp->lingering) != NULL) {
        LL_DELETE(tcp->lingering, stream);
        themis_net_stream_free(NULL, stream);
    }
    if (tcp->epoll_fd >= 0)
        close(tcp->epoll_fd);
    free(tcp->scratch);
    free(tcp);
    net->tcp = NULL;
}

/* Writes what is left of connections that were closed. */
static void lingering_progress(themis_net_t *net)
{
    themis_net_stream_t *stream, *next;
    uint64_t now = themis_util_clock_now();

    LL_FOREACH_SAFE(net->tcp->lingering, stream, next)
    {
        int sound = themis_net_stream_write(NULL, stream);
        if (sound && themis_net_stream_is_waiting(stream) && now < stream->until)
            continue;
        LL_DELETE(net->tcp->lingering, stream);
        themis_net_stream_free(NULL, stream);
        net->closing--;
    }
}

/* A key may be that of a connection that has just gone. Returns 0 if nothing was to be done. */
static int on_conn_event(themis_net_t *net, const struct epoll_event *event)
{
    uint64_t key = event->data.u64;
    themis_net_conn_t *conn;

    HASH_FIND(hh, net->conns, &key, sizeof key, conn);
    if (conn == NULL || conn->stream == NULL)
        return 0;
    if (!conn->stream->open) {
        themis_net_tcp_connector_on_event(conn);
        return 1;
    }
    if (event->events & EPOLLOUT) {
        if (!themis_net_stream_write(conn, conn->stream))
            themis_net_conn_lose(conn, THEMIS_DISCONNECTED);
        themis_net_tcp_watch(conn);
    }
    if (event->events & ~(uint32_t)EPOLLOUT)
        return themis_net_stream_read(conn, net->tcp->scratch);
    return 1;
}

static int tcp_progress(themis_net_t *net, int thorough)
{
    struct epoll_event ready[MAX_READY];
    int active = 0;

    if (!thorough && net->networked == 0 && net->tcp->lingering == NULL && net->tcp->listening == NULL)
        return 0;
    int count = epoll_wait(net->tcp->epoll_fd, ready, MAX_READY, 0);
    for (int i = 0; i < count; i++)
        if (ready[i].data.u64 >= THEMIS_NET_TCP_KEYS)
            active |= on_conn_event(net, &ready[i]);
        else if (ready[i].data.u64 != THEMIS_NET_TCP_LINGERING)
            themis_net_listening_on_event(net, ready[i].data.u64), active = 1;
    if (net->tcp->lingering != NULL)
        lingering_progress(net);
    if (net->tcp->listening != NULL)
        net->loop.short_sleep |= themis_net_listening_progress(net, thorough);
    net->loop.short_sleep |= net->tcp->lingering != NULL;
    return active;
}

/* The queue is readable as long as there is something in it; of proofs that were looked at nothing comes there. */
static int tcp_arm(themis_net_t *net)
{
    return net->tcp != NULL && (net->tcp->listening == NULL || !themis_net_listening_is_due(net));
}

/* --- of a connection ---------------------------------------------------------------------------------------------- */

static void tcp_close(themis_net_conn_t *conn, int flush)
{
    themis_net_stream_t *stream = conn->stream;
    themis_net_tcp_t *tcp = conn->net->tcp;

    if (stream == NULL)
        return;
    conn->stream = NULL;
    int waits = flush && stream->open && themis_net_stream_write(conn, stream) && themis_net_stream_is_waiting(stream);
    if (!waits || themis_net_tcp_change(tcp, stream->fd, EPOLLOUT, THEMIS_NET_TCP_LINGERING) != 0) {
        if (flush)
            shutdown(stream->fd, SHUT_WR);
        themis_net_stream_free(conn, stream);
        return;
    }
    themis_net_stream_drop_fetch(conn, stream);
    themis_net_stream_detach(conn, stream);
    stream->until = themis_util_clock_now() + MAX_LINGER;
    LL_PREPEND(tcp->lingering, stream);
    conn->net->closing++;
    conn->net->kick = 1;
}

const themis_net_transport_t themis_net_tcp_transport = {
    .create = tcp_create,
    .destroy = tcp_destroy,
    .listen = themis_net_listening_begin,
    .progress = tcp_progress,
    .arm = tcp_arm,
    .chunk_bytes = THEMIS_NET_CHUNK,
    .connect = themis_net_tcp_connector_connect,
    .prove = themis_net_tcp_connector_prove,
    .post = themis_net_stream_post,
    .fetch = themis_net_stream_fetch,
    .close = tcp_close,
};
