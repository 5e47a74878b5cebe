/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/local/writer.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "net/local/passing.h"

/* What is to be sent: header, frame if it has one, bytes, padding. */
typedef struct outgoing {
    uint64_t header;
    const themis_net_frame_t *frame; /* NULL: a message */
    const void *bytes;
    size_t length;  /* of the bytes */
    size_t padding; /* after them */
    size_t whole;
    int fd; /* -1: none */
} outgoing_t;

static void wake_reader(themis_net_channel_t *channel)
{
    if (atomic_load(&channel->out.shared->reader_sleeps) && atomic_exchange(&channel->out.shared->reader_sleeps, 0))
        themis_net_channel_wake_peer(channel);
}

/* Makes room for `length` more bytes to wait; 0 without memory. */
static int waiting_reserve(themis_net_channel_t *channel, size_t length)
{
    size_t held = channel->waiting_end - channel->waiting_start, room = 2 * (held + length);

    if (channel->waiting_end + length <= channel->waiting_room)
        return 1;
    unsigned char *bigger = malloc(room);
    if (bigger == NULL)
        return 0;
    if (held > 0)
        memcpy(bigger, channel->waiting + channel->waiting_start, held);
    free(channel->waiting);
    channel->waiting = bigger;
    channel->waiting_room = room;
    channel->waiting_start = 0;
    channel->waiting_end = held;
    return 1;
}

/* Moves waiting bytes to the ring as long as there is room, and asks the reader to wake us when it has made more.
 * Returns 0 if the reader claims what cannot be. */
static int waiting_flush(themis_net_channel_t *channel)
{
    while (channel->waiting_start < channel->waiting_end) {
        long room = themis_net_ring_room(&channel->out);
        size_t length = channel->waiting_end - channel->waiting_start;
        if (room < 0)
            return 0;
        if (room > 0) {
            length = (size_t)room < length ? (size_t)room : length;
            themis_net_ring_write(&channel->out, channel->waiting + channel->waiting_start, length);
            themis_net_ring_publish(&channel->out);
            channel->waiting_start += length;
            continue;
        }
        if (atomic_exchange(&channel->out.shared->writer_waits, 1))
            break; /* it had been asked before the last look at the room */
        channel->wakeups++;
    }
    if (channel->waiting_start == channel->waiting_end) {
        channel->waiting_start = channel->waiting_end = 0;
        channel->has_waiting = 0;
    }
    return 1;
}

static void write_waiting(themis_net_channel_t *channel, const void *bytes, size_t length)
{
    memcpy(channel->waiting + channel->waiting_end, bytes, length);
    channel->waiting_end += length;
}

static void write_ring(themis_net_channel_t *channel, const void *bytes, size_t length)
{
    themis_net_ring_write(&channel->out, bytes, length);
}

static void write_all(themis_net_channel_t *channel, const outgoing_t *outgoing,
                      void (*write)(themis_net_channel_t *channel, const void *bytes, size_t length))
{
    static const unsigned char zeros[THEMIS_NET_RING_HEADER];

    write(channel, &outgoing->header, sizeof outgoing->header);
    if (outgoing->frame != NULL)
        write(channel, outgoing->frame, sizeof *outgoing->frame);
    if (outgoing->length > 0)
        write(channel, outgoing->bytes, outgoing->length);
    write(channel, zeros, outgoing->padding);
}

/* For what may not fit as a whole. */
static themis_status_t send_waiting(themis_net_channel_t *channel, const outgoing_t *outgoing)
{
    if (channel->waiting_end - channel->waiting_start + outgoing->whole > THEMIS_NET_MAX_QUEUED)
        return THEMIS_BUSY;
    if (!waiting_reserve(channel, outgoing->whole))
        return THEMIS_NO_MEMORY;
    write_all(channel, outgoing, write_waiting);
    channel->has_waiting = 1;
    return waiting_flush(channel) ? THEMIS_OK : THEMIS_PROTOCOL;
}

