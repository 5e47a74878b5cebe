/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/lock.h"
#include <time.h>
#include "client/capability.h"
#include "client/error.h"
#include "client/file.h"
#include "client/striping.h"
#include "util/clock.h"

static uint32_t first_server(const themis_file_t *file)
{
    return themis_client_striping_server(&file->layout, 0, file->session->peers.count);
}

/* What LOCK was granted with. */
typedef struct grant {
    uint64_t incarnation, epoch;
} grant_t;

/* *grant (may be NULL): the epoch only of LOCK. */
static themis_status_t change_lock(themis_file_t *file, themis_proto_opcode_t opcode,
                                   const themis_proto_lock_t *request, grant_t *grant)
{
    themis_proto_body_t body = {.lock = *request}, reply;

    if (request->offset > INT64_MAX)
        return themis_client_fail(THEMIS_RANGE, "%s: an offset of 2^63 or more", file->path);
    themis_status_t status = themis_client_capability_call(file, first_server(file), &file->bindings[0], opcode, &body,
                                                           &reply, grant ? &grant->incarnation : NULL);
    if (status == THEMIS_OK && grant && opcode == THEMIS_OP_LOCK)
        grant->epoch = reply.granted.epoch;
    return status;
}

/* --- locks that were lost ----------------------------------------------------------------------------------------- */

enum { MAX_ATTEMPTS = 8 }; /* each ends with another start of the server */

static themis_status_t fail_lost(const themis_file_t *file)
{
    return themis_client_fail(THEMIS_STALE, "%s: server %s has lost the locks of this file", file->path,
                              file->session->peers.array[first_server(file)].name);
}

static void session_lock(themis_file_t *file)
{
    pthread_mutex_lock(&file->session->poller.lock);
}

static void session_unlock(themis_file_t *file)
{
    pthread_mutex_unlock(&file->session->poller.lock);
}

/* Are there locks of another incarnation than `incarnation`? With the session's lock. */
static int has_others(const themis_file_t *file, uint64_t incarnation)
{
    return file->locks.held.count && file->locks.incarnation != incarnation;
}

/* As far as it is known now. */
static int is_lost(themis_file_t *file)
{
    session_lock(file);
    int lost = has_others(file, file->session->peers.array[first_server(file)].incarnation);
    session_unlock(file);
    return lost;
}

/* Reclaims locks that were granted by `incarnation`, all from one process of the server; *grant is of the last one. */
static themis_status_t locks_reclaim(themis_file_t *file, const themis_client_held_locks_t *held, uint64_t incarnation,
                                     grant_t *grant)
{
    themis_status_t status = THEMIS_OK;
    uint64_t first = 0;

    for (size_t i = 0; i < held->count && status == THEMIS_OK; i++) {
        themis_proto_lock_t request = {.object = file->attr.id,
                                       .offset = held->array[i].offset,
                                       .length = held->array[i].length,
                                       .owner = file->locks.owner,
                                       .exclusive = (uint8_t)held->array[i].exclusive,
                                       .reclaim = incarnation};
        status = change_lock(file, THEMIS_OP_LOCK, &request, grant);
        if (i > 0 && status == THEMIS_OK && grant->incarnation != first)
            status = THEMIS_STALE;
        first = grant->incarnation;
    }
    return status == THEMIS_STALE ? fail_lost(file) : status;
}

static themis_status_t file_reclaim(themis_file_t *file)
{
    themis_client_held_locks_t held;
    grant_t grant = {0};

    session_lock(file);
    uint64_t incarnation = file->locks.incarnation;
    themis_status_t status = themis_client_held_locks_copy(&file->locks.held, &held);
    session_unlock(file);
    if (status != THEMIS_OK)
        return themis_client_fail(status, "%s: out of memory for its locks", file->path);
    status = locks_reclaim(file, &held, incarnation, &grant);
    session_lock(file);
    if (status == THEMIS_OK && file->locks.incarnation == incarnation) { /* else another thread was faster */
        file->locks.incarnation = grant.incarnation;
        file->locks.epoch = grant.epoch;
    }
    session_unlock(file);
    themis_client_held_locks_free(&held);
    return status;
}

