/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/object_requests.h"
#include <stdlib.h>
#include "server/access.h"
#include "server/direct.h"
#include "server/object_lists.h"
#include "server/reply.h"

static themis_status_t object_serve(themis_server_request_t *request, themis_store_object_t *object,
                                    themis_proto_body_t *reply)
{
    themis_store_t *store = request->server->store;
    const themis_proto_body_t *body = &request->body;
    themis_store_size_t size;
    themis_store_extent_t range;
    themis_status_t status;

    switch (request->header.opcode) {
    case THEMIS_OP_TRUNCATE:
        themis_server_direct_begin_change(request->server, body->resize.object);
        status = themis_store_truncate(store, object, body->resize.size);
        themis_server_direct_end_change(request->server, body->resize.object);
        return status;
    case THEMIS_OP_ALLOCATE:
        range = (themis_store_extent_t){body->range.offset, body->range.length};
        return themis_store_allocate(store, object, &range);
    case THEMIS_OP_TOUCH:
        return themis_store_set_modified(store, object, body->touch.modified);
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

themis_status_t themis_server_object_requests_open(themis_server_t *server, uint64_t id, int is_listed, uint32_t owner,
                                                   themis_store_object_t **object)
{
    themis_store_object_t *opened;
    themis_status_t status = themis_store_open(server->store, id, is_listed, owner, &opened);

    if (status == THEMIS_NO_ENTRY && !is_listed)
        return themis_server_tombstones_has(server->tombstones, id) ? THEMIS_STALE : THEMIS_NOT_LISTED;
    if (status != THEMIS_OK)
        return status;
    if (!themis_server_tombstones_has(server->tombstones, id)) {
        *object = opened;
        return THEMIS_OK;
    }
    themis_store_remove(server->store, id);
    themis_store_close(server->store, opened);
    return THEMIS_STALE;
}

static themis_status_t object_find(const themis_server_request_t *request, uint64_t id, int change,
                                   themis_store_object_t **object)
{
    themis_server_t *server = request->server;
    uint32_t flags = request->header.flags;
    /* every body about an object begins with its id and a capability */
    uint32_t owner = change ? themis_server_access_memory(server->capabilities, &request->session->identity, id,
                                                          &request->body.object.capability)
                            : THEMIS_STORE_COMMON;

    int exists = flags & THEMIS_PROTO_FLAG_EXISTS;

    if (change && (!exists || themis_server_tombstones_has(server->tombstones, id)))
        return themis_server_object_requests_open(server, id, flags & THEMIS_PROTO_FLAG_LISTED, owner, object);
    themis_status_t status = themis_store_open(server->store, id, 0, owner, object);
    if (status != THEMIS_NO_ENTRY)
        return status;
    if (themis_server_tombstones_has(server->tombstones,
                                     id)) /* no hole, and nothing is lost; it has no bytes to ask for */
        return change || request->header.opcode == THEMIS_OP_READ ? THEMIS_STALE : THEMIS_NO_ENTRY;
    return exists ? THEMIS_LOST : THEMIS_NO_ENTRY;
}

themis_status_t themis_server_object_requests_find(themis_server_request_t *request, uint64_t id, int change,
                                                   themis_store_object_t **object)
{
    themis_status_t status = object_find(request, id, change, object);

    request->found = status == THEMIS_OK && request->header.opcode <= THEMIS_OP_SYNC;
    return status;
}

static themis_status_t object_erase(themis_server_t *server, uint64_t id)
{
    themis_status_t status = themis_store_remove(server->store, id);

    return status == THEMIS_OK ? themis_server_object_lists_forget(server->object_lists, id) : status;
}

themis_status_t themis_server_object_requests_remove(themis_server_t *server, uint64_t id)
{
    if (themis_server_tombstones_has(server->tombstones, id)) /* not the first time: perhaps that failed */
        return object_erase(server, id);
    themis_server_tombstones_add(server->tombstones, id);
    themis_server_counters_forget(server->counters, id);
    pthread_mutex_lock(&server->lock);
    themis_server_fences_forget(server->fences, id);
    pthread_mutex_unlock(&server->lock);
    themis_server_direct_begin_change(server, id);
    themis_status_t status = object_erase(server, id);
    themis_server_direct_end_change(server, id);
    return status;
}

static uint32_t rights_needed(unsigned opcode, const themis_proto_capability_t *capability)
{
    switch (opcode) {
    case THEMIS_OP_TRUNCATE:
        return THEMIS_PROTO_RIGHT_TRUNCATE;
    case THEMIS_OP_ALLOCATE:
        return THEMIS_PROTO_RIGHT_WRITE;
    case THEMIS_OP_SIZE:
        return THEMIS_PROTO_RIGHT_SIZE;
    case THEMIS_OP_DESTROY:
        return THEMIS_PROTO_RIGHT_DESTROY;
    case THEMIS_OP_TOUCH:
        return THEMIS_PROTO_RIGHT_TOUCH;
    default: /* SYNC: one of both */
        return capability->rights & THEMIS_PROTO_RIGHT_WRITE ? THEMIS_PROTO_RIGHT_WRITE : THEMIS_PROTO_RIGHT_READ;
    }
}

static void enlist_serve(themis_server_request_t *request)
{
    themis_server_t *server = request->server;
    const themis_proto_enlist_t *enlist = &request->body.enlist;
    uint32_t needed = enlist->drop ? THEMIS_PROTO_RIGHT_TRUNCATE : THEMIS_PROTO_RIGHT_WRITE;
    themis_proto_enlisted_t reply = {UINT32_MAX};
    themis_status_t status = themis_server_access_object(server->capabilities, &request->session->identity,
                                                         enlist->object, &enlist->capability, needed);

    if (status == THEMIS_OK)
        status = themis_server_object_lists_add(server->object_lists, enlist, &reply.lost);
    /* after that, as it may be removed at the same time */
    if (status == THEMIS_OK && themis_server_tombstones_has(server->tombstones, enlist->object)) {
        themis_server_object_lists_forget(server->object_lists, enlist->object);
        status = THEMIS_STALE;
    }
    themis_server_reply_send(request, status, &reply, NULL);
}

/* SIZE of an object and, at the first server of its file, the list of the others. */
static void size_reply(themis_server_request_t *request, themis_status_t status, themis_proto_size_t *size)
{
    themis_proto_listed_t *list = NULL;

    if (status == THEMIS_OK)
        status = themis_server_object_lists_get(request->server->object_lists, request->body.object.object, &list,
                                                &size->listed);
    size->list = (const uint8_t *)list;
    themis_server_reply_send(request, status, size, NULL);
    free(list);
}

void themis_server_object_requests_serve(themis_server_request_t *request)
{
    themis_server_t *server = request->server;
    unsigned opcode = request->header.opcode;
    /* nothing is made of what does not exist by cutting it to nothing, nor by allocating nothing */
    int changes = (opcode == THEMIS_OP_TRUNCATE && request->body.resize.size > 0) ||
                  (opcode == THEMIS_OP_ALLOCATE && request->body.range.length > 0);
    /* every body of these begins with the object's id and a capability */
    const themis_proto_capability_t *capability = &request->body.object.capability;
    uint64_t id = request->body.object.object;
    themis_proto_body_t reply = {.size = {0}};
    themis_store_object_t *object;

    if (opcode == THEMIS_OP_ENLIST) {
        enlist_serve(request);
        return;
    }
    if (opcode == THEMIS_OP_SYNC && id == 0) {
        themis_server_reply_send(request, themis_server_namespace_sync(server->names), &reply, NULL);
        return;
    }
    themis_status_t status = themis_server_access_object(server->capabilities, &request->session->identity, id,
                                                         capability, rights_needed(opcode, capability));
    if (status == THEMIS_OK && opcode == THEMIS_OP_SYNC)
        status = themis_server_namespace_sync(server->names);
    if (status == THEMIS_OK && opcode == THEMIS_OP_DESTROY) {
        status = themis_server_object_requests_remove(server, id);
    } else if (status == THEMIS_OK) {
        status = themis_server_object_requests_find(request, id, changes, &object);
        if (status == THEMIS_OK) {
            status = object_serve(request, object, &reply);
            themis_store_close(server->store, object);
        } else if (status == THEMIS_NO_ENTRY) {
            /* nothing was written here: size 0, nothing to sync */
            int removed = (opcode == THEMIS_OP_TRUNCATE || opcode == THEMIS_OP_ALLOCATE) &&
                          themis_server_tombstones_has(server->tombstones, id);
            status = removed ? THEMIS_STALE : THEMIS_OK;
        }
    }
    if (opcode == THEMIS_OP_SIZE)
        size_reply(request, status, &reply.size);
    else
        themis_server_reply_send(request, status, &reply, NULL);
}
