/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection's life. It is in net->conns from its birth until it is closed or lost; then its endpoint is closed, its
 * transfers end, and, unless this side closed it, its owner is told. Memory goes with the last reference: one each is
 * held by the user, by net->conns, by the endpoint, by each event, operation, exposure and transfer.
 */
#include <stdlib.h>
#include <sys/random.h>
#include "net/local/channel.h"
#include "util/clock.h"
#include "util/log.h"

#define STRANGER_TIMEOUT (10 * THEMIS_NS_PER_S)

themis_net_conn_t *themis_net_conn_new(themis_net_t *net, int server)
{
    themis_net_conn_t *conn = calloc(1, sizeof *conn);
    uint64_t random;

    if (conn == NULL || getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random) {
        free(conn);
        return NULL;
    }
    conn->net = net;
    conn->server = server;
    atomic_init(&conn->refs, 1);
    atomic_init(&conn->state, server ? THEMIS_NET_ACCEPTED : THEMIS_NET_CONNECTING);
    /* above what epoll uses for others */
    conn->key = (random | UINT64_C(1) << 63) & ~THEMIS_NET_EPOLL_PROCESS;
    snprintf(conn->peer, sizeof conn->peer, "unknown");
    if (server) {
        conn->deadline = themis_util_clock_now() + STRANGER_TIMEOUT;
        net->strangers++;
    }
    HASH_ADD(hh, net->conns, key, sizeof conn->key, conn);
    return conn;
}

void themis_net_conn_ref(themis_net_conn_t *conn)
{
    atomic_fetch_add(&conn->refs, 1);
}

void themis_net_conn_unref(themis_net_conn_t *conn)
{
    if (conn == NULL || atomic_fetch_sub(&conn->refs, 1) != 1)
        return;
    themis_net_local_free(conn->local);
    free(conn);
}

int themis_net_conn_is_dead(const themis_net_conn_t *conn)
{
    return conn->state == THEMIS_NET_LOST || conn->state == THEMIS_NET_CLOSED;
}

static int is_stranger(const themis_net_conn_t *conn)
{
    return conn->server && (conn->state == THEMIS_NET_ACCEPTED || conn->state == THEMIS_NET_GREETED);
}

/* Leaves net->conns, whose reference goes over to net->doomed. */
static void retire(themis_net_conn_t *conn, themis_net_state_t state, themis_status_t why)
{
    themis_net_t *net = conn->net;

    if (is_stranger(conn))
        net->strangers--;
    if (conn->state != THEMIS_NET_OPEN) {
        conn->told = 1; /* its owner never had it */
        net->wake_pending = 1;
    }
    conn->doomed = 1;
    net->locals -= conn->local != NULL;
    conn->state = state;
    conn->why = why;
    HASH_DEL(net->conns, conn);
    LL_PREPEND2(net->doomed, conn, doomed_next);
    net->locals_version++;
    net->kick = 1;
}

void themis_net_conn_lose(themis_net_conn_t *conn, themis_status_t why)
{
    if (!themis_net_conn_is_dead(conn))
        retire(conn, THEMIS_NET_LOST, why == THEMIS_OK ? THEMIS_DISCONNECTED : why);
}

void themis_net_conn_close(themis_net_conn_t *conn)
{
    if (conn == NULL)
        return;
    themis_net_lock(conn->net);
    if (conn->state != THEMIS_NET_CLOSED) {
        if (conn->state == THEMIS_NET_LOST) {
            conn->state = THEMIS_NET_CLOSED; /* the owner does not want to be told any more */
        } else {
            conn->flush = conn->state == THEMIS_NET_OPEN;
            retire(conn, THEMIS_NET_CLOSED, THEMIS_DISCONNECTED);
        }
    }
    themis_net_unlock(conn->net);
}

void themis_net_conn_opened(themis_net_conn_t *conn)
{
    if (conn->server) {
        themis_net_event_t *event = themis_net_event_new(conn, THEMIS_NET_EVENT_OPENED);
        if (event == NULL) {
            themis_net_conn_lose(conn, THEMIS_NO_MEMORY);
            return;
        }
        themis_net_event_queue(event);
        conn->net->strangers--;
    } else {
        conn->announced = 1;
    }
    conn->state = THEMIS_NET_OPEN;
}

static void drop_arrivals(themis_net_conn_t *conn)
{
    themis_net_event_t *event, *next;

    DL_FOREACH_SAFE(conn->arrivals, event, next)
    {
        if (!event->complete) /* its completion frees it */
            continue;
        DL_DELETE(conn->arrivals, event);
        themis_net_event_free(event);
    }
}

void themis_net_conn_finish(themis_net_conn_t *conn)
{
    if (conn->running > 0 || conn->doomed || conn->told || conn->state != THEMIS_NET_LOST)
        return;
    conn->told = 1;
    themis_net_event_t *event = themis_net_event_new(conn, THEMIS_NET_EVENT_CLOSED);
    if (event == NULL) {
        themis_error("out of memory: the loss of %s is not reported", conn->peer);
        return;
    }
    event->status = conn->why;
    themis_net_event_queue(event);
}

static void bury(themis_net_t *net)
{
    themis_net_conn_t *conn;

    while ((conn = net->doomed) != NULL) {
        LL_DELETE2(net->doomed, conn, doomed_next);
        conn->doomed = 0;
        themis_net_worker_close(conn, conn->flush && conn->borrowed == 0);
        themis_net_local_close(conn);
        themis_net_transfers_abandon(conn);
        drop_arrivals(conn);
        themis_net_conn_finish(conn);
        themis_net_conn_unref(conn); /* the one of net->conns */
    }
}

void themis_net_conns_tend(themis_net_t *net)
{
    themis_net_conn_t *conn, *next;

    if (net->strangers > 0) {
        uint64_t now = themis_util_clock_now();
        HASH_ITER(hh, net->conns, conn, next)
        if (is_stranger(conn) && now > conn->deadline)
            themis_net_conn_lose(conn, THEMIS_TIMED_OUT);
    }
    bury(net);
}

/* --- what belongs to a connection -------------------------------------------------------------------------------- */

void themis_net_conn_set_user(themis_net_conn_t *conn, void *user)
{
    conn->user = user;
}

void *themis_net_conn_user(const themis_net_conn_t *conn)
{
    return conn->user;
}

const char *themis_net_conn_peer(const themis_net_conn_t *conn)
{
    return conn->peer;
}

/* --- events ------------------------------------------------------------------------------------------------------ */

themis_net_event_t *themis_net_event_new(themis_net_conn_t *conn, themis_net_event_type_t type)
{
    themis_net_event_t *event = calloc(1, sizeof *event);

    if (event == NULL)
        return NULL;
    event->type = type;
    event->conn = conn;
    event->complete = 1;
    themis_net_conn_ref(conn);
    return event;
}

void themis_net_event_queue(themis_net_event_t *event)
{
    themis_net_t *net = event->conn->net;

    DL_APPEND(net->events, event);
    net->kick = 1;
}

void themis_net_event_free(themis_net_event_t *event)
{
    if (event->bytes != NULL && event->from_ucx)
        ucp_am_data_release(event->conn->net->worker, event->bytes);
    else
        free(event->bytes);
    event->conn->queued_in -= event->type == THEMIS_NET_EVENT_MESSAGE ? event->length : 0;
    themis_net_conn_unref(event->conn);
    free(event);
}
