/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "net/tcp/connector.h"
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include "net/event.h"
#include "net/handshake.h"
#include "net/tcp/listener.h"
#include "net/tcp/tcp.h"
#include "util/log.h"

enum { END_WAIT_MS = 1000 };

/* Clients try again and again: the same is said once in a row. */
static void report_failure(const themis_net_conn_t *conn)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char reported[256];
    char text[256];

    snprintf(text, sizeof text, "%s: %s", conn->peer, conn->stream->handshake->why);
    pthread_mutex_lock(&lock);
    int again = strcmp(reported, text) == 0;
    strcpy(reported, text);
    pthread_mutex_unlock(&lock);
    if (!again)
        themis_error("%s", text);
}

/* Puts the stream of a socket that connects into the connection. Lock held. */
static themis_status_t stream_attach(themis_net_conn_t *conn, int fd, int connecting)
{
    themis_net_handshake_address_t address;
    themis_net_stream_t *stream = themis_net_stream_new(fd);

    if (stream == NULL)
        return THEMIS_NO_MEMORY;
    conn->stream = stream;
    stream->connecting = connecting;
    stream->handshake = malloc(sizeof *stream->handshake);
    if (stream->handshake == NULL)
        return THEMIS_NO_MEMORY;
    themis_net_listening_address(&conn->address, &address);
    themis_status_t status = themis_net_handshake_start(stream->handshake, &conn->net->options.auth, &address);
    if (status == THEMIS_OK && themis_net_tcp_add(conn->net->tcp, fd, EPOLLIN | EPOLLOUT, conn->key) != 0)
        status = THEMIS_IO;
    return status;
}

/* Why it is not possible is found out at once, or when the socket is ready. */
static themis_status_t connect_status(int error)
{
    if (error == EMFILE || error == ENFILE)
        return THEMIS_NO_DESCRIPTOR;
    if (error == ECONNREFUSED)
        return THEMIS_NO_SERVER;
    return error == ENOMEM || error == ENOBUFS ? THEMIS_NO_MEMORY : THEMIS_UNREACHABLE;
}

themis_status_t themis_net_tcp_connector_connect(themis_net_conn_t *conn, uint64_t deadline)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return connect_status(errno);
    int done = connect(fd, (struct sockaddr *)&conn->address, sizeof conn->address) == 0;
    if (!done && errno != EINPROGRESS) {
        themis_status_t status = connect_status(errno);
        close(fd);
        return status;
    }
    themis_net_lock(conn->net);
    themis_status_t status = stream_attach(conn, fd, 1);
    themis_net_unlock(conn->net);
    return status;
}

