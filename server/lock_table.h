/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside of locks.h. Per object two lists: locks that are held, by offset, and locks that wait, in order of arrival.
 * Lists, since a file has about as many locks as it has ranks, and each is held for one access. Each lock is in its
 * owner's list, too, which the search for deadlocks follows.
 */
#pragma once
#include <uthash.h>
#include "server/locks.h"

typedef struct themis_server_lock {
    uint64_t begin, end; /* end UINT64_MAX: to the end of the file */
    struct themis_server_lock_holder *owner;
    struct themis_server_lock_file *file;
    int exclusive, held;
    uint64_t since; /* ns; when it was granted, or came and had to wait */
    void *waiter;
    struct themis_server_lock *next, *prev;             /* in the file's list */
    struct themis_server_lock *owner_next, *owner_prev; /* in the owner's */
} themis_server_lock_t;

/* Whoever has locks, held or waiting. */
typedef struct themis_server_lock_holder {
    themis_server_lock_owner_t key;
    themis_server_lock_t *locks;
    uint32_t count;                         /* of them */
    uint64_t search;                        /* the last search for a deadlock that came by here */
    struct themis_server_lock_holder *next; /* in that search's list of owners still to be looked at */
    UT_hash_handle hh;
} themis_server_lock_holder_t;

typedef struct themis_server_lock_file {
    uint64_t object;
    themis_server_lock_t *held, *waiting;
    uint32_t count; /* of both */
    UT_hash_handle hh;
} themis_server_lock_file_t;

struct themis_server_locks {
    const themis_server_lock_events_t *events;
    void *arg;
    themis_server_lock_file_t *files;
    themis_server_lock_holder_t *owners;
    uint64_t held, waiting;
    uint64_t searches; /* for deadlocks, so far */
    int grace;         /* 1: only who has held a lock before gets it */
};

/* NULL: the object has no locks. */
themis_server_lock_file_t *themis_server_lock_table_find(themis_server_locks_t *locks, uint64_t object);
/* Forgets a file without locks. */
void themis_server_lock_table_drop_if_empty(themis_server_locks_t *locks, themis_server_lock_file_t *file);

/* Makes a lock, in its owner's list and in none of the file's yet; NULL when memory is short. */
themis_server_lock_t *themis_server_lock_table_add(themis_server_locks_t *locks, uint64_t object,
                                                   const themis_server_lock_owner_t *key);
/* Frees a lock that is in none of the file's lists. The file stays, even if it is empty now. */
void themis_server_lock_table_remove(themis_server_locks_t *locks, themis_server_lock_t *lock);

static inline int themis_server_lock_conflicts(const themis_server_lock_t *a, const themis_server_lock_t *b)
{
    return a->begin < b->end && b->begin < a->end && (a->exclusive || b->exclusive) && a->owner != b->owner;
}

/* Would `lock`, which is new and in no list of its file, wait in the end for a lock that its owner holds?
 * `behind_waiting`: also by locks that wait before others. `search` is above that of all searches before. */
int themis_server_lock_is_deadlock(const themis_server_lock_t *lock, int behind_waiting, uint64_t search);
