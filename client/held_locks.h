/* SPDX-License-Identifier: BSD-3-Clause */
/* The ranges of a file that a handle holds locks of, as its first server knows them too: what is reclaimed when that
 * was started again. The caller serialises. A set of zeros is empty. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "themis/status.h"

typedef struct themis_client_held_lock {
    uint64_t offset, length; /* length UINT64_MAX: to the end */
    int exclusive;
} themis_client_held_lock_t;

typedef struct themis_client_held_locks {
    themis_client_held_lock_t *array; /* owned */
    size_t count, capacity;
} themis_client_held_locks_t;

themis_status_t themis_client_held_locks_add(themis_client_held_locks_t *held, const themis_client_held_lock_t *lock);
/* Takes a range out of all of them, as UNLOCK does. THEMIS_NO_MEMORY: one that would become two is as before. */
themis_status_t themis_client_held_locks_cut(themis_client_held_locks_t *held, uint64_t offset, uint64_t length);
/* A copy, whose array is to be freed. */
themis_status_t themis_client_held_locks_copy(const themis_client_held_locks_t *held, themis_client_held_locks_t *copy);
void themis_client_held_locks_free(themis_client_held_locks_t *held);
