/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/connect.h"
#include <stdio.h>
#include "net/address.h"
#include "net/event.h"
#include "util/clock.h"
#include "util/log.h"

#define WAIT_SLICE (20 * THEMIS_NS_PER_MS)

void themis_net_connect_on_hello(themis_net_conn_t *conn, const themis_net_frame_t *frame,
                                 themis_net_payload_t *payload)
{
    themis_net_frame_t welcome = {.type = THEMIS_NET_WELCOME, .id = conn->key, .token = conn->net->cookie};

    if (!conn->server || conn->state != THEMIS_NET_ACCEPTED)
        return;
    conn->peer_key = frame->id;
    conn->state = THEMIS_NET_HANDSHAKE;
    if (frame->token != THEMIS_NET_WIRE) {
        themis_warn("%s speaks version %llu of the transport, not %d", conn->peer, (unsigned long long)frame->token,
                    THEMIS_NET_WIRE);
        welcome.status = THEMIS_VERSION;
    }
    conn->transport->post(conn, &welcome, NULL, 0, NULL, NULL);
}

void themis_net_connect_on_welcome(themis_net_conn_t *conn, const themis_net_frame_t *frame,
                                   themis_net_payload_t *payload)
{
    if (conn->server || conn->state != THEMIS_NET_CONNECTING)
        return;
    if (frame->status != THEMIS_OK) {
        themis_net_conn_lose(conn, THEMIS_VERSION);
        return;
    }
    conn->peer_key = frame->id;
    conn->cookie = frame->token;
    conn->state = THEMIS_NET_HANDSHAKE;
    conn->net->wake_pending = 1; /* the thread that connects does not wait for an event */
}

void themis_net_connect_on_ready(themis_net_conn_t *conn, const themis_net_frame_t *frame,
                                 themis_net_payload_t *payload)
{
    if (conn->server && conn->state == THEMIS_NET_HANDSHAKE)
        themis_net_event_opened(conn);
}

/* Causes that the caller is told. */
static int is_final(themis_status_t why)
{
    return why == THEMIS_VERSION || why == THEMIS_REFUSED || why == THEMIS_ACCESS || why == THEMIS_NO_SERVER;
}

/* The server has sent WELCOME or its proof, or the connection is lost. */
static themis_status_t complete_handshake(themis_net_conn_t *conn, uint64_t deadline)
{
    static const themis_net_frame_t ready = {.type = THEMIS_NET_READY};
    const themis_net_transport_t *network = conn->transport;
    themis_status_t status = THEMIS_UNREACHABLE;

    if (conn->state == THEMIS_NET_HANDSHAKE)
        status = conn->net->transports[THEMIS_NET_LOCAL]->connect(conn, deadline);
    if (network->prove != NULL &&
        (conn->state == THEMIS_NET_PROVED || (conn->state == THEMIS_NET_HANDSHAKE && status == THEMIS_UNSUPPORTED)))
        return network->prove(conn);
    themis_net_lock(conn->net);
    if (conn->state != THEMIS_NET_HANDSHAKE)
        status = is_final(conn->why) ? conn->why : THEMIS_UNREACHABLE;
    else if (status == THEMIS_UNSUPPORTED)
        status = network->post(conn, &ready, NULL, 0, NULL, NULL);
    else if (status == THEMIS_OK)
        network->close(conn, 0);
    if (status == THEMIS_OK)
        themis_net_event_opened(conn);
    themis_net_unlock(conn->net);
    return status;
}

static void abandon_connect(themis_net_conn_t *conn, themis_status_t status)
{
    themis_info("cannot connect to %s: %s", conn->peer, themis_status_string(status));
    themis_net_conn_close(conn);
    themis_net_conn_unref(conn);
}

themis_status_t themis_net_connect_start(themis_net_t *net, const char *host, uint16_t port, themis_net_conn_t **conn)
{
    if (port == 0 || host == NULL || themis_net_in_handler(net))
        return THEMIS_INVALID;
    themis_net_lock(net);
    themis_net_conn_t *new = themis_net_conn_new(net, 0);
    if (new != NULL) {
        snprintf(new->peer, sizeof new->peer, "%.50s:%u", host, port);
        themis_net_conn_ref(new); /* the caller's */
    }
    themis_net_unlock(net);
    if (new == NULL)
        return THEMIS_NO_MEMORY;
    themis_status_t status = themis_net_address_resolve(host, port, 0, &new->address);
    if (status == THEMIS_OK)
        status = new->transport->connect(new, UINT64_MAX);
    if (status == THEMIS_OK)
        *conn = new;
    else
        abandon_connect(new, status);
    return status;
}

static int is_waiting(const themis_net_conn_t *conn)
{
    return conn->state == THEMIS_NET_CONNECTING || conn->state == THEMIS_NET_PROVING;
}

/* `until` is for the server's WELCOME and proof, `deadline` for what follows. */
static themis_status_t connect_progress(themis_net_conn_t *conn, uint64_t until, uint64_t deadline)
{
    uint64_t now;

    themis_status_t status = THEMIS_IN_PROGRESS;

    while (status == THEMIS_IN_PROGRESS) {
        while (is_waiting(conn) && (now = themis_util_clock_now()) < until)
            themis_net_progress(conn->net, until - now < WAIT_SLICE ? until - now : WAIT_SLICE);
        if (is_waiting(conn))
            return THEMIS_IN_PROGRESS;
        status = complete_handshake(conn, deadline);
    }
    if (status != THEMIS_OK)
        abandon_connect(conn, status);
    return status;
}

themis_status_t themis_net_connect_progress(themis_net_conn_t *conn, uint64_t timeout)
{
    return connect_progress(conn, themis_util_clock_now() + timeout, UINT64_MAX);
}

themis_status_t themis_net_connect(themis_net_t *net, const char *host, uint16_t port, uint64_t timeout,
                                   themis_net_conn_t **conn)
{
    uint64_t deadline = themis_util_clock_now() + timeout;
    themis_net_conn_t *new;
    themis_status_t status = themis_net_connect_start(net, host, port, &new);

    if (status == THEMIS_OK)
        status = connect_progress(new, deadline, deadline);
    if (status == THEMIS_IN_PROGRESS) {
        status = THEMIS_TIMED_OUT;
        abandon_connect(new, status);
    }
    if (status == THEMIS_OK)
        *conn = new;
    return status;
}
