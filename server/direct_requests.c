/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/direct_requests.h"
#include <stdlib.h>
#include <unistd.h>
#include "server/access.h"
#include "server/direct_state.h"
#include "server/object_requests.h"
#include "server/reply.h"
#include "util/clock.h"

/* ns until it is worth asking again: while the object changes; where memory or the object is missing, or a write of
 * others is under way; where the client has too many grants; for an object of another user. */
#define CHANGE_RETRY THEMIS_NS_PER_MS
#define MISSING_RETRY (100 * THEMIS_NS_PER_MS)
#define CROWDED_RETRY THEMIS_NS_PER_S
#define OWNER_RETRY (60 * THEMIS_NS_PER_S)

/* A MAP while it is served. */
typedef struct mapping {
    themis_server_request_t *request;
    const themis_proto_map_t *map;
    themis_server_direct_client_t *client;
    themis_server_direct_grant_t *grant; /* the one in force, with one more user; or a fresh one */
    int fresh;                           /* 1: the grant is not in force yet */
    uint64_t changes;                    /* of the object's bucket when it was pinned */
    size_t count;
    themis_store_mapped_t extents[THEMIS_PROTO_MAX_MAPPED];
} mapping_t;

/* Finds the grant in force, or begins a fresh one. Returns 0, or ns until it is worth asking again. */
static uint64_t mapping_begin(mapping_t *mapping)
{
    themis_server_request_t *request = mapping->request;
    themis_server_direct_t *direct = request->server->direct;
    themis_server_direct_bucket_t *bucket = themis_server_direct_bucket(direct, mapping->map->object);

    if (themis_server_request_is_orphan(request) || !request->session->job)
        return MISSING_RETRY;
    uint64_t retry = themis_server_direct_refusal(request->server, request->session->job, themis_util_clock_now());
    if (retry)
        return retry;
    if (bucket->changing)
        return CHANGE_RETRY;
    mapping->changes = bucket->changes;
    if (mapping->client)
        mapping->grant = themis_server_direct_grant_find(direct, mapping->client, mapping->map->object);
    if (mapping->grant) {
        mapping->grant->users++;
        return 0;
    }
    mapping->fresh = 1;
    mapping->grant = calloc(1, sizeof *mapping->grant);
    return mapping->grant ? 0 : MISSING_RETRY;
}

/* Opens and pins the object of a fresh grant. */
static themis_status_t mapping_pin(mapping_t *mapping)
{
    themis_server_t *server = mapping->request->server;
    themis_server_direct_grant_t *grant = mapping->grant;
    uint32_t uid = themis_server_access_memory(server->capabilities, &mapping->request->session->identity,
                                               mapping->map->object, &mapping->map->capability);

    if (uid == THEMIS_STORE_COMMON)
        return THEMIS_UNSUPPORTED;
    grant->id = mapping->map->object;
    themis_status_t status =
        mapping->map->allocate
            ? themis_server_object_requests_open(server, grant->id, mapping->map->listed, uid, &grant->object)
            : themis_store_open(server->store, grant->id, 0, uid, &grant->object);
    if (status != THEMIS_OK)
        return status;
    status = themis_store_pin(server->store, grant->object, uid, &grant->cell);
    if (status != THEMIS_OK)
        themis_store_close(server->store, grant->object);
    return status;
}

/* All that a fresh grant needs before it is in force. Memory is given only to who owns the object, since every user
 * takes a segment. Returns as mapping_begin; then the grant is gone. */
static uint64_t mapping_prepare(mapping_t *mapping)
{
    themis_status_t status = mapping_pin(mapping);

    if (status != THEMIS_OK) {
        free(mapping->grant);
        return status == THEMIS_UNSUPPORTED  ? OWNER_RETRY
               : status == THEMIS_NOT_LISTED ? CHANGE_RETRY /* a message will have it made */
                                             : MISSING_RETRY;
    }
    if (!mapping->client)
        status = themis_server_direct_client_get(mapping->request, &mapping->client);
    mapping->grant->client = mapping->client;
    if (status == THEMIS_OK)
        return 0;
    themis_server_direct_grant_free(mapping->request->server, mapping->grant);
    return status == THEMIS_UNSUPPORTED ? UINT64_MAX : CROWDED_RETRY;
}

