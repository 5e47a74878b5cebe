/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/call.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "client/array.h"
#include "client/error.h"

enum {
    SMALL_BYTES = 512,                                   /* most messages */
    NAMES_BYTES = 3 * 4096,                              /* two paths */
    EXTRA_BYTES = NAMES_BYTES + THEMIS_PROTO_MAX_XATTRS, /* any message but READ and WRITE */
    RUN_BYTES = 40,
    IO_BYTES = 256 /* generous bounds for READ and WRITE */
};

static pthread_mutex_t *lock_of(const themis_client_peers_t *peers)
{
    return &peers->common.poller->lock;
}

static themis_client_calls_t *calls_of(const themis_client_peer_t *peer)
{
    return peer->common->arg;
}

themis_status_t themis_client_call_get(themis_client_calls_t *calls, uint32_t server, themis_client_call_t **result)
{
    pthread_mutex_lock(lock_of(calls->peers));
    themis_client_call_t *call = calls->free;
    if (call)
        calls->free = call->next;
    pthread_mutex_unlock(lock_of(calls->peers));
    if (!call && !(call = calloc(1, sizeof *call)))
        return themis_client_fail(THEMIS_NO_MEMORY, "out of memory for a request");
    call->peer = &calls->peers->array[server];
    call->memory_count = 0;
    call->descriptor = -1;
    call->binding = NULL;
    themis_util_runs_clear(&call->runs);
    *result = call;
    return THEMIS_OK;
}

static void call_release(themis_client_call_t *call)
{
    themis_client_calls_t *calls = calls_of(call->peer);

    if (call->descriptor >= 0)
        close(call->descriptor);
    call->next = calls->free;
    calls->free = call;
}

void themis_client_call_put(themis_client_call_t *call)
{
    pthread_mutex_t *lock = &call->peer->common->poller->lock;

    themis_net_unexpose(call->exposed);
    call->exposed = NULL;
    pthread_mutex_lock(lock);
    call_release(call);
    pthread_mutex_unlock(lock);
}

void themis_client_calls_free(themis_client_calls_t *calls)
{
    themis_client_call_t *next;

    for (themis_client_call_t *call = calls->free; call; call = next) {
        next = call->next;
        themis_util_runs_free(&call->runs);
        free(call->memory);
        free(call->message.bytes);
        free(call->reply.bytes);
        free(call);
    }
}

/* --- a peer's queue and the table of ids; with the lock held ------------------------------------------------------ */

static themis_client_call_t **bucket_of(const themis_client_peer_t *peer, uint64_t id)
{
    return &calls_of(peer)->buckets[id % THEMIS_CLIENT_BUCKETS];
}

static void queue_add(themis_client_call_t *call)
{
    themis_client_peer_queue_t *queue = &call->peer->queue;
    themis_client_call_t **head = bucket_of(call->peer, call->id);

    call->chain = *head;
    *head = call;
    call->previous = queue->last;
    call->next = NULL;
    *(queue->last ? &queue->last->next : &queue->first) = call;
    queue->last = call;
    queue->unsent++;
}

static void queue_remove(themis_client_call_t *call)
{
    themis_client_peer_queue_t *queue = &call->peer->queue;
    themis_client_call_t **at = bucket_of(call->peer, call->id);

    while (*at != call)
        at = &(*at)->chain;
    *at = call->chain;
    *(call->previous ? &call->previous->next : &queue->first) = call->next;
    *(call->next ? &call->next->previous : &queue->last) = call->previous;
    queue->unsent--;
}

/* Calls that the server may queue. Locks are not counted: an unlock must not wait for room behind those that wait for
 * it. */
static int is_bounded(const themis_client_call_t *call)
{
    return call->opcode >= THEMIS_OP_LOOKUP && call->opcode < THEMIS_OP_LOCK;
}

/* A call whose effect ends the session or the server: it fails instead of being sent again. */
static int is_final(const themis_client_call_t *call)
{
    return call->opcode == THEMIS_OP_GOODBYE || call->opcode == THEMIS_OP_SHUTDOWN;
}

/* Whether less than `quarters` fourths of the bounds are under way. */
static int has_room(const themis_client_peer_queue_t *queue, unsigned quarters)
{
    return queue->under_way < THEMIS_CLIENT_MAX_CALLS / 4 * quarters &&
           queue->under_way_bytes < THEMIS_CLIENT_MAX_BYTES / 4 * quarters;
}

/* A call whose reply takes one of the places that the server has for them. Locks are not counted here either. */
static int is_kept(const themis_client_call_t *call)
{
    return themis_proto_is_done_once(call->opcode) && call->opcode != THEMIS_OP_LOCK &&
           call->opcode != THEMIS_OP_UNLOCK;
}

static int may_send(const themis_client_call_t *call)
{
    const themis_client_peer_queue_t *queue = &call->peer->queue;

    return (!is_kept(call) || queue->under_way_kept < THEMIS_CLIENT_MAX_KEPT) &&
           (!is_bounded(call) || has_room(queue, 4));
}

