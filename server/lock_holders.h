/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which sessions hold locks, as far as that outlives the server, and the grace period after a start.
 *
 * The locks themselves are not written: their holders know them. Before a session gets its first lock, the database of
 * names has a record of it, which is removed some time after its last lock has ended. A server that finds such records
 * when it starts grants no locks but to those sessions, which reclaim theirs when they come back (LOCK with `reclaim`).
 * The grace period ends when all have come back and have reclaimed as many locks as their HELLO tells, or after a
 * lease; what was not reclaimed by then is lost. A record has the incarnation of the session, so that one whose locks
 * were lost while it was away reclaims nothing later.
 *
 * Threads: the caller serialises (the server's mutex), but for what is noted.
 */
#pragma once
#include <stdint.h>
#include "server/locks.h"
#include "server/name_db.h"
#include "themis/status.h"

typedef struct themis_server_lock_holders themis_server_lock_holders_t;

/* Reads what `db` has (NULL: nothing is kept). If there were holders, the grace period of `locks` begins, and ends at
 * `until` (ns). All are borrowed. */
themis_status_t themis_server_lock_holders_create(themis_server_name_db_t *db, themis_server_locks_t *locks,
                                                  uint64_t until, themis_server_lock_holders_t **holders);
void themis_server_lock_holders_destroy(themis_server_lock_holders_t *holders); /* NULL is allowed */

/* A session is about to get a lock: it has a record when this returns. `end` when it has got it or not; it may then
 * hold the lock, or wait for it. Both without the lock. */
themis_status_t themis_server_lock_holders_begin(themis_server_lock_holders_t *holders, uint64_t session,
                                                 uint64_t incarnation);
void themis_server_lock_holders_end(themis_server_lock_holders_t *holders, uint64_t incarnation);

/* A session of an earlier process has come back, and knows of so many locks; 0 also if it will not come back. */
void themis_server_lock_holders_return(themis_server_lock_holders_t *holders, uint64_t session, uint32_t locks);
/* Has it held locks that were granted to that incarnation? */
int themis_server_lock_holders_may_reclaim(const themis_server_lock_holders_t *holders, uint64_t session,
                                           uint64_t incarnation);
/* 1: it is to reclaim locks still. */
int themis_server_lock_holders_owes(const themis_server_lock_holders_t *holders, uint64_t session);
/* It has reclaimed one. */
void themis_server_lock_holders_reclaimed(themis_server_lock_holders_t *holders, uint64_t session);
/* Ends the grace period if it is time, and looks for sessions without locks. Returns 1 if records are to be removed,
 * which erase does. */
int themis_server_lock_holders_tick(themis_server_lock_holders_t *holders, uint64_t now);
/* Without the lock. */
void themis_server_lock_holders_erase(themis_server_lock_holders_t *holders);
