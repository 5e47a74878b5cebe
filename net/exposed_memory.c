/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Client side of bulk data: memory that the peer may ask for. A peer of the same host and user copies from or to it by
 * itself, small memory by way of the stage; the others send PULL and PUSH frames, which are served here. `busy` counts
 * the sends and fetches that touch the memory.
 */
#include <endian.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "net/local/channel.h"
#include "util/clock.h"
#include "util/log.h"

#define PATIENCE (5 * THEMIS_NS_PER_S)

struct themis_net_exposed {
    themis_net_conn_t *conn;
    uint64_t token, total;
    int writable;
    int slot; /* of the connection's stage; -1: none */
    int settled;
    unsigned busy;
    UT_hash_handle hh;
    size_t count;
    themis_net_piece_t pieces[];
};

/* One answer under way. */
typedef struct answer {
    themis_net_exposed_t *exposed;
    uint64_t chunk, offset;
    size_t length;
    void *bounce; /* NULL: UCX works on the exposed memory itself */
} answer_t;

_Static_assert(sizeof(themis_net_descriptor_t) == THEMIS_NET_DESCRIPTOR_BYTES, "descriptor has no gaps");

/* --- descriptors ------------------------------------------------------------------------------------------------- */

static uint64_t check_of(const unsigned char bytes[THEMIS_NET_DESCRIPTOR_BYTES])
{
    return XXH3_64bits(bytes, offsetof(themis_net_descriptor_t, check));
}

void themis_net_descriptor_write(const themis_net_descriptor_t *said, unsigned char bytes[THEMIS_NET_DESCRIPTOR_BYTES])
{
    themis_net_descriptor_t wire = {.token = htole64(said->token),
                                    .total = htole64(said->total),
                                    .address = htole64(said->address),
                                    .count = htole32(said->count),
                                    .flags = htole32(said->flags)};

    memcpy(bytes, &wire, sizeof wire);
    wire.check = htole64(check_of(bytes));
    memcpy(bytes, &wire, sizeof wire);
}

void themis_net_exposed_descriptor(const themis_net_exposed_t *exposed,
                                   unsigned char descriptor[THEMIS_NET_DESCRIPTOR_BYTES])
{
    int plain = exposed->count == 1;
    themis_net_descriptor_t said = {.token = exposed->token,
                                    .total = exposed->total,
                                    .address = plain ? exposed->pieces[0].address : (uintptr_t)exposed->pieces,
                                    .count = (uint32_t)exposed->count,
                                    .flags =
                                        (exposed->writable ? THEMIS_NET_WRITABLE : 0) | (plain ? THEMIS_NET_PLAIN : 0)};

    if (exposed->slot >= 0) {
        said.address = (uint64_t)exposed->slot;
        said.flags |= THEMIS_NET_STAGED;
    }
    themis_net_descriptor_write(&said, descriptor);
}

themis_status_t themis_net_descriptor_read(const unsigned char bytes[THEMIS_NET_DESCRIPTOR_BYTES],
                                           themis_net_descriptor_t *descriptor)
{
    themis_net_descriptor_t wire;

    memcpy(&wire, bytes, sizeof wire);
    if (le64toh(wire.check) != check_of(bytes) || le64toh(wire.total) > INT64_MAX ||
        le32toh(wire.count) > THEMIS_NET_MAX_PIECES)
        return THEMIS_PROTOCOL;
    *descriptor = (themis_net_descriptor_t){.token = le64toh(wire.token),
                                            .total = le64toh(wire.total),
                                            .address = le64toh(wire.address),
                                            .count = le32toh(wire.count),
                                            .flags = le32toh(wire.flags)};
    return THEMIS_OK;
}

themis_status_t themis_net_descriptor_bytes(const unsigned char descriptor[THEMIS_NET_DESCRIPTOR_BYTES],
                                            uint64_t *bytes)
{
    themis_net_descriptor_t read;

    themis_status_t status = themis_net_descriptor_read(descriptor, &read);
    if (status == THEMIS_OK)
        *bytes = read.total;
    return status;
}

/* --- small memory: by the stage ---------------------------------------------------------------------------------- */

static int is_staged(const themis_net_conn_t *conn, uint64_t bytes)
{
    return bytes > 0 && bytes <= THEMIS_NET_STAGE_BYTES && conn->local != NULL && conn->state == THEMIS_NET_OPEN;
}

static unsigned char *slot_of(const themis_net_exposed_t *exposed)
{
    return exposed->conn->local->mine->slots[exposed->slot];
}

/* The slot is filled for both directions: what the peer does not write over is to stay as it is. */
static void fill_slot(themis_net_exposed_t *exposed)
{
    themis_net_pieces_copy(exposed->pieces, exposed->count, 0, slot_of(exposed), exposed->total, 0);
}

void themis_net_exposed_flush(themis_net_exposed_t *exposed)
{
    if (exposed == NULL || exposed->slot < 0 || !exposed->writable || exposed->settled)
        return;
    exposed->settled = 1;
    themis_net_pieces_copy(exposed->pieces, exposed->count, 0, slot_of(exposed), exposed->total, 1);
}

/* --- exposing ---------------------------------------------------------------------------------------------------- */

