/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/direct_map.h"
#include <stdlib.h>
#include "util/clock.h"
#include "util/min.h"

enum { MAX_DOUBLINGS = 6 };
static const uint64_t read_ahead = 256 << 20; /* known beyond what is read, at no cost */
static const uint64_t failure_pause = 100 * THEMIS_NS_PER_MS;

themis_client_direct_object_t *themis_client_direct_map_create(uint64_t id, uint32_t server)
{
    themis_client_direct_object_t *object = calloc(1, sizeof *object);

    if (!object)
        return NULL;
    object->key.id = id;
    object->key.server = server;
    pthread_mutex_init(&object->lock, NULL);
    return object;
}

/* --- views that were replaced ------------------------------------------------------------------------------------- */

static void free_list(themis_client_direct_segments_t *segments, themis_client_direct_view_t *view)
{
    themis_client_direct_view_t *next;

    for (; view; view = next) {
        next = view->next;
        themis_client_direct_view_destroy(segments, view);
    }
}

/* With the object's lock held. Who enters later finds the present view, so no user means that no one has an old one. */
static void collect(themis_client_direct_segments_t *segments, themis_client_direct_object_t *object)
{
    if (atomic_load(&object->users) == 0)
        free_list(segments, atomic_exchange(&object->replaced, NULL));
}

/* With the object's lock held. */
static void replace_view(themis_client_direct_segments_t *segments, themis_client_direct_object_t *object,
                         themis_client_direct_view_t *view)
{
    themis_client_direct_view_t *old = atomic_exchange(&object->view, view);

    if (old) {
        old->next = atomic_load(&object->replaced);
        atomic_store(&object->replaced, old);
    }
    collect(segments, object);
}

void themis_client_direct_map_leave(themis_client_direct_segments_t *segments, themis_client_direct_object_t *object,
                                    themis_client_direct_view_t *view)
{
    atomic_fetch_sub_explicit(&view->slot->copies, 1, memory_order_release);
    if (atomic_fetch_sub(&object->users, 1) == 1 && atomic_load_explicit(&object->replaced, memory_order_relaxed) &&
        pthread_mutex_trylock(&object->lock) == 0) {
        collect(segments, object);
        pthread_mutex_unlock(&object->lock);
    }
}

void themis_client_direct_map_give_back(themis_client_direct_segments_t *segments,
                                        const themis_client_direct_object_t *object)
{
    themis_proto_unmap_t request = {object->key.id};
    themis_client_direct_view_t *view = atomic_load(&object->view);
    themis_client_call_t *call;

    if (view && themis_client_direct_view_is_valid(view) &&
        themis_client_call_get(segments->calls, (uint32_t)object->key.server, &call) == THEMIS_OK &&
        themis_client_call_start(call, THEMIS_OP_UNMAP, &request, NULL) != THEMIS_OK)
        themis_client_call_put(call);
}

void themis_client_direct_map_destroy(themis_client_direct_segments_t *segments, themis_client_direct_object_t *object)
{
    themis_client_direct_view_destroy(segments, atomic_load(&object->view));
    free_list(segments, atomic_load(&object->replaced));
    pthread_mutex_destroy(&object->lock);
    free(object);
}

/* --- asking ------------------------------------------------------------------------------------------------------- */

/* Only a server of this host that is connected is asked: a message to another would be in vain, and one that does not
 * answer would be waited for twice. */
static int is_near(const themis_client_direct_segments_t *segments, const themis_client_direct_object_t *object)
{
    const themis_client_peers_t *peers = segments->calls->peers;
    const themis_client_peer_t *peer = &peers->array[object->key.server];

    pthread_mutex_lock(&peers->common.poller->lock);
    int near = peer->local && peer->state == THEMIS_CLIENT_PEER_READY;
    pthread_mutex_unlock(&peers->common.poller->lock);
    return near;
}

/* With the object's lock held. 1: its view was of a connection that is lost. */
static int forget_lost(themis_client_direct_segments_t *segments, themis_client_direct_object_t *object)
{
    themis_client_direct_view_t *view = atomic_load(&object->view);

    if (!view || view->granted == segments->calls->peers->array[object->key.server].connection)
        return 0;
    replace_view(segments, object, NULL);
    return 1;
}

void themis_client_direct_map_forget_lost(themis_client_direct_segments_t *segments,
                                          themis_client_direct_object_t *object)
{
    if (pthread_mutex_trylock(&object->lock) != 0)
        return; /* who holds it is asking, and will see for itself */
    forget_lost(segments, object);
    pthread_mutex_unlock(&object->lock);
}

