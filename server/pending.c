/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/pending.h"
#include <inttypes.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <utlist.h>
#include "util/clock.h"
#include "util/log.h"

#define WARN_INTERVAL (10 * THEMIS_NS_PER_S)

/* A connection takes two files; half of them are left to others. */
enum { MIN_PER_USER = 16, MAX_PER_USER = 8192, FILES_PER_CONNECTION = 4 };

typedef struct themis_server_pending_conn {
    themis_net_conn_t *conn; /* a reference */
    int64_t user;
    uint64_t since;                                 /* ns */
    struct themis_server_pending_conn *next, *prev; /* oldest first */
} pending_t;

void themis_server_pending_init(themis_server_t *server)
{
    struct rlimit files;
    uint64_t limit = MAX_PER_USER;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur / FILES_PER_CONNECTION < limit)
        limit = files.rlim_cur / FILES_PER_CONNECTION;
    server->pending.per_user = (uint32_t)(limit > MIN_PER_USER ? limit : MIN_PER_USER);
}

static void pending_remove(themis_server_t *server, pending_t *pending)
{
    DL_DELETE(server->pending.list, pending);
    themis_net_conn_unref(pending->conn);
    free(pending);
}

void themis_server_pending_clear(themis_server_t *server)
{
    while (server->pending.list)
        pending_remove(server, server->pending.list);
}

/* Many may be closed, so there is not a line for each. */
static void pending_close(themis_server_t *server, pending_t *pending, const char *why, uint64_t now)
{
    server->pending.closed++;
    if (now >= server->pending.warn_again) {
        themis_warn("%s: its connection is closed, %s; %" PRIu64 " were since the start",
                    themis_net_conn_peer(pending->conn), why, server->pending.closed);
        server->pending.warn_again = now + WARN_INTERVAL;
    }
    themis_net_conn_close(pending->conn);
    pending_remove(server, pending);
}

/* The user's oldest one gives way if there are as many as there may be. */
static void user_make_room(themis_server_t *server, int64_t user, uint64_t now)
{
    pending_t *pending, *oldest = NULL;
    uint32_t count = 0;

    DL_FOREACH(server->pending.list, pending)
    {
        if (pending->user != user)
            continue;
        oldest = oldest ? oldest : pending;
        count++;
    }
    if (oldest && count >= server->pending.per_user)
        pending_close(server, oldest, "since its user has too many without a session", now);
}

int64_t themis_server_pending_user(themis_net_conn_t *conn)
{
    themis_net_peer_credentials_t credentials;

    return themis_net_conn_credentials(conn, &credentials) == THEMIS_OK ? (int64_t)credentials.uid
                                                                        : THEMIS_SERVER_PENDING_UNKNOWN;
}

void themis_server_pending_add(themis_server_t *server, themis_net_conn_t *conn, int64_t user)
{
    uint64_t now = themis_util_clock_now();
    pending_t *pending = malloc(sizeof *pending);

    if (!pending) {
        themis_net_conn_close(conn);
        return;
    }
    user_make_room(server, user, now);
    *pending = (pending_t){.conn = conn, .user = user, .since = now};
    themis_net_conn_ref(conn);
    DL_APPEND(server->pending.list, pending);
}

void themis_server_pending_forget(themis_server_t *server, const themis_net_conn_t *conn)
{
    pending_t *pending;

    DL_SEARCH_SCALAR(server->pending.list, pending, conn, conn);
    if (pending)
        pending_remove(server, pending);
}

void themis_server_pending_expire(themis_server_t *server, uint64_t now)
{
    while (server->pending.list && now > server->pending.list->since + THEMIS_SERVER_PENDING_LIMIT)
        pending_close(server, server->pending.list, "since it sent no HELLO in time", now);
}
