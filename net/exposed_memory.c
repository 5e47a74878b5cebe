/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/exposed_memory.h"
#include <sched.h>
#include <stdlib.h>
#include "net/conn.h"
#include "net/reaper.h"
#include "net/segments.h"
#include "util/clock.h"
#include "util/log.h"

#define MAX_WAIT (5 * THEMIS_NS_PER_S)

struct themis_net_exposed {
    themis_net_conn_t *conn;
    uint64_t token, total;
    int writable;
    int stage; /* number of the staging buffer; -1: none */
    unsigned char *staged;
    int flushed;
    unsigned busy; /* sends and fetches that touch the memory */
    UT_hash_handle hh;
    size_t count;
    themis_net_segment_t segments[];
};

/* One answer under way. */
typedef struct answer {
    themis_net_exposed_t *exposed;
    uint64_t chunk, offset;
    size_t length;
    void *bounce; /* NULL: the transport works on the exposed memory itself */
} answer_t;

static void exposed_copy(themis_net_exposed_t *exposed, uint64_t offset, void *buffer, size_t length, int to_exposed)
{
    themis_net_segments_copy(exposed->segments, exposed->count, offset, buffer, length, to_exposed);
}

void themis_net_exposed_descriptor(const themis_net_exposed_t *exposed,
                                   unsigned char descriptor[THEMIS_NET_DESCRIPTOR_BYTES])
{
    int plain = exposed->count == 1;
    themis_net_descriptor_t fields = {.token = exposed->token,
                                      .total = exposed->total,
                                      .address = plain ? exposed->segments[0].address : (uintptr_t)exposed->segments,
                                      .count = (uint32_t)exposed->count,
                                      .flags = (exposed->writable ? THEMIS_NET_WRITABLE : 0) |
                                               (plain ? THEMIS_NET_PLAIN : 0)};

    if (exposed->stage >= 0) {
        fields.address = (uint64_t)exposed->stage;
        fields.flags |= THEMIS_NET_STAGED;
    }
    themis_net_descriptor_write(&fields, descriptor);
}

void themis_net_exposed_flush(themis_net_exposed_t *exposed)
{
    if (exposed == NULL || exposed->stage < 0 || !exposed->writable || exposed->flushed)
        return;
    exposed->flushed = 1;
    exposed_copy(exposed, 0, exposed->staged, exposed->total, 1);
}

themis_status_t themis_net_expose(themis_net_conn_t *conn, const struct iovec *segments, size_t count, int writable,
                                  themis_net_exposed_t **exposed)
{
    themis_net_exposed_t *new;

    if (count > THEMIS_NET_MAX_SEGMENTS)
        return THEMIS_RANGE;
    new = calloc(1, sizeof *new + count * sizeof new->segments[0]);
    if (new == NULL)
        return THEMIS_NO_MEMORY;
    if (themis_net_segments_set(new->segments, segments, count, &new->total) != 0) {
        free(new);
        return THEMIS_RANGE;
    }
    new->conn = conn;
    new->writable = writable;
    new->count = count;
    themis_net_conn_ref(conn);
    themis_net_lock(conn->net);
    int may_stage = conn->state == THEMIS_NET_OPEN && conn->transport->stage != NULL && new->total > 0;
    new->stage = may_stage ? conn->transport->stage(conn, new->total, &new->staged) : -1;
    new->token = ++conn->net->next_id;
    HASH_ADD(hh, conn->net->exposures, token, sizeof new->token, new);
    int listed = new->hh.tbl != NULL;
    if (!listed && new->stage >= 0)
        conn->transport->unstage(conn, new->stage);
    themis_net_unlock(conn->net);
    if (!listed) {
        themis_net_conn_unref(conn);
        free(new);
        return THEMIS_NO_MEMORY;
    }
    if (new->stage >= 0) /* for both directions: what the peer does not overwrite is to stay as it is */
        exposed_copy(new, 0, new->staged, new->total, 0);
    *exposed = new;
    return THEMIS_OK;
}

/* The transport may hold the memory while a peer is slow; a peer that does nothing for long is dropped. */
static void exposed_await_idle(themis_net_exposed_t *exposed)
{
    themis_net_t *net = exposed->conn->net;
    uint64_t until = themis_util_clock_now() + MAX_WAIT;

    while (exposed->busy > 0) {
        net->kick = 1; /* a sleeping thread has to arm the transport again */
        if (!net->transports[THEMIS_NET_NETWORK]->progress(net, 1)) {
            themis_net_unlock(net);
            sched_yield();
            themis_net_lock(net);
        }
        themis_net_reap(net);
        if (themis_util_clock_now() > until && !themis_net_conn_is_dead(exposed->conn)) {
            themis_warn("dropping %s: it does not end a transfer", exposed->conn->peer);
            themis_net_conn_lose(exposed->conn, THEMIS_TIMED_OUT);
        }
    }
}