static void mark_sent(themis_client_call_t *call)
{
    themis_client_peer_queue_t *queue = &call->peer->queue;

    call->sent = 1;
    queue->unsent--;
    queue->under_way_kept += (uint32_t)is_kept(call);
    if (!is_bounded(call))
        return;
    queue->under_way++;
    queue->under_way_bytes += call->message.length;
}

static void mark_unsent(themis_client_call_t *call)
{
    themis_client_peer_queue_t *queue = &call->peer->queue;

    if (!call->sent)
        return;
    call->sent = 0;
    queue->unsent++;
    queue->under_way_kept -= (uint32_t)is_kept(call);
    if (!is_bounded(call))
        return;
    queue->under_way--;
    queue->under_way_bytes -= call->message.length;
}

static void call_end(themis_client_call_t *call, themis_status_t status)
{
    mark_unsent(call);
    queue_remove(call);
    call->status = status;
    if (call->remaining)
        --*call->remaining;
    else
        call_release(call);
    themis_client_poller_notify(call->peer->common->poller);
}

/* --- sending ------------------------------------------------------------------------------------------------------ */

static themis_status_t call_encode(themis_client_call_t *call, const void *body, size_t capacity)
{
    themis_proto_header_t header = {
        .version = THEMIS_PROTO_VERSION, .kind = THEMIS_PROTO_REQUEST, .opcode = call->opcode, .id = call->id};

    if (call->binding)
        header.flags = themis_client_binding_flags(call->binding, call->opcode);
    themis_status_t status = themis_client_array_reserve(&call->message.bytes, &call->message.capacity, capacity, 1);

    if (status != THEMIS_OK)
        return status;
    return themis_proto_encode(&header, body, call->message.bytes, call->message.capacity, &call->message.length);
}

/* The memory is exposed to a connection, so READ and WRITE are encoded again for each. */
static themis_status_t call_expose(themis_client_call_t *call)
{
    themis_proto_io_t io = {.object = call->object,
                            .capability = *call->capability,
                            .epoch = call->epoch,
                            .runs = (uint32_t)call->runs.count};
    int writable = call->opcode == THEMIS_OP_READ;

    themis_net_unexpose(call->exposed);
    call->exposed = NULL;
    themis_status_t status =
        themis_net_expose(call->peer->conn, call->memory, call->memory_count, writable, &call->exposed);
    if (status != THEMIS_OK)
        return status;
    themis_net_exposed_descriptor(call->exposed, io.descriptor);
    io.run_bytes = (const uint8_t *)call->runs.run;
    return call_encode(call, &io, IO_BYTES + call->runs.count * RUN_BYTES);
}

/* With the lock held, the peer ready, and room for the call. What cannot be sent because the connection just broke
 * stays queued. */
static void call_transmit(themis_client_call_t *call)
{
    int is_io = call->opcode == THEMIS_OP_READ || call->opcode == THEMIS_OP_WRITE;
    themis_status_t status = THEMIS_OK;

    if (call->binding)
        status = themis_client_binding_check(call->binding, call->peer, call->opcode, &call->cause);

    if (status == THEMIS_OK && is_io)
        status = call_expose(call);
    if (status == THEMIS_DISCONNECTED) {
        themis_client_peer_lose(call->peer, status);
        return;
    }
    if (status != THEMIS_OK) {
        call_end(call, status);
        return;
    }
    mark_sent(call); /* before a failure marks all calls as not sent */
    themis_client_peer_send(call->peer, call->message.bytes, call->message.length);
}

static void call_submit(themis_client_call_t *call, uint32_t *remaining)
{
    themis_client_peer_t *peer = call->peer;

    call->remaining = remaining;
    if (remaining)
        ++*remaining;
    call->sent = 0;
    call->status = THEMIS_IN_PROGRESS;
    call->cause = NULL;
    call->reply.length = 0;
    queue_add(call);
    if (peer->state != THEMIS_CLIENT_PEER_READY)
        peer->common->poller->due = 1;
    else if (may_send(call) && (!is_bounded(call) || peer->queue.unsent == 1))
        call_transmit(call);
}

themis_status_t themis_client_call_start(themis_client_call_t *call, themis_proto_opcode_t opcode, const void *body,
                                         uint32_t *remaining)
{
    themis_client_peer_common_t *common = call->peer->common;

    call->opcode = opcode;
    pthread_mutex_lock(&common->poller->lock);
    call->id = common->next_id++;
    themis_status_t status = body ? call_encode(call, body, SMALL_BYTES) : THEMIS_OK;
    if (status == THEMIS_RANGE)
        status = call_encode(call, body, NAMES_BYTES);
    if (status == THEMIS_RANGE)
        status = call_encode(call, body, EXTRA_BYTES);
    if (status == THEMIS_OK)
        call_submit(call, remaining);
    pthread_mutex_unlock(&common->poller->lock);
    if (status != THEMIS_OK)
        return themis_client_fail(status, "server %s: the request could not be encoded: %s", call->peer->name,
                                  themis_status_string(status));
    return THEMIS_OK;
}

/* --- events of peers; with the lock held -------------------------------------------------------------------------- */

