/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/lock_requests.h"
#include "server/access.h"
#include "server/queue.h"
#include "server/reply.h"
#include "server/slices.h"
#include "util/clock.h"

static void on_granted(void *arg, void *waiter, themis_status_t status)
{
    themis_server_request_t *request = waiter;

    (void)arg;
    request->session->unlocks += status == THEMIS_OK;
    request->status = status;
    themis_server_queue_add_ready(request);
}

static void on_lost(void *arg, uint64_t object)
{
    const themis_server_t *server = arg;

    themis_server_fences_raise(server->fences, object, themis_util_clock_wall());
}

const themis_server_lock_events_t themis_server_lock_requests_events = {.granted = on_granted, .lost = on_lost};

/* With the lock. */
static themis_status_t lock_reclaim(themis_server_request_t *request, const themis_server_lock_range_t *range,
                                    const themis_server_lock_owner_t *owner)
{
    themis_server_lock_holders_t *holders = request->server->lock_holders;
    const themis_proto_lock_t *lock = &request->body.lock;
    uint64_t session = request->session->number;
    int is_known = themis_server_lock_holders_may_reclaim(holders, session, lock->reclaim);
    themis_status_t status =
        themis_server_locks_reclaim(request->server->locks, lock->object, range, owner, lock->exclusive, is_known);

    request->session->unlocks += status == THEMIS_OK;
    if (is_known)
        themis_server_lock_holders_reclaimed(holders, session);
    return status;
}

/* With the lock. */
static themis_status_t lock_take(themis_server_request_t *request)
{
    const themis_proto_lock_t *lock = &request->body.lock;
    const themis_server_lock_range_t range = {lock->offset, lock->length};
    const themis_server_lock_owner_t owner = {request->session->incarnation, lock->owner};
    themis_server_locks_t *locks = request->server->locks;

    if (request->header.opcode == THEMIS_OP_UNLOCK)
        return themis_server_locks_unlock(locks, lock->object, &range, &owner);
    if (!request->session->listed)
        return THEMIS_CANCELED;
    if (lock->reclaim)
        return lock_reclaim(request, &range, &owner);
    if (lock->length && themis_server_lock_holders_owes(request->server->lock_holders, request->session->number))
        return THEMIS_BUSY;
    if (lock->action == THEMIS_PROTO_LOCK_TEST)
        return themis_server_locks_test(locks, lock->object, &range, &owner, lock->exclusive);
    if (lock->length && themis_server_locks_are_full(locks, lock->object, &owner))
        return THEMIS_QUOTA;
    themis_status_t status = lock->action == THEMIS_PROTO_LOCK_REPLACE
                                 ? themis_server_locks_replace(locks, lock->object, &range, &owner, lock->exclusive)
                                 : themis_server_locks_lock(locks, lock->object, &range, &owner, lock->exclusive,
                                                            lock->wait ? request : NULL);
    if (status == THEMIS_OK && lock->length)
        request->session->unlocks++;
    if (status == THEMIS_IN_PROGRESS) {
        /* while it waits it is not in service, and from here on it may be granted at any time */
        themis_server_slice_end(request);
        request->route = THEMIS_SERVER_ROUTE_DIRECT;
        request->state = THEMIS_SERVER_REQUEST_LOCK_WAIT;
    }
    return status;
}

/* Before the lock is taken. What a client holds it may give back at any time, if it is this object's at all. */
static themis_status_t rights_check(const themis_server_request_t *request)
{
    const themis_proto_body_t *body = &request->body;
    int unlock = request->header.opcode == THEMIS_OP_UNLOCK;
    uint32_t rights = unlock ? 0 : THEMIS_PROTO_RIGHT_LOCK;

    /* the bodies of these begin with the object's id and a capability */
    if ((request->header.opcode == THEMIS_OP_LOCK && body->lock.exclusive &&
         body->lock.action != THEMIS_PROTO_LOCK_TEST) ||
        (request->header.opcode == THEMIS_OP_COUNTER && body->counter.action != THEMIS_PROTO_COUNTER_GET))
        rights |= THEMIS_PROTO_RIGHT_WRITE;
    themis_status_t status = themis_server_access_object(request->server->capabilities, &request->session->identity,
                                                         body->object.object, &body->object.capability, rights);
    return unlock && status == THEMIS_EXPIRED ? THEMIS_OK : status;
}

/* A reply that is saved together with the change that it tells of. */
typedef struct saving {
    const themis_server_request_t *request;
    themis_server_durable_reply_t reply;
} saving_t;

static const themis_server_name_db_record_t *reply_make(void *arg, int64_t before)
{
    saving_t *saving = arg;
    const themis_proto_counted_t counted = {before};

    return themis_server_durable_replies_record(saving->request, &counted, &saving->reply);
}

/* The tombstone is looked for last: who removes the object makes it, and then forgets the counter. */
static void counter_serve(themis_server_request_t *request)
{
    themis_server_t *server = request->server;
    const themis_proto_counter_t *counter = &request->body.counter;
    saving_t saving = {.request = request};
    const themis_server_counters_with_t with = {reply_make, &saving};
    themis_proto_counted_t reply = {0};
    themis_status_t status =
        themis_server_counters_access(server->counters, counter, request->session->identity.uid, &with, &reply.value);

    if (themis_server_tombstones_has(server->tombstones, counter->object)) {
        themis_server_counters_forget(server->counters, counter->object);
        status = THEMIS_STALE;
    }
    themis_server_reply_send(request, status, &reply, NULL);
}

themis_status_t themis_server_lock_requests_serve(themis_server_request_t *request, int resumed)
{
    themis_server_t *server = request->server;
    themis_proto_body_t reply = {.granted = {0}};
    themis_status_t status = request->status; /* of a LOCK that has waited */
    const char *text = resumed && status == THEMIS_LOCKED ? "another holds the lock for longer than lock_wait" : NULL;

    if (!resumed && (status = rights_check(request)) != THEMIS_OK) {
        themis_server_reply_send(request, status, NULL, NULL);
        return THEMIS_OK;
    }
    if (request->header.opcode == THEMIS_OP_COUNTER) {
        counter_serve(request);
        return THEMIS_OK;
    }
    int locks = request->header.opcode == THEMIS_OP_LOCK && request->body.lock.length && !resumed &&
                request->body.lock.action != THEMIS_PROTO_LOCK_TEST;
    uint64_t incarnation = request->session->incarnation;
    if (locks && (status = themis_server_lock_holders_begin(server->lock_holders, request->session->number,
                                                            incarnation)) != THEMIS_OK) {
        themis_server_reply_send(request, status, NULL, NULL);
        return THEMIS_OK;
    }
    pthread_mutex_lock(&server->lock);
    if (request->header.opcode == THEMIS_OP_UNLOCK || !resumed)
        status = lock_take(request);
    if (request->header.opcode == THEMIS_OP_LOCK)
        reply.granted.epoch = themis_server_fences_epoch(server->fences, request->body.lock.object);
    pthread_mutex_unlock(&server->lock);
    if (locks)
        themis_server_lock_holders_end(server->lock_holders, incarnation);
    if (status == THEMIS_IN_PROGRESS)
        return status;
    if (status != THEMIS_CANCELED) /* else the session has ended */
        themis_server_reply_send(request, status, &reply, text);
    return THEMIS_OK;
}