void themis_net_unexpose(themis_net_exposed_t *exposed)
{
    if (exposed == NULL)
        return;
    themis_net_conn_t *conn = exposed->conn;
    themis_net_lock(conn->net);
    HASH_DEL(conn->net->exposures, exposed);
    exposed_await_idle(exposed);
    if (exposed->stage >= 0)
        conn->transport->unstage(conn, exposed->stage);
    themis_net_unlock(conn->net);
    themis_net_conn_unref(conn);
    free(exposed);
}

/* --- answering --------------------------------------------------------------------------------------------------- */

static void answer_free(answer_t *answer)
{
    answer->exposed->busy--;
    free(answer->bounce);
    free(answer);
}

/* Tells the peer how its chunk went. */
static void reply(themis_net_conn_t *conn, themis_net_frame_type_t type, uint64_t chunk, themis_status_t status)
{
    themis_net_frame_t frame = {.type = type, .status = status, .id = chunk};

    conn->transport->post(conn, &frame, NULL, 0, NULL, NULL);
}

/* The exposure that a frame names, if the peer may do this with it. */
static themis_status_t exposed_find(themis_net_conn_t *conn, const themis_net_frame_t *frame, uint64_t length,
                                    int write, themis_net_exposed_t **exposed)
{
    themis_net_exposed_t *found;

    HASH_FIND(hh, conn->net->exposures, &frame->token, sizeof frame->token, found);
    if (found == NULL || found->conn != conn)
        return THEMIS_STALE;
    if (found->writable != write)
        return THEMIS_ACCESS;
    if (length > THEMIS_NET_CHUNK || frame->offset > found->total || length > found->total - frame->offset)
        return THEMIS_RANGE;
    *exposed = found;
    return THEMIS_OK;
}

/*
 * Begins to answer a frame about `length` bytes. Sets *memory to where the transport is to work: the exposed memory, or
 * a bounce buffer of the answer. If the request is refused, a frame of the given type says so, and NULL is
 * returned.
 */
static answer_t *answer_new(themis_net_conn_t *conn, const themis_net_frame_t *frame, size_t length,
                            themis_net_frame_type_t type, void **memory)
{
    themis_net_exposed_t *exposed;
    answer_t *answer = NULL;

    themis_status_t status = exposed_find(conn, frame, length, type == THEMIS_NET_ACK, &exposed);
    if (status == THEMIS_OK) {
        status = THEMIS_NO_MEMORY;
        answer = calloc(1, sizeof *answer);
    }
    if (answer != NULL) {
        *answer = (answer_t){.exposed = exposed, .chunk = frame->id, .offset = frame->offset, .length = length};
        *memory = themis_net_segments_at(exposed->segments, exposed->count, frame->offset, length);
        if (*memory == NULL)
            *memory = answer->bounce = malloc(length + 1);
        exposed->busy++;
        if (*memory != NULL)
            return answer;
        answer_free(answer);
    }
    reply(conn, type, frame->id, status);
    return NULL;
}

static void on_data_sent(void *arg, themis_status_t status)
{
    answer_free(arg);
}

void themis_net_exposed_on_pull(themis_net_conn_t *conn, const themis_net_frame_t *frame, themis_net_payload_t *payload)
{
    themis_net_frame_t data = {.type = THEMIS_NET_DATA, .id = frame->id};
    void *memory;
    answer_t *answer = answer_new(conn, frame, frame->length, THEMIS_NET_DATA, &memory);

    if (answer == NULL)
        return;
    if (answer->bounce != NULL)
        exposed_copy(answer->exposed, frame->offset, memory, frame->length, 0);
    conn->transport->post(conn, &data, memory, frame->length, on_data_sent, answer);
}

/* The pushed bytes are here; only now the server may say that it has pushed them. */
static void on_push_fetched(void *arg, themis_status_t status)
{
    answer_t *answer = arg;

    if (status == THEMIS_OK && answer->bounce != NULL)
        exposed_copy(answer->exposed, answer->offset, answer->bounce, answer->length, 1);
    reply(answer->exposed->conn, THEMIS_NET_ACK, answer->chunk, status);
    answer_free(answer);
}

void themis_net_exposed_on_push(themis_net_conn_t *conn, const themis_net_frame_t *frame, themis_net_payload_t *payload)
{
    void *memory;
    answer_t *answer = answer_new(conn, frame, payload->length, THEMIS_NET_ACK, &memory);

    if (answer == NULL)
        return;
    answer->exposed->flushed = 1; /* the peer does not use the staging buffer */
    conn->transport->fetch(conn, payload, memory, on_push_fetched, answer);
}
