/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Per object two lists: what is held, by offset, and what waits, in order of arrival. Lists, since a file has about as
 * many locks as it has ranks, and each is held for one access.
 */
#include "server/locks.h"
#include <stdlib.h>
#include "proto/proto.h"
#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>

typedef struct lock {
    uint64_t from, behind; /* behind UINT64_MAX: to the end */
    themis_server_lock_owner_t owner;
    int exclusive;
    void *waiter;
    struct lock *next, *prev;
} lock_t;

typedef struct file {
    uint64_t object;
    lock_t *held, *waiting;
    UT_hash_handle hh;
} file_t;

typedef struct counter {
    uint64_t object;
    int64_t value;
    UT_hash_handle hh;
} counter_t;

struct themis_server_locks {
    themis_server_lock_granted_fn granted;
    void *arg;
    file_t *files;
    counter_t *counters;
    uint64_t held, waiting;
};

themis_status_t themis_server_locks_create(themis_server_lock_granted_fn granted, void *arg,
                                           themis_server_locks_t **locks)
{
    themis_server_locks_t *made = calloc(1, sizeof *made);

    if (!made)
        return THEMIS_NO_MEMORY;
    made->granted = granted;
    made->arg = arg;
    *locks = made;
    return THEMIS_OK;
}

static void free_list(lock_t *list)
{
    lock_t *lock, *next;

    DL_FOREACH_SAFE(list, lock, next)
    free(lock);
}

void themis_server_locks_destroy(themis_server_locks_t *locks)
{
    file_t *file, *next;
    counter_t *counter, *next_counter;

    if (!locks)
        return;
    HASH_ITER(hh, locks->files, file, next)
    {
        HASH_DELETE(hh, locks->files, file);
        free_list(file->held);
        free_list(file->waiting);
        free(file);
    }
    HASH_ITER(hh, locks->counters, counter, next_counter)
    {
        HASH_DELETE(hh, locks->counters, counter);
        free(counter);
    }
    free(locks);
}

static int same_owner(const themis_server_lock_owner_t *a, const themis_server_lock_owner_t *b)
{
    return a->session == b->session && a->owner == b->owner;
}

static int against(const lock_t *a, const lock_t *b)
{
    return a->from < b->behind && b->from < a->behind && (a->exclusive || b->exclusive) &&
           !same_owner(&a->owner, &b->owner);
}

/* The first that stands against `lock`: held, or waiting before `until` (NULL: any that waits). */
static const lock_t *obstacle(const file_t *file, const lock_t *lock, const lock_t *until)
{
    const lock_t *other;

    DL_FOREACH(file->held, other)
    if (against(other, lock))
        return other;
    DL_FOREACH(file->waiting, other)
    {
        if (other == until)
            break;
        if (against(other, lock))
            return other;
    }
    return NULL;
}

/* Does the owner of `from`, by what it waits for, wait for `target` in the end? `depth` bounds the search. */
static int leads_to(const themis_server_locks_t *locks, const themis_server_lock_owner_t *from,
                    const themis_server_lock_owner_t *target, int depth)
{
    if (same_owner(from, target))
        return 1;
    if (depth == 0)
        return 0;
    for (const file_t *file = locks->files; file; file = file->hh.next) {
        const lock_t *waits, *other;
        DL_FOREACH(file->waiting, waits)
        {
            if (!same_owner(&waits->owner, from))
                continue;
            DL_FOREACH(file->held, other)
            if (against(other, waits) && leads_to(locks, &other->owner, target, depth - 1))
                return 1;
        }
    }
    return 0;
}

/* Would `lock` wait for one that waits for its owner? Only an owner that holds something can be waited for. */
static int closes_circle(const themis_server_locks_t *locks, const file_t *file, const lock_t *lock)
{
    enum { DEPTH = 8 };
    const lock_t *other;
    int holds = 0;

    for (const file_t *each = locks->files; each && !holds; each = each->hh.next)
        DL_FOREACH(each->held, other)
    if (same_owner(&other->owner, &lock->owner)) {
        holds = 1;
        break;
    }
    if (!holds)
        return 0;
    DL_FOREACH(file->held, other)
    if (against(other, lock) && leads_to(locks, &other->owner, &lock->owner, DEPTH))
        return 1;
    return 0;
}

