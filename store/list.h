/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of objects in the order of a hash of their ids, which is another one for each id. So a list can go on after any
 * object, also after one that has gone.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "themis/status.h"

static inline uint64_t themis_store_list_hash(uint64_t id)
{
    return id * UINT64_C(0x9e3779b97f4a7c15);
}

/* What a store lists at once: the ids, in any order, of those whose hashes are above `after` and not above `end`. The
 * store chooses `end`, as its objects are in such ranges; UINT64_MAX: there are no others. */
typedef struct themis_store_list_part {
    uint64_t after, end;
    uint64_t *ids; /* owned */
    size_t count, capacity;
} themis_store_list_part_t;

themis_status_t themis_store_list_part_add(themis_store_list_part_t *part, uint64_t id);