themis_status_t themis_net_expose(themis_net_conn_t *conn, const struct iovec *pieces, size_t count, int writable,
                                  themis_net_exposed_t **exposed)
{
    themis_net_exposed_t *new;

    if (count > THEMIS_NET_MAX_PIECES)
        return THEMIS_RANGE;
    new = calloc(1, sizeof *new + count * sizeof new->pieces[0]);
    if (new == NULL)
        return THEMIS_NO_MEMORY;
    if (themis_net_pieces_set(new->pieces, pieces, count, &new->total) != 0) {
        free(new);
        return THEMIS_RANGE;
    }
    new->conn = conn;
    new->writable = writable;
    new->count = count;
    themis_net_conn_ref(conn);
    themis_net_lock(conn->net);
    new->slot = is_staged(conn, new->total) ? themis_net_stage_take(conn->local) : -1;
    new->token = ++conn->net->next_id;
    HASH_ADD(hh, conn->net->exposures, token, sizeof new->token, new);
    themis_net_unlock(conn->net);
    if (new->slot >= 0)
        fill_slot(new);
    *exposed = new;
    return THEMIS_OK;
}

/* UCX may hold the memory while a peer is slow; one that does nothing for long is given up. */
static void await_idle(themis_net_exposed_t *exposed)
{
    themis_net_t *net = exposed->conn->net;
    uint64_t until = themis_util_clock_now() + PATIENCE;

    while (exposed->busy > 0) {
        net->armed = 0;
        net->kick = 1; /* a sleeping thread has to arm UCX again */
        if (ucp_worker_progress(net->worker) == 0) {
            themis_net_unlock(net);
            sched_yield();
            themis_net_lock(net);
        }
        themis_net_conns_tend(net);
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
    await_idle(exposed);
    if (exposed->slot >= 0)
        themis_net_stage_put(conn->local, exposed->slot);
    themis_net_unlock(conn->net);
    themis_net_conn_unref(conn);
    free(exposed);
}

/* --- answering --------------------------------------------------------------------------------------------------- */

static void reply(themis_net_conn_t *conn, themis_net_frame_type_t type, uint64_t chunk, themis_status_t status)
{
    themis_net_frame_t frame = {.type = type, .status = status, .id = chunk};

    themis_net_post(conn, &frame, NULL, 0, NULL, NULL);
}

/* The exposure that a frame names, if the peer may do this with it. */
static themis_status_t find(themis_net_conn_t *conn, const themis_net_frame_t *frame, uint64_t length, int write,
                            themis_net_exposed_t **exposed)
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

/* Sets *memory to where UCX is to work: the exposed memory, or a bounce buffer of the answer. */
static answer_t *answer_new(themis_net_exposed_t *exposed, const themis_net_frame_t *frame, size_t length,
                            void **memory)
{
    answer_t *answer = calloc(1, sizeof *answer);

    if (answer == NULL)
        return NULL;
    *answer = (answer_t){.exposed = exposed, .chunk = frame->id, .offset = frame->offset, .length = length};
    *memory = themis_net_pieces_at(exposed->pieces, exposed->count, frame->offset, length);
    if (*memory == NULL) {
        *memory = answer->bounce = malloc(length + 1);
        if (*memory == NULL) {
            free(answer);
            return NULL;
        }
    }
    exposed->busy++;
    return answer;
}

static void answer_free(answer_t *answer)
{
    answer->exposed->busy--;
    free(answer->bounce);
    free(answer);
}

static void on_answered(void *arg, themis_status_t status)
{
    answer_free(arg);
}

void themis_net_on_pull(themis_net_conn_t *conn, const themis_net_frame_t *frame)
{
    themis_net_frame_t data = {.type = THEMIS_NET_DATA, .id = frame->id};
    themis_net_exposed_t *exposed;
    void *memory;

    themis_status_t status = find(conn, frame, frame->length, 0, &exposed);
    answer_t *answer = status == THEMIS_OK ? answer_new(exposed, frame, frame->length, &memory) : NULL;
    if (answer == NULL) {
        reply(conn, THEMIS_NET_DATA, frame->id, status != THEMIS_OK ? status : THEMIS_NO_MEMORY);
        return;
    }
    if (answer->bounce != NULL)
        themis_net_pieces_copy(exposed->pieces, exposed->count, frame->offset, memory, frame->length, 0);
    themis_net_post(conn, &data, memory, frame->length, on_answered, answer);
}

/* The pushed bytes are here; only now the server may tell that it has pushed them. */
static void on_pushed(void *arg, themis_status_t status)
{
    answer_t *answer = arg;
    themis_net_exposed_t *exposed = answer->exposed;

    if (status == THEMIS_OK && answer->bounce != NULL)
        themis_net_pieces_copy(exposed->pieces, exposed->count, answer->offset, answer->bounce, answer->length, 1);
    reply(exposed->conn, THEMIS_NET_ACK, answer->chunk, status);
    answer_free(answer);
}

void themis_net_on_push(themis_net_conn_t *conn, const themis_net_frame_t *frame, const themis_net_payload_t *payload)
{
    themis_net_exposed_t *exposed;
    void *memory;

    themis_status_t status = find(conn, frame, payload->length, 1, &exposed);
    answer_t *answer = status == THEMIS_OK ? answer_new(exposed, frame, payload->length, &memory) : NULL;
    if (answer != NULL)
        exposed->settled = 1; /* the peer does not use the stage */
    if (answer == NULL)
        reply(conn, THEMIS_NET_ACK, frame->id, status != THEMIS_OK ? status : THEMIS_NO_MEMORY);
    else
        themis_net_fetch(conn, payload, memory, on_pushed, answer);
}