static int by_offset(const lock_t *a, const lock_t *b)
{
    return a->from < b->from ? -1 : a->from > b->from;
}

static void hold(themis_server_locks_t *locks, file_t *file, lock_t *lock)
{
    DL_INSERT_INORDER(file->held, lock, by_offset);
    locks->held++;
}

static file_t *file_of(themis_server_locks_t *locks, uint64_t object, int create)
{
    file_t *file;

    HASH_FIND(hh, locks->files, &object, sizeof object, file);
    if (file || !create)
        return file;
    file = calloc(1, sizeof *file);
    if (!file)
        return NULL;
    file->object = object;
    HASH_ADD(hh, locks->files, object, sizeof object, file);
    if (file->hh.tbl)
        return file;
    free(file);
    return NULL;
}

static void drop_if_empty(themis_server_locks_t *locks, file_t *file)
{
    if (file->held || file->waiting)
        return;
    HASH_DELETE(hh, locks->files, file);
    free(file);
}

/* The owner holds all of the range, at least as strongly, in one lock. */
static int holds_already(const file_t *file, const lock_t *lock)
{
    const lock_t *other;

    DL_FOREACH(file->held, other)
    if (same_owner(&other->owner, &lock->owner) && other->from <= lock->from && other->behind >= lock->behind &&
        other->exclusive >= lock->exclusive)
        return 1;
    return 0;
}

themis_status_t themis_server_locks_lock(themis_server_locks_t *locks, uint64_t object,
                                         const themis_server_lock_range_t *range,
                                         const themis_server_lock_owner_t *owner, int exclusive, void *waiter)
{
    if (range->length == 0)
        return THEMIS_OK;
    file_t *file = file_of(locks, object, 1);
    lock_t *lock = file ? calloc(1, sizeof *lock) : NULL;
    if (!lock) {
        if (file)
            drop_if_empty(locks, file);
        return THEMIS_NO_MEMORY;
    }
    *lock = (lock_t){.from = range->offset,
                     .behind = range->length > UINT64_MAX - range->offset ? UINT64_MAX : range->offset + range->length,
                     .owner = *owner,
                     .exclusive = exclusive,
                     .waiter = waiter};
    if (holds_already(file, lock)) {
        free(lock);
        return THEMIS_OK;
    }
    if (!obstacle(file, lock, NULL)) {
        hold(locks, file, lock);
        return THEMIS_OK;
    }
    if (!waiter || closes_circle(locks, file, lock)) {
        free(lock);
        return THEMIS_LOCKED;
    }
    DL_APPEND(file->waiting, lock);
    locks->waiting++;
    return THEMIS_IN_PROGRESS;
}

static void grant_waiting(themis_server_locks_t *locks, file_t *file)
{
    lock_t *lock, *next;

    DL_FOREACH_SAFE(file->waiting, lock, next)
    {
        if (obstacle(file, lock, lock))
            continue;
        DL_DELETE(file->waiting, lock);
        locks->waiting--;
        hold(locks, file, lock);
        locks->granted(locks->arg, lock->waiter, THEMIS_OK);
    }
}

/* Cuts [from, behind) out of a held lock: nothing, one part or two stay. */
static themis_status_t cut(themis_server_locks_t *locks, file_t *file, lock_t *lock, uint64_t from, uint64_t behind)
{
    if (from <= lock->from && behind >= lock->behind) {
        DL_DELETE(file->held, lock);
        locks->held--;
        free(lock);
        return THEMIS_OK;
    }
    if (from > lock->from && behind < lock->behind) {
        lock_t *second = malloc(sizeof *second);
        if (!second)
            return THEMIS_NO_MEMORY;
        *second = *lock;
        second->from = behind;
        lock->behind = from;
        hold(locks, file, second);
    } else if (from > lock->from) {
        lock->behind = from;
    } else {
        lock->from = behind;
    }
    return THEMIS_OK;
}

