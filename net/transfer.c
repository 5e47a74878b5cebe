/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Server side of bulk data by messages. A transfer is cut into chunks, of which a few are under way at a time: for a
 * pull a PULL frame goes out and DATA comes back; for a push a PUSH frame with the bytes goes out and ACK comes back. A
 * chunk ends when the peer has answered and UCX has let go of our memory; the transfer ends with its last chunk.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "net/local/process_vm.h"
#include "net/local/channel.h"
#include "util/log.h"

/* All chunks of a transfer that are under way fit into the ring of a local connection. */
enum { WINDOW = 4, LOCAL_CHUNK = THEMIS_NET_RING_BYTES / WINDOW - 4096 };

struct themis_net_transfer {
    themis_net_conn_t *conn; /* holds a reference */
    int push;
    uint64_t token, offset; /* in the peer's range */
    uint64_t total, issued; /* bytes */
    unsigned open;          /* chunks */
    themis_status_t status;
    themis_net_moved_fn moved;
    void *arg;
    size_t count;
    themis_net_piece_t pieces[]; /* local memory */
};

struct themis_net_chunk {
    uint64_t id;
    themis_net_transfer_t *transfer;
    uint64_t start; /* in the transfer */
    size_t length;
    void *memory; /* where UCX works */
    void *bounce; /* the same, when it is ours; NULL: local memory itself */
    int answered; /* the peer is done with it */
    int held;     /* by UCX */
    UT_hash_handle hh;
};

static void issue(themis_net_transfer_t *transfer);

static void fail(themis_net_transfer_t *transfer, themis_status_t status)
{
    if (transfer->status == THEMIS_OK)
        transfer->status = status;
}

static void transfer_end(themis_net_transfer_t *transfer)
{
    themis_net_conn_t *conn = transfer->conn;
    themis_net_event_t *event = themis_net_event_new(conn, THEMIS_NET_EVENT_MOVED);

    if (event != NULL) {
        event->moved = transfer->moved;
        event->arg = transfer->arg;
        event->status = transfer->status;
        themis_net_event_queue(event);
    } else {
        themis_error("out of memory: the end of a transfer with %s is not reported", conn->peer);
    }
    conn->running--;
    free(transfer);
    themis_net_conn_finish(conn);
    themis_net_conn_unref(conn);
}

/* Drops a chunk that both sides are done with, and goes on. */
static void settle(themis_net_chunk_t *chunk)
{
    themis_net_transfer_t *transfer = chunk->transfer;

    if (!chunk->answered || chunk->held)
        return;
    HASH_DEL(transfer->conn->net->chunks, chunk);
    free(chunk->bounce);
    free(chunk);
    transfer->open--;
    issue(transfer);
}

static void on_sent(void *arg, themis_status_t status)
{
    themis_net_chunk_t *chunk = arg;

    chunk->held = 0;
    if (status != THEMIS_OK) {
        fail(chunk->transfer, THEMIS_DISCONNECTED);
        chunk->answered = 1;
    }
    settle(chunk);
}

static themis_net_chunk_t *chunk_new(themis_net_transfer_t *transfer)
{
    themis_net_chunk_t *chunk = calloc(1, sizeof *chunk);
    uint64_t left = transfer->total - transfer->issued, most = transfer->conn->local ? LOCAL_CHUNK : THEMIS_NET_CHUNK;

    if (chunk == NULL)
        return NULL;
    chunk->id = ++transfer->conn->net->next_id;
    chunk->transfer = transfer;
    chunk->start = transfer->issued;
    chunk->length = (size_t)(left < most ? left : most);
    chunk->memory = themis_net_pieces_at(transfer->pieces, transfer->count, chunk->start, chunk->length);
    if (chunk->memory == NULL)
        chunk->memory = chunk->bounce = malloc(chunk->length);
    if (chunk->memory == NULL) {
        free(chunk);
        return NULL;
    }
    return chunk;
}

static void chunk_send(themis_net_chunk_t *chunk)
{
    themis_net_transfer_t *transfer = chunk->transfer;
    themis_net_frame_t frame = {.type = transfer->push ? THEMIS_NET_PUSH : THEMIS_NET_PULL,
                                .id = chunk->id,
                                .token = transfer->token,
                                .offset = transfer->offset + chunk->start,
                                .length = chunk->length};

    if (!transfer->push) {
        if (themis_net_post(transfer->conn, &frame, NULL, 0, NULL, NULL) != THEMIS_OK) {
            fail(transfer, THEMIS_DISCONNECTED);
            chunk->answered = 1;
            settle(chunk);
        }
        return;
    }
    if (chunk->bounce != NULL)
        themis_net_pieces_copy(transfer->pieces, transfer->count, chunk->start, chunk->bounce, chunk->length, 0);
    chunk->held = 1;
    themis_net_post(transfer->conn, &frame, chunk->memory, chunk->length, on_sent, chunk);
}

