/* SPDX-License-Identifier: BSD-3-Clause */
/* Records: 'L' session (8 bytes) its incarnation (8), little-endian -> nothing. */
#include "server/lock_holders.h"
#include <endian.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include "util/log.h"

enum { KEY_BYTES = 17, INCARNATIONS = 4 };
#define UNKNOWN UINT32_MAX

/* A session of this process with a record. */
typedef struct holder {
    uint64_t incarnation, session;
    uint32_t users; /* that are about to take a lock */
    int idle;       /* 1: it had no lock when that was looked at */
    int seen;       /* while it is looked at */
    UT_hash_handle hh;
} holder_t;

/* A session of earlier processes that held locks; of more than a few restarts without a lease between them the first
 * are forgotten, and their locks are lost. */
typedef struct awaited {
    uint64_t session, incarnations[INCARNATIONS];
    uint32_t count;
    uint32_t locks; /* to be reclaimed; UNKNOWN: it has not come back */
    struct awaited *next;
    UT_hash_handle hh;
} awaited_t;

struct themis_server_lock_holders {
    themis_server_name_db_t *db;
    themis_server_locks_t *locks;
    pthread_mutex_t lock; /* of the next one; held while records are written, so that they keep their order */
    holder_t *holders;
    /* by the server's lock */
    awaited_t *awaited;
    int is_grace;
    uint64_t until;               /* ns */
    _Atomic(awaited_t *) settled; /* list: no longer awaited; their records are to be removed */
};

typedef struct holder_record {
    uint8_t key[KEY_BYTES];
    themis_server_name_db_record_t record;
} holder_record_t;

static const themis_server_name_db_record_t *record_make(uint64_t session, uint64_t incarnation, int present,
                                                         holder_record_t *made)
{
    uint64_t words[2] = {htole64(session), htole64(incarnation)};

    made->key[0] = THEMIS_SERVER_NAME_DB_LOCKING;
    memcpy(made->key + 1, words, sizeof words);
    made->record = (themis_server_name_db_record_t){
        .key = made->key, .key_length = KEY_BYTES, .value = present ? "" : NULL, .value_length = 0};
    return &made->record;
}

/* --- creation ----------------------------------------------------------------------------------------------------- */

static awaited_t *awaited_find(const themis_server_lock_holders_t *holders, uint64_t session)
{
    awaited_t *awaited;

    HASH_FIND(hh, holders->awaited, &session, sizeof session, awaited);
    return awaited;
}

/* NULL when memory is short. */
static awaited_t *awaited_make(themis_server_lock_holders_t *holders, uint64_t session)
{
    awaited_t *awaited = calloc(1, sizeof *awaited);

    if (!awaited)
        return NULL;
    awaited->session = session;
    awaited->locks = UNKNOWN;
    HASH_ADD(hh, holders->awaited, session, sizeof awaited->session, awaited);
    if (awaited->hh.tbl)
        return awaited;
    free(awaited);
    return NULL;
}

static themis_status_t record_load(void *arg, const themis_server_name_db_record_t *record)
{
    themis_server_lock_holders_t *holders = arg;
    uint64_t words[2];

    if (record->key_length != KEY_BYTES)
        return THEMIS_CORRUPT;
    memcpy(words, (const uint8_t *)record->key + 1, sizeof words);
    awaited_t *awaited = awaited_find(holders, le64toh(words[0]));
    if (!awaited)
        awaited = awaited_make(holders, le64toh(words[0]));
    if (!awaited)
        return THEMIS_NO_MEMORY;
    awaited->incarnations[awaited->count++ % INCARNATIONS] = le64toh(words[1]);
    return THEMIS_OK;
}

