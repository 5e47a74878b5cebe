/* SPDX-License-Identifier: BSD-3-Clause */
/* The reading half of a stream: records are checked as a whole, then what is in them is taken apart. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "net/tcp/stream.h"
#include "net/tcp/tcp.h"
#include "util/log.h"

/* MAX_UNREAD: of messages that wait for their handlers; beyond, the peer has to wait. MAX_READ: at a time. */
enum { MAX_UNREAD = 8 << 20, MAX_READ = 2 << 20 };

static void fetch_end(themis_net_conn_t *conn, themis_net_stream_t *stream, themis_status_t status)
{
    themis_net_done_fn done = stream->done;

    stream->done = NULL;
    stream->into = NULL;
    if (done == NULL)
        return;
    conn->borrowed--;
    done(stream->arg, status);
    themis_net_conn_unref(conn);
}

void themis_net_stream_drop_fetch(themis_net_conn_t *conn, themis_net_stream_t *stream)
{
    fetch_end(conn, stream, THEMIS_DISCONNECTED);
}

void themis_net_stream_fetch(themis_net_conn_t *conn, const themis_net_payload_t *payload, void *buffer,
                             themis_net_done_fn done, void *arg)
{
    themis_net_stream_t *stream = conn->stream;

    if (payload->length == 0) {
        done(arg, THEMIS_OK);
        return;
    }
    stream->into = buffer;
    stream->done = done;
    stream->arg = arg;
    conn->borrowed++;
    themis_net_conn_ref(conn);
}

/* Does the frame fit: only servers ask for memory and send into it, and TCP keeps messages in their order. What another
 * peer sends costs the memory of replies that it need not read, or waits for ever for what it has left out. */
static int is_sound(const themis_net_conn_t *conn, const themis_net_frame_t *frame)
{
    if (frame->key > THEMIS_NET_MAX_MESSAGE || frame->type < THEMIS_NET_MESSAGE)
        return 0;
    if (conn->server && (frame->type == THEMIS_NET_PULL || frame->type == THEMIS_NET_PUSH))
        return 0;
    return frame->type != THEMIS_NET_MESSAGE || frame->id == conn->next_in;
}

/* The head of a frame is there. */
static void frame_begin(themis_net_conn_t *conn, themis_net_stream_t *stream)
{
    themis_net_frame_t frame;

    memcpy(&frame, stream->head, sizeof frame);
    themis_net_frame_swap(&frame);
    stream->head_have = 0;
    if (!is_sound(conn, &frame)) {
        themis_net_conn_lose(conn, THEMIS_PROTOCOL);
        return;
    }
    themis_net_payload_t payload = {.length = (size_t)frame.key, .rendezvous = 1};
    stream->payload = stream->left = payload.length;
    conn->net->on_frame(conn, &frame, &payload);
}

/* Takes bytes that the peer has sealed. */
static void bytes_take(themis_net_conn_t *conn, themis_net_stream_t *stream, const uint8_t *bytes, size_t length)
{
    while (length > 0 && !themis_net_conn_is_dead(conn)) {
        size_t want = stream->left > 0 ? stream->left : sizeof stream->head - stream->head_have;
        size_t count = length < want ? length : want;
        if (stream->left == 0) {
            memcpy(stream->head + stream->head_have, bytes, count);
            stream->head_have += count;
            if (count == want)
                frame_begin(conn, stream);
        } else {
            if (stream->into != NULL)
                memcpy(stream->into + (stream->payload - stream->left), bytes, count);
            stream->left -= count;
            if (stream->left == 0)
                fetch_end(conn, stream, THEMIS_OK);
        }
        bytes += count;
        length -= count;
    }
}

/* Takes the whole records among `have` bytes; returns how many bytes they had. */
static size_t records_take(themis_net_conn_t *conn, themis_net_stream_t *stream, const uint8_t *bytes, size_t have)
{
    size_t used = 0, length;
    int found = 0;

    while (!themis_net_conn_is_dead(conn) &&
           (found = themis_net_record_open(&stream->in_key, bytes + used, have - used, &length)) > 0) {
        bytes_take(conn, stream, bytes + used + THEMIS_NET_RECORD_HEAD, length);
        used += THEMIS_NET_RECORD_HEAD + length + THEMIS_NET_RECORD_TAG;
    }
    if (found < 0) {
        themis_warn("dropping %s: what came was not sent by it, or was changed on the way", conn->peer);
        themis_net_conn_lose(conn, THEMIS_PROTOCOL);
    }
    return used;
}

/* Keeps what is left of a record, in memory that is ours while there is some. */
static int rest_keep(themis_net_stream_t *stream, const uint8_t *bytes, size_t length)
{
    if (length > 0 && stream->in == NULL && (stream->in = malloc(THEMIS_NET_RECORD_MAX)) == NULL)
        return 0;
    if (length > 0)
        memmove(stream->in, bytes, length);
    stream->in_have = length;
    if (length == 0) {
        free(stream->in);
        stream->in = NULL;
    }
    return 1;
}

/* Reads once; returns the bytes, 0 at the end, or -1 as recv. */
static ssize_t read_once(themis_net_conn_t *conn, themis_net_stream_t *stream, uint8_t *scratch, size_t *room)
{
    uint8_t *buffer = stream->in_have > 0 ? stream->in : scratch;
    size_t size = stream->in_have > 0 ? THEMIS_NET_RECORD_MAX : THEMIS_NET_STREAM_SCRATCH;

    *room = size - stream->in_have;
    ssize_t got = recv(stream->fd, buffer + stream->in_have, *room, MSG_DONTWAIT);
    if (got <= 0)
        return got;
    size_t have = stream->in_have + (size_t)got;
    size_t used = records_take(conn, stream, buffer, have);
    if (!themis_net_conn_is_dead(conn) && !rest_keep(stream, buffer + used, have - used))
        themis_net_conn_lose(conn, THEMIS_NO_MEMORY);
    return got;
}

static int may_read(const themis_net_conn_t *conn, const themis_net_stream_t *stream)
{
    return !themis_net_conn_is_dead(conn) && (stream->left > 0 || conn->queued_in <= MAX_UNREAD);
}

int themis_net_stream_read(themis_net_conn_t *conn, uint8_t *scratch)
{
    themis_net_stream_t *stream = conn->stream;
    size_t total = 0, room;

    if (!may_read(conn, stream))
        return 0;
    while (may_read(conn, stream) && total < MAX_READ) {
        ssize_t got = read_once(conn, stream, scratch, &room);
        if (got < 0 && errno == EINTR)
            continue;
        if (got == 0 || (got < 0 && errno != EAGAIN))
            themis_net_conn_lose(conn, THEMIS_DISCONNECTED);
        if (got <= 0 || (size_t)got < room)
            break;
        total += (size_t)got;
    }
    return 1;
}