/* Sends what was not sent, as far as there is room. */
static void send_queued(themis_client_peer_t *peer)
{
    themis_client_call_t *next;

    for (themis_client_call_t *call = peer->queue.first; call && peer->state == THEMIS_CLIENT_PEER_READY; call = next) {
        next = call->next;
        if (!call->sent && may_send(call))
            call_transmit(call);
    }
}

static void on_lost(themis_client_peer_t *peer, themis_status_t why)
{
    themis_client_call_t *next;

    for (themis_client_call_t *call = peer->queue.first; call; call = next) {
        next = call->next;
        if (is_final(call) && call->sent)
            call_end(call, why);
        else
            mark_unsent(call);
    }
}

static void end_all(themis_client_peer_t *peer, themis_status_t status)
{
    while (peer->queue.first)
        call_end(peer->queue.first, status);
}

static int on_reply(themis_client_peer_t *peer, const themis_proto_header_t *header, const void *bytes, size_t length)
{
    themis_client_call_t *call = *bucket_of(peer, header->id);

    while (call && call->id != header->id)
        call = call->chain;
    if (!call || call->peer != peer || call->opcode != header->opcode)
        return 0;
    themis_status_t status = themis_client_array_reserve(&call->reply.bytes, &call->reply.capacity,
                                                         length < SMALL_BYTES ? SMALL_BYTES : length, 1);
    if (status == THEMIS_OK) {
        memcpy(call->reply.bytes, bytes, length);
        call->reply.length = length;
        call->incarnation = peer->incarnation;
        call->connection = peer->connection;
        call->store = peer->store;
        call->exists = (header->flags & THEMIS_PROTO_FLAG_EXISTS) != 0;
        if (call->binding)
            themis_client_binding_update(call->binding, header);
        if (call->opcode == THEMIS_OP_SEGMENT)
            call->descriptor = themis_net_take_descriptor(peer->conn);
        themis_net_exposed_flush(call->exposed);
    }
    call_end(call, status);
    /* many at a time, since each pass walks over all that are under way */
    if (peer->queue.unsent && has_room(&peer->queue, 3))
        send_queued(peer);
    return 1;
}

const themis_client_peer_events_t themis_client_call_events = {
    .ready = send_queued, .lost = on_lost, .ended = end_all, .replied = on_reply};

void themis_client_calls_cancel(themis_client_calls_t *calls)
{
    for (uint32_t i = 0; i < calls->peers->count; i++)
        end_all(&calls->peers->array[i], THEMIS_CANCELED);
}

/* --- results ------------------------------------------------------------------------------------------------------ */

static themis_status_t fail_named(const themis_client_call_t *call, const char *subject, themis_status_t status,
                                  const themis_proto_text_t *cause)
{
    const char *text = cause->length ? cause->bytes : themis_status_string(status);
    int length = cause->length ? (int)cause->length : (int)strlen(text);

    return themis_client_fail(status, "%s%sserver %s: %.*s", subject ? subject : "", subject ? ": " : "",
                              call->peer->name, length, text);
}

/* Why a call got no reply. */
static themis_status_t fail_unanswered(const themis_client_call_t *call, const char *subject)
{
    const themis_client_peer_t *peer = call->peer;
    const themis_proto_text_t cause = {call->cause, call->cause ? (uint32_t)strlen(call->cause) : 0};

    if (peer->state == THEMIS_CLIENT_PEER_REFUSED && peer->why == call->status)
        return themis_client_fail(call->status, "%s%s%s", subject ? subject : "", subject ? ": " : "", peer->cause);
    return fail_named(call, subject, call->status, &cause);
}

themis_status_t themis_client_call_result(themis_client_call_t *call, const char *subject, themis_proto_body_t *reply)
{
    themis_proto_header_t header;
    themis_proto_body_t decoded;

    if (call->status == THEMIS_OK)
        call->status = themis_proto_decode(call->reply.bytes, call->reply.length, &header, &decoded);
    if (call->status != THEMIS_OK)
        return fail_unanswered(call, subject);
    if (header.status < 0)
        return fail_named(call, subject, (themis_status_t)header.status, &decoded.text.text);
    *reply = decoded;
    return THEMIS_OK;
}

themis_status_t themis_client_call_do(themis_client_call_t *call, themis_proto_opcode_t opcode, const void *body,
                                      const char *subject, themis_proto_body_t *reply)
{
    uint32_t remaining = 0;
    themis_status_t status = themis_client_call_start(call, opcode, body, &remaining);

    if (status != THEMIS_OK)
        return status;
    themis_client_poller_wait(call->peer->common->poller, &remaining);
    return themis_client_call_result(call, subject, reply);
}

themis_status_t themis_client_call_ask(themis_client_calls_t *calls, uint32_t server, themis_proto_opcode_t opcode,
                                       const void *body, const char *subject, themis_proto_body_t *reply)
{
    themis_client_call_t *call;
    themis_status_t status = themis_client_call_get(calls, server, &call);

    if (status != THEMIS_OK)
        return status;
    status = themis_client_call_do(call, opcode, body, subject, reply);
    themis_client_call_put(call);
    return status;
}
