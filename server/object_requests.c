/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests about whole objects, and about locks and counters of files. */
#include "server/access.h"
#include "server/server.h"

/* An operation on an open object. */
static themis_status_t on_object(themis_request_t *request, themis_store_object_t *object, themis_proto_body_t *reply)
{
    themis_store_t *store = request->server->store;
    const themis_proto_body_t *body = &request->body;
    themis_store_size_t size;
    themis_store_extent_t range;
    themis_status_t status;

    switch (request->header.opcode) {
    case THEMIS_OP_TRUNCATE:
        return themis_store_truncate(store, object, body->resize.size);
    case THEMIS_OP_ALLOCATE:
        range = (themis_store_extent_t){body->range.offset, body->range.length};
        return themis_store_allocate(store, object, &range);
    case THEMIS_OP_SYNC:
        return themis_store_sync(store, object);
    case THEMIS_OP_SIZE:
        status = themis_store_size(store, object, &size);
        reply->size = (themis_proto_size_t){.end = size.end, .allocated = size.allocated, .modified = size.modified};
        return status;
    default:
        return THEMIS_OPCODE;
    }
}

themis_status_t themis_server_objects_open(themis_server_t *server, uint64_t id, themis_store_object_t **object)
{
    themis_store_object_t *opened;
    themis_status_t status = themis_store_open(server->store, id, 1, &opened);

    if (status != THEMIS_OK)
        return status;
    if (!themis_server_removed_has(server->removed, id)) {
        *object = opened;
        return THEMIS_OK;
    }
    themis_store_remove(server->store, id);
    themis_store_close(server->store, opened);
    return THEMIS_STALE;
}

static themis_status_t remove_object(themis_request_t *request, uint64_t id)
{
    themis_server_t *server = request->server;

    pthread_mutex_lock(&server->lock);
    themis_server_locks_forget(server->locks, id);
    pthread_mutex_unlock(&server->lock);
    themis_server_removed_add(server->removed, id);
    return themis_store_remove(server->store, id);
}

void themis_server_objects_serve(themis_request_t *request)
{
    themis_server_t *server = request->server;
    unsigned opcode = request->header.opcode;
    int changes = opcode == THEMIS_OP_TRUNCATE || opcode == THEMIS_OP_ALLOCATE;
    /* every body of these begins with the object's id */
    uint64_t id = request->body.object.object;
    themis_proto_body_t reply = {.size = {0}};
    themis_store_object_t *object;

    themis_status_t status = themis_server_access_object(
        &request->session->identity, id,
        changes || opcode == THEMIS_OP_DESTROY ? THEMIS_SERVER_ACCESS_WRITE : THEMIS_SERVER_ACCESS_READ);
    if (status == THEMIS_OK && opcode == THEMIS_OP_SYNC)
        status = themis_server_namespace_sync(server->names);
    if (status == THEMIS_OK && opcode == THEMIS_OP_DESTROY) {
        status = remove_object(request, id);
    } else if (status == THEMIS_OK) {
        status = changes ? themis_server_objects_open(server, id, &object)
                         : themis_store_open(server->store, id, 0, &object);
        if (status == THEMIS_OK) {
            status = on_object(request, object, &reply);
            themis_store_close(server->store, object);
        } else if (status == THEMIS_NO_ENTRY) {
            status = THEMIS_OK; /* nothing was written here: size 0, nothing to sync */
        }
    }
    themis_server_request_reply(request, status, &reply, NULL);
}

void themis_server_lock_granted(void *arg, void *waiter, themis_status_t status)
{
    themis_server_t *server = arg;
    themis_request_t *request = waiter;

    request->session->unlocks += status == THEMIS_OK;
    request->status = status;
    request->canceled = status == THEMIS_CANCELED;
    themis_server_ready(server, request);
}

static themis_status_t lock_or_unlock(themis_request_t *request)
{
    themis_server_t *server = request->server;
    const themis_proto_lock_t *lock = &request->body.lock;
    themis_server_lock_range_t range = {lock->offset, lock->length};
    themis_server_lock_owner_t owner = {request->session->number, lock->owner};
    themis_status_t status;

    pthread_mutex_lock(&server->lock);
    if (request->header.opcode == THEMIS_OP_UNLOCK)
        status = themis_server_locks_unlock(server->locks, lock->object, &range, &owner);
    else if (!request->session->listed)
        status = THEMIS_CANCELED;
    else
        status = themis_server_locks_lock(server->locks, lock->object, &range, &owner, lock->exclusive,
                                          lock->wait ? request : NULL);
    if (request->header.opcode == THEMIS_OP_LOCK && status == THEMIS_OK)
        request->session->unlocks++;
    if (status == THEMIS_IN_PROGRESS) {
        themis_server_unschedule(server, request);
        request->state = THEMIS_SERVER_REQUEST_WAITING; /* from here on it may be granted at any time */
    }
    pthread_mutex_unlock(&server->lock);
    return status;
}

themis_status_t themis_server_locking_serve(themis_request_t *request)
{
    themis_server_t *server = request->server;
    const themis_proto_counter_t *counter = &request->body.counter;
    themis_proto_body_t reply = {.counter = {0}};
    themis_status_t status;

    if (request->header.opcode == THEMIS_OP_COUNTER) {
        reply.counter = *counter;
        pthread_mutex_lock(&server->lock);
        status = themis_server_locks_counter(server->locks, counter->object, counter->action, counter->value,
                                             &reply.counter.value);
        pthread_mutex_unlock(&server->lock);
    } else if (request->opened) {
        status = request->status; /* granted after a wait */
    } else {
        request->opened = 1;
        status = lock_or_unlock(request);
        if (status == THEMIS_IN_PROGRESS)
            return status;
    }
    if (!request->canceled)
        themis_server_request_reply(request, status, &reply, NULL);
    return THEMIS_OK;
}
