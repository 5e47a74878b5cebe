/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/reaper.h"
#include "net/event.h"
#include "net/transfer.h"
#include "util/clock.h"

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

void themis_net_reap(themis_net_t *net)
{
    themis_net_conn_t *conn, *next;

    if (net->unauthenticated > 0) {
        uint64_t now = themis_util_clock_now();
        HASH_ITER(hh, net->conns, conn, next)
        if (themis_net_conn_is_unauthenticated(conn) && now > conn->deadline)
            themis_net_conn_lose(conn, THEMIS_TIMED_OUT);
    }
    while ((conn = net->to_close) != NULL) {
        LL_DELETE2(net->to_close, conn, next_to_close);
        conn->closing = 0;
        for (int i = 0; i < THEMIS_NET_TRANSPORTS; i++)
            net->transports[i]->close(conn, conn->flush && conn->borrowed == 0);
        themis_net_transfers_abandon(conn);
        drop_arrivals(conn);
        themis_net_event_closed(conn);
        themis_net_conn_unref(conn); /* the one of net->conns */
    }
}
