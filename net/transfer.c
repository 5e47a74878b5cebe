/* SPDX-License-Identifier: BSD-3-Clause */
#include "net/transfer.h"
#include <stdlib.h>
#include "net/event.h"
#include "net/segments.h"

typedef struct transfer {
    themis_net_conn_t *conn; /* holds a reference */
    int push;
    uint64_t token, offset; /* in the peer's range */
    uint64_t total, issued; /* bytes */
    unsigned open;          /* chunks */
    themis_status_t status;
    themis_net_event_t *end; /* to be queued */
    size_t count;
    themis_net_segment_t segments[]; /* local memory */
} transfer_t;

typedef struct themis_net_chunk {
    uint64_t id;
    transfer_t *transfer;
    uint64_t start; /* in the transfer */
    size_t length;
    void *memory; /* where the transport works */
    void *bounce; /* the same, when it is ours; NULL: local memory itself */
    int answered; /* the peer is done with it */
    int held;     /* by the transport */
    UT_hash_handle hh;
} chunk_t;

static void transfer_issue(transfer_t *transfer);

static void transfer_end(transfer_t *transfer)
{
    themis_net_conn_t *conn = transfer->conn;

    transfer->end->status = transfer->status;
    themis_net_event_queue(transfer->end);
    conn->running--;
    free(transfer);
    themis_net_event_closed(conn);
    themis_net_conn_unref(conn);
}

static void chunk_copy(chunk_t *chunk, int to_local)
{
    const transfer_t *transfer = chunk->transfer;

    if (chunk->bounce != NULL)
        themis_net_segments_copy(transfer->segments, transfer->count, chunk->start, chunk->bounce, chunk->length,
                                 to_local);
}

/* Takes note of a failure, the first of which is the transfer's; drops a chunk that both sides are done with. */
static void chunk_update(chunk_t *chunk, themis_status_t status)
{
    transfer_t *transfer = chunk->transfer;

    if (transfer->status == THEMIS_OK)
        transfer->status = status;
    if (!chunk->answered || chunk->held)
        return;
    HASH_DEL(transfer->conn->net->chunks, chunk);
    free(chunk->bounce);
    free(chunk);
    transfer->open--;
    transfer_issue(transfer);
}

static void on_sent(void *arg, themis_status_t status)
{
    chunk_t *chunk = arg;

    chunk->held = 0;
    chunk->answered |= status != THEMIS_OK;
    chunk_update(chunk, status != THEMIS_OK ? THEMIS_DISCONNECTED : THEMIS_OK);
}

static chunk_t *chunk_new(transfer_t *transfer)
{
    chunk_t *chunk = calloc(1, sizeof *chunk);
    uint64_t left = transfer->total - transfer->issued, max = transfer->conn->transport->chunk_bytes;

    if (chunk == NULL)
        return NULL;
    chunk->id = ++transfer->conn->net->next_id;
    chunk->transfer = transfer;
    chunk->start = transfer->issued;
    chunk->length = (size_t)(left < max ? left : max);
    chunk->memory = themis_net_segments_at(transfer->segments, transfer->count, chunk->start, chunk->length);
    if (chunk->memory == NULL)
        chunk->memory = chunk->bounce = malloc(chunk->length);
    if (chunk->memory != NULL)
        HASH_ADD(hh, transfer->conn->net->chunks, id, sizeof chunk->id, chunk);
    if (chunk->hh.tbl != NULL)
        return chunk;
    free(chunk->bounce);
    free(chunk);
    return NULL;
}

static void chunk_send(chunk_t *chunk)
{
    transfer_t *transfer = chunk->transfer;
    themis_net_conn_t *conn = transfer->conn;
    themis_net_frame_t frame = {.type = transfer->push ? THEMIS_NET_PUSH : THEMIS_NET_PULL,
                                .id = chunk->id,
                                .token = transfer->token,
                                .offset = transfer->offset + chunk->start,
                                .length = chunk->length};

    if (transfer->push) {
        chunk_copy(chunk, 0);
        chunk->held = 1;
        conn->transport->post(conn, &frame, chunk->memory, chunk->length, on_sent, chunk);
    } else if (conn->transport->post(conn, &frame, NULL, 0, NULL, NULL) != THEMIS_OK) {
        chunk->answered = 1;
        chunk_update(chunk, THEMIS_DISCONNECTED);
    }
}

/* Starts as many chunks as may be under way; ends the transfer when nothing is left. */
static void transfer_issue(transfer_t *transfer)
{
    transfer->open++; /* so that a chunk that ends at once does not end the transfer under us */
    while (transfer->status == THEMIS_OK && transfer->issued < transfer->total &&
           transfer->open <= THEMIS_NET_TRANSFER_CHUNKS) {
        chunk_t *chunk = chunk_new(transfer);
        if (chunk == NULL) {
            transfer->status = THEMIS_NO_MEMORY;
            break;
        }
        transfer->issued += chunk->length;
        transfer->open++;
        chunk_send(chunk);
    }
    if (--transfer->open == 0)
        transfer_end(transfer);
}

/* --- answers ----------------------------------------------------------------------------------------------------- */

/* The chunk that a frame answers, from now on answered. */
static chunk_t *chunk_find(themis_net_conn_t *conn, const themis_net_frame_t *frame, int push)
{
    chunk_t *chunk;

    HASH_FIND(hh, conn->net->chunks, &frame->id, sizeof frame->id, chunk);
    if (chunk == NULL || chunk->transfer->conn != conn || chunk->transfer->push != push || chunk->answered)
        return NULL;
    chunk->answered = 1;
    return chunk;
}

