/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Accounts: what each user has on this server, bytes of the store and names, and how much that may become.
 *
 * An account exists from the first time that somebody asks for it until the end of the table. It is changed by whoever
 * changes what it counts: stores (bytes) and the database of names (names). The limits are for this server alone; who
 * sets them knows what the user has elsewhere (server/quota.h). What is freed is always counted, what is added is
 * refused only where a limit says so, and that costs users without limits one load and one comparison.
 *
 * Threads: all functions may be called from any thread.
 */
#pragma once
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include "themis/status.h"

/* As many users have accounts of their own; what others have counts as nobody's. */
enum { THEMIS_STORE_ACCOUNTS_MAX = 1 << 16 };
/* The user id of the account of what belongs to nobody that is known; it never has limits. */
#define THEMIS_STORE_NOBODY UINT32_MAX
#define THEMIS_STORE_NO_LIMIT INT64_MAX

typedef struct themis_store_account {
    uint32_t uid;
    _Atomic int64_t bytes, names;
    _Atomic int64_t byte_limit, name_limit; /* nothing is added that would exceed them */
    int64_t other_bytes, other_names;       /* on other servers; of who sets the limits */
} themis_store_account_t;

typedef struct themis_store_accounts themis_store_accounts_t;

themis_status_t themis_store_accounts_create(themis_store_accounts_t **accounts);
void themis_store_accounts_destroy(themis_store_accounts_t *accounts); /* NULL is allowed */

/* Called for each account when it is made, before anybody else has it; it must not ask for accounts. */
typedef void (*themis_store_account_fn)(void *arg, themis_store_account_t *account);
void themis_store_accounts_on_new(themis_store_accounts_t *accounts, themis_store_account_fn fn, void *arg);

/* The account of a user, which is made if there is none; that of nobody if there are too many, or no memory. */
themis_store_account_t *themis_store_accounts_get(themis_store_accounts_t *accounts, uint32_t uid);
/* NULL: there is none. */
themis_store_account_t *themis_store_accounts_find(themis_store_accounts_t *accounts, uint32_t uid);
/* Accounts of users from `uid` on, by user id, at most `capacity`; returns how many. That of nobody is the last one. */
size_t themis_store_accounts_list(themis_store_accounts_t *accounts, uint32_t uid, themis_store_account_t **list,
                                  size_t capacity);

/* Adds bytes, which may be fewer than none. NULL: nothing is counted. */
static inline void themis_store_account_add(themis_store_account_t *account, int64_t bytes)
{
    if (account)
        atomic_fetch_add_explicit(&account->bytes, bytes, memory_order_relaxed);
}

/* Adds bytes unless the limit would be exceeded; returns 0 then, and nothing was added. */
int themis_store_account_add_limited(themis_store_account_t *account, int64_t bytes);

/* 1: no limit says that the user may not have so many more bytes now. */
int themis_store_account_has_room(const themis_store_account_t *account, uint64_t bytes);

/* 1: the user has a limit of bytes, and has reached it. */
static inline int themis_store_account_is_full(themis_store_account_t *account)
{
    int64_t limit = account ? atomic_load_explicit(&account->byte_limit, memory_order_relaxed) : THEMIS_STORE_NO_LIMIT;

    return limit != THEMIS_STORE_NO_LIMIT && atomic_load_explicit(&account->bytes, memory_order_relaxed) >= limit;
}