themis_status_t themis_server_locks_unlock(themis_server_locks_t *locks, uint64_t object,
                                           const themis_server_lock_range_t *range,
                                           const themis_server_lock_owner_t *owner)
{
    uint64_t behind = range->length > UINT64_MAX - range->offset ? UINT64_MAX : range->offset + range->length;
    file_t *file = file_of(locks, object, 0);
    themis_status_t status = THEMIS_OK;
    lock_t *lock, *next;

    if (!file)
        return THEMIS_OK;
    DL_FOREACH_SAFE(file->held, lock, next)
    {
        if (status == THEMIS_OK && same_owner(&lock->owner, owner) && lock->from < behind &&
            range->offset < lock->behind)
            status = cut(locks, file, lock, range->offset, behind);
    }
    grant_waiting(locks, file);
    drop_if_empty(locks, file);
    return status;
}

static void end_in_file(themis_server_locks_t *locks, file_t *file, uint64_t session)
{
    lock_t *lock, *next;

    DL_FOREACH_SAFE(file->waiting, lock, next)
    {
        if (lock->owner.session != session)
            continue;
        DL_DELETE(file->waiting, lock);
        locks->waiting--;
        locks->granted(locks->arg, lock->waiter, THEMIS_CANCELED);
        free(lock);
    }
    DL_FOREACH_SAFE(file->held, lock, next)
    {
        if (lock->owner.session != session)
            continue;
        DL_DELETE(file->held, lock);
        locks->held--;
        free(lock);
    }
    grant_waiting(locks, file);
    drop_if_empty(locks, file);
}

void themis_server_locks_end_session(themis_server_locks_t *locks, uint64_t session)
{
    file_t *file, *next;

    HASH_ITER(hh, locks->files, file, next)
    end_in_file(locks, file, session);
}

static int has_session(const lock_t *list, uint64_t session)
{
    const lock_t *lock;

    DL_FOREACH(list, lock)
    if (lock->owner.session == session)
        return 1;
    return 0;
}

int themis_server_locks_has_session(const themis_server_locks_t *locks, uint64_t session)
{
    for (const file_t *file = locks->files; file; file = file->hh.next)
        if (has_session(file->held, session) || has_session(file->waiting, session))
            return 1;
    return 0;
}

void themis_server_locks_forget(themis_server_locks_t *locks, uint64_t object)
{
    counter_t *counter;

    HASH_FIND(hh, locks->counters, &object, sizeof object, counter);
    if (!counter)
        return;
    HASH_DELETE(hh, locks->counters, counter);
    free(counter);
}

static counter_t *counter_of(themis_server_locks_t *locks, uint64_t object)
{
    counter_t *counter;

    HASH_FIND(hh, locks->counters, &object, sizeof object, counter);
    if (counter)
        return counter;
    counter = calloc(1, sizeof *counter);
    if (!counter)
        return NULL;
    counter->object = object;
    HASH_ADD(hh, locks->counters, object, sizeof object, counter);
    if (counter->hh.tbl)
        return counter;
    free(counter);
    return NULL;
}

themis_status_t themis_server_locks_counter(themis_server_locks_t *locks, uint64_t object, int action, int64_t value,
                                            int64_t *before)
{
    counter_t *counter = counter_of(locks, object);
    int64_t now;

    if (!counter)
        return THEMIS_NO_MEMORY;
    now = counter->value;
    if (action == THEMIS_PROTO_COUNTER_ADD && __builtin_add_overflow(now, value, &value))
        return THEMIS_RANGE;
    if (action != THEMIS_PROTO_COUNTER_GET)
        counter->value = value;
    *before = now;
    return THEMIS_OK;
}

void themis_server_locks_usage(const themis_server_locks_t *locks, uint64_t *held, uint64_t *waiting)
{
    *held = locks->held;
    *waiting = locks->waiting;
}
