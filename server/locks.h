/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Byte-range locks of files (atomic mode; plain I/O asks for none).
 *
 * A lock belongs to an owner of a session. It is granted when no lock of another owner conflicts with it, neither one
 * that is held nor one that came before and still waits: first come, first served, so no owner starves. A wait that
 * would be a deadlock between owners that hold locks at this server is refused with THEMIS_LOCKED; the search looks at
 * each owner once and gives up after some hundred microseconds. What it cannot see, as a circle over two servers, ends
 * with expire_waits. Locks end with UNLOCK, or with their session (client_session.h, lease.h).
 *
 * Threads: the caller serialises. events are called from within lock, unlock, cancel_waits, end_session and
 * expire_waits.
 */
#pragma once
#include <stdint.h>
#include "themis/status.h"

typedef struct themis_server_locks themis_server_locks_t;

typedef struct themis_server_lock_owner {
    uint64_t session; /* its incarnation: another one when the client comes back after its session has ended */
    uint64_t owner;
} themis_server_lock_owner_t;

typedef struct themis_server_lock_range {
    uint64_t offset, length; /* length UINT64_MAX: to the end */
} themis_server_lock_range_t;

typedef struct themis_server_lock_events {
    /* A lock that had to wait is granted (THEMIS_OK), its session has ended (THEMIS_CANCELED), or it has waited too
     * long (THEMIS_LOCKED). `waiter` is what lock was given. */
    void (*granted)(void *arg, void *waiter, themis_status_t status);
    /* A session has ended that held locks of the object, before others get them. */
    void (*lost)(void *arg, uint64_t object);
} themis_server_lock_events_t;

/* `events` is borrowed. */
themis_status_t themis_server_locks_create(const themis_server_lock_events_t *events, void *arg,
                                           themis_server_locks_t **locks);
void themis_server_locks_destroy(themis_server_locks_t *locks); /* NULL is allowed; without events */

/*
 * THEMIS_OK: the owner holds the range now (also when it did before). THEMIS_LOCKED: held by another, and `waiter` is
 * NULL, or waiting would be a deadlock. THEMIS_IN_PROGRESS: `granted` will be called with `waiter`.
 */
themis_status_t themis_server_locks_lock(themis_server_locks_t *locks, uint64_t object,
                                         const themis_server_lock_range_t *range,
                                         const themis_server_lock_owner_t *owner, int exclusive, void *waiter);
/* Held and waiting: of one file and of one owner, whose lists are walked with the server's lock held; and of all. */
enum { THEMIS_SERVER_LOCKS_OF_ONE = 16384, THEMIS_SERVER_LOCKS_MAX = 1 << 20 };
/* 1: the owner gets no more locks of this file, to be asked before lock and replace. */
int themis_server_locks_are_full(themis_server_locks_t *locks, uint64_t object,
                                 const themis_server_lock_owner_t *owner);
/* As one step, in place of what the owner holds in the range, be it stronger or weaker. THEMIS_LOCKED, and nothing has
 * changed: as of lock without a waiter; but what the owner holds already it keeps, though others wait. */
themis_status_t themis_server_locks_replace(themis_server_locks_t *locks, uint64_t object,
                                            const themis_server_lock_range_t *range,
                                            const themis_server_lock_owner_t *owner, int exclusive);
/* THEMIS_LOCKED: another owner holds a lock that conflicts, or may reclaim one yet. Nothing changes. */
themis_status_t themis_server_locks_test(themis_server_locks_t *locks, uint64_t object,
                                         const themis_server_lock_range_t *range,
                                         const themis_server_lock_owner_t *owner, int exclusive);
/*
 * The grace period of a server that has held locks before it was started again: none is granted but to those who hold
 * it already, or reclaim it; others wait. end_grace, or nothing, ends it.
 */
void themis_server_locks_begin_grace(themis_server_locks_t *locks);
void themis_server_locks_end_grace(themis_server_locks_t *locks);
/* Grants a lock that its owner has held before; `is_known`: the caller knows that. THEMIS_STALE: it does not, and the
 * owner does not hold it, or another has the range. */
themis_status_t themis_server_locks_reclaim(themis_server_locks_t *locks, uint64_t object,
                                            const themis_server_lock_range_t *range,
                                            const themis_server_lock_owner_t *owner, int exclusive, int is_known);
/* Calls `each` with the session of each owner of a lock that is held or waits. */
void themis_server_locks_each_session(const themis_server_locks_t *locks, void (*each)(void *arg, uint64_t session),
                                      void *arg);

/* Releases whatever the owner holds in the range. */
themis_status_t themis_server_locks_unlock(themis_server_locks_t *locks, uint64_t object,
                                           const themis_server_lock_range_t *range,
                                           const themis_server_lock_owner_t *owner);
/* Cancels the waits of a session. */
void themis_server_locks_cancel_waits(themis_server_locks_t *locks, uint64_t session);
/* Releases all locks of a session and cancels its waits. */
void themis_server_locks_end_session(themis_server_locks_t *locks, uint64_t session);

/* 1 if the session holds a lock or waits for one. */
int themis_server_locks_has_session(const themis_server_locks_t *locks, uint64_t session);

/* Ends, with THEMIS_LOCKED, the waits of at least `longest` ns for a lock that has been held for as long; 0: none. So a
 * long queue in which every lock is released soon ends no wait. Called from time to time. */
void themis_server_locks_expire_waits(themis_server_locks_t *locks, uint64_t longest);

/* Locks held and locks waiting, over all objects. */
void themis_server_locks_usage(const themis_server_locks_t *locks, uint64_t *held, uint64_t *waiting);
