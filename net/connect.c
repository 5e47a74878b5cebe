/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a connection begins. The client says HELLO with its key, over an endpoint that the server knows it by; the server
 * answers WELCOME with its own and with the name of its local socket. A client that can reach that socket is on the
 * server's host: its connection is made anew there (meet.c), and the endpoint is closed. Any other client says READY.
 * Keys are random and known to the two sides only: later frames are taken from whoever knows the receiver's key. What
 * connects and is not Themis never gets that far.
 */
#include <stdio.h>
#include "net/local/channel.h"
#include "util/clock.h"
#include "util/log.h"

#define WAIT_SLICE (20 * THEMIS_NS_PER_MS)

void themis_net_on_hello(themis_net_conn_t *conn, const themis_net_frame_t *frame)
{
    const themis_net_t *net = conn->net;
    themis_net_frame_t welcome = {
        .type = THEMIS_NET_WELCOME, .id = conn->key, .token = net->local_fd >= 0 ? net->cookie : 0};

    if (!conn->server || conn->state != THEMIS_NET_ACCEPTED)
        return;
    conn->peer_key = frame->id;
    conn->state = THEMIS_NET_GREETED;
    if (frame->token != THEMIS_NET_WIRE) {
        themis_warn("%s speaks version %llu of the transport, not %d", conn->peer, (unsigned long long)frame->token,
                    THEMIS_NET_WIRE);
        welcome.status = THEMIS_VERSION;
    }
    themis_net_post(conn, &welcome, NULL, 0, NULL, NULL);
}

void themis_net_on_welcome(themis_net_conn_t *conn, const themis_net_frame_t *frame)
{
    if (conn->server || conn->state != THEMIS_NET_CONNECTING)
        return;
    if (frame->status != THEMIS_OK) {
        themis_net_conn_lose(conn, THEMIS_VERSION);
        return;
    }
    conn->peer_key = frame->id;
    conn->cookie = frame->token;
    conn->state = THEMIS_NET_GREETED;
    conn->net->wake_pending = 1; /* whoever connects is not waiting for an event */
}

void themis_net_on_ready(themis_net_conn_t *conn)
{
    if (conn->server && conn->state == THEMIS_NET_GREETED)
        themis_net_conn_opened(conn);
}

/* Progresses until the server has said WELCOME. */
static void await_welcome(themis_net_conn_t *conn, uint64_t deadline)
{
    uint64_t now;

    while (conn->state == THEMIS_NET_CONNECTING && (now = themis_util_clock_now()) < deadline)
        themis_net_progress(conn->net, deadline - now < WAIT_SLICE ? deadline - now : WAIT_SLICE);
}

/* The server has said WELCOME, or the connection is lost. */
static themis_status_t answer(themis_net_conn_t *conn, uint64_t deadline)
{
    static const themis_net_frame_t ready = {.type = THEMIS_NET_READY};
    themis_status_t status = THEMIS_UNREACHABLE;

    if (conn->state == THEMIS_NET_GREETED)
        status = themis_net_local_connect(conn, deadline);
    themis_net_lock(conn->net);
    if (conn->state != THEMIS_NET_GREETED)
        status = conn->why == THEMIS_VERSION || conn->why == THEMIS_REFUSED ? conn->why : THEMIS_UNREACHABLE;
    else if (status == THEMIS_UNSUPPORTED)
        status = themis_net_post(conn, &ready, NULL, 0, NULL, NULL);
    else if (status == THEMIS_OK)
        themis_net_worker_close(conn, 0);
    if (status == THEMIS_OK)
        themis_net_conn_opened(conn);
    themis_net_unlock(conn->net);
    return status;
}

static void give_up(themis_net_conn_t *conn, themis_status_t status)
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
    themis_status_t status = themis_net_worker_connect(new, host, port);
    if (status != THEMIS_OK) {
        give_up(new, status);
        return status;
    }
    *conn = new;
    return THEMIS_OK;
}

/* `until` is for the server's WELCOME, `deadline` for what follows. */
static themis_status_t go_on(themis_net_conn_t *conn, uint64_t until, uint64_t deadline)
{
    await_welcome(conn, until);
    if (conn->state == THEMIS_NET_CONNECTING)
        return THEMIS_IN_PROGRESS;
    themis_status_t status = answer(conn, deadline);
    if (status != THEMIS_OK)
        give_up(conn, status);
    return status;
}

themis_status_t themis_net_connect_progress(themis_net_conn_t *conn, uint64_t timeout)
{
    return go_on(conn, themis_util_clock_now() + timeout, UINT64_MAX);
}

themis_status_t themis_net_connect(themis_net_t *net, const char *host, uint16_t port, uint64_t timeout,
                                   themis_net_conn_t **conn)
{
    uint64_t deadline = themis_util_clock_now() + timeout;
    themis_net_conn_t *new;
    themis_status_t status = themis_net_connect_start(net, host, port, &new);

    if (status == THEMIS_OK)
        status = go_on(new, deadline, deadline);
    if (status == THEMIS_IN_PROGRESS) {
        status = THEMIS_TIMED_OUT;
        give_up(new, status);
    }
    if (status == THEMIS_OK)
        *conn = new;
    return status;
}