/* Starts chunks as far as the window allows; ends the transfer when nothing is left. */
static void issue(themis_net_transfer_t *transfer)
{
    transfer->open++; /* so that a chunk that ends at once does not end the transfer under us */
    while (transfer->status == THEMIS_OK && transfer->issued < transfer->total && transfer->open <= WINDOW) {
        themis_net_chunk_t *chunk = chunk_new(transfer);
        if (chunk == NULL) {
            fail(transfer, THEMIS_NO_MEMORY);
            break;
        }
        transfer->issued += chunk->length;
        transfer->open++;
        HASH_ADD(hh, transfer->conn->net->chunks, id, sizeof chunk->id, chunk);
        chunk_send(chunk);
    }
    if (--transfer->open == 0)
        transfer_end(transfer);
}

/* --- answers ----------------------------------------------------------------------------------------------------- */

static themis_net_chunk_t *find(themis_net_conn_t *conn, const themis_net_frame_t *frame, int push)
{
    themis_net_chunk_t *chunk;

    HASH_FIND(hh, conn->net->chunks, &frame->id, sizeof frame->id, chunk);
    if (chunk == NULL || chunk->transfer->conn != conn || chunk->transfer->push != push || chunk->answered)
        return NULL;
    return chunk;
}

/* A peer's word for why it failed is taken if it is a failure at all. */
static themis_status_t failure(const themis_net_frame_t *frame)
{
    return frame->status < 0 ? (themis_status_t)frame->status : THEMIS_PROTOCOL;
}

static void on_fetched(void *arg, themis_status_t status)
{
    themis_net_chunk_t *chunk = arg;
    themis_net_transfer_t *transfer = chunk->transfer;

    chunk->held = 0;
    if (status != THEMIS_OK)
        fail(transfer, status);
    else if (chunk->bounce != NULL)
        themis_net_pieces_copy(transfer->pieces, transfer->count, chunk->start, chunk->bounce, chunk->length, 1);
    settle(chunk);
}

void themis_net_on_data(themis_net_conn_t *conn, const themis_net_frame_t *frame, const themis_net_payload_t *payload)
{
    themis_net_chunk_t *chunk = find(conn, frame, 0);

    if (chunk == NULL)
        return;
    chunk->answered = 1;
    if (frame->status != THEMIS_OK || payload->length != chunk->length) {
        fail(chunk->transfer, failure(frame));
        settle(chunk);
        return;
    }
    chunk->held = 1;
    themis_net_fetch(conn, payload, chunk->memory, on_fetched, chunk);
}

void themis_net_on_ack(themis_net_conn_t *conn, const themis_net_frame_t *frame)
{
    themis_net_chunk_t *chunk = find(conn, frame, 1);

    if (chunk == NULL)
        return;
    chunk->answered = 1;
    if (frame->status != THEMIS_OK)
        fail(chunk->transfer, failure(frame));
    settle(chunk);
}

void themis_net_transfers_abandon(themis_net_conn_t *conn)
{
    themis_net_t *net = conn->net;
    themis_net_chunk_t *chunk, *next;

    if (conn->running == 0)
        return;
    HASH_ITER(hh, net->chunks, chunk, next)
    {
        if (chunk->transfer->conn != conn)
            continue;
        fail(chunk->transfer, THEMIS_DISCONNECTED);
        chunk->answered = 1;
        settle(chunk);
    }
}

/* --- starting ---------------------------------------------------------------------------------------------------- */

static themis_net_transfer_t *transfer_new(themis_net_conn_t *conn, const struct iovec *local, size_t count)
{
    themis_net_transfer_t *transfer = calloc(1, sizeof *transfer + count * sizeof transfer->pieces[0]);

    if (transfer == NULL)
        return NULL;
    transfer->conn = conn;
    transfer->count = count;
    themis_net_pieces_set(transfer->pieces, local, count, &transfer->total); /* the sum was checked */
    return transfer;
}

/* Sum of the local lengths, when the peer has exposed as much at `offset` for this direction. */
static themis_status_t check(const themis_net_descriptor_t *said, uint64_t offset, const struct iovec *local,
                             size_t count, int push, uint64_t *total)
{
    uint64_t sum = 0;

    if (((said->flags & THEMIS_NET_WRITABLE) != 0) != push)
        return THEMIS_ACCESS;
    if (offset > said->total)
        return THEMIS_RANGE;
    for (size_t i = 0; i < count; i++)
        if (__builtin_add_overflow(sum, local[i].iov_len, &sum) || sum > said->total - offset)
            return THEMIS_RANGE;
    *total = sum;
    return THEMIS_OK;
}

