/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/lock.h"
#include "client/capability.h"
#include "client/error.h"
#include "client/file.h"
#include "client/striping.h"

static uint32_t first_server(const themis_file_t *file)
{
    return themis_client_striping_server(&file->layout, 0, file->session->peers.count);
}

/* What LOCK was granted with. */
typedef struct grant {
    uint64_t incarnation, epoch;
} grant_t;

static themis_status_t change_lock(themis_file_t *file, themis_proto_opcode_t opcode,
                                   const themis_proto_lock_t *request, grant_t *grant)
{
    themis_proto_body_t body = {.lock = *request}, reply;

    if (request->offset > INT64_MAX)
        return themis_client_fail(THEMIS_RANGE, "%s: an offset of 2^63 or more", file->path);
    themis_status_t status = themis_client_capability_call(file, first_server(file), &file->bindings[0], opcode, &body,
                                                           &reply, grant ? &grant->incarnation : NULL);
    if (status == THEMIS_OK && grant)
        grant->epoch = reply.granted.epoch;
    return status;
}

/* --- locks that were lost ----------------------------------------------------------------------------------------- */

static themis_status_t fail_lost(const themis_file_t *file)
{
    return themis_client_fail(THEMIS_STALE, "%s: server %s has lost the locks of this file", file->path,
                              file->session->peers.array[first_server(file)].name);
}

themis_status_t themis_client_lock_check(themis_file_t *file)
{
    themis_t *session = file->session;

    if (!file->locks.used)
        return THEMIS_OK;
    pthread_mutex_lock(&session->poller.lock);
    int lost = file->locks.count && session->peers.array[first_server(file)].incarnation != file->locks.incarnation;
    pthread_mutex_unlock(&session->poller.lock);
    return lost ? fail_lost(file) : THEMIS_OK;
}

/* Counts a lock that was granted; returns 0 if those before it were lost. */
static int count_lock(themis_file_t *file, const grant_t *grant)
{
    pthread_mutex_lock(&file->session->poller.lock);
    if (file->locks.count == 0) {
        file->locks.incarnation = grant->incarnation;
        file->locks.epoch = 0;
    }
    int together = file->locks.incarnation == grant->incarnation;
    file->locks.count += (uint64_t)together;
    if (together && grant->epoch > file->locks.epoch)
        file->locks.epoch = grant->epoch;
    pthread_mutex_unlock(&file->session->poller.lock);
    return together;
}

static void uncount_lock(themis_file_t *file, int all)
{
    pthread_mutex_lock(&file->session->poller.lock);
    file->locks.count = all || !file->locks.count ? 0 : file->locks.count - 1;
    pthread_mutex_unlock(&file->session->poller.lock);
}

uint64_t themis_client_lock_epoch(themis_file_t *file)
{
    if (!file->locks.used)
        return 0;
    pthread_mutex_lock(&file->session->poller.lock);
    uint64_t epoch = file->locks.count ? file->locks.epoch : 0;
    pthread_mutex_unlock(&file->session->poller.lock);
    return epoch;
}

themis_status_t themis_client_lock_renew(themis_file_t *file, uint64_t *epoch)
{
    themis_proto_lock_t request = {.object = file->attr.id, .owner = file->locks.owner};
    grant_t grant;
    themis_status_t status = change_lock(file, THEMIS_OP_LOCK, &request, &grant);

    if (status != THEMIS_OK)
        return status;
    pthread_mutex_lock(&file->session->poller.lock);
    int held = file->locks.count && file->locks.incarnation == grant.incarnation;
    if (held && grant.epoch > file->locks.epoch)
        file->locks.epoch = grant.epoch;
    *epoch = file->locks.epoch;
    pthread_mutex_unlock(&file->session->poller.lock);
    return held ? THEMIS_OK : fail_lost(file);
}

/* --- entry points ------------------------------------------------------------------------------------------------- */

themis_status_t themis_lock(themis_file_t *file, uint64_t offset, uint64_t length, int flags)
{
    themis_proto_lock_t request = {.object = file->attr.id,
                                   .offset = offset,
                                   .length = length,
                                   .owner = file->locks.owner,
                                   .exclusive = (flags & THEMIS_LOCK_EXCLUSIVE) != 0,
                                   .wait = (flags & THEMIS_LOCK_TRY) == 0,
                                   .action = flags & THEMIS_LOCK_TEST      ? THEMIS_PROTO_LOCK_TEST
                                             : flags & THEMIS_LOCK_REPLACE ? THEMIS_PROTO_LOCK_REPLACE
                                                                           : THEMIS_PROTO_LOCK_ADD};
    themis_status_t status = themis_client_lock_check(file);
    grant_t grant;

    if (status != THEMIS_OK || length == 0)
        return status;
    if (request.action != THEMIS_PROTO_LOCK_ADD && request.wait)
        return themis_client_fail(THEMIS_INVALID, "%s: a lock that is replaced or tested does not wait", file->path);
    file->locks.used = 1;
    status = change_lock(file, THEMIS_OP_LOCK, &request, &grant);
    if (status == THEMIS_OK && request.action == THEMIS_PROTO_LOCK_TEST)
        return status;
    if (status != THEMIS_OK || count_lock(file, &grant))
        return status;
    change_lock(file, THEMIS_OP_UNLOCK, &request, NULL);
    return fail_lost(file);
}

themis_status_t themis_unlock(themis_file_t *file, uint64_t offset, uint64_t length)
{
    themis_proto_lock_t request = {
        .object = file->attr.id, .offset = offset, .length = length, .owner = file->locks.owner};

    if (length == 0)
        return THEMIS_OK;
    themis_status_t status = change_lock(file, THEMIS_OP_UNLOCK, &request, NULL);
    if (status == THEMIS_OK)
        status = themis_client_lock_check(file);
    if (status == THEMIS_OK || status == THEMIS_STALE)
        uncount_lock(file, offset == 0 && length == UINT64_MAX);
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
