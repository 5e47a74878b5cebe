/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/conn.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>
#include "net/address.h"
#include "net/event.h"
#include "util/clock.h"
#include "util/log.h"

#define HANDSHAKE_TIMEOUT (10 * THEMIS_NS_PER_S)
#define WARN_INTERVAL (10 * THEMIS_NS_PER_S)
enum { SPARE_DESCRIPTORS = 32 };

int themis_net_conn_is_possible(themis_net_t *net)
{
    uint64_t now = themis_util_clock_now();
    struct rlimit limit = {0};
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC); /* the lowest one that is free */

    if (fd >= 0)
        close(fd);
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || (fd >= 0 && (rlim_t)fd + SPARE_DESCRIPTORS < limit.rlim_cur))
        return 1;
    if (now >= net->warn_again)
        themis_warn("new connections are refused: this process may have %llu open files",
                    (unsigned long long)limit.rlim_cur);
    net->warn_again = now + WARN_INTERVAL;
    return 0;
}

static void conn_discard(themis_net_conn_t *conn)
{
    if (conn == NULL)
        return;
    free(conn->last);
    free(conn);
}

themis_net_conn_t *themis_net_conn_new(themis_net_t *net, int server)
{
    themis_net_conn_t *conn = calloc(1, sizeof *conn);
    uint64_t random;

    if (conn != NULL)
        conn->last = calloc(1, sizeof *conn->last);
    if (conn == NULL || conn->last == NULL || getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random) {
        conn_discard(conn);
        return NULL;
    }
    conn->net = net;
    conn->transport = net->transports[THEMIS_NET_NETWORK];
    conn->server = server;
    atomic_init(&conn->refs, 1);
    atomic_init(&conn->state, server ? THEMIS_NET_ACCEPTED : THEMIS_NET_CONNECTING);
    /* above what epoll uses for others */
    conn->key = (random | UINT64_C(1) << 63) & ~THEMIS_NET_EPOLL_PROCESS;
    snprintf(conn->peer, sizeof conn->peer, "unknown");
    HASH_ADD(hh, net->conns, key, sizeof conn->key, conn);
    if (conn->hh.tbl == NULL) {
        conn_discard(conn);
        return NULL;
    }
    if (server) {
        conn->deadline = themis_util_clock_now() + HANDSHAKE_TIMEOUT;
        net->unauthenticated++;
    }
    net->networked++;
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
    if (conn->transport->free != NULL)
        conn->transport->free(conn);
    conn_discard(conn);
}

int themis_net_conn_is_dead(const themis_net_conn_t *conn)
{
    return conn->state == THEMIS_NET_LOST || conn->state == THEMIS_NET_CLOSED;
}

int themis_net_conn_is_unauthenticated(const themis_net_conn_t *conn)
{
    return conn->server && (conn->state == THEMIS_NET_ACCEPTED || conn->state == THEMIS_NET_HANDSHAKE);
}

/* Leaves net->conns, whose reference goes over to net->to_close. */
static void conn_retire(themis_net_conn_t *conn, themis_net_state_t state, themis_status_t why)
{
    themis_net_t *net = conn->net;

    net->unauthenticated -= (unsigned)themis_net_conn_is_unauthenticated(conn);
    net->networked -= conn->transport == net->transports[THEMIS_NET_NETWORK];
    if (conn->state != THEMIS_NET_OPEN) {
        conn->closed_reported = 1; /* its owner never had it */
        net->wake_pending = 1;
    }
    conn->closing = 1;
    conn->state = state;
    conn->why = why;
    HASH_DEL(net->conns, conn);
    LL_PREPEND2(net->to_close, conn, next_to_close);
    net->conns_version++;
    net->kick = 1;
}

void themis_net_conn_lose(themis_net_conn_t *conn, themis_status_t why)
{
    if (!themis_net_conn_is_dead(conn))
        conn_retire(conn, THEMIS_NET_LOST, why == THEMIS_OK ? THEMIS_DISCONNECTED : why);
}

void themis_net_conn_close(themis_net_conn_t *conn)
{
    if (conn == NULL)
        return;
    themis_net_lock(conn->net);
    if (conn->state == THEMIS_NET_LOST) {
        conn->state = THEMIS_NET_CLOSED; /* the owner has no interest in it any more */
    } else if (conn->state != THEMIS_NET_CLOSED) {
        conn->flush = conn->state == THEMIS_NET_OPEN;
        conn_retire(conn, THEMIS_NET_CLOSED, THEMIS_DISCONNECTED);
    }
    themis_net_unlock(conn->net);
}

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

themis_status_t themis_net_conn_credentials(const themis_net_conn_t *conn, themis_net_peer_credentials_t *credentials)
{
    if (conn->credentials == NULL)
        return conn->needs_local && themis_net_address_is_own(&conn->address) ? THEMIS_ACCESS : THEMIS_UNSUPPORTED;
    *credentials = *conn->credentials;
    return THEMIS_OK;
}
