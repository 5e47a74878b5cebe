/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/call.h"
#include <stdlib.h>
#include <string.h>
#include "client/error.h"
#include "client/peer.h"
#include "util/clock.h"

enum {
    SMALL_BYTES = 512,      /* most messages */
    NAMES_BYTES = 3 * 4096, /* any message but for the lists below: up to two paths */
    RUN_BYTES = 40,
    IO_BYTES = 256 /* generous bounds for a list */
};

themis_status_t themis_client_call_get(themis_t *session, uint32_t server, themis_client_call_t **result)
{
    pthread_mutex_lock(&session->lock);
    themis_client_call_t *call = session->free_calls;
    if (call)
        session->free_calls = call->next;
    pthread_mutex_unlock(&session->lock);
    if (!call && !(call = calloc(1, sizeof *call)))
        return themis_client_fail(THEMIS_NO_MEMORY, "out of memory for a request");
    call->peer = themis_client_peer(session, server);
    call->once = 0;
    call->memory_count = 0;
    themis_client_runs_clear(&call->runs);
    *result = call;
    return THEMIS_OK;
}

void themis_client_call_put(themis_client_call_t *call)
{
    themis_t *session = call->peer->session;

    themis_net_unexpose(call->exposed);
    call->exposed = NULL;
    pthread_mutex_lock(&session->lock);
    call->next = session->free_calls;
    session->free_calls = call;
    pthread_mutex_unlock(&session->lock);
}

void themis_client_call_destroy(themis_client_call_t *call)
{
    themis_client_runs_free(&call->runs);
    free(call->memory);
    free(call->message.bytes);
    free(call->reply.bytes);
    free(call);
}

static themis_status_t reserve(themis_client_bytes_t *bytes, size_t capacity)
{
    if (capacity <= bytes->capacity)
        return THEMIS_OK;
    unsigned char *grown = realloc(bytes->bytes, capacity);
    if (!grown)
        return THEMIS_NO_MEMORY;
    bytes->bytes = grown;
    bytes->capacity = capacity;
    return THEMIS_OK;
}

/* --- the list of a peer's calls and the table of ids; with the lock held ------------------------------------------ */

static themis_client_call_t **bucket(themis_t *session, uint64_t id)
{
    return &session->buckets[id % THEMIS_CLIENT_BUCKETS];
}

static void enter(themis_client_call_t *call)
{
    themis_client_peer_t *peer = call->peer;
    themis_client_call_t **head = bucket(peer->session, call->id);

    call->chain = *head;
    *head = call;
    call->previous = peer->last;
    call->next = NULL;
    *(peer->last ? &peer->last->next : &peer->first) = call;
    peer->last = call;
}

static void leave(themis_client_call_t *call)
{
    themis_client_peer_t *peer = call->peer;
    themis_client_call_t **at = bucket(peer->session, call->id);

    while (*at != call)
        at = &(*at)->chain;
    *at = call->chain;
    *(call->previous ? &call->previous->next : &peer->first) = call->next;
    *(call->next ? &call->next->previous : &peer->last) = call->previous;
}

/* Calls that the server may queue. Locks are not counted: an unlock is not to wait behind those that wait for it. */
static int is_bounded(const themis_client_call_t *call)
{
    return call->opcode >= THEMIS_OP_LOOKUP && call->opcode < THEMIS_OP_LOCK;
}

static int has_room(const themis_client_peer_t *peer)
{
    return peer->under_way < THEMIS_CLIENT_MAX_CALLS && peer->under_way_bytes < THEMIS_CLIENT_MAX_BYTES;
}

static void mark_sent(themis_client_call_t *call)
{
    call->sent = 1;
    call->peer->unsent--;
    if (!is_bounded(call))
        return;
    call->peer->under_way++;
    call->peer->under_way_bytes += call->message.length;
}

static void mark_unsent(themis_client_call_t *call)
{
    if (!call->sent)
        return;
    call->sent = 0;
    call->peer->unsent++;
    if (!is_bounded(call))
        return;
    call->peer->under_way--;
    call->peer->under_way_bytes -= call->message.length;
}

