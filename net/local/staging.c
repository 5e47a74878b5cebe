/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/local/staging.h"
#include <string.h>
#include "net/local/channel.h"

_Static_assert(THEMIS_NET_STAGING_SLOTS == 32, "a slot has a bit in a word");

int themis_net_staging_take(themis_net_conn_t *conn, uint64_t bytes, unsigned char **buffer)
{
    themis_net_channel_t *channel = conn->channel;

    if (bytes > THEMIS_NET_STAGING_BYTES || ~channel->staged == 0)
        return -1;
    int slot = __builtin_ctz(~channel->staged); /* the lowest, which is the most likely to be in the cache */
    channel->staged |= UINT32_C(1) << slot;
    *buffer = channel->mine->slots[slot];
    return slot;
}

void themis_net_staging_put(themis_net_conn_t *conn, int slot)
{
    conn->channel->staged &= ~(UINT32_C(1) << slot);
}

themis_status_t themis_net_staging_copy(themis_net_conn_t *conn, const themis_net_copy_t *copy)
{
    if (copy->remote->address >= THEMIS_NET_STAGING_SLOTS || copy->remote->total > THEMIS_NET_STAGING_BYTES)
        return THEMIS_PROTOCOL;
    unsigned char *at = conn->channel->theirs->slots[copy->remote->address] + copy->offset;
    for (size_t i = 0; i < copy->count; i++) {
        const struct iovec *local = &copy->local[i];
        memcpy(copy->push ? at : local->iov_base, copy->push ? local->iov_base : at, local->iov_len);
        at += local->iov_len;
    }
    return THEMIS_OK;
}
