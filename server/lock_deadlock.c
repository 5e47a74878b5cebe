/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The search for deadlocks goes from a lock that waits to the owners of those that delay it, and from an owner to its
 * locks that wait. A lock is delayed by those that are held, and by those that came before it and still wait; the first
 * are refusals' only reason, since an owner may be several threads. Each owner is looked at once.
 */
#include "server/lock_table.h"

/* A search that compares more pairs of locks than that, some hundred microseconds, finds nothing. */
enum { SEARCH_PAIRS = 100000 };

typedef struct search {
    uint64_t number;
    const themis_server_lock_holder_t *from; /* who wants the new lock */
    int behind_waiting;                      /* locks that wait delay others, too */
    themis_server_lock_holder_t *todo;       /* owners that were reached and not looked at */
    uint32_t pairs;
} search_t;

/* Reaches the owners of those locks of a list that delay `lock`, up to `lock` itself. */
static void search_list(search_t *search, const themis_server_lock_t *list, const themis_server_lock_t *lock)
{
    for (const themis_server_lock_t *other = list; other && other != lock && search->pairs < SEARCH_PAIRS;
         other = other->next) {
        search->pairs++;
        if (!themis_server_lock_conflicts(other, lock) || other->owner->search == search->number)
            continue;
        if (!other->held && other->owner == search->from)
            continue; /* a wait of another thread, which need not wait for the new lock */
        other->owner->search = search->number;
        other->owner->next = search->todo;
        search->todo = other->owner;
    }
}

static void search_from_lock(search_t *search, const themis_server_lock_t *lock)
{
    search_list(search, lock->file->held, lock);
    if (search->behind_waiting)
        search_list(search, lock->file->waiting, lock);
}

/* Reaches the owners for whose locks this one waits. */
static void search_from_owner(search_t *search, const themis_server_lock_holder_t *owner)
{
    for (const themis_server_lock_t *lock = owner->locks; lock && search->pairs < SEARCH_PAIRS;
         lock = lock->owner_next) {
        search->pairs++;
        if (!lock->held)
            search_from_lock(search, lock);
    }
}

int themis_server_lock_is_deadlock(const themis_server_lock_t *lock, int behind_waiting, uint64_t number)
{
    search_t search = {.number = number, .from = lock->owner, .behind_waiting = behind_waiting};

    if (!lock->owner->locks->owner_next)
        return 0; /* it is the only one of its owner */
    search_from_lock(&search, lock);
    while (search.todo && lock->owner->search != search.number) {
        const themis_server_lock_holder_t *owner = search.todo;
        search.todo = owner->next;
        search_from_owner(&search, owner);
    }
    return lock->owner->search == search.number;
}
