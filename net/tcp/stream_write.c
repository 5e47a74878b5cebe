/* SPDX-License-Identifier: BSD-3-Clause */
/* The writing half of a stream: posts wait in a queue, are copied into a record, sealed, and written. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "net/tcp/stream.h"
#include "net/tcp/tcp.h"

/* A frame that is to be sent. */
typedef struct themis_net_stream_post {
    struct themis_net_stream_post *prev, *next;
    themis_net_frame_t frame; /* as it travels; `key` is the length of the payload */
    const unsigned char *payload;
    size_t length, copied; /* bytes of the payload; of frame and payload what records have taken */
    themis_net_done_fn done;
    void *arg;
    unsigned char bytes[];
} post_t;

static void post_end(themis_net_conn_t *conn, post_t *post, themis_status_t status)
{
    if (conn != NULL) {
        conn->queued_out -= post->length + sizeof *post;
        conn->borrowed -= post->done != NULL;
        if (post->done != NULL)
            post->done(post->arg, status);
        themis_net_conn_unref(conn);
    }
    free(post);
}

void themis_net_stream_drop_posts(themis_net_conn_t *conn, themis_net_stream_t *stream)
{
    post_t *post;

    while ((post = stream->posts) != NULL) {
        DL_DELETE(stream->posts, post);
        post_end(conn, post, THEMIS_DISCONNECTED);
    }
}

/* Copies what there is room for of the bytes from `start` on; returns how many. */
static size_t part_copy(uint8_t *to, size_t room, const void *source, size_t length, size_t start)
{
    size_t count = length - start < room ? length - start : room;

    if (count > 0)
        memcpy(to, (const uint8_t *)source + start, count);
    return count;
}

/* Fills a record with the oldest posts; those that are copied as a whole end. */
static void record_fill(themis_net_conn_t *conn, themis_net_stream_t *stream)
{
    uint8_t *bytes = stream->out + THEMIS_NET_RECORD_HEAD;
    size_t used = 0;

    while (stream->posts != NULL && used < THEMIS_NET_RECORD_BYTES) {
        post_t *post = stream->posts;
        size_t whole = sizeof post->frame + post->length, count;
        if (post->copied < sizeof post->frame) {
            count =
                part_copy(bytes + used, THEMIS_NET_RECORD_BYTES - used, &post->frame, sizeof post->frame, post->copied);
            post->copied += count;
            used += count;
        }
        if (post->copied >= sizeof post->frame) {
            count = part_copy(bytes + used, THEMIS_NET_RECORD_BYTES - used, post->payload, post->length,
                              post->copied - sizeof post->frame);
            post->copied += count;
            used += count;
        }
        if (post->copied < whole)
            break;
        DL_DELETE(stream->posts, post);
        post_end(conn, post, THEMIS_OK);
    }
    stream->out_start = 0;
    stream->out_end = themis_net_record_seal(&stream->out_key, stream->out, used);
}

int themis_net_stream_is_waiting(const themis_net_stream_t *stream)
{
    return stream->posts != NULL || stream->out_start < stream->out_end;
}

void themis_net_stream_detach(themis_net_conn_t *conn, themis_net_stream_t *stream)
{
    post_t *post;

    DL_FOREACH(stream->posts, post)
    {
        conn->queued_out -= post->length + sizeof *post;
        themis_net_conn_unref(conn);
    }
}

static int stream_write(themis_net_conn_t *conn, themis_net_stream_t *stream)
{
    while (themis_net_stream_is_waiting(stream)) {
        if (stream->out == NULL && (stream->out = malloc(THEMIS_NET_RECORD_MAX)) == NULL)
            return 0;
        if (stream->out_start == stream->out_end)
            record_fill(conn, stream);
        ssize_t sent = send(stream->fd, stream->out + stream->out_start, stream->out_end - stream->out_start,
                            MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return errno == EAGAIN;
        stream->out_start += (size_t)sent;
    }
    free(stream->out); /* most connections are idle */
    stream->out = NULL;
    stream->out_start = stream->out_end = 0;
    return 1;
}

int themis_net_stream_write(themis_net_conn_t *conn, themis_net_stream_t *stream)
{
    if (stream->writing)
        return 1;
    stream->writing = 1;
    int sound = stream_write(conn, stream);
    stream->writing = 0;
    return sound;
}

static post_t *post_new(const themis_net_frame_t *frame, const void *payload, size_t length, int copy)
{
    post_t *post = malloc(sizeof *post + (copy ? length : 0));

    if (post == NULL)
        return NULL;
    *post = (post_t){.frame = *frame, .payload = payload, .length = length};
    post->frame.key = length;
    themis_net_frame_swap(&post->frame);
    if (copy && length > 0)
        post->payload = memcpy(post->bytes, payload, length);
    return post;
}

themis_status_t themis_net_stream_post(themis_net_conn_t *conn, const themis_net_frame_t *frame, const void *payload,
                                       size_t length, themis_net_done_fn done, void *arg)
{
    themis_net_stream_t *stream = conn->stream;
    int usable = stream != NULL && stream->open && !themis_net_conn_is_dead(conn);
    post_t *post = usable ? post_new(frame, payload, length, done == NULL) : NULL;

    if (post == NULL) {
        if (done != NULL)
            done(arg, usable ? THEMIS_NO_MEMORY : THEMIS_DISCONNECTED);
        return usable ? THEMIS_NO_MEMORY : THEMIS_DISCONNECTED;
    }
    post->done = done;
    post->arg = arg;
    conn->borrowed += done != NULL;
    conn->queued_out += length + sizeof *post;
    themis_net_conn_ref(conn);
    DL_APPEND(stream->posts, post);
    if (stream->out_start == stream->out_end && !themis_net_stream_write(conn, stream))
        themis_net_conn_lose(conn, THEMIS_DISCONNECTED);
    themis_net_tcp_watch(conn);
    return THEMIS_OK;
}