themis_status_t themis_server_lock_holders_create(themis_server_name_db_t *db, themis_server_locks_t *locks,
                                                  uint64_t until, themis_server_lock_holders_t **holders)
{
    static const char prefix = THEMIS_SERVER_NAME_DB_LOCKING;
    themis_server_lock_holders_t *made = calloc(1, sizeof *made);

    if (!made)
        return THEMIS_NO_MEMORY;
    made->db = db;
    made->locks = locks;
    made->until = until;
    pthread_mutex_init(&made->lock, NULL);
    themis_status_t status = db ? themis_server_name_db_scan(db, &prefix, 1, record_load, made) : THEMIS_OK;
    if (status != THEMIS_OK) {
        themis_error("the sessions that held locks cannot be read: %s", themis_status_string(status));
        themis_server_lock_holders_destroy(made);
        return status;
    }
    made->is_grace = made->awaited != NULL;
    if (made->is_grace) {
        themis_info("%u sessions may have held locks: no others are granted until they have reclaimed theirs",
                    HASH_COUNT(made->awaited));
        themis_server_locks_begin_grace(locks);
    }
    *holders = made;
    return THEMIS_OK;
}

/* It is awaited no longer. */
static void awaited_settle(themis_server_lock_holders_t *holders, awaited_t *awaited)
{
    HASH_DELETE(hh, holders->awaited, awaited);
    awaited->next = holders->settled;
    while (!atomic_compare_exchange_weak(&holders->settled, &awaited->next, awaited))
        ;
}

static void settled_free(awaited_t *settled)
{
    for (awaited_t *next; settled; settled = next) {
        next = settled->next;
        free(settled);
    }
}

static void holder_remove(themis_server_lock_holders_t *holders, holder_t *holder)
{
    HASH_DELETE(hh, holders->holders, holder);
    free(holder);
}

void themis_server_lock_holders_destroy(themis_server_lock_holders_t *holders)
{
    if (!holders)
        return;
    while (holders->awaited)
        awaited_settle(holders, holders->awaited);
    settled_free(holders->settled);
    while (holders->holders)
        holder_remove(holders, holders->holders);
    pthread_mutex_destroy(&holders->lock);
    free(holders);
}

/* --- records ------------------------------------------------------------------------------------------------------ */

static holder_t *holder_find(const themis_server_lock_holders_t *holders, uint64_t incarnation)
{
    holder_t *holder;

    HASH_FIND(hh, holders->holders, &incarnation, sizeof incarnation, holder);
    return holder;
}

/* NULL when memory is short. */
static holder_t *holder_make(themis_server_lock_holders_t *holders, uint64_t session, uint64_t incarnation)
{
    holder_t *holder = calloc(1, sizeof *holder);

    if (!holder)
        return NULL;
    holder->session = session;
    holder->incarnation = incarnation;
    HASH_ADD(hh, holders->holders, incarnation, sizeof holder->incarnation, holder);
    if (holder->hh.tbl)
        return holder;
    free(holder);
    return NULL;
}

themis_status_t themis_server_lock_holders_begin(themis_server_lock_holders_t *holders, uint64_t session,
                                                 uint64_t incarnation)
{
    themis_status_t status = THEMIS_OK;
    holder_record_t made;

    if (!holders->db)
        return THEMIS_OK;
    pthread_mutex_lock(&holders->lock);
    holder_t *holder = holder_find(holders, incarnation);
    if (!holder) {
        holder = holder_make(holders, session, incarnation);
        status = holder ? themis_server_name_db_write(holders->db, record_make(session, incarnation, 1, &made))
                        : THEMIS_NO_MEMORY;
    }
    if (status == THEMIS_OK) {
        holder->users++;
        holder->idle = 0;
    } else if (holder) {
        holder_remove(holders, holder);
    }
    pthread_mutex_unlock(&holders->lock);
    return status;
}

void themis_server_lock_holders_end(themis_server_lock_holders_t *holders, uint64_t incarnation)
{
    if (!holders->db)
        return;
    pthread_mutex_lock(&holders->lock);
    holder_t *holder = holder_find(holders, incarnation);
    if (holder)
        holder->users--;
    pthread_mutex_unlock(&holders->lock);
}

/* --- the grace period --------------------------------------------------------------------------------------------- */