/* With the object's lock held. */
static int may_ask(themis_client_direct_segments_t *segments, themis_client_direct_object_t *object, int *lost)
{
    uint64_t connection = segments->calls->peers->array[object->key.server].connection;

    *lost = forget_lost(segments, object);
    themis_client_direct_view_t *view = atomic_load(&object->view);
    if (view && (atomic_load(&view->beacon->word) & THEMIS_UTIL_DIRECT_DEAD))
        return 0;
    if (object->retry_at && object->refused == connection && themis_util_clock_now() < object->retry_at)
        return 0;
    return is_near(segments, object);
}

static void refuse(themis_client_direct_object_t *object, uint64_t connection, uint64_t retry)
{
    uint64_t now = themis_util_clock_now();

    object->refused = connection;
    object->retry_at = retry > UINT64_MAX - now ? UINT64_MAX : now + retry;
}

/* The reply to one MAP becomes the view. *next: what to ask for then; UINT64_MAX: there is no more. */
static themis_status_t take_reply(themis_client_direct_segments_t *segments, themis_client_direct_object_t *object,
                                  const themis_client_direct_mapped_t *mapped, uint64_t *next)
{
    themis_client_direct_view_t *view = NULL;
    themis_proto_mapped_extent_t last;
    themis_status_t status = THEMIS_BUSY;

    *next = UINT64_MAX;
    if (mapped->reply->grant != 0)
        status = themis_client_direct_view_create(segments, mapped, atomic_load(&object->view), &view);
    replace_view(segments, object, view);
    if (status != THEMIS_OK) {
        refuse(object, mapped->connection, mapped->reply->grant ? failure_pause : mapped->reply->retry);
        return status;
    }
    if (mapped->reply->count == THEMIS_PROTO_MAX_MAPPED) {
        themis_proto_mapped_get(mapped->reply, mapped->reply->count - 1, &last);
        *next = last.offset + last.length;
    }
    return THEMIS_OK;
}

static themis_status_t map_once(themis_client_direct_segments_t *segments, themis_client_direct_object_t *object,
                                themis_client_binding_t *binding, const themis_proto_map_t *request, uint64_t *next)
{
    uint32_t server = (uint32_t)object->key.server;
    themis_client_direct_mapped_t mapped = {.server = server};
    themis_proto_body_t reply;
    themis_client_call_t *call;
    themis_status_t status = themis_client_call_get(segments->calls, server, &call);

    if (status != THEMIS_OK)
        return status;
    call->binding = binding;
    status = themis_client_call_do(call, THEMIS_OP_MAP, request, NULL, &reply);
    if (status == THEMIS_OK) {
        mapped.connection = call->connection;
        mapped.store = call->store;
        mapped.reply = &reply.mapped;
        status = take_reply(segments, object, &mapped, next);
    } else {
        refuse(object, segments->calls->peers->array[server].connection,
               status == THEMIS_OPCODE ? UINT64_MAX : failure_pause);
    }
    themis_client_call_put(call);
    return status;
}

int themis_client_direct_map_ask(themis_client_direct_segments_t *segments, themis_client_direct_object_t *object,
                                 const themis_client_direct_want_t *want, int *lost)
{
    themis_proto_map_t request = {.object = object->key.id,
                                  .capability = want->capability,
                                  .offset = want->first,
                                  .allocate = want->allocate != 0,
                                  .incomplete = !want->complete,
                                  .listed = want->listed != 0};
    uint64_t next = UINT64_MAX, end = want->end, limit = end;
    uint32_t skip = atomic_load_explicit(&object->skip, memory_order_relaxed);
    themis_status_t status = THEMIS_OK;

    if (!want->allocate && !want->complete)
        limit = themis_util_min(end, INT64_MAX - read_ahead) + read_ahead;
    *lost = 0;
    if (skip > 0) {
        atomic_store_explicit(&object->skip, skip - 1, memory_order_relaxed);
        return 0;
    }
    pthread_mutex_lock(&object->lock);
    int may = may_ask(segments, object, lost);
    for (; may && status == THEMIS_OK && request.offset < end; request.offset = next) {
        request.length = limit - request.offset;
        status = map_once(segments, object, want->binding, &request, &next);
    }
    pthread_mutex_unlock(&object->lock);
    return may && status == THEMIS_OK;
}

void themis_client_direct_map_helped(themis_client_direct_object_t *object, int helped)
{
    uint32_t misses = atomic_load_explicit(&object->misses, memory_order_relaxed);

    if (helped) {
        atomic_store_explicit(&object->misses, 0, memory_order_relaxed);
        return;
    }
    misses += misses < MAX_DOUBLINGS;
    atomic_store_explicit(&object->misses, misses, memory_order_relaxed);
    atomic_store_explicit(&object->skip, (1u << misses) - 1, memory_order_relaxed);
}