themis_status_t themis_client_lock_check(themis_file_t *file)
{
    themis_status_t status = THEMIS_OK;

    for (int i = 0; i < MAX_ATTEMPTS && file->locks.used && status == THEMIS_OK; i++) {
        if (!is_lost(file))
            return THEMIS_OK;
        status = file_reclaim(file);
    }
    return file->locks.used && status == THEMIS_OK ? fail_lost(file) : status;
}

/* Notes a lock that was granted by THEMIS_PROTO_LOCK_ADD or _REPLACE. THEMIS_STALE: those before it were lost. */
static themis_status_t lock_add(themis_file_t *file, const themis_client_held_lock_t *lock, const grant_t *grant,
                                uint8_t action)
{
    themis_client_held_locks_t *held = &file->locks.held;
    themis_client_peer_t *peer = &file->session->peers.array[first_server(file)];

    session_lock(file);
    if (has_others(file, grant->incarnation)) {
        session_unlock(file);
        return fail_lost(file);
    }
    if (held->count == 0 || grant->epoch > file->locks.epoch)
        file->locks.epoch = grant->epoch;
    file->locks.incarnation = grant->incarnation;
    peer->locks -= (uint32_t)held->count;
    themis_status_t status = THEMIS_OK;
    if (action == THEMIS_PROTO_LOCK_REPLACE)
        status = themis_client_held_locks_cut(held, lock->offset, lock->length);
    if (status == THEMIS_OK)
        status = themis_client_held_locks_add(held, lock);
    peer->locks += (uint32_t)held->count;
    session_unlock(file);
    return status == THEMIS_OK ? status : themis_client_fail(status, "%s: out of memory for a lock", file->path);
}

static void lock_remove(themis_file_t *file, uint64_t offset, uint64_t length)
{
    themis_client_peer_t *peer = &file->session->peers.array[first_server(file)];

    session_lock(file);
    peer->locks -= (uint32_t)file->locks.held.count;
    themis_client_held_locks_cut(&file->locks.held, offset, length);
    peer->locks += (uint32_t)file->locks.held.count;
    session_unlock(file);
}

uint64_t themis_client_lock_epoch(themis_file_t *file)
{
    if (!file->locks.used)
        return 0;
    session_lock(file);
    uint64_t epoch = file->locks.held.count ? file->locks.epoch : 0;
    session_unlock(file);
    return epoch;
}

themis_status_t themis_client_lock_renew(themis_file_t *file, uint64_t *epoch)
{
    themis_proto_lock_t request = {.object = file->attr.id, .owner = file->locks.owner};
    grant_t grant;
    themis_status_t status = change_lock(file, THEMIS_OP_LOCK, &request, &grant);

    if (status == THEMIS_OK)
        status = themis_client_lock_check(file);
    if (status != THEMIS_OK)
        return status;
    session_lock(file);
    int held = file->locks.held.count && file->locks.incarnation == grant.incarnation;
    if (held && grant.epoch > file->locks.epoch)
        file->locks.epoch = grant.epoch;
    held = file->locks.held.count > 0;
    *epoch = file->locks.epoch;
    session_unlock(file);
    return held ? THEMIS_OK : fail_lost(file);
}

/* --- entry points ------------------------------------------------------------------------------------------------- */

/* The server was started again, and grants no lock while others of this session are to be reclaimed. Those of this
 * file are, with the next check; for a handle of another file, which another thread may use, it is waited. */
static void owing_pause(themis_file_t *file)
{
    const struct timespec pause = {.tv_nsec = (long)(50 * THEMIS_NS_PER_MS)};

    if (!is_lost(file))
        nanosleep(&pause, NULL);
}

