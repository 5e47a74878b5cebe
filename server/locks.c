/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/locks.h"
#include <stdlib.h>
#include <string.h>
#include "util/clock.h"
#define HASH_NONFATAL_OOM 1
#include "server/lock_table.h"
#include <utlist.h>

typedef themis_server_lock_t lock_t;
typedef themis_server_lock_holder_t owner_t;
typedef themis_server_lock_file_t file_t;

themis_status_t themis_server_locks_create(const themis_server_lock_events_t *events, void *arg,
                                           themis_server_locks_t **locks)
{
    themis_server_locks_t *made = calloc(1, sizeof *made);

    if (!made)
        return THEMIS_NO_MEMORY;
    made->events = events;
    made->arg = arg;
    *locks = made;
    return THEMIS_OK;
}

void themis_server_locks_destroy(themis_server_locks_t *locks)
{
    file_t *file, *next_file;
    owner_t *owner, *next_owner;
    lock_t *lock, *next;

    if (!locks)
        return;
    HASH_ITER(hh, locks->owners, owner, next_owner)
    {
        DL_FOREACH_SAFE2(owner->locks, lock, next, owner_next)
        free(lock);
        HASH_DELETE(hh, locks->owners, owner);
        free(owner);
    }
    HASH_ITER(hh, locks->files, file, next_file)
    {
        HASH_DELETE(hh, locks->files, file);
        free(file);
    }
    free(locks);
}

/* --- conflicts ---------------------------------------------------------------------------------------------------- */

static int has_held_conflict(const lock_t *lock)
{
    for (const lock_t *other = lock->file->held; other; other = other->next)
        if (themis_server_lock_conflicts(other, lock))
            return 1;
    return 0;
}

/* Is there a conflict with a lock that is held, or that waits before `until` (NULL: with any that waits)? */
static int has_conflict(const lock_t *lock, const lock_t *until)
{
    if (has_held_conflict(lock))
        return 1;
    for (const lock_t *other = lock->file->waiting; other && other != until; other = other->next)
        if (themis_server_lock_conflicts(other, lock))
            return 1;
    return 0;
}

int themis_server_locks_are_full(themis_server_locks_t *locks, uint64_t object, const themis_server_lock_owner_t *owner)
{
    const file_t *file = themis_server_lock_table_find(locks, object);
    const owner_t *holder;

    HASH_FIND(hh, locks->owners, owner, sizeof *owner, holder);
    return locks->held + locks->waiting >= THEMIS_SERVER_LOCKS_MAX ||
           (file && file->count >= THEMIS_SERVER_LOCKS_OF_ONE) ||
           (holder && holder->count >= THEMIS_SERVER_LOCKS_OF_ONE);
}

/* --- locking and unlocking ---------------------------------------------------------------------------------------- */