/* The cause that a peer gives is taken if it is a failure at all. */
static themis_status_t failure(const themis_net_frame_t *frame)
{
    return frame->status < 0 ? (themis_status_t)frame->status : THEMIS_PROTOCOL;
}

static void on_fetched(void *arg, themis_status_t status)
{
    chunk_t *chunk = arg;

    chunk->held = 0;
    if (status == THEMIS_OK)
        chunk_copy(chunk, 1);
    chunk_update(chunk, status);
}

void themis_net_transfer_on_data(themis_net_conn_t *conn, const themis_net_frame_t *frame,
                                 themis_net_payload_t *payload)
{
    chunk_t *chunk = chunk_find(conn, frame, 0);

    if (chunk == NULL)
        return;
    if (frame->status != THEMIS_OK || payload->length != chunk->length) {
        chunk_update(chunk, failure(frame));
        return;
    }
    chunk->held = 1;
    conn->transport->fetch(conn, payload, chunk->memory, on_fetched, chunk);
}

void themis_net_transfer_on_ack(themis_net_conn_t *conn, const themis_net_frame_t *frame, themis_net_payload_t *payload)
{
    chunk_t *chunk = chunk_find(conn, frame, 1);

    if (chunk != NULL)
        chunk_update(chunk, frame->status != THEMIS_OK ? failure(frame) : THEMIS_OK);
}

void themis_net_transfers_abandon(themis_net_conn_t *conn)
{
    chunk_t *chunk, *next;

    if (conn->running == 0)
        return;
    HASH_ITER(hh, conn->net->chunks, chunk, next)
    {
        if (chunk->transfer->conn != conn)
            continue;
        chunk->answered = 1;
        chunk_update(chunk, THEMIS_DISCONNECTED);
    }
}

/* --- starting ---------------------------------------------------------------------------------------------------- */

static themis_status_t transfer_start(themis_net_conn_t *conn, const themis_net_copy_t *copy, themis_net_moved_fn moved,
                                      void *arg)
{
    transfer_t *transfer = calloc(1, sizeof *transfer + copy->count * sizeof transfer->segments[0]);

    if (transfer == NULL)
        return THEMIS_NO_MEMORY;
    transfer->conn = conn;
    transfer->push = copy->push;
    transfer->token = copy->remote->token;
    transfer->offset = copy->offset;
    transfer->count = copy->count;
    themis_net_segments_set(transfer->segments, copy->local, copy->count, &transfer->total); /* the sum was checked */
    themis_net_lock(conn->net);
    themis_status_t status = conn->state == THEMIS_NET_OPEN ? THEMIS_OK : THEMIS_DISCONNECTED;
    if (status == THEMIS_OK && (transfer->end = themis_net_event_new(conn, THEMIS_NET_EVENT_MOVED)) == NULL)
        status = THEMIS_NO_MEMORY;
    if (status != THEMIS_OK) {
        themis_net_unlock(conn->net);
        free(transfer);
        return status;
    }
    transfer->end->moved = moved;
    transfer->end->arg = arg;
    themis_net_conn_ref(conn);
    conn->running++;
    transfer_issue(transfer);
    themis_net_unlock(conn->net);
    return THEMIS_IN_PROGRESS;
}

/* Sets the sum of the local lengths, if the peer has exposed as much at the offset for this direction. */
static themis_status_t copy_check(themis_net_copy_t *copy)
{
    const themis_net_descriptor_t *remote = copy->remote;

    if (((remote->flags & THEMIS_NET_WRITABLE) != 0) != copy->push)
        return THEMIS_ACCESS;
    if (copy->offset > remote->total)
        return THEMIS_RANGE;
    for (size_t i = 0; i < copy->count; i++)
        if (__builtin_add_overflow(copy->total, copy->local[i].iov_len, &copy->total) ||
            copy->total > remote->total - copy->offset)
            return THEMIS_RANGE;
    return THEMIS_OK;
}

static themis_status_t transfer_move(themis_net_conn_t *conn, const unsigned char *descriptor, themis_net_copy_t copy,
                                     themis_net_moved_fn moved, void *arg)
{
    themis_net_descriptor_t remote;

    themis_status_t status = themis_net_descriptor_read(descriptor, &remote);
    copy.remote = &remote;
    if (status == THEMIS_OK)
        status = copy_check(&copy);
    if (status != THEMIS_OK)
        return status;
    if (themis_net_conn_is_dead(conn))
        return THEMIS_DISCONNECTED;
    if (copy.total == 0)
        return THEMIS_OK;
    status = conn->transport->copy != NULL ? conn->transport->copy(conn, &copy) : THEMIS_UNSUPPORTED;
    return status == THEMIS_UNSUPPORTED ? transfer_start(conn, &copy, moved, arg) : status;
}

themis_status_t themis_net_pull(themis_net_conn_t *conn, const unsigned char descriptor[THEMIS_NET_DESCRIPTOR_BYTES],
                                uint64_t offset, const struct iovec *local, size_t count, themis_net_moved_fn moved,
                                void *arg)
{
    return transfer_move(conn, descriptor, (themis_net_copy_t){NULL, offset, local, count, 0, 0}, moved, arg);
}

themis_status_t themis_net_push(themis_net_conn_t *conn, const unsigned char descriptor[THEMIS_NET_DESCRIPTOR_BYTES],
                                uint64_t offset, const struct iovec *local, size_t count, themis_net_moved_fn moved,
                                void *arg)
{
    return transfer_move(conn, descriptor, (themis_net_copy_t){NULL, offset, local, count, 0, 1}, moved, arg);
}