/* What pull and push were called with. */
typedef struct order {
    themis_net_conn_t *conn;
    int push;
    uint64_t offset;
    const struct iovec *local;
    size_t count;
    themis_net_moved_fn moved;
    void *arg;
} order_t;

static themis_status_t start(const order_t *order, uint64_t token)
{
    themis_net_conn_t *conn = order->conn;
    themis_net_transfer_t *transfer = transfer_new(conn, order->local, order->count);

    if (transfer == NULL)
        return THEMIS_NO_MEMORY;
    transfer->push = order->push;
    transfer->token = token;
    transfer->offset = order->offset;
    transfer->moved = order->moved;
    transfer->arg = order->arg;
    themis_net_lock(conn->net);
    if (conn->state != THEMIS_NET_OPEN) {
        themis_net_unlock(conn->net);
        free(transfer);
        return THEMIS_DISCONNECTED;
    }
    themis_net_conn_ref(conn);
    conn->running++;
    issue(transfer);
    themis_net_unlock(conn->net);
    return THEMIS_IN_PROGRESS;
}

/* Yama's restriction of tracing on this host; 0: none. */
static int64_t ptrace_scope(void)
{
    char text[16] = "0";
    FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");

    if (file == NULL)
        return 0;
    if (fgets(text, sizeof text, file) == NULL)
        text[0] = 0;
    fclose(file);
    return strtol(text, NULL, 10);
}

/* The kernel has refused, and will not change its mind. Told once, with what an administrator can do about it. */
static void forgo_copies(themis_net_conn_t *conn, int error)
{
    char cause[80];

    conn->local->may_copy = 0;
    if (atomic_exchange(&conn->net->told_refusal, 1))
        return;
    int64_t scope = error == EPERM ? ptrace_scope() : 0;
    if (scope > 0)
        snprintf(cause, sizeof cause, "kernel.yama.ptrace_scope is %" PRId64 ", or it forbids to be traced", scope);
    else
        snprintf(cause, sizeof cause, "%s%s", strerror(error), error == EPERM ? ": it forbids to be traced" : "");
    themis_warn("data of %s go by messages: process %d may not be copied from and to (%s)", conn->peer,
                (int)conn->local->peer.pid, cause);
}

/* By the stage, or one copy between the processes; THEMIS_UNSUPPORTED: not with this peer. */
static themis_status_t copy(const order_t *order, const themis_net_descriptor_t *said, uint64_t total)
{
    struct themis_net_local *local = order->conn->local;
    themis_net_copy_t what = {.remote = said,
                              .offset = order->offset,
                              .local = order->local,
                              .count = order->count,
                              .total = total,
                              .push = order->push};

    if (local != NULL && (said->flags & THEMIS_NET_STAGED))
        return themis_net_stage_copy(local, said, order->offset, order->local, order->count, order->push);
    if (local == NULL || !local->may_copy || (said->flags & THEMIS_NET_STAGED))
        return THEMIS_UNSUPPORTED;
    what.pid = local->peer.pid;
    themis_status_t status = themis_net_copy(&what);
    if (status == THEMIS_UNSUPPORTED)
        forgo_copies(order->conn, errno);
    return status;
}

static themis_status_t move(const order_t *order, const unsigned char *descriptor)
{
    themis_net_descriptor_t said;
    uint64_t total;

    themis_status_t status = themis_net_descriptor_read(descriptor, &said);
    if (status == THEMIS_OK)
        status = check(&said, order->offset, order->local, order->count, order->push, &total);
    if (status != THEMIS_OK)
        return status;
    if (themis_net_conn_is_dead(order->conn))
        return THEMIS_DISCONNECTED;
    if (total == 0)
        return THEMIS_OK;
    status = copy(order, &said, total);
    return status == THEMIS_UNSUPPORTED ? start(order, said.token) : status;
}

themis_status_t themis_net_pull(themis_net_conn_t *conn, const unsigned char descriptor[THEMIS_NET_DESCRIPTOR_BYTES],
                                uint64_t offset, const struct iovec *local, size_t count, themis_net_moved_fn moved,
                                void *arg)
{
    order_t order = {conn, 0, offset, local, count, moved, arg};

    return move(&order, descriptor);
}

themis_status_t themis_net_push(themis_net_conn_t *conn, const unsigned char descriptor[THEMIS_NET_DESCRIPTOR_BYTES],
                                uint64_t offset, const struct iovec *local, size_t count, themis_net_moved_fn moved,
                                void *arg)
{
    order_t order = {conn, 1, offset, local, count, moved, arg};

    return move(&order, descriptor);
}