static int by_offset(const lock_t *a, const lock_t *b)
{
    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

static void lock_hold(themis_server_locks_t *locks, lock_t *lock)
{
    DL_INSERT_INORDER(lock->file->held, lock, by_offset);
    lock->held = 1;
    lock->since = themis_util_clock_now();
    locks->held++;
}

static void lock_release(themis_server_locks_t *locks, lock_t *lock)
{
    DL_DELETE(lock->file->held, lock);
    locks->held--;
    themis_server_lock_table_remove(locks, lock);
}

/* Ends a wait with `status`. */
static void lock_refuse(themis_server_locks_t *locks, lock_t *lock, themis_status_t status)
{
    DL_DELETE(lock->file->waiting, lock);
    locks->waiting--;
    locks->events->granted(locks->arg, lock->waiter, status);
    themis_server_lock_table_remove(locks, lock);
}

/* The owner holds all of the range in one lock, at least as strong. */
static int is_held_already(const lock_t *lock)
{
    const lock_t *other;

    DL_FOREACH2(lock->owner->locks, other, owner_next)
    if (other->held && other->file == lock->file && other->begin <= lock->begin && other->end >= lock->end &&
        other->exclusive >= lock->exclusive)
        return 1;
    return 0;
}

static uint64_t range_end(const themis_server_lock_range_t *range)
{
    return range->length > UINT64_MAX - range->offset ? UINT64_MAX : range->offset + range->length;
}

/* 1: a new lock is to be held. It overtakes those that wait, if it can, where they wait for its own owner: neither
 * would ever be granted, or only once another thread of the owner has released its lock. */
static int may_hold(themis_server_locks_t *locks, const lock_t *lock)
{
    if (!has_conflict(lock, NULL))
        return 1;
    return lock->waiter && !has_held_conflict(lock) && themis_server_lock_is_deadlock(lock, 1, ++locks->searches);
}

static void lock_wait(themis_server_locks_t *locks, lock_t *lock)
{
    DL_APPEND(lock->file->waiting, lock);
    lock->since = themis_util_clock_now();
    locks->waiting++;
}

/* Holds a new lock, lets it wait, or frees it. */
static themis_status_t lock_place(themis_server_locks_t *locks, lock_t *lock)
{
    themis_status_t status = THEMIS_LOCKED;

    if (is_held_already(lock)) {
        status = THEMIS_OK;
    } else if (locks->grace && lock->waiter) {
        lock_wait(locks, lock);
        return THEMIS_IN_PROGRESS;
    } else if (!locks->grace && may_hold(locks, lock)) {
        lock_hold(locks, lock);
        return THEMIS_OK;
    } else if (lock->waiter && !themis_server_lock_is_deadlock(lock, 0, ++locks->searches)) {
        lock_wait(locks, lock);
        return THEMIS_IN_PROGRESS;
    }
    themis_server_lock_table_remove(locks, lock);
    return status;
}

/* A new lock, in no list of its file yet; NULL when memory is short. */
static lock_t *lock_make(themis_server_locks_t *locks, uint64_t object, const themis_server_lock_range_t *range,
                         const themis_server_lock_owner_t *owner, int exclusive)
{
    lock_t *lock = themis_server_lock_table_add(locks, object, owner);

    if (!lock)
        return NULL;
    lock->begin = range->offset;
    lock->end = range_end(range);
    lock->exclusive = exclusive;
    return lock;
}

/* Gives up a new lock, and its file if that has no others. */
static void lock_discard(themis_server_locks_t *locks, lock_t *lock)
{
    file_t *file = lock->file;

    themis_server_lock_table_remove(locks, lock);
    themis_server_lock_table_drop_if_empty(locks, file);
}

themis_status_t themis_server_locks_lock(themis_server_locks_t *locks, uint64_t object,
                                         const themis_server_lock_range_t *range,
                                         const themis_server_lock_owner_t *owner, int exclusive, void *waiter)
{
    if (range->length == 0)
        return THEMIS_OK;
    lock_t *lock = lock_make(locks, object, range, owner, exclusive);
    if (!lock)
        return THEMIS_NO_MEMORY;
    lock->waiter = waiter;
    file_t *file = lock->file;
    themis_status_t status = lock_place(locks, lock);
    if (status == THEMIS_LOCKED)
        themis_server_lock_table_drop_if_empty(locks, file);
    return status;
}

/* After locks of the file were released. */
static void file_grant_waiting(themis_server_locks_t *locks, file_t *file)
{
    lock_t *lock, *next;

    DL_FOREACH_SAFE(file->waiting, lock, next)
    {
        if (locks->grace || has_conflict(lock, lock))
            continue;
        DL_DELETE(file->waiting, lock);
        locks->waiting--;
        lock_hold(locks, lock);
        locks->events->granted(locks->arg, lock->waiter, THEMIS_OK);
    }
    themis_server_lock_table_drop_if_empty(locks, file);
}

/* Cuts [begin, end) out of a held lock: nothing, one part or two remain. */
static themis_status_t lock_cut(themis_server_locks_t *locks, lock_t *lock, uint64_t begin, uint64_t end)
{
    if (begin <= lock->begin && end >= lock->end) {
        lock_release(locks, lock);
    } else if (begin > lock->begin && end < lock->end) {
        lock_t *second = themis_server_lock_table_add(locks, lock->file->object, &lock->owner->key);
        if (!second)
            return THEMIS_NO_MEMORY;
        second->begin = end;
        second->end = lock->end;
        second->exclusive = lock->exclusive;
        lock->end = begin;
        lock_hold(locks, second);
        second->since = lock->since;
    } else if (begin > lock->begin) {
        lock->end = begin;
    } else {
        lock->begin = end;
    }
    return THEMIS_OK;
}

/* Cuts the range out of all that the owner holds. */
static themis_status_t range_cut(themis_server_locks_t *locks, file_t *file, const themis_server_lock_range_t *range,
                                 const themis_server_lock_owner_t *owner)
{
    uint64_t end = range_end(range);
    themis_status_t status = THEMIS_OK;
    lock_t *lock, *next;

    DL_FOREACH_SAFE(file->held, lock, next)
    {
        if (status == THEMIS_OK && memcmp(&lock->owner->key, owner, sizeof *owner) == 0 && lock->begin < end &&
            range->offset < lock->end)
            status = lock_cut(locks, lock, range->offset, end);
    }
    return status;
}

themis_status_t themis_server_locks_unlock(themis_server_locks_t *locks, uint64_t object,
                                           const themis_server_lock_range_t *range,
                                           const themis_server_lock_owner_t *owner)
{
    file_t *file = themis_server_lock_table_find(locks, object);

    if (!file || range->length == 0)
        return THEMIS_OK;
    themis_status_t status = range_cut(locks, file, range, owner);
    file_grant_waiting(locks, file);
    return status;
}

themis_status_t themis_server_locks_replace(themis_server_locks_t *locks, uint64_t object,
                                            const themis_server_lock_range_t *range,
                                            const themis_server_lock_owner_t *owner, int exclusive)
{
    if (range->length == 0)
        return THEMIS_OK;
    lock_t *lock = lock_make(locks, object, range, owner, exclusive);
    if (!lock)
        return THEMIS_NO_MEMORY;
    file_t *file = lock->file;
    themis_status_t status =
        !is_held_already(lock) && (locks->grace || has_conflict(lock, NULL)) ? THEMIS_LOCKED : THEMIS_OK;
    if (status == THEMIS_OK)
        status = range_cut(locks, file, range, owner); /* `lock` keeps owner and file alive */
    if (status == THEMIS_OK)
        lock_hold(locks, lock);
    else
        themis_server_lock_table_remove(locks, lock);
    file_grant_waiting(locks, file);
    return status;
}

themis_status_t themis_server_locks_test(themis_server_locks_t *locks, uint64_t object,
                                         const themis_server_lock_range_t *range,
                                         const themis_server_lock_owner_t *owner, int exclusive)
{
    if (range->length == 0)
        return THEMIS_OK;
    lock_t *lock = lock_make(locks, object, range, owner, exclusive);
    if (!lock)
        return THEMIS_NO_MEMORY;
    themis_status_t status =
        !is_held_already(lock) && (locks->grace || has_held_conflict(lock)) ? THEMIS_LOCKED : THEMIS_OK;
    lock_discard(locks, lock);
    return status;
}

/* --- the grace period --------------------------------------------------------------------------------------------- */

void themis_server_locks_begin_grace(themis_server_locks_t *locks)
{
    locks->grace = 1;
}

/* Those that have waited come once more, in their order, as if they were new: nothing was decided about them. */
static void file_end_grace(themis_server_locks_t *locks, file_t *file)
{
    lock_t *lock, *next, *list = file->waiting;

    file->waiting = NULL;
    for (lock = list; lock; lock = next) {
        void *waiter = lock->waiter;
        next = lock->next;
        locks->waiting--;
        themis_status_t status = lock_place(locks, lock);
        if (status != THEMIS_IN_PROGRESS)
            locks->events->granted(locks->arg, waiter, status);
    }
    themis_server_lock_table_drop_if_empty(locks, file);
}

void themis_server_locks_end_grace(themis_server_locks_t *locks)
{
    file_t *file, *next;

    if (!locks->grace)
        return;
    locks->grace = 0;
    HASH_ITER(hh, locks->files, file, next)
    {
        file_end_grace(locks, file);
    }
}

themis_status_t themis_server_locks_reclaim(themis_server_locks_t *locks, uint64_t object,
                                            const themis_server_lock_range_t *range,
                                            const themis_server_lock_owner_t *owner, int exclusive, int is_known)
{
    themis_status_t status = THEMIS_STALE;
    lock_t *lock = lock_make(locks, object, range, owner, exclusive);

    if (!lock)
        return THEMIS_NO_MEMORY;
    if (is_held_already(lock))
        status = THEMIS_OK;
    else if (is_known && locks->grace && !has_held_conflict(lock)) {
        lock_hold(locks, lock);
        return THEMIS_OK;
    }
    lock_discard(locks, lock);
    return status;
}

/* --- waits that take too long ------------------------------------------------------------------------------------- */

/* Does a lock that has been held since `limit` or before delay this one? */
static int is_delayed_since(const lock_t *lock, uint64_t limit)
{
    for (const lock_t *other = lock->file->held; other; other = other->next)
        if (other->since <= limit && themis_server_lock_conflicts(other, lock))
            return 1;
    return 0;
}

static void file_expire_waits(themis_server_locks_t *locks, file_t *file, uint64_t limit)
{
    lock_t *lock, *next;

    DL_FOREACH_SAFE(file->waiting, lock, next)
    {
        if (lock->since > limit)
            break; /* those behind it came later */
        if (is_delayed_since(lock, limit))
            lock_refuse(locks, lock, THEMIS_LOCKED);
    }
    file_grant_waiting(locks, file);
}

void themis_server_locks_expire_waits(themis_server_locks_t *locks, uint64_t longest)
{
    uint64_t now = themis_util_clock_now();
    file_t *file, *next;

    if (longest == 0 || locks->waiting == 0 || now < longest)
        return;
    HASH_ITER(hh, locks->files, file, next)
    {
        if (file->waiting)
            file_expire_waits(locks, file, now - longest);
    }
}

/* --- sessions ----------------------------------------------------------------------------------------------------- */

/* `released`: locks of the file were released before. */
static void file_cancel_waits(themis_server_locks_t *locks, file_t *file, uint64_t session, int released)
{
    lock_t *lock, *next;

    DL_FOREACH_SAFE(file->waiting, lock, next)
    {
        if (lock->owner->key.session != session)
            continue;
        lock_refuse(locks, lock, THEMIS_CANCELED);
        released = 1;
    }
    if (released)
        file_grant_waiting(locks, file);
}

void themis_server_locks_cancel_waits(themis_server_locks_t *locks, uint64_t session)
{
    file_t *file, *next;

    HASH_ITER(hh, locks->files, file, next)
    {
        file_cancel_waits(locks, file, session, 0);
    }
}

static void file_end_session(themis_server_locks_t *locks, file_t *file, uint64_t session)
{
    lock_t *lock, *next;
    int lost = 0;

    DL_FOREACH_SAFE(file->held, lock, next)
    {
        if (lock->owner->key.session != session)
            continue;
        lock_release(locks, lock);
        lost = 1;
    }
    if (lost)
        locks->events->lost(locks->arg, file->object);
    file_cancel_waits(locks, file, session, lost);
}

void themis_server_locks_end_session(themis_server_locks_t *locks, uint64_t session)
{
    file_t *file, *next;

    HASH_ITER(hh, locks->files, file, next)
    {
        file_end_session(locks, file, session);
    }
}

void themis_server_locks_each_session(const themis_server_locks_t *locks, void (*each)(void *arg, uint64_t session),
                                      void *arg)
{
    for (const owner_t *owner = locks->owners; owner; owner = owner->hh.next)
        each(arg, owner->key.session);
}

int themis_server_locks_has_session(const themis_server_locks_t *locks, uint64_t session)
{
    for (const owner_t *owner = locks->owners; owner; owner = owner->hh.next)
        if (owner->key.session == session)
            return 1;
    return 0;
}

void themis_server_locks_usage(const themis_server_locks_t *locks, uint64_t *held, uint64_t *waiting)
{
    *held = locks->held;
    *waiting = locks->waiting;
}