static void grace_end(themis_server_lock_holders_t *holders)
{
    holders->is_grace = 0;
    themis_info("the grace period for locks has ended");
    themis_server_locks_end_grace(holders->locks);
}

/* The session has reclaimed what it held. */
static void awaited_end(themis_server_lock_holders_t *holders, awaited_t *awaited)
{
    awaited_settle(holders, awaited);
    if (!holders->awaited)
        grace_end(holders);
}

void themis_server_lock_holders_return(themis_server_lock_holders_t *holders, uint64_t session, uint32_t locks)
{
    awaited_t *awaited = awaited_find(holders, session);

    if (awaited && locks)
        awaited->locks = locks;
    else if (awaited)
        awaited_end(holders, awaited);
}

int themis_server_lock_holders_may_reclaim(const themis_server_lock_holders_t *holders, uint64_t session,
                                           uint64_t incarnation)
{
    const awaited_t *awaited = awaited_find(holders, session);

    for (uint32_t i = 0; awaited && i < INCARNATIONS && i < awaited->count; i++)
        if (awaited->incarnations[i] == incarnation)
            return 1;
    return 0;
}

int themis_server_lock_holders_owes(const themis_server_lock_holders_t *holders, uint64_t session)
{
    return awaited_find(holders, session) != NULL;
}

void themis_server_lock_holders_reclaimed(themis_server_lock_holders_t *holders, uint64_t session)
{
    awaited_t *awaited = awaited_find(holders, session);

    if (awaited && awaited->locks != UNKNOWN && --awaited->locks == 0)
        awaited_end(holders, awaited);
}

/* --- records that are no longer needed ---------------------------------------------------------------------------- */

static void holder_see(void *arg, uint64_t incarnation)
{
    holder_t *holder = holder_find(arg, incarnation);

    if (holder)
        holder->seen = 1;
}

/* With holders->lock. Returns 1 if any is idle. */
static int idle_mark(themis_server_lock_holders_t *holders)
{
    int any = 0;

    for (holder_t *holder = holders->holders; holder; holder = holder->hh.next)
        holder->seen = 0;
    themis_server_locks_each_session(holders->locks, holder_see, holders);
    for (holder_t *holder = holders->holders; holder; holder = holder->hh.next) {
        holder->idle = !holder->seen && !holder->users;
        any |= holder->idle;
    }
    return any;
}

int themis_server_lock_holders_tick(themis_server_lock_holders_t *holders, uint64_t now)
{
    int any = 0;

    if (holders->is_grace && now >= holders->until) {
        while (holders->awaited)
            awaited_settle(holders, holders->awaited);
        grace_end(holders);
    }
    /* while a record is written the server's lock is not held up */
    if (holders->db && pthread_mutex_trylock(&holders->lock) == 0) {
        any = idle_mark(holders);
        pthread_mutex_unlock(&holders->lock);
    }
    return any || holders->settled;
}

static void record_remove(themis_server_lock_holders_t *holders, uint64_t session, uint64_t incarnation)
{
    holder_record_t made;

    /* one that stays only makes the next grace period longer */
    themis_server_name_db_write(holders->db, record_make(session, incarnation, 0, &made));
}

static void settled_erase(themis_server_lock_holders_t *holders)
{
    awaited_t *settled = atomic_exchange(&holders->settled, NULL);

    for (const awaited_t *at = settled; at; at = at->next)
        for (uint32_t i = 0; i < INCARNATIONS && i < at->count; i++)
            record_remove(holders, at->session, at->incarnations[i]);
    settled_free(settled);
}

void themis_server_lock_holders_erase(themis_server_lock_holders_t *holders)
{
    holder_t *holder, *next;

    pthread_mutex_lock(&holders->lock);
    settled_erase(holders);
    HASH_ITER(hh, holders->holders, holder, next)
    {
        if (!holder->idle || holder->users)
            continue;
        record_remove(holders, holder->session, holder->incarnation);
        holder_remove(holders, holder);
    }
    pthread_mutex_unlock(&holders->lock);
}