/* The socket is connected, or is not going to be. */
static void on_connected(themis_net_conn_t *conn, themis_net_stream_t *stream)
{
    int error = 0;
    socklen_t size = sizeof error;

    if (getsockopt(stream->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0) {
        themis_net_conn_lose(conn, connect_status(error));
        return;
    }
    stream->connecting = 0;
    if (!themis_net_tcp_handshake_write(stream->fd, stream->handshake))
        themis_net_conn_lose(conn, THEMIS_UNREACHABLE);
    else
        themis_net_tcp_change(conn->net->tcp, stream->fd, EPOLLIN, conn->key);
}

/* The server's message is there as a whole: the owner's thread goes on. */
static void on_message(themis_net_conn_t *conn, themis_net_stream_t *stream)
{
    const themis_net_handshake_t *handshake = stream->handshake;

    if (handshake->state == THEMIS_NET_HANDSHAKE_FAILED) {
        report_failure(conn);
        themis_net_conn_lose(conn, handshake->status == THEMIS_PROTOCOL ? THEMIS_UNREACHABLE : handshake->status);
        return;
    }
    conn->cookie = handshake->cookie;
    conn->state = handshake->state == THEMIS_NET_HANDSHAKE_PROVES ? THEMIS_NET_HANDSHAKE : THEMIS_NET_PROVED;
    conn->net->wake_pending = 1; /* the thread that connects does not wait for an event */
    themis_net_tcp_remove(conn->net->tcp, stream->fd);
}

void themis_net_tcp_connector_on_event(themis_net_conn_t *conn)
{
    themis_net_stream_t *stream = conn->stream;
    themis_net_handshake_t *handshake = stream->handshake;

    if (stream->connecting) {
        on_connected(conn, stream);
        return;
    }
    if (conn->state != THEMIS_NET_CONNECTING && conn->state != THEMIS_NET_PROVING)
        return;
    if (!themis_net_tcp_handshake_read(stream->fd, handshake))
        themis_net_conn_lose(conn, THEMIS_UNREACHABLE);
    else if (handshake->state != THEMIS_NET_HANDSHAKE_READS)
        on_message(conn, stream);
}

/* The server has shown who it is, or the handshake has failed. */
static themis_status_t open_or_fail(themis_net_conn_t *conn, themis_net_stream_t *stream,
                                    const themis_net_handshake_keys_t *keys)
{
    themis_net_handshake_t *handshake = stream->handshake;

    if (handshake->state == THEMIS_NET_HANDSHAKE_FAILED)
        return handshake->status;
    if (themis_net_tcp_add(conn->net->tcp, stream->fd, EPOLLIN, conn->key) != 0)
        return THEMIS_UNREACHABLE;
    conn->proved = handshake->peer;
    if (handshake->kind != THEMIS_NET_AUTH_NONE)
        conn->credentials = &conn->proved;
    themis_net_stream_set_keys(stream, keys, 0);
    explicit_bzero(handshake, sizeof *handshake);
    free(handshake);
    stream->handshake = NULL;
    stream->events = EPOLLIN;
    themis_net_event_opened(conn);
    return THEMIS_OK;
}

static themis_status_t credential_send(themis_net_conn_t *conn, themis_net_stream_t *stream)
{
    if (stream->handshake->state == THEMIS_NET_HANDSHAKE_FAILED)
        return stream->handshake->status;
    if (!themis_net_tcp_handshake_write(stream->fd, stream->handshake) ||
        themis_net_tcp_add(conn->net->tcp, stream->fd, EPOLLIN, conn->key) != 0)
        return THEMIS_UNREACHABLE;
    conn->state = THEMIS_NET_PROVING;
    return THEMIS_IN_PROGRESS;
}

/* A server that ends here takes its local socket with it, and what remains, to prove oneself by TCP, may not be
 * possible: then the end of this connection is seen a moment later, and the server's next start has to be waited for.
 */
static int server_has_ended(const themis_net_stream_t *stream)
{
    struct pollfd end = {.fd = stream->fd, .events = POLLRDHUP};

    return poll(&end, 1, END_WAIT_MS) > 0;
}

themis_status_t themis_net_tcp_connector_prove(themis_net_conn_t *conn)
{
    themis_net_stream_t *stream = conn->stream; /* while the state is this, only its owner uses it */
    themis_net_handshake_t *handshake = stream->handshake;
    int checks = handshake->state == THEMIS_NET_HANDSHAKE_CHECKS;
    themis_net_handshake_keys_t keys;

    if (checks)
        themis_net_handshake_check(handshake);
    else
        themis_net_handshake_prove(handshake);
    if (!checks && handshake->state == THEMIS_NET_HANDSHAKE_FAILED && server_has_ended(stream))
        return THEMIS_UNREACHABLE;
    if (handshake->state == THEMIS_NET_HANDSHAKE_DONE && themis_net_handshake_derive(handshake, &keys) != THEMIS_OK)
        handshake->state = THEMIS_NET_HANDSHAKE_FAILED, handshake->status = THEMIS_ACCESS;
    if (handshake->state == THEMIS_NET_HANDSHAKE_FAILED)
        report_failure(conn);
    themis_net_lock(conn->net);
    themis_status_t status = THEMIS_UNREACHABLE;
    if (!themis_net_conn_is_dead(conn))
        status = checks ? open_or_fail(conn, stream, &keys) : credential_send(conn, stream);
    themis_net_unlock(conn->net);
    explicit_bzero(&keys, sizeof keys);
    return status;
}