static themis_status_t send_locked(themis_net_channel_t *channel, const outgoing_t *outgoing)
{
    long room = channel->has_waiting ? 0 : themis_net_ring_room(&channel->out);

    if (room < 0)
        return THEMIS_PROTOCOL;
    if ((size_t)room < outgoing->whole)
        return send_waiting(channel, outgoing);
    write_all(channel, outgoing, write_ring);
    themis_net_ring_publish(&channel->out);
    return THEMIS_OK;
}

/* The descriptor of a message, which must not fail after it: the descriptor would be taken for that of another one. */
static themis_status_t descriptor_send(themis_net_channel_t *channel, const outgoing_t *outgoing)
{
    if (channel->waiting_end - channel->waiting_start + outgoing->whole > THEMIS_NET_MAX_QUEUED)
        return THEMIS_BUSY;
    if (!waiting_reserve(channel, outgoing->whole))
        return THEMIS_NO_MEMORY;
    if (themis_net_passing_send(channel->fd, "", 1, outgoing->fd) == 0)
        return THEMIS_OK;
    /* ETOOMANYREFS: too many descriptors of ours that nobody has received */
    return errno == EAGAIN || errno == ETOOMANYREFS ? THEMIS_BUSY : THEMIS_DISCONNECTED;
}

static themis_status_t send_outgoing(themis_net_channel_t *channel, const themis_net_frame_t *frame, const void *bytes,
                                     size_t length, int fd)
{
    size_t inside = length + (frame != NULL ? sizeof *frame : 0);
    outgoing_t outgoing = {.header = inside | (frame != NULL ? THEMIS_NET_RING_FRAME : 0) |
                                     (fd >= 0 ? THEMIS_NET_RING_DESCRIPTOR : 0),
                           .frame = frame,
                           .bytes = bytes,
                           .length = length,
                           .padding = themis_net_ring_padding(inside),
                           .whole = THEMIS_NET_RING_HEADER + inside + themis_net_ring_padding(inside),
                           .fd = fd};

    pthread_mutex_lock(&channel->out_lock);
    themis_status_t status = fd >= 0 ? descriptor_send(channel, &outgoing) : THEMIS_OK;
    if (status == THEMIS_OK)
        status = send_locked(channel, &outgoing);
    pthread_mutex_unlock(&channel->out_lock);
    wake_reader(channel);
    return status;
}

themis_status_t themis_net_writer_send_descriptor(themis_net_conn_t *conn, const void *bytes, size_t length, int fd)
{
    themis_status_t status = send_outgoing(conn->channel, NULL, bytes, length, fd);

    if (status != THEMIS_PROTOCOL)
        return status;
    themis_net_lock(conn->net);
    themis_net_conn_lose(conn, THEMIS_PROTOCOL);
    themis_net_unlock(conn->net);
    return THEMIS_DISCONNECTED;
}

themis_status_t themis_net_writer_send(themis_net_conn_t *conn, const void *bytes, size_t length)
{
    return themis_net_writer_send_descriptor(conn, bytes, length, -1);
}

themis_status_t themis_net_writer_post(themis_net_conn_t *conn, const themis_net_frame_t *frame, const void *payload,
                                       size_t length, themis_net_done_fn done, void *arg)
{
    themis_status_t status = THEMIS_DISCONNECTED;

    if (!themis_net_conn_is_dead(conn))
        status = send_outgoing(conn->channel, frame, payload, length, -1);
    /* the peer waits for each frame: one that is left out would hold up a transfer for ever */
    if (status != THEMIS_OK)
        themis_net_conn_lose(conn, status);
    if (done != NULL)
        done(arg, status);
    return status;
}

void themis_net_writer_progress(themis_net_channel_t *channel)
{
    if (!channel->has_waiting)
        return;
    pthread_mutex_lock(&channel->out_lock);
    waiting_flush(channel);
    pthread_mutex_unlock(&channel->out_lock);
    wake_reader(channel);
}