static void end(themis_client_call_t *call, themis_status_t status)
{
    themis_t *session = call->peer->session;

    mark_unsent(call);
    call->peer->unsent--;
    leave(call);
    call->status = status;
    session->ended++;
    if (call->remaining) {
        --*call->remaining;
    } else {
        call->next = session->free_calls;
        session->free_calls = call;
    }
    if (session->waiting)
        pthread_cond_broadcast(&session->changed);
}

/* --- sending ------------------------------------------------------------------------------------------------------ */

static themis_status_t encode(themis_client_call_t *call, const void *body, size_t capacity)
{
    themis_proto_header_t header = {
        .version = THEMIS_PROTO_VERSION, .kind = THEMIS_PROTO_REQUEST, .opcode = call->opcode, .id = call->id};
    themis_status_t status = reserve(&call->message, capacity);

    if (status != THEMIS_OK)
        return status;
    return themis_proto_encode(&header, body, call->message.bytes, call->message.capacity, &call->message.length);
}

static int is_io(const themis_client_call_t *call)
{
    return call->opcode == THEMIS_OP_READ || call->opcode == THEMIS_OP_WRITE;
}

/* The memory is exposed to a connection, so the message of a data call is made anew for each. */
static themis_status_t expose(themis_client_call_t *call)
{
    themis_proto_io_t io = {.object = call->object, .runs = (uint32_t)call->runs.count};
    int writable = call->opcode == THEMIS_OP_READ;

    themis_net_unexpose(call->exposed);
    call->exposed = NULL;
    themis_status_t status =
        themis_net_expose(call->peer->conn, call->memory, call->memory_count, writable, &call->exposed);
    if (status != THEMIS_OK)
        return status;
    themis_net_exposed_descriptor(call->exposed, io.descriptor);
    io.run_bytes = (const uint8_t *)call->runs.array;
    return encode(call, &io, IO_BYTES + call->runs.count * RUN_BYTES);
}

/* With the lock held, the peer ready, and room for the call. What cannot be sent because the connection just broke
 * stays queued. */
static void transmit(themis_client_call_t *call)
{
    themis_status_t status = is_io(call) ? expose(call) : THEMIS_OK;

    if (status == THEMIS_DISCONNECTED) {
        themis_client_peer_lose(call->peer, status);
        return;
    }
    if (status != THEMIS_OK) {
        end(call, status);
        return;
    }
    mark_sent(call); /* before a failure marks all calls as not sent */
    themis_client_peer_send(call->peer, call->message.bytes, call->message.length);
}

static void submit(themis_client_call_t *call, uint32_t *remaining)
{
    call->remaining = remaining;
    call->sent = 0;
    call->status = THEMIS_IN_PROGRESS;
    call->reply.length = 0;
    enter(call);
    call->peer->unsent++;
    if (call->peer->state != THEMIS_CLIENT_PEER_READY)
        call->peer->session->attention = 1;
    else if (!is_bounded(call) || (call->peer->unsent == 1 && has_room(call->peer)))
        transmit(call);
}

themis_status_t themis_client_call_start(themis_client_call_t *call, themis_proto_opcode_t opcode, const void *body,
                                         uint32_t *remaining)
{
    themis_t *session = call->peer->session;

    call->opcode = opcode;
    pthread_mutex_lock(&session->lock);
    call->id = session->next_id++;
    themis_status_t status = encode(call, body, SMALL_BYTES);
    if (status == THEMIS_RANGE)
        status = encode(call, body, NAMES_BYTES);
    if (status == THEMIS_OK)
        submit(call, remaining);
    pthread_mutex_unlock(&session->lock);
    if (status != THEMIS_OK)
        return themis_client_fail(status, "%s: the request could not be made: %s", call->peer->name,
                                  themis_status_string(status));
    return THEMIS_OK;
}

themis_status_t themis_client_call_start_io(themis_client_call_t *call, themis_proto_opcode_t opcode,
                                            uint32_t *remaining)
{
    themis_t *session = call->peer->session;

    call->opcode = opcode;
    pthread_mutex_lock(&session->lock);
    call->id = session->next_id++;
    submit(call, remaining);
    pthread_mutex_unlock(&session->lock);
    return THEMIS_OK;
}

void themis_client_call_flush(themis_client_peer_t *peer)
{
    themis_client_call_t *next;

    for (themis_client_call_t *call = peer->first; call && peer->state == THEMIS_CLIENT_PEER_READY; call = next) {
        next = call->next;
        if (!call->sent && (!is_bounded(call) || has_room(peer)))
            transmit(call);
    }
}