/* Finds the extents; without them the grant in force stays as it is. */
static void mapping_fill(mapping_t *mapping)
{
    const themis_proto_map_t *map = mapping->map;
    const themis_store_extent_t range = {map->offset, map->length};
    int flags = (map->allocate ? THEMIS_STORE_MAP_ALLOCATE : 0) | (map->incomplete ? THEMIS_STORE_MAP_INCOMPLETE : 0);

    if (themis_store_map(mapping->request->server->store, mapping->grant->object, &range, flags, mapping->extents,
                         THEMIS_PROTO_MAX_MAPPED, &mapping->count) != THEMIS_OK)
        mapping->count = 0;
}

/* With the lock: may a fresh grant still be put in force? Returns as mapping_begin. */
static uint64_t fresh_grant_refusal(const mapping_t *mapping, uint64_t now)
{
    themis_server_request_t *request = mapping->request;
    const themis_server_direct_bucket_t *bucket =
        themis_server_direct_bucket(request->server->direct, mapping->map->object);

    if (themis_server_request_is_orphan(request) || !request->session->job || !mapping->client->session)
        return MISSING_RETRY;
    if (bucket->changing || bucket->changes != mapping->changes)
        return CHANGE_RETRY;
    return themis_server_direct_refusal(request->server, request->session->job, now);
}

/* With the lock. Returns as mapping_begin; a fresh grant that is in force then is not fresh any more. */
static uint64_t fresh_grant_add(mapping_t *mapping, themis_server_direct_grant_t **grant, uint64_t now)
{
    themis_server_t *server = mapping->request->server;
    uint64_t retry = fresh_grant_refusal(mapping, now);

    if (retry)
        return retry;
    /* another request of the client may have got one meanwhile */
    *grant = themis_server_direct_grant_find(server->direct, mapping->client, mapping->map->object);
    if (*grant)
        return 0;
    if (themis_server_direct_grant_add(server, mapping->grant, now) != THEMIS_OK)
        return CROWDED_RETRY;
    *grant = mapping->grant;
    mapping->fresh = 0;
    return 0;
}

/* With the lock. *grant: the one to tell the client of. Returns as mapping_begin. */
static uint64_t mapping_end(mapping_t *mapping, themis_server_direct_grant_t **grant)
{
    uint64_t now = themis_util_clock_now();

    if (mapping->fresh)
        return fresh_grant_add(mapping, grant, now);
    *grant = mapping->grant;
    mapping->grant->users--;
    if (!mapping->grant->revoked)
        return 0;
    themis_server_direct_grant_settle(mapping->request->server, mapping->grant, now);
    return CHANGE_RETRY;
}

static themis_proto_location_t location_of(themis_store_location_t base, uint64_t offset)
{
    return (themis_proto_location_t){base.segment, base.at + offset};
}

/* Are all bytes of the range in the extents, or are there more of these? */
static int is_covered(const mapping_t *mapping)
{
    uint64_t at = mapping->map->offset, end = at + mapping->map->length;

    for (size_t i = 0; i < mapping->count && mapping->extents[i].offset <= at; i++)
        at = mapping->extents[i].offset + mapping->extents[i].length;
    return at >= end || mapping->count == THEMIS_PROTO_MAX_MAPPED;
}

static void mapping_reply(const mapping_t *mapping, themis_proto_mapped_t *reply)
{
    themis_proto_mapped_extent_t extents[THEMIS_PROTO_MAX_MAPPED];

    if (reply->grant) {
        reply->count = (uint32_t)mapping->count;
        reply->retry = is_covered(mapping) ? 0 : MISSING_RETRY;
    }
    for (uint32_t i = 0; i < reply->count; i++)
        extents[i] = (themis_proto_mapped_extent_t){mapping->extents[i].offset, mapping->extents[i].length,
                                                    location_of(mapping->extents[i].location, 0),
                                                    location_of(mapping->extents[i].pages, 0)};
    reply->bytes = (const uint8_t *)extents;
    themis_server_reply_send(mapping->request, THEMIS_OK, reply, NULL);
}

/* Fills in all of the reply but the extents. */
static void mapping_make(mapping_t *mapping, themis_proto_mapped_t *reply)
{
    themis_server_t *server = mapping->request->server;
    themis_server_direct_grant_t *grant = NULL;

    pthread_mutex_lock(&server->lock);
    reply->retry = mapping_begin(mapping);
    pthread_mutex_unlock(&server->lock);
    if (!reply->retry && mapping->fresh)
        reply->retry = mapping_prepare(mapping);
    if (reply->retry)
        return;
    mapping_fill(mapping);
    pthread_mutex_lock(&server->lock);
    reply->retry = mapping_end(mapping, &grant);
    if (!reply->retry) {
        reply->grant = grant->number;
        reply->slot = location_of(grant->client->location, grant->slot * (uint64_t)sizeof(themis_util_direct_slot_t));
        reply->cell = location_of(grant->cell, 0);
    }
    pthread_mutex_unlock(&server->lock);
    if (mapping->fresh)
        themis_server_direct_grant_free(server, mapping->grant);
}

