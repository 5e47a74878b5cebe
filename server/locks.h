/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Byte-range locks and counters of files (atomic mode and the shared file pointer; plain I/O asks for neither).
 *
 * A lock belongs to an owner of a session. It is granted when no lock of another owner conflicts with it, neither one
 * that is held nor one that came before and still waits: first come, first served, so no owner starves. A wait that
 * would be a deadlock between owners at this server is refused with THEMIS_LOCKED. Locks end with UNLOCK, or with their
 * session (client_session.h, lease.h).
 *
 * Threads: the caller serialises. `granted` is called from within lock, unlock and end_session.
 */
#ifndef THEMIS_SERVER_LOCKS_H
#define THEMIS_SERVER_LOCKS_H
#include <stdint.h>
#include "themis/status.h"

typedef struct themis_server_locks themis_server_locks_t;

typedef struct themis_server_lock_owner {
    uint64_t session, owner;
} themis_server_lock_owner_t;

typedef struct themis_server_lock_range {
    uint64_t offset, length; /* length UINT64_MAX: to the end */
} themis_server_lock_range_t;

/* A lock that had to wait is granted (THEMIS_OK), or its session has ended (THEMIS_CANCELED). `waiter` is what lock was
 * given. */
typedef void (*themis_server_lock_granted_fn)(void *arg, void *waiter, themis_status_t status);

themis_status_t themis_server_locks_create(themis_server_lock_granted_fn granted, void *arg,
                                           themis_server_locks_t **locks);
void themis_server_locks_destroy(themis_server_locks_t *locks); /* NULL is allowed; `granted` is not called */

/*
 * THEMIS_OK: the owner holds the range now (also when it did before). THEMIS_LOCKED: held by another, and `waiter` is
 * NULL, or waiting would be a deadlock. THEMIS_IN_PROGRESS: `granted` will be called with `waiter`.
 */
themis_status_t themis_server_locks_lock(themis_server_locks_t *locks, uint64_t object,
                                         const themis_server_lock_range_t *range,
                                         const themis_server_lock_owner_t *owner, int exclusive, void *waiter);
/* Releases whatever the owner holds in the range. */
themis_status_t themis_server_locks_unlock(themis_server_locks_t *locks, uint64_t object,
                                           const themis_server_lock_range_t *range,
                                           const themis_server_lock_owner_t *owner);
/* Releases all locks of a session and cancels its waits. */
void themis_server_locks_end_session(themis_server_locks_t *locks, uint64_t session);

/* 1 if the session holds a lock or waits for one. */
int themis_server_locks_has_session(const themis_server_locks_t *locks, uint64_t session);

/* The object was removed: forgets its counter. */
void themis_server_locks_forget(themis_server_locks_t *locks, uint64_t object);

/* THEMIS_PROTO_COUNTER_*; *before is the value before the action. A counter starts at 0. */
themis_status_t themis_server_locks_counter(themis_server_locks_t *locks, uint64_t object, int action, int64_t value,
                                            int64_t *before);

/* Locks held and locks waiting, over all objects. */
void themis_server_locks_usage(const themis_server_locks_t *locks, uint64_t *held, uint64_t *waiting);
#endif