/* Sends calls that waited for room, many at a time, since each look walks over all that are under way. */
static void refill(themis_client_peer_t *peer)
{
    if (peer->unsent && peer->under_way <= THEMIS_CLIENT_MAX_CALLS * 3 / 4 &&
        peer->under_way_bytes <= THEMIS_CLIENT_MAX_BYTES * 3 / 4)
        themis_client_call_flush(peer);
}

void themis_client_call_fail_all(themis_client_peer_t *peer, themis_status_t status)
{
    while (peer->first)
        end(peer->first, status);
}

void themis_client_call_unsend(themis_client_peer_t *peer, themis_status_t why)
{
    themis_client_call_t *next;

    for (themis_client_call_t *call = peer->first; call; call = next) {
        next = call->next;
        if (call->once && call->sent)
            end(call, why);
        else
            mark_unsent(call);
    }
}

/* --- replies ------------------------------------------------------------------------------------------------------ */

int themis_client_call_answer(themis_client_peer_t *peer, const themis_proto_header_t *header, const void *bytes,
                              size_t length)
{
    themis_client_call_t *call = *bucket(peer->session, header->id);

    while (call && call->id != header->id)
        call = call->chain;
    if (!call || call->peer != peer || call->opcode != header->opcode)
        return 0;
    themis_status_t status = reserve(&call->reply, length < SMALL_BYTES ? SMALL_BYTES : length);
    if (status == THEMIS_OK) {
        memcpy(call->reply.bytes, bytes, length);
        call->reply.length = length;
        call->incarnation = peer->incarnation;
        themis_net_exposed_flush(call->exposed);
    }
    end(call, status);
    refill(peer);
    return 1;
}

/* Why a call got no answer. */
static themis_status_t tell_failure(const themis_client_call_t *call, const char *subject)
{
    const themis_client_peer_t *peer = call->peer;
    const char *separator = subject ? ": " : "";

    subject = subject ? subject : "";
    if (peer->refused && peer->why == call->status)
        return themis_client_fail(call->status, "%s%s%s", subject, separator, peer->cause);
    return themis_client_fail(call->status, "%s%sserver %s: %s", subject, separator, peer->name,
                              themis_status_string(call->status));
}

/* What the server said against it. */
static themis_status_t tell_refusal(const themis_client_call_t *call, const char *subject, themis_status_t status,
                                    const themis_proto_text_t *cause)
{
    const char *text = cause->length ? cause->bytes : themis_status_string(status);
    int length = cause->length ? (int)cause->length : (int)strlen(text);

    return themis_client_fail(status, "%s%sserver %s: %.*s", subject ? subject : "", subject ? ": " : "",
                              call->peer->name, length, text);
}

themis_status_t themis_client_call_result(themis_client_call_t *call, const char *subject, themis_proto_body_t *body)
{
    themis_proto_header_t header;
    themis_proto_body_t decoded;

    if (call->status != THEMIS_OK)
        return tell_failure(call, subject);
    themis_status_t status = themis_proto_decode(call->reply.bytes, call->reply.length, &header, &decoded);
    if (status != THEMIS_OK) {
        call->status = status;
        return tell_failure(call, subject);
    }
    if (header.status < 0)
        return tell_refusal(call, subject, (themis_status_t)header.status, &decoded.text.text);
    *body = decoded;
    return THEMIS_OK;
}

themis_status_t themis_client_call_do(themis_t *session, uint32_t server, themis_proto_opcode_t opcode,
                                      const void *request, const char *subject, themis_client_call_t **result,
                                      themis_proto_body_t *body)
{
    themis_client_call_t *call;
    uint32_t remaining = 1;
    themis_status_t status = themis_client_call_get(session, server, &call);

    if (status != THEMIS_OK)
        return status;
    status = themis_client_call_start(call, opcode, request, &remaining);
    if (status == THEMIS_OK) {
        themis_client_wait(session, &remaining);
        status = themis_client_call_result(call, subject, body);
    }
    if (status != THEMIS_OK)
        themis_client_call_put(call);
    else
        *result = call;
    return status;
}
