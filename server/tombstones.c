/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/tombstones.h"
#include <stdatomic.h>
#include <stdlib.h>

enum { GROUP_BITS = 13, GROUPS = 1 << GROUP_BITS, WAYS = 8 };

typedef struct group {
    _Atomic uint64_t ids[WAYS]; /* 0: none */
    atomic_uint next;           /* to be overwritten */
} group_t;

struct themis_server_tombstones {
    group_t groups[GROUPS];
};

themis_status_t themis_server_tombstones_create(themis_server_tombstones_t **tombstones)
{
    themis_server_tombstones_t *made = calloc(1, sizeof *made);

    if (!made)
        return THEMIS_NO_MEMORY;
    *tombstones = made;
    return THEMIS_OK;
}

void themis_server_tombstones_destroy(themis_server_tombstones_t *tombstones)
{
    free(tombstones);
}

static size_t group_of(uint64_t id)
{
    return (id * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - GROUP_BITS);
}

void themis_server_tombstones_add(themis_server_tombstones_t *tombstones, uint64_t id)
{
    group_t *group = &tombstones->groups[group_of(id)];

    if (!themis_server_tombstones_has(tombstones, id))
        atomic_store(&group->ids[atomic_fetch_add(&group->next, 1) % WAYS], id);
}

int themis_server_tombstones_has(const themis_server_tombstones_t *tombstones, uint64_t id)
{
    const group_t *group = &tombstones->groups[group_of(id)];

    for (int i = 0; i < WAYS; i++)
        if (atomic_load_explicit(&group->ids[i], memory_order_acquire) == id)
            return 1;
    return 0;
}
