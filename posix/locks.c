/* SPDX-License-Identifier: BSD-3-Clause */
#include "posix/locks.h"
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/file.h>
#include <time.h>
#include <utlist.h>
#include "client/file.h"
#include "posix/claim.h"
#include "posix/error.h"
#include "util/clock.h"

static const uint64_t shortest_wait = THEMIS_NS_PER_MS, longest_wait = 20 * THEMIS_NS_PER_MS;

/* In the list of its node as long as it may hold something; the node's `locking` guards the list and references. */
typedef struct themis_posix_lock_owner {
    struct themis_posix_lock_owner *prev, *next;
    themis_posix_lock_kind_t kind;
    uint64_t owner;
    themis_file_t *file; /* owned */
    int writable;
    unsigned references; /* one of the list */
} lock_owner_t;

/* --- owners ------------------------------------------------------------------------------------------------------- */

static lock_owner_t *owner_find(const themis_posix_node_t *node, themis_posix_lock_kind_t kind, uint64_t number)
{
    lock_owner_t *owner;

    DL_FOREACH(node->lock_owners, owner)
    {
        if (owner->kind == kind && owner->owner == number)
            return owner;
    }
    return NULL;
}

/* Opens the file again; for writing, where the user may. */
static int handle_open(themis_posix_t *filesystem, const themis_posix_caller_t *caller, themis_posix_node_t *node,
                       lock_owner_t *owner)
{
    themis_posix_claim_t claim;
    int error = themis_posix_claim_node(filesystem, caller, node, THEMIS_POSIX_SHARED, &claim);

    if (error)
        return error == ESTALE ? ENOLCK : error;
    themis_status_t status =
        themis_open(filesystem->session, claim.path, THEMIS_OPEN_READ | THEMIS_OPEN_WRITE, 0, NULL, &owner->file);
    owner->writable = status == THEMIS_OK;
    if (status == THEMIS_ACCESS)
        status = themis_open(filesystem->session, claim.path, THEMIS_OPEN_READ, 0, NULL, &owner->file);
    if (status == THEMIS_ACCESS)
        status = themis_open(filesystem->session, claim.path, THEMIS_OPEN_WRITE, 0, NULL, &owner->file);
    themis_posix_unclaim(filesystem, &claim, 1);
    if (status != THEMIS_OK)
        return themis_posix_error(status);
    if (node->object && owner->file->attr.id != node->object) { /* another client has put another file here */
        themis_close(owner->file);
        return ENOLCK;
    }
    return 0;
}

/* With `locking` held. */
static void owner_release(lock_owner_t *owner)
{
    if (--owner->references > 0)
        return;
    themis_close(owner->file); /* with its locks */
    free(owner);
}

/* *result: with a reference. */
static int owner_get(themis_posix_t *filesystem, const themis_posix_caller_t *caller, themis_posix_node_t *node,
                     themis_posix_lock_kind_t kind, uint64_t number, lock_owner_t **result)
{
    int error = 0;

    pthread_mutex_lock(&node->locking);
    lock_owner_t *owner = owner_find(node, kind, number);
    if (!owner && (owner = calloc(1, sizeof *owner))) {
        *owner = (lock_owner_t){.kind = kind, .owner = number, .references = 1};
        error = handle_open(filesystem, caller, node, owner);
        if (error) {
            free(owner);
            owner = NULL;
        } else {
            DL_APPEND(node->lock_owners, owner);
        }
    } else if (!owner) {
        error = ENOMEM;
    }
    if (owner)
        owner->references++;
    pthread_mutex_unlock(&node->locking);
    *result = owner;
    return error;
}

static void owner_put(themis_posix_node_t *node, lock_owner_t *owner)
{
    pthread_mutex_lock(&node->locking);
    owner_release(owner);
    pthread_mutex_unlock(&node->locking);
}

void themis_posix_locks_release(themis_posix_node_t *node, themis_posix_lock_kind_t kind, uint64_t number)
{
    pthread_mutex_lock(&node->locking);
    lock_owner_t *owner = owner_find(node, kind, number);
    if (owner) {
        if (owner->references > 1) /* another thread of it waits for more; else closing does */
            themis_unlock(owner->file, 0, UINT64_MAX);
        DL_DELETE(node->lock_owners, owner);
        owner_release(owner);
    }
    pthread_mutex_unlock(&node->locking);
}

void themis_posix_locks_free(themis_posix_node_t *node)
{
    lock_owner_t *owner, *next;

    DL_FOREACH_SAFE(node->lock_owners, owner, next)
    {
        themis_close(owner->file);
        free(owner);
    }
    node->lock_owners = NULL;
}

/* --- locking ------------------------------------------------------------------------------------------------------ */

static int lock_error(lock_owner_t *owner, themis_status_t status)
{
    if (status == THEMIS_STALE) { /* they were lost: so that the next ones can be had */
        themis_unlock(owner->file, 0, UINT64_MAX);
        return EIO;
    }
    return themis_posix_error(status);
}

