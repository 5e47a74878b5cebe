/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/local/staging.h"
#include <string.h>
#include "net/local/channel.h"

_Static_assert(THEMIS_NET_STAGE_SLOTS == 32, "a slot has a bit in a word");

int themis_net_stage_take(themis_net_local_t *local)
{
    uint32_t free_slots = ~local->staged;

    if (free_slots == 0)
        return -1;
    int slot = __builtin_ctz(free_slots); /* the lowest, which is the warmest */
    local->staged |= UINT32_C(1) << slot;
    return slot;
}

void themis_net_stage_put(themis_net_local_t *local, int slot)
{
    local->staged &= ~(UINT32_C(1) << slot);
}

themis_status_t themis_net_stage_copy(const themis_net_local_t *local, const themis_net_descriptor_t *said,
                                      uint64_t offset, const struct iovec *pieces, size_t count, int push)
{
    if (said->address >= THEMIS_NET_STAGE_SLOTS || said->total > THEMIS_NET_STAGE_BYTES)
        return THEMIS_PROTOCOL;
    unsigned char *at = local->theirs->slots[said->address] + offset;
    for (size_t i = 0; i < count; i++) {
        if (push)
            memcpy(at, pieces[i].iov_base, pieces[i].iov_len);
        else
            memcpy(pieces[i].iov_base, at, pieces[i].iov_len);
        at += pieces[i].iov_len;
    }
    return THEMIS_OK;
}