static int is_client(const themis_server_request_t *request)
{
    return request->session->role == THEMIS_SERVER_ROLE_CLIENT;
}

/* Before anything is made for the client. Returns as mapping_begin. */
static uint64_t map_refusal(themis_server_request_t *request)
{
    /* the memory can be written to, whatever is asked for */
    static const uint32_t rights = THEMIS_PROTO_RIGHT_READ | THEMIS_PROTO_RIGHT_WRITE;
    const themis_proto_map_t *map = &request->body.map;
    uint64_t retry = UINT64_MAX;

    if (!is_client(request) || !themis_server_direct_client_is_near(request))
        return retry;
    themis_status_t status = themis_server_access_object(request->server->capabilities, &request->session->identity,
                                                         map->object, &map->capability, rights);
    if (status != THEMIS_OK) /* a client gets another capability when it sends READ or WRITE */
        return status == THEMIS_EXPIRED ? MISSING_RETRY : OWNER_RETRY;
    pthread_mutex_lock(&request->server->lock);
    if (request->session->job)
        retry = themis_server_direct_refusal(request->server, request->session->job, themis_util_clock_now());
    pthread_mutex_unlock(&request->server->lock);
    return retry;
}

static void map_serve(themis_server_request_t *request)
{
    themis_server_t *server = request->server;
    mapping_t mapping = {.request = request, .map = &request->body.map};
    themis_proto_mapped_t reply = {.retry = map_refusal(request)};

    if (!reply.retry) {
        mapping.client = themis_server_direct_client_find(request);
        mapping_make(&mapping, &reply);
    }
    if (mapping.client) {
        pthread_mutex_lock(&server->lock);
        themis_server_direct_client_put(server, mapping.client, themis_util_clock_now());
        pthread_mutex_unlock(&server->lock);
    }
    mapping_reply(&mapping, &reply);
}

static void unmap_serve(themis_server_request_t *request)
{
    themis_server_t *server = request->server;
    themis_server_direct_grant_t *grant = NULL;

    pthread_mutex_lock(&server->lock);
    if (request->session->direct)
        grant = themis_server_direct_grant_find(server->direct, request->session->direct, request->body.unmap.object);
    if (grant)
        themis_server_direct_grant_revoke(server, grant, themis_util_clock_now());
    pthread_mutex_unlock(&server->lock);
    themis_server_reply_send(request, THEMIS_OK, NULL, NULL);
}

/* Whoever is not a user's process on this host gets nothing, whatever number it guesses. */
static void segment_serve(themis_server_request_t *request)
{
    const themis_server_direct_t *direct = request->server->direct;
    themis_net_peer_credentials_t who;
    themis_proto_segment_t reply = {.segment = request->body.segment.segment};
    themis_status_t status = direct->beacon ? THEMIS_OK : THEMIS_UNSUPPORTED;
    int fd = -1;

    if (status == THEMIS_OK)
        status = is_client(request) ? themis_net_conn_credentials(request->conn, &who) : THEMIS_ACCESS;
    if (status == THEMIS_OK && !who.local)
        status = THEMIS_UNSUPPORTED;
    if (status == THEMIS_OK && reply.segment == 0) {
        fd = themis_server_beacon_descriptor(direct->beacon, &reply.bytes);
        themis_server_reply_send_descriptor(request, &reply, fd);
        return;
    }
    if (status == THEMIS_OK && who.uid == THEMIS_SERVER_DIRECT_UNKNOWN_USER)
        status = THEMIS_ACCESS;
    if (status == THEMIS_OK)
        status = themis_store_segment(request->server->store, reply.segment, who.uid, &fd, &reply.bytes);
    if (status == THEMIS_OK) {
        themis_server_reply_send_descriptor(request, &reply, fd);
        close(fd);
    } else {
        themis_server_reply_send(request, status, NULL, NULL);
    }
}

void themis_server_direct_requests_serve(themis_server_request_t *request)
{
    switch (request->header.opcode) {
    case THEMIS_OP_MAP:
        map_serve(request);
        return;
    case THEMIS_OP_UNMAP:
        unmap_serve(request);
        return;
    default:
        segment_serve(request);
    }
}
