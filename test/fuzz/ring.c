/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libFuzzer: a peer that writes arbitrary bytes into the shared memory of a local connection. The input is a list of
 * steps: a position to claim, and bytes to put somewhere; after each the connection is polled.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "net/local/local.h"
#include "net/local/reader.h"
#include "net/local/writer.h"

/* The rest of net/ is not tested here. */
void themis_net_lock(themis_net_t *net)
{
}

void themis_net_unlock(themis_net_t *net)
{
}

void themis_net_conn_lose(themis_net_conn_t *conn, themis_status_t why)
{
    conn->state = THEMIS_NET_LOST;
}

int themis_net_conn_is_dead(const themis_net_conn_t *conn)
{
    return conn->state == THEMIS_NET_LOST;
}

int themis_net_watch(themis_net_t *net, int fd, uint32_t events, uint64_t what)
{
    return 0;
}

void themis_net_unwatch(themis_net_t *net, int fd)
{
}

static void on_frame(themis_net_conn_t *conn, const themis_net_frame_t *frame, themis_net_payload_t *payload)
{
    const unsigned char *bytes = payload->data;

    for (size_t i = 0; i < payload->length; i++)
        *(unsigned char *)conn->net->arg ^= bytes[i];
    if (payload->length < 64)
        themis_net_writer_post(conn, frame, bytes, payload->length, NULL, NULL);
}

static void on_message(void *arg, themis_net_conn_t *conn, const void *bytes, size_t length)
{
    unsigned char sum = 0;

    for (size_t i = 0; i < length; i++)
        sum = (unsigned char)(sum + ((const unsigned char *)bytes)[i]);
    *(unsigned char *)arg = sum;
    if (length < 64)
        themis_net_writer_send(conn, bytes, length);
}

/* Takes a number of up to 8 bytes from the input. */
static uint64_t take(const uint8_t **at, const uint8_t *end, size_t count)
{
    uint64_t number = 0;

    for (size_t i = 0; i < count && *at < end; i++)
        number |= (uint64_t) * (*at)++ << (8 * i);
    return number;
}

static void step(themis_net_channel_t *channel, const uint8_t **at, const uint8_t *end)
{
    uint64_t what = take(at, end, 1), length = take(at, end, 1), place = take(at, end, 3);
    themis_net_ring_shared_t *in = channel->in.shared;

    for (; length > 0 && *at < end; length--)
        in->bytes[place++ % THEMIS_NET_RING_BYTES] = *(*at)++;
    if (what & 1)
        in->written += take(at, end, what & 2 ? 8 : 3);
    else
        in->written = place + THEMIS_NET_RING_BYTES * (what >> 4);
    if (what & 4)
        in->writer_waits = 1;
    if (what & 8)
        channel->out.shared->read = take(at, end, 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static themis_net_ring_shared_t rings[2];
    unsigned char sum;
    themis_net_local_t local = {.scratch = malloc(THEMIS_NET_LOCAL_SCRATCH)};
    themis_net_t net = {.handlers.message = on_message, .arg = &sum, .on_frame = on_frame, .local = &local};
    themis_net_channel_t *channel = calloc(1, sizeof *channel);
    themis_net_conn_t conn = {.net = &net, .channel = channel, .announced = 1, .state = THEMIS_NET_OPEN};
    const uint8_t *at = bytes, *end = bytes + size;

    memset(rings, 0, sizeof rings);
    channel->fd = channel->pid_fd = -1;
    channel->in.shared = &rings[0];
    channel->out.shared = &rings[1];
    pthread_mutex_init(&channel->out_lock, NULL);
    while (at < end && conn.state == THEMIS_NET_OPEN) {
        step(channel, &at, end);
        themis_net_writer_progress(channel);
        themis_net_reader_progress(&conn);
    }
    themis_net_channel_free(channel);
    free(local.scratch);
    return 0;
}
