/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/accounts.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct themis_store_accounts {
    pthread_rwlock_t lock;
    themis_store_account_fn on_new;
    void *arg;
    themis_store_account_t nobody;
    size_t count, capacity;
    themis_store_account_t **list; /* [count], by user id; owned */
};

static void account_init(themis_store_account_t *account, uint32_t uid)
{
    account->uid = uid;
    account->byte_limit = account->name_limit = THEMIS_STORE_NO_LIMIT;
}

themis_status_t themis_store_accounts_create(themis_store_accounts_t **accounts)
{
    themis_store_accounts_t *made = calloc(1, sizeof *made);

    if (!made)
        return THEMIS_NO_MEMORY;
    pthread_rwlock_init(&made->lock, NULL);
    account_init(&made->nobody, THEMIS_STORE_NOBODY);
    *accounts = made;
    return THEMIS_OK;
}

void themis_store_accounts_destroy(themis_store_accounts_t *accounts)
{
    if (!accounts)
        return;
    for (size_t i = 0; i < accounts->count; i++)
        free(accounts->list[i]);
    free(accounts->list);
    pthread_rwlock_destroy(&accounts->lock);
    free(accounts);
}

void themis_store_accounts_on_new(themis_store_accounts_t *accounts, themis_store_account_fn fn, void *arg)
{
    pthread_rwlock_wrlock(&accounts->lock);
    accounts->on_new = fn;
    accounts->arg = arg;
    pthread_rwlock_unlock(&accounts->lock);
}

/* The place of the first account of a user id that is not below `uid`. With the lock. */
static size_t place_find(const themis_store_accounts_t *accounts, uint32_t uid)
{
    size_t low = 0, high = accounts->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (accounts->list[middle]->uid < uid)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

themis_store_account_t *themis_store_accounts_find(themis_store_accounts_t *accounts, uint32_t uid)
{
    if (uid == THEMIS_STORE_NOBODY)
        return &accounts->nobody;
    pthread_rwlock_rdlock(&accounts->lock);
    size_t place = place_find(accounts, uid);
    themis_store_account_t *account = place < accounts->count ? accounts->list[place] : NULL;
    pthread_rwlock_unlock(&accounts->lock);
    return account && account->uid == uid ? account : NULL;
}

/* Returns 0 if there is no room for one more. With the lock, for writing. */
static int list_grow(themis_store_accounts_t *accounts)
{
    size_t capacity = accounts->capacity ? 2 * accounts->capacity : 16;

    if (accounts->count < accounts->capacity)
        return 1;
    if (accounts->count >= THEMIS_STORE_ACCOUNTS_MAX)
        return 0;
    themis_store_account_t **grown = realloc(accounts->list, capacity * sizeof *grown);
    if (!grown)
        return 0;
    accounts->list = grown;
    accounts->capacity = capacity;
    return 1;
}

themis_store_account_t *themis_store_accounts_get(themis_store_accounts_t *accounts, uint32_t uid)
{
    themis_store_account_t *account = themis_store_accounts_find(accounts, uid);

    if (account)
        return account;
    pthread_rwlock_wrlock(&accounts->lock);
    size_t place = place_find(accounts, uid);
    if (place < accounts->count && accounts->list[place]->uid == uid) {
        account = accounts->list[place];
    } else if (list_grow(accounts) && (account = calloc(1, sizeof *account))) {
        account_init(account, uid);
        if (accounts->on_new)
            accounts->on_new(accounts->arg, account);
        memmove(accounts->list + place + 1, accounts->list + place, (accounts->count - place) * sizeof *accounts->list);
        accounts->list[place] = account;
        accounts->count++;
    }
    pthread_rwlock_unlock(&accounts->lock);
    return account ? account : &accounts->nobody;
}

size_t themis_store_accounts_list(themis_store_accounts_t *accounts, uint32_t uid, themis_store_account_t **list,
                                  size_t capacity)
{
    size_t count = 0;

    pthread_rwlock_rdlock(&accounts->lock);
    for (size_t i = place_find(accounts, uid); i < accounts->count && count < capacity; i++)
        list[count++] = accounts->list[i];
    pthread_rwlock_unlock(&accounts->lock);
    if (count < capacity)
        list[count++] = &accounts->nobody;
    return count;
}

int themis_store_account_has_room(const themis_store_account_t *account, uint64_t bytes)
{
    int64_t limit = account ? account->byte_limit : THEMIS_STORE_NO_LIMIT;

    return limit == THEMIS_STORE_NO_LIMIT ||
           (account->bytes <= limit && bytes <= (uint64_t)limit && (int64_t)bytes <= limit - account->bytes);
}

int themis_store_account_add_limited(themis_store_account_t *account, int64_t bytes)
{
    if (!account)
        return 1;
    int64_t limit = atomic_load_explicit(&account->byte_limit, memory_order_relaxed);
    if (limit == THEMIS_STORE_NO_LIMIT) {
        themis_store_account_add(account, bytes);
        return 1;
    }
    int64_t now = atomic_load_explicit(&account->bytes, memory_order_relaxed);
    do {
        if (now > limit || bytes > limit - now)
            return 0;
    } while (!atomic_compare_exchange_weak_explicit(&account->bytes, &now, now + bytes, memory_order_relaxed,
                                                    memory_order_relaxed));
    return 1;
}
