/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/held_locks.h"
#include <stdlib.h>
#include <string.h>
#include "client/array.h"

themis_status_t themis_client_held_locks_add(themis_client_held_locks_t *held, const themis_client_held_lock_t *lock)
{
    themis_status_t status =
        themis_client_array_reserve(&held->array, &held->capacity, held->count + 1, sizeof *held->array);

    if (status == THEMIS_OK)
        held->array[held->count++] = *lock;
    return status;
}

static uint64_t end_of(uint64_t offset, uint64_t length)
{
    return length > UINT64_MAX - offset ? UINT64_MAX : offset + length;
}

static void range_set(themis_client_held_lock_t *lock, uint64_t begin, uint64_t end)
{
    lock->offset = begin;
    lock->length = end == UINT64_MAX ? UINT64_MAX : end - begin;
}

/* Cuts [begin, end) out of lock `at`, which it touches; *gone: nothing is left. */
static themis_status_t lock_cut(themis_client_held_locks_t *held, size_t at, uint64_t begin, uint64_t end, int *gone)
{
    themis_client_held_lock_t lock = held->array[at], rest = lock;
    uint64_t from = lock.offset, to = end_of(lock.offset, lock.length);
    themis_status_t status = THEMIS_OK;

    *gone = begin <= from && end >= to;
    if (begin > from && end < to) {
        range_set(&rest, end, to);
        status = themis_client_held_locks_add(held, &rest);
    }
    if (status == THEMIS_OK && !*gone)
        range_set(&held->array[at], begin > from ? from : end, begin > from ? begin : to);
    return status;
}

themis_status_t themis_client_held_locks_cut(themis_client_held_locks_t *held, uint64_t offset, uint64_t length)
{
    uint64_t end = end_of(offset, length);
    themis_status_t status = THEMIS_OK;
    size_t kept = 0, count = held->count;

    for (size_t i = 0; i < count; i++) {
        const themis_client_held_lock_t *lock = &held->array[i];
        int gone = 0;
        if (lock->offset < end && offset < end_of(lock->offset, lock->length)) {
            themis_status_t cut = lock_cut(held, i, offset, end, &gone);
            status = cut == THEMIS_OK ? status : cut;
        }
        if (!gone)
            held->array[kept++] = held->array[i];
    }
    if (held->count > count)
        memmove(held->array + kept, held->array + count, (held->count - count) * sizeof *held->array);
    held->count -= count - kept;
    return status;
}

themis_status_t themis_client_held_locks_copy(const themis_client_held_locks_t *held, themis_client_held_locks_t *copy)
{
    *copy = (themis_client_held_locks_t){0};
    themis_status_t status =
        themis_client_array_reserve(&copy->array, &copy->capacity, held->count, sizeof *copy->array);

    if (status != THEMIS_OK || held->count == 0)
        return status;
    memcpy(copy->array, held->array, held->count * sizeof *copy->array);
    copy->count = held->count;
    return THEMIS_OK;
}

void themis_client_held_locks_free(themis_client_held_locks_t *held)
{
    free(held->array);
    *held = (themis_client_held_locks_t){0};
}
