/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libFuzzer: a peer that writes what it likes into the shared memory of a local connection. The input is a list of
 * steps: a position to claim, and bytes to put somewhere; after each the connection is polled.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "net/local/channel.h"

enum { SCRATCH = 64 << 10 };

/* What the rest of net/ does is not under test here. */
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

void themis_net_on_bulk(themis_net_conn_t *conn, const themis_net_frame_t *frame, const themis_net_payload_t *payload)
{
    const unsigned char *bytes = payload->data;

    for (size_t i = 0; i < payload->length; i++)
        *(unsigned char *)conn->net->arg ^= bytes[i];
    if (payload->length < 64)
        themis_net_local_post(conn, frame, bytes, payload->length);
}

static void on_message(void *arg, themis_net_conn_t *conn, const void *bytes, size_t length)
{
    unsigned char sum = 0;

    for (size_t i = 0; i < length; i++)
        sum = (unsigned char)(sum + ((const unsigned char *)bytes)[i]);
    *(unsigned char *)arg = sum;
    if (length < 64)
        themis_net_local_send(conn, bytes, length);
}

/* Takes a number of up to 8 bytes from the input. */
static uint64_t take(const uint8_t **at, const uint8_t *end, size_t count)
{
    uint64_t number = 0;

    for (size_t i = 0; i < count && *at < end; i++)
        number |= (uint64_t) * (*at)++ << (8 * i);
    return number;
}

static void step(themis_net_local_t *local, const uint8_t **at, const uint8_t *end)
{
    uint64_t what = take(at, end, 1), length = take(at, end, 1), place = take(at, end, 3);
    themis_net_ring_shared_t *in = local->in.shared;

    for (; length > 0 && *at < end; length--)
        in->bytes[place++ % THEMIS_NET_RING_BYTES] = *(*at)++;
    if (what & 1)
        in->written += take(at, end, what & 2 ? 8 : 3);
    else
        in->written = place + THEMIS_NET_RING_BYTES * (what >> 4);
    if (what & 4)
        in->writer_waits = 1;
    if (what & 8)
        local->out.shared->read = take(at, end, 2);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static themis_net_ring_shared_t rings[2];
    unsigned char sum;
    themis_net_t net = {.handlers.message = on_message, .arg = &sum, .epoll_fd = -1};
    themis_net_local_t *local = calloc(1, sizeof *local);
    themis_net_conn_t conn = {.net = &net, .local = local, .announced = 1, .state = THEMIS_NET_OPEN};
    const uint8_t *at = bytes, *end = bytes + size;

    memset(rings, 0, sizeof rings);
    net.scratch = malloc(SCRATCH);
    local->fd = local->pid_fd = -1;
    local->in.shared = &rings[0];
    local->out.shared = &rings[1];
    pthread_mutex_init(&local->out_lock, NULL);
    while (at < end && conn.state == THEMIS_NET_OPEN) {
        step(local, &at, end);
        themis_net_local_poll(&conn);
    }
    themis_net_local_free(local);
    free(net.scratch);
    return 0;
}
