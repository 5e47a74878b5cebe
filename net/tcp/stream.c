/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/tcp/stream.h"
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "net/tcp/tcp.h"

/* A peer whose host is gone is found after a minute, should nothing else find it. */
static void socket_tune(int fd)
{
    static const int one = 1, idle = 30, interval = 10, count = 3;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
}

themis_net_stream_t *themis_net_stream_new(int fd)
{
    themis_net_stream_t *stream = calloc(1, sizeof *stream);

    if (stream == NULL) {
        close(fd);
        return NULL;
    }
    stream->fd = fd;
    socket_tune(fd);
    return stream;
}

void themis_net_stream_set_keys(themis_net_stream_t *stream, const themis_net_handshake_keys_t *keys, int server)
{
    themis_net_record_key_set(&stream->in_key, server ? keys->to_server : keys->to_client);
    themis_net_record_key_set(&stream->out_key, server ? keys->to_client : keys->to_server);
    stream->open = 1;
}

void themis_net_stream_free(themis_net_conn_t *conn, themis_net_stream_t *stream)
{
    if (stream == NULL)
        return;
    if (stream->fd >= 0)
        close(stream->fd);
    themis_net_stream_drop_posts(conn, stream);
    if (conn != NULL)
        themis_net_stream_drop_fetch(conn, stream);
    if (stream->handshake != NULL)
        explicit_bzero(stream->handshake, sizeof *stream->handshake);
    free(stream->handshake);
    free(stream->out);
    free(stream->in);
    explicit_bzero(stream, sizeof *stream);
    free(stream);
}