static uint8_t lock_action(int flags)
{
    if (flags & THEMIS_LOCK_TEST)
        return THEMIS_PROTO_LOCK_TEST;
    return flags & THEMIS_LOCK_REPLACE ? THEMIS_PROTO_LOCK_REPLACE : THEMIS_PROTO_LOCK_ADD;
}

themis_status_t themis_lock(themis_file_t *file, uint64_t offset, uint64_t length, int flags)
{
    themis_proto_lock_t request = {.object = file->attr.id,
                                   .offset = offset,
                                   .length = length,
                                   .owner = file->locks.owner,
                                   .exclusive = (flags & THEMIS_LOCK_EXCLUSIVE) != 0,
                                   .wait = (flags & THEMIS_LOCK_TRY) == 0,
                                   .action = lock_action(flags)};
    const themis_client_held_lock_t lock = {offset, length, request.exclusive};
    uint64_t until = themis_util_clock_now() + file->session->settings.timeout;
    themis_status_t status = themis_client_lock_check(file);
    grant_t grant;

    if (length == 0)
        return status;
    if (request.action != THEMIS_PROTO_LOCK_ADD && request.wait)
        return themis_client_fail(THEMIS_INVALID, "%s: a lock that is replaced or tested does not wait", file->path);
    file->locks.used = 1;
    while (status == THEMIS_OK) {
        status = change_lock(file, THEMIS_OP_LOCK, &request, &grant);
        if (status != THEMIS_BUSY || themis_util_clock_now() >= until)
            break;
        owing_pause(file);
        status = themis_client_lock_check(file);
    }
    if (status != THEMIS_OK || request.action == THEMIS_PROTO_LOCK_TEST)
        return status;
    if ((status = lock_add(file, &lock, &grant, request.action)) != THEMIS_OK)
        change_lock(file, THEMIS_OP_UNLOCK, &request, NULL);
    return status;
}

/* Does a process of the server that did not know the locks give them back? */
static int was_restarted(themis_file_t *file, const grant_t *by)
{
    session_lock(file);
    int others = has_others(file, by->incarnation);
    session_unlock(file);
    return others;
}

themis_status_t themis_unlock(themis_file_t *file, uint64_t offset, uint64_t length)
{
    themis_proto_lock_t request = {
        .object = file->attr.id, .offset = offset, .length = length, .owner = file->locks.owner};
    grant_t by = {0};

    if (length == 0)
        return THEMIS_OK;
    themis_status_t status = change_lock(file, THEMIS_OP_UNLOCK, &request, &by);
    /* until they were reclaimed it is not known whether another has had the range meanwhile */
    for (int i = 0; i < MAX_ATTEMPTS && status == THEMIS_OK && was_restarted(file, &by); i++) {
        status = themis_client_lock_check(file);
        if (status == THEMIS_OK)
            status = change_lock(file, THEMIS_OP_UNLOCK, &request, &by);
    }
    if (status == THEMIS_OK || status == THEMIS_STALE)
        lock_remove(file, offset, length);
    return status;
}

static themis_status_t counter_access(themis_file_t *file, uint8_t action, int64_t operand, int64_t *before)
{
    themis_proto_body_t request = {.counter = {.object = file->attr.id, .action = action, .value = operand}}, reply;
    themis_status_t status = themis_client_capability_call(file, first_server(file), &file->bindings[0],
                                                           THEMIS_OP_COUNTER, &request, &reply, NULL);

    if (status == THEMIS_OK && before)
        *before = reply.counted.value;
    return status;
}

themis_status_t themis_counter_get(themis_file_t *file, int64_t *value)
{
    return counter_access(file, THEMIS_PROTO_COUNTER_GET, 0, value);
}

themis_status_t themis_counter_set(themis_file_t *file, int64_t value)
{
    return counter_access(file, THEMIS_PROTO_COUNTER_SET, value, NULL);
}

themis_status_t themis_counter_add(themis_file_t *file, int64_t delta, int64_t *before)
{
    return counter_access(file, THEMIS_PROTO_COUNTER_ADD, delta, before);
}
