/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/local/reader.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "net/local/local.h"

/* Messages in one call; and when the peer is gone, all that it can have written. */
enum { MAX_MESSAGES = 64, MAX_LAST_MESSAGES = 1 << 20 };

static void reader_lose(themis_net_conn_t *conn, themis_status_t why)
{
    themis_net_lock(conn->net);
    themis_net_conn_lose(conn, why);
    themis_net_unlock(conn->net);
}

/* Starts a message when its length is there. Returns 0 if not, or if it is too long (the connection is lost then). */
static int message_start(themis_net_conn_t *conn)
{
    themis_net_channel_t *channel = conn->channel;
    uint64_t header;

    long filled = themis_net_ring_filled(&channel->in);
    if (filled < 0) {
        reader_lose(conn, THEMIS_PROTOCOL);
        return 0;
    }
    if (filled < THEMIS_NET_RING_HEADER)
        return 0;
    themis_net_ring_read(&channel->in, &header, sizeof header);
    uint64_t length = header & ~(THEMIS_NET_RING_FRAME | THEMIS_NET_RING_DESCRIPTOR);
    channel->message_is_frame = (header & THEMIS_NET_RING_FRAME) != 0;
    channel->message_has_descriptor = (header & THEMIS_NET_RING_DESCRIPTOR) != 0;
    if (length > THEMIS_NET_MAX_MESSAGE || (channel->message_is_frame && length < sizeof(themis_net_frame_t)) ||
        (channel->message_has_descriptor && (channel->message_is_frame || !channel->receives_descriptors))) {
        reader_lose(conn, THEMIS_PROTOCOL);
        return 0;
    }
    size_t whole = (size_t)length + themis_net_ring_padding((size_t)length);
    channel->message = whole <= THEMIS_NET_LOCAL_SCRATCH ? conn->net->local->scratch : malloc(whole);
    channel->message_length = (size_t)length;
    channel->message_have = 0;
    if (channel->message == NULL)
        reader_lose(conn, THEMIS_NO_MEMORY);
    return channel->message != NULL;
}

/* A message that has started in the scratch buffer and is not whole leaves it: other connections use it too. */
static void message_keep(themis_net_conn_t *conn)
{
    themis_net_channel_t *channel = conn->channel;

    if (channel->message != conn->net->local->scratch)
        return;
    channel->message = malloc(channel->message_length + THEMIS_NET_RING_HEADER);
    if (channel->message == NULL)
        reader_lose(conn, THEMIS_NO_MEMORY);
    else
        memcpy(channel->message, conn->net->local->scratch, channel->message_have);
}

/* Reads what is there of the message; 1 when it is whole. */
static int message_read(themis_net_conn_t *conn)
{
    themis_net_channel_t *channel = conn->channel;
    size_t whole = channel->message_length + themis_net_ring_padding(channel->message_length);
    size_t want = whole - channel->message_have;

    long filled = themis_net_ring_filled(&channel->in);
    if (filled < 0) {
        reader_lose(conn, THEMIS_PROTOCOL);
        return 0;
    }
    if ((size_t)filled < want)
        want = (size_t)filled;
    themis_net_ring_read(&channel->in, channel->message + channel->message_have, want);
    channel->message_have += want;
    return channel->message_have == whole;
}

static void ring_release(themis_net_channel_t *channel)
{
    themis_net_ring_release(&channel->in);
    if (atomic_load(&channel->in.shared->writer_waits) && atomic_exchange(&channel->in.shared->writer_waits, 0))
        themis_net_channel_wake_peer(channel);
}

/* Bulk data, served as what comes by UCX is. The handshake and messages do not come as frames here. */
static void frame_deliver(themis_net_conn_t *conn)
{
    themis_net_channel_t *channel = conn->channel;
    themis_net_frame_t frame;
    themis_net_payload_t payload = {.data = channel->message + sizeof frame,
                                    .length = channel->message_length - sizeof frame};

    memcpy(&frame, channel->message, sizeof frame);
    themis_net_lock(conn->net);
    if (frame.type < THEMIS_NET_PULL)
        themis_net_conn_lose(conn, THEMIS_PROTOCOL);
    else
        conn->net->on_frame(conn, &frame, &payload);
    themis_net_unlock(conn->net);
}

static void message_deliver(themis_net_conn_t *conn)
{
    themis_net_channel_t *channel = conn->channel;

    if (channel->message_has_descriptor)
        channel->delivered = themis_net_channel_receive_descriptor(channel);
    conn->net->handlers.message(conn->net->arg, conn, channel->message, channel->message_length);
    if (channel->delivered >= 0)
        close(channel->delivered);
    channel->delivered = -1;
}

/* One message; returns 0 when there is none (that is whole). */
static int read_one(themis_net_conn_t *conn)
{
    themis_net_channel_t *channel = conn->channel;

    if (channel->message == NULL && !message_start(conn))
        return 0;
    int whole = message_read(conn);
    ring_release(channel);
    if (!whole) {
        message_keep(conn);
        return 0;
    }
    if (channel->message_is_frame)
        frame_deliver(conn);
    else if (conn->net->handlers.message != NULL)
        message_deliver(conn);
    if (channel->message != conn->net->local->scratch)
        free(channel->message);
    channel->message = NULL;
    return 1;
}

unsigned themis_net_reader_progress(themis_net_conn_t *conn)
{
    themis_net_channel_t *channel = conn->channel;
    int hung_up = channel->hung_up; /* before the last look at the ring */
    unsigned count = 0, max = hung_up ? MAX_LAST_MESSAGES : MAX_MESSAGES;

    if (!hung_up && atomic_load_explicit(&channel->in.shared->written, memory_order_acquire) == channel->in.own)
        return 0;
    if (!conn->announced)
        return 0;
    while (count < max && conn->state == THEMIS_NET_OPEN && read_one(conn))
        count++;
    if (hung_up)
        reader_lose(conn, THEMIS_DISCONNECTED);
    return count;
}