static void nap(uint64_t *wait)
{
    const struct timespec time = {.tv_nsec = (long)*wait};

    nanosleep(&time, NULL);
    *wait = *wait * 2 > longest_wait ? longest_wait : *wait * 2;
}

static int lock_take(lock_owner_t *owner, const themis_posix_caller_t *caller, uint64_t offset, uint64_t length,
                     int exclusive, int wait)
{
    const int flags = THEMIS_LOCK_TRY | THEMIS_LOCK_REPLACE | (exclusive ? THEMIS_LOCK_EXCLUSIVE : 0);
    uint64_t pause = shortest_wait;
    themis_status_t status;

    if (exclusive && !owner->writable)
        return EBADF;
    while ((status = themis_lock(owner->file, offset, length, flags)) == THEMIS_LOCKED && wait) {
        if (atomic_load(&caller->abandoned))
            return EINTR;
        nap(&pause);
    }
    if (status == THEMIS_OK && atomic_load(&caller->abandoned)) { /* nobody knows of it */
        themis_unlock(owner->file, offset, length);
        return EINTR;
    }
    return lock_error(owner, status);
}

/* Of a lock of fcntl. */
static int range_of(const struct flock *lock, uint64_t *offset, uint64_t *length)
{
    if (lock->l_start < 0 || lock->l_len < 0)
        return EINVAL;
    *offset = (uint64_t)lock->l_start;
    if (*offset >= THEMIS_POSIX_LOCKS_END)
        return EOVERFLOW;
    *length = lock->l_len == 0 || (uint64_t)lock->l_len > THEMIS_POSIX_LOCKS_END - *offset
                  ? THEMIS_POSIX_LOCKS_END - *offset
                  : (uint64_t)lock->l_len;
    return 0;
}

static int has_owner(themis_posix_node_t *node, themis_posix_lock_kind_t kind, uint64_t number)
{
    pthread_mutex_lock(&node->locking);
    const int has = owner_find(node, kind, number) != NULL;
    pthread_mutex_unlock(&node->locking);
    return has;
}

int themis_posix_lock_set(themis_posix_file_t *file, const themis_posix_caller_t *caller, uint64_t number,
                          const struct flock *lock, int wait)
{
    lock_owner_t *owner;
    uint64_t offset, length;
    int error = range_of(lock, &offset, &length);

    if (error || (lock->l_type == F_UNLCK && !has_owner(file->node, THEMIS_POSIX_LOCK_RANGES, number)))
        return error;
    error = owner_get(file->filesystem, caller, file->node, THEMIS_POSIX_LOCK_RANGES, number, &owner);
    if (error)
        return error;
    if (lock->l_type == F_UNLCK)
        error = lock_error(owner, themis_unlock(owner->file, offset, length));
    else
        error = lock_take(owner, caller, offset, length, lock->l_type == F_WRLCK, wait);
    owner_put(file->node, owner);
    return error;
}

/* A lock that keeps readers out is exclusive. */
themis_status_t themis_posix_lock_probe(themis_file_t *file, uint64_t offset, uint64_t length, short *type)
{
    const int shared = THEMIS_LOCK_TRY | THEMIS_LOCK_TEST, exclusive = *type == F_WRLCK ? THEMIS_LOCK_EXCLUSIVE : 0;
    const themis_status_t status = themis_lock(file, offset, length, shared | exclusive);

    if (status == THEMIS_OK)
        *type = F_UNLCK;
    else if (status == THEMIS_LOCKED)
        *type = exclusive && themis_lock(file, offset, length, shared) == THEMIS_OK ? F_RDLCK : F_WRLCK;
    return status == THEMIS_LOCKED ? THEMIS_OK : status;
}

int themis_posix_lock_get(themis_posix_file_t *file, const themis_posix_caller_t *caller, uint64_t number,
                          struct flock *lock)
{
    lock_owner_t *owner;
    uint64_t offset, length;
    int error = range_of(lock, &offset, &length);

    if (!error)
        error = owner_get(file->filesystem, caller, file->node, THEMIS_POSIX_LOCK_RANGES, number, &owner);
    if (error)
        return error;
    error = lock_error(owner, themis_posix_lock_probe(owner->file, offset, length, &lock->l_type));
    if (!error && lock->l_type != F_UNLCK)
        lock->l_pid = 0;
    owner_put(file->node, owner);
    return error;
}

int themis_posix_lock_file(themis_posix_file_t *file, const themis_posix_caller_t *caller, uint64_t number,
                           int operation)
{
    const int kind = operation & ~LOCK_NB;
    lock_owner_t *owner;

    if (kind == LOCK_UN) {
        themis_posix_locks_release(file->node, THEMIS_POSIX_LOCK_FILE, number);
        return 0;
    }
    if (kind != LOCK_SH && kind != LOCK_EX)
        return EINVAL;
    int error = owner_get(file->filesystem, caller, file->node, THEMIS_POSIX_LOCK_FILE, number, &owner);
    if (error)
        return error;
    error = lock_take(owner, caller, THEMIS_POSIX_LOCKS_FLOCK_BYTE, 1, kind == LOCK_EX, !(operation & LOCK_NB));
    owner_put(file->node, owner);
    return error;
}
