/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects of one store, written and read window by window as the engine does. */
#pragma once
#include <check.h>
#include "store/store.h"

#define MIB (UINT64_C(1) << 20)

/* Unlike the assertions of check, this one sends no message if it holds, which is slow under sanitizers. */
#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            ck_abort_msg("failed: %s", #condition);                                                                    \
    } while (0)

extern themis_store_t *store;
extern uint32_t owner; /* of objects that are created */

/* Moves bytes until all are moved or the store refuses. */
themis_status_t transfer(uint64_t id, themis_direction_t direction, uint64_t offset, uint8_t *bytes, uint64_t length);
void put(uint64_t id, uint64_t offset, uint64_t length, uint8_t value);
void expect(uint64_t id, uint64_t offset, uint64_t length, uint8_t value);
themis_store_size_t size_of(uint64_t id);
void truncate_to(uint64_t id, uint64_t size);
