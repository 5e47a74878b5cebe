/* SPDX-License-Identifier: BSD-3-Clause */
#define HASH_NONFATAL_OOM 1
#include "server/lock_table.h"
#include <stdlib.h>
#include <utlist.h>

typedef themis_server_lock_t lock_t;
typedef themis_server_lock_holder_t owner_t;
typedef themis_server_lock_file_t file_t;

/* --- files -------------------------------------------------------------------------------------------------------- */

file_t *themis_server_lock_table_find(themis_server_locks_t *locks, uint64_t object)
{
    file_t *file;

    HASH_FIND(hh, locks->files, &object, sizeof object, file);
    return file;
}

/* Finds it or makes it; NULL when memory is short. */
static file_t *file_get(themis_server_locks_t *locks, uint64_t object)
{
    file_t *file = themis_server_lock_table_find(locks, object);

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

void themis_server_lock_table_drop_if_empty(themis_server_locks_t *locks, file_t *file)
{
    if (file->held || file->waiting)
        return;
    HASH_DELETE(hh, locks->files, file);
    free(file);
}

/* --- owners and their locks --------------------------------------------------------------------------------------- */

/* Finds it or makes it; NULL when memory is short. */
static owner_t *owner_get(themis_server_locks_t *locks, const themis_server_lock_owner_t *key)
{
    owner_t *owner;

    HASH_FIND(hh, locks->owners, key, sizeof *key, owner);
    if (owner)
        return owner;
    owner = calloc(1, sizeof *owner);
    if (!owner)
        return NULL;
    owner->key = *key;
    HASH_ADD(hh, locks->owners, key, sizeof owner->key, owner);
    if (owner->hh.tbl)
        return owner;
    free(owner);
    return NULL;
}

static void owner_drop_if_empty(themis_server_locks_t *locks, owner_t *owner)
{
    if (owner->locks)
        return;
    HASH_DELETE(hh, locks->owners, owner);
    free(owner);
}

lock_t *themis_server_lock_table_add(themis_server_locks_t *locks, uint64_t object,
                                     const themis_server_lock_owner_t *key)
{
    file_t *file = file_get(locks, object);
    owner_t *owner = file ? owner_get(locks, key) : NULL;
    lock_t *lock = owner ? calloc(1, sizeof *lock) : NULL;

    if (lock) {
        lock->file = file;
        lock->owner = owner;
        DL_APPEND2(owner->locks, lock, owner_prev, owner_next);
        owner->count++;
        file->count++;
    } else if (owner) {
        owner_drop_if_empty(locks, owner);
    }
    if (!lock && file)
        themis_server_lock_table_drop_if_empty(locks, file);
    return lock;
}

void themis_server_lock_table_remove(themis_server_locks_t *locks, lock_t *lock)
{
    DL_DELETE2(lock->owner->locks, lock, owner_prev, owner_next);
    lock->owner->count--;
    lock->file->count--;
    owner_drop_if_empty(locks, lock->owner);
    free(lock);
}
