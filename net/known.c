/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/known.h"
#include <stdatomic.h>

enum { MAX_KNOWN = 1024 };

/* Entries are added, and do not change once they are complete. */
static struct {
    themis_net_known_t entry;
    atomic_int complete;
} table[MAX_KNOWN];
static atomic_uint used;

static int is_same(const struct sockaddr_in *a, const struct sockaddr_in *b)
{
    return a->sin_addr.s_addr == b->sin_addr.s_addr && a->sin_port == b->sin_port;
}

int themis_net_known_find(const struct sockaddr_in *address, themis_net_known_t *known)
{
    unsigned count = atomic_load(&used);

    for (unsigned i = count < MAX_KNOWN ? count : MAX_KNOWN; i-- > 0;)
        if (atomic_load(&table[i].complete) && is_same(&table[i].entry.address, address)) {
            *known = table[i].entry;
            return 1;
        }
    return 0;
}

/* Where the table is full, a child does not reach that server. */
void themis_net_known_add(const themis_net_known_t *known)
{
    themis_net_known_t before;

    if (themis_net_known_find(&known->address, &before) && before.cookie == known->cookie && before.uid == known->uid)
        return;
    const unsigned at = atomic_load(&used) < MAX_KNOWN ? atomic_fetch_add(&used, 1) : MAX_KNOWN;
    if (at >= MAX_KNOWN)
        return;
    table[at].entry = *known;
    atomic_store(&table[at].complete, 1);
}
