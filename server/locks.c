/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Per object two lists: locks that are held, by offset, and locks that wait, in order of arrival. Lists, since a file
 * has about as many locks as it has ranks, and each is held for one access.
 */
#include "server/locks.h"
#include <stdlib.h>
#include "proto/proto.h"
#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>

typedef struct lock {
    uint64_t begin, end; /* end UINT64_MAX: to the end of the file */
    themis_server_lock_owner_t owner;
    int exclusive;
    void *waiter;
    struct lock *next, *prev;
} lock_t;

typedef struct file {
    uint64_t object;
    lock_t *held, *waiting;
    int counted; /* 1: it has a counter, which lives until the object is removed */
    int64_t counter;
    UT_hash_handle hh;
} file_t;

struct themis_server_locks {
    themis_server_lock_granted_fn granted;
    void *arg;
    file_t *files;
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

static void list_free(lock_t *list)
{
    for (lock_t *next; list; list = next) {
        next = list->next;
        free(list);
    }
}

void themis_server_locks_destroy(themis_server_locks_t *locks)
{
    file_t *file, *next;

    if (!locks)
        return;
    HASH_ITER(hh, locks->files, file, next)
    {
        HASH_DELETE(hh, locks->files, file);
        list_free(file->held);
        list_free(file->waiting);
        free(file);
    }
    free(locks);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

/* NULL: the object has neither locks nor a counter. */
static file_t *file_find(themis_server_locks_t *locks, uint64_t object)
{
    file_t *file;

    HASH_FIND(hh, locks->files, &object, sizeof object, file);
    return file;
}

/* Finds it or makes it; NULL when memory is short. */
static file_t *file_get(themis_server_locks_t *locks, uint64_t object)
{
    file_t *file = file_find(locks, object);

    if (file)
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

static void file_drop_if_empty(themis_server_locks_t *locks, file_t *file)
{
    if (file->held || file->waiting || file->counted)
        return;
    HASH_DELETE(hh, locks->files, file);
    free(file);
}

/* --- conflicts ---------------------------------------------------------------------------------------------------- */

static int same_owner(const themis_server_lock_owner_t *a, const themis_server_lock_owner_t *b)
{
    return a->session == b->session && a->owner == b->owner;
}

static int conflicts(const lock_t *a, const lock_t *b)
{
    return a->begin < b->end && b->begin < a->end && (a->exclusive || b->exclusive) &&
           !same_owner(&a->owner, &b->owner);
}

/* Is there a conflict with a lock that is held, or that waits before `until` (NULL: with any that waits)? */
static int has_conflict(const file_t *file, const lock_t *lock, const lock_t *until)
{
    for (const lock_t *other = file->held; other; other = other->next)
        if (conflicts(other, lock))
            return 1;
    for (const lock_t *other = file->waiting; other && other != until; other = other->next)
        if (conflicts(other, lock))
            return 1;
    return 0;
}

static int waits_for(const themis_server_locks_t *locks, const themis_server_lock_owner_t *from,
                     const themis_server_lock_owner_t *target, int depth);

/* Does `lock`, which conflicts, wait in the end for a lock that `target` holds? `depth` bounds the search. */
static int lock_waits_for(const themis_server_locks_t *locks, const file_t *file, const lock_t *lock,
                          const themis_server_lock_owner_t *target, int depth)
{
    for (const lock_t *other = file->held; other; other = other->next)
        if (conflicts(other, lock) && waits_for(locks, &other->owner, target, depth))
            return 1;
    return 0;
}

static int waits_for(const themis_server_locks_t *locks, const themis_server_lock_owner_t *from,
                     const themis_server_lock_owner_t *target, int depth)
{
    if (same_owner(from, target))
        return 1;
    if (depth == 0)
        return 0;
    for (const file_t *file = locks->files; file; file = file->hh.next)
        for (const lock_t *lock = file->waiting; lock; lock = lock->next)
            if (same_owner(&lock->owner, from) && lock_waits_for(locks, file, lock, target, depth - 1))
                return 1;
    return 0;
}

static int owner_holds_any(const themis_server_locks_t *locks, const themis_server_lock_owner_t *owner)
{
    for (const file_t *file = locks->files; file; file = file->hh.next)
        for (const lock_t *lock = file->held; lock; lock = lock->next)
            if (same_owner(&lock->owner, owner))
                return 1;
    return 0;
}

/* Would `lock` wait for an owner that waits for its own? Only an owner that holds something can be waited for. */
static int is_deadlock(const themis_server_locks_t *locks, const file_t *file, const lock_t *lock)
{
    enum { DEPTH = 8 };

    return owner_holds_any(locks, &lock->owner) && lock_waits_for(locks, file, lock, &lock->owner, DEPTH);
}

/* --- locking and unlocking ---------------------------------------------------------------------------------------- */

static int by_offset(const lock_t *a, const lock_t *b)
{
    return a->begin < b->begin ? -1 : a->begin > b->begin;
}

static void lock_hold(themis_server_locks_t *locks, file_t *file, lock_t *lock)
{
    DL_INSERT_INORDER(file->held, lock, by_offset);
    locks->held++;
}

static void lock_release(themis_server_locks_t *locks, file_t *file, lock_t *lock)
{
    DL_DELETE(file->held, lock);
    locks->held--;
    free(lock);
}

/* The owner holds all of the range in one lock, at least as strong. */
static int is_held_already(const file_t *file, const lock_t *lock)
{
    for (const lock_t *other = file->held; other; other = other->next)
        if (same_owner(&other->owner, &lock->owner) && other->begin <= lock->begin && other->end >= lock->end &&
            other->exclusive >= lock->exclusive)
            return 1;
    return 0;
}

static uint64_t range_end(const themis_server_lock_range_t *range)
{
    return range->length > UINT64_MAX - range->offset ? UINT64_MAX : range->offset + range->length;
}

themis_status_t themis_server_locks_lock(themis_server_locks_t *locks, uint64_t object,
                                         const themis_server_lock_range_t *range,
                                         const themis_server_lock_owner_t *owner, int exclusive, void *waiter)
{
    if (range->length == 0)
        return THEMIS_OK;
    file_t *file = file_get(locks, object);
    lock_t *lock = file ? calloc(1, sizeof *lock) : NULL;
    if (!lock) {
        if (file)
            file_drop_if_empty(locks, file);
        return THEMIS_NO_MEMORY;
    }
    *lock = (lock_t){
        .begin = range->offset, .end = range_end(range), .owner = *owner, .exclusive = exclusive, .waiter = waiter};
    if (is_held_already(file, lock)) {
        free(lock);
        return THEMIS_OK;
    }
    if (!has_conflict(file, lock, NULL)) {
        lock_hold(locks, file, lock);
        return THEMIS_OK;
    }
    if (!waiter || is_deadlock(locks, file, lock)) {
        free(lock);
        return THEMIS_LOCKED;
    }
    DL_APPEND(file->waiting, lock);
    locks->waiting++;
    return THEMIS_IN_PROGRESS;
}

/* After locks of the file were released. */
static void file_grant_waiting(themis_server_locks_t *locks, file_t *file)
{
    lock_t *lock, *next;

    DL_FOREACH_SAFE(file->waiting, lock, next)
    {
        if (has_conflict(file, lock, lock))
            continue;
        DL_DELETE(file->waiting, lock);
        locks->waiting--;
        lock_hold(locks, file, lock);
        locks->granted(locks->arg, lock->waiter, THEMIS_OK);
    }
    file_drop_if_empty(locks, file);
}

/* Cuts [begin, end) out of a held lock: nothing, one part or two remain. */
static themis_status_t lock_cut(themis_server_locks_t *locks, file_t *file, lock_t *lock, uint64_t begin, uint64_t end)
{
    if (begin <= lock->begin && end >= lock->end) {
        lock_release(locks, file, lock);
    } else if (begin > lock->begin && end < lock->end) {
        lock_t *second = malloc(sizeof *second);
        if (!second)
            return THEMIS_NO_MEMORY;
        *second = *lock;
        second->begin = end;
        lock->end = begin;
        lock_hold(locks, file, second);
    } else if (begin > lock->begin) {
        lock->end = begin;
    } else {
        lock->begin = end;
    }
    return THEMIS_OK;
}

themis_status_t themis_server_locks_unlock(themis_server_locks_t *locks, uint64_t object,
                                           const themis_server_lock_range_t *range,
                                           const themis_server_lock_owner_t *owner)
{
    uint64_t end = range_end(range);
    file_t *file = file_find(locks, object);
    themis_status_t status = THEMIS_OK;
    lock_t *lock, *next;

    if (!file)
        return THEMIS_OK;
    DL_FOREACH_SAFE(file->held, lock, next)
    {
        if (status == THEMIS_OK && same_owner(&lock->owner, owner) && lock->begin < end && range->offset < lock->end)
            status = lock_cut(locks, file, lock, range->offset, end);
    }
    file_grant_waiting(locks, file);
    return status;
}

/* --- sessions ----------------------------------------------------------------------------------------------------- */

static void file_end_session(themis_server_locks_t *locks, file_t *file, uint64_t session)
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
        if (lock->owner.session == session)
            lock_release(locks, file, lock);
    }
    file_grant_waiting(locks, file);
}

void themis_server_locks_end_session(themis_server_locks_t *locks, uint64_t session)
{
    file_t *file, *next;

    HASH_ITER(hh, locks->files, file, next)
    {
        file_end_session(locks, file, session);
    }
}

static int list_has_session(const lock_t *list, uint64_t session)
{
    const lock_t *lock;

    DL_SEARCH_SCALAR(list, lock, owner.session, session);
    return lock != NULL;
}

int themis_server_locks_has_session(const themis_server_locks_t *locks, uint64_t session)
{
    for (const file_t *file = locks->files; file; file = file->hh.next)
        if (list_has_session(file->held, session) || list_has_session(file->waiting, session))
            return 1;
    return 0;
}

/* --- counters ----------------------------------------------------------------------------------------------------- */

void themis_server_locks_forget(themis_server_locks_t *locks, uint64_t object)
{
    file_t *file = file_find(locks, object);

    if (!file)
        return;
    file->counted = 0;
    file->counter = 0;
    file_drop_if_empty(locks, file);
}

themis_status_t themis_server_locks_counter(themis_server_locks_t *locks, uint64_t object, int action, int64_t value,
                                            int64_t *before)
{
    file_t *file = file_get(locks, object);

    if (!file)
        return THEMIS_NO_MEMORY;
    file->counted = 1;
    if (action == THEMIS_PROTO_COUNTER_ADD && __builtin_add_overflow(file->counter, value, &value))
        return THEMIS_RANGE;
    *before = file->counter;
    if (action != THEMIS_PROTO_COUNTER_GET)
        file->counter = value;
    return THEMIS_OK;
}

void themis_server_locks_usage(const themis_server_locks_t *locks, uint64_t *held, uint64_t *waiting)
{
    *held = locks->held;
    *waiting = locks->waiting;
}
