/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A local connection in use: messages through the rings, the socket as a bell.
 *
 * A message in the ring is its length in 8 bytes, then its bytes, padded to 8. Bulk data that cannot be copied between
 * the processes goes the same way: FRAME is set in the length then, and the bytes are a frame and its payload. The bell
 * rings only for a peer that has said that it sleeps, or that it waits for room; so two busy processes exchange
 * messages without system calls.
 *
 * Each ring is a byte in the socket and an event; nobody needs the byte, so it stays there until the peer may have
 * rung BELLS times: a socket holds more than 250, and one that is full rings no more.
 */
#include "net/local/channel.h"
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include "util/log.h"

enum { BELLS = 128, HEADER = 8, BUDGET = 64, MAX_WAITING = 64 << 20, LAST_READING = 1 << 20, SCRATCH = 64 << 10 };
#define FRAME (UINT64_C(1) << 63)

/* What is to be sent: header, frame if it has one, bytes, padding. */
typedef struct outgoing {
    uint64_t header;
    const themis_net_frame_t *frame; /* NULL: a message */
    const void *bytes;
    size_t length;  /* of the bytes */
    size_t padding; /* behind them */
    size_t whole;
} outgoing_t;

static size_t padding(size_t length)
{
    return (HEADER - length % HEADER) % HEADER;
}

static void ring_peer(const themis_net_local_t *local)
{
    ssize_t sent = send(local->fd, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);

    (void)sent; /* full of rings that it has not heard yet, or it is gone, which the socket will tell */
}

static void ring_reader(themis_net_local_t *local)
{
    if (atomic_load(&local->out.shared->reader_sleeps) && atomic_exchange(&local->out.shared->reader_sleeps, 0))
        ring_peer(local);
}

/* --- writing ----------------------------------------------------------------------------------------------------- */

/* Writes as much as there is room for; returns that, or -1 if the reader cheats. */
static long put(themis_net_local_t *local, const unsigned char *bytes, size_t length)
{
    long room = themis_net_ring_room(&local->out);

    if (room <= 0)
        return room;
    if ((size_t)room < length)
        length = (size_t)room;
    themis_net_ring_write(&local->out, bytes, length);
    return (long)length;
}

/* Makes room for `length` more bytes to wait; 0 without memory. */
static int reserve(themis_net_local_t *local, size_t length)
{
    size_t held = local->waiting_end - local->waiting_start, room = 2 * (held + length);

    if (local->waiting_end + length <= local->waiting_room)
        return 1;
    unsigned char *bigger = malloc(room);
    if (bigger == NULL)
        return 0;
    if (held > 0)
        memcpy(bigger, local->waiting + local->waiting_start, held);
    free(local->waiting);
    local->waiting = bigger;
    local->waiting_room = room;
    local->waiting_start = 0;
    local->waiting_end = held;
    return 1;
}

static void keep(themis_net_local_t *local, const void *bytes, size_t length)
{
    memcpy(local->waiting + local->waiting_end, bytes, length);
    local->waiting_end += length;
}

/* Moves waiting bytes to the ring as long as there is room. The reader is asked to ring when it has made more. */
static int flush(themis_net_local_t *local)
{
    while (local->waiting_start < local->waiting_end) {
        long put_now = put(local, local->waiting + local->waiting_start, local->waiting_end - local->waiting_start);
        if (put_now < 0)
            return 0;
        local->waiting_start += (size_t)put_now;
        if (put_now > 0) {
            themis_net_ring_publish(&local->out);
            continue;
        }
        if (atomic_exchange(&local->out.shared->writer_waits, 1))
            break; /* it had been asked before the last look at the room */
        local->bells++;
    }
    if (local->waiting_start == local->waiting_end) {
        local->waiting_start = local->waiting_end = 0;
        local->has_waiting = 0;
    }
    return 1;
}

static void write_to_ring(themis_net_local_t *local, const void *bytes, size_t length)
{
    themis_net_ring_write(&local->out, bytes, length);
}

static void write_all(themis_net_local_t *local, const outgoing_t *outgoing,
                      void (*write)(themis_net_local_t *local, const void *bytes, size_t length))
{
    static const unsigned char zeros[HEADER];

    write(local, &outgoing->header, HEADER);
    if (outgoing->frame != NULL)
        write(local, outgoing->frame, sizeof *outgoing->frame);
    if (outgoing->length > 0)
        write(local, outgoing->bytes, outgoing->length);
    write(local, zeros, outgoing->padding);
}

/* What may not fit as a whole. */
static themis_status_t send_slowly(themis_net_local_t *local, const outgoing_t *outgoing)
{
    if (local->waiting_end - local->waiting_start + outgoing->whole > MAX_WAITING)
        return THEMIS_BUSY;
    if (!reserve(local, outgoing->whole))
        return THEMIS_NO_MEMORY;
    write_all(local, outgoing, keep);
    local->has_waiting = 1;
    return flush(local) ? THEMIS_OK : THEMIS_PROTOCOL;
}

static themis_status_t send_locked(themis_net_local_t *local, const outgoing_t *outgoing)
{
    long room = local->has_waiting ? 0 : themis_net_ring_room(&local->out);

    if (room < 0)
        return THEMIS_PROTOCOL;
    if ((size_t)room < outgoing->whole)
        return send_slowly(local, outgoing);
    write_all(local, outgoing, write_to_ring);
    themis_net_ring_publish(&local->out);
    return THEMIS_OK;
}

static themis_status_t send_outgoing(themis_net_local_t *local, const themis_net_frame_t *frame, const void *bytes,
                                     size_t length)
{
    size_t inside = length + (frame != NULL ? sizeof *frame : 0);
    outgoing_t outgoing = {.header = inside | (frame != NULL ? FRAME : 0),
                           .frame = frame,
                           .bytes = bytes,
                           .length = length,
                           .padding = padding(inside),
                           .whole = HEADER + inside + padding(inside)};

    pthread_mutex_lock(&local->out_lock);
    themis_status_t status = send_locked(local, &outgoing);
    pthread_mutex_unlock(&local->out_lock);
    ring_reader(local);
    return status;
}

themis_status_t themis_net_local_send(themis_net_conn_t *conn, const void *bytes, size_t length)
{
    themis_status_t status = send_outgoing(conn->local, NULL, bytes, length);

    if (status != THEMIS_PROTOCOL)
        return status;
    themis_net_lock(conn->net);
    themis_net_conn_lose(conn, THEMIS_PROTOCOL);
    themis_net_unlock(conn->net);
    return THEMIS_DISCONNECTED;
}

themis_status_t themis_net_local_post(themis_net_conn_t *conn, const themis_net_frame_t *frame, const void *payload,
                                      size_t length)
{
    if (themis_net_conn_is_dead(conn))
        return THEMIS_DISCONNECTED;
    themis_status_t status = send_outgoing(conn->local, frame, payload, length);
    /* the other side waits for each frame: one that is left out would hold up a transfer for ever */
    if (status != THEMIS_OK)
        themis_net_conn_lose(conn, status);
    return status;
}

/* --- reading ----------------------------------------------------------------------------------------------------- */

static void lose(themis_net_conn_t *conn, themis_status_t why)
{
    themis_net_lock(conn->net);
    themis_net_conn_lose(conn, why);
    themis_net_unlock(conn->net);
}

/* Begins a message when its length is there. Returns 0 if not, or if it is too long (the connection is lost then). */
static int begin(themis_net_conn_t *conn)
{
    themis_net_local_t *local = conn->local;
    uint64_t header;

    long filled = themis_net_ring_filled(&local->in);
    if (filled < 0) {
        lose(conn, THEMIS_PROTOCOL);
        return 0;
    }
    if (filled < HEADER)
        return 0;
    themis_net_ring_read(&local->in, &header, HEADER);
    uint64_t length = header & ~FRAME;
    local->message_is_frame = length != header;
    if (length > THEMIS_NET_MAX_MESSAGE || (local->message_is_frame && length < sizeof(themis_net_frame_t))) {
        lose(conn, THEMIS_PROTOCOL);
        return 0;
    }
    size_t whole = (size_t)length + padding((size_t)length);
    local->message = whole <= SCRATCH ? conn->net->scratch : malloc(whole);
    local->message_length = (size_t)length;
    local->message_have = 0;
    if (local->message == NULL)
        lose(conn, THEMIS_NO_MEMORY);
    return local->message != NULL;
}

/* A message that has begun in the scratch buffer and is not whole moves out: others use the buffer too. */
static void move_out(themis_net_conn_t *conn)
{
    themis_net_local_t *local = conn->local;

    if (local->message != conn->net->scratch)
        return;
    local->message = malloc(local->message_length + HEADER);
    if (local->message == NULL)
        lose(conn, THEMIS_NO_MEMORY);
    else
        memcpy(local->message, conn->net->scratch, local->message_have);
}

/* Reads what is there of the message; 1 when it is whole. */
static int proceed(themis_net_conn_t *conn)
{
    themis_net_local_t *local = conn->local;
    size_t whole = local->message_length + padding(local->message_length), want = whole - local->message_have;

    long filled = themis_net_ring_filled(&local->in);
    if (filled < 0) {
        lose(conn, THEMIS_PROTOCOL);
        return 0;
    }
    if ((size_t)filled < want)
        want = (size_t)filled;
    themis_net_ring_read(&local->in, local->message + local->message_have, want);
    local->message_have += want;
    return local->message_have == whole;
}

static void release(themis_net_local_t *local)
{
    themis_net_ring_release(&local->in);
    if (atomic_load(&local->in.shared->writer_waits) && atomic_exchange(&local->in.shared->writer_waits, 0))
        ring_peer(local);
}

/* Bulk data, served as what comes by UCX is. */
static void take_frame(themis_net_conn_t *conn)
{
    themis_net_local_t *local = conn->local;
    themis_net_frame_t frame;
    themis_net_payload_t payload = {.data = local->message + sizeof frame,
                                    .length = local->message_length - sizeof frame};

    memcpy(&frame, local->message, sizeof frame);
    themis_net_lock(conn->net);
    themis_net_on_bulk(conn, &frame, &payload);
    themis_net_unlock(conn->net);
}

static void forget_message(themis_net_conn_t *conn)
{
    if (conn->local->message != conn->net->scratch)
        free(conn->local->message);
    conn->local->message = NULL;
}

/* One message; returns 0 when there is none (that is whole). */
static int read_one(themis_net_conn_t *conn)
{
    themis_net_local_t *local = conn->local;

    if (local->message == NULL && !begin(conn))
        return 0;
    int whole = proceed(conn);
    release(local);
    if (!whole) {
        move_out(conn);
        return 0;
    }
    if (local->message_is_frame)
        take_frame(conn);
    else if (conn->net->handlers.message != NULL)
        conn->net->handlers.message(conn->net->arg, conn, local->message, local->message_length);
    forget_message(conn);
    return 1;
}

static unsigned read_some(themis_net_conn_t *conn, unsigned budget)
{
    unsigned count = 0;

    while (count < budget && conn->state == THEMIS_NET_OPEN && read_one(conn))
        count++;
    return count;
}

unsigned themis_net_local_poll(themis_net_conn_t *conn)
{
    themis_net_local_t *local = conn->local;
    int hung_up = local->hung_up; /* before the last look at the ring */

    if (local->has_waiting) {
        pthread_mutex_lock(&local->out_lock);
        flush(local);
        pthread_mutex_unlock(&local->out_lock);
        ring_reader(local);
    }
    if (!hung_up && atomic_load_explicit(&local->in.shared->written, memory_order_acquire) == local->in.own)
        return 0;
    if (!conn->announced)
        return 0;
    unsigned count = read_some(conn, hung_up ? LAST_READING : BUDGET);
    if (hung_up)
        lose(conn, THEMIS_DISCONNECTED);
    return count;
}

/* --- sleeping ---------------------------------------------------------------------------------------------------- */

/* By the progressing thread only, who looks again afterwards: a byte may stand for something not seen yet. */
static void empty_socket(themis_net_local_t *local)
{
    char bells[2 * BELLS];

    local->bells = 0;
    ssize_t got = recv(local->fd, bells, sizeof bells, MSG_DONTWAIT);
    (void)got; /* its end is an event of its own */
}

int themis_net_local_doze(themis_net_conn_t *conn)
{
    themis_net_local_t *local = conn->local;

    if (local->bells++ >= BELLS) {
        empty_socket(local);
        return 0;
    }
    atomic_store(&local->in.shared->reader_sleeps, 1);
    if (conn->announced && local->hung_up)
        return 0;
    return atomic_load(&local->in.shared->written) == local->in.own;
}

void themis_net_local_awake(themis_net_conn_t *conn)
{
    atomic_store_explicit(&conn->local->in.shared->reader_sleeps, 0, memory_order_relaxed);
}

void themis_net_local_hang_up(themis_net_conn_t *conn)
{
    themis_net_local_t *local = conn->local;

    local->hung_up = 1;
    local->may_copy = 0;
    conn->net->kick = 1;
    epoll_ctl(conn->net->epoll_fd, EPOLL_CTL_DEL, local->fd, NULL); /* or they would wake us for ever */
    if (local->pid_fd >= 0)
        epoll_ctl(conn->net->epoll_fd, EPOLL_CTL_DEL, local->pid_fd, NULL);
}

/* --- the end ----------------------------------------------------------------------------------------------------- */

void themis_net_local_close(themis_net_conn_t *conn)
{
    themis_net_local_t *local = conn->local;

    if (local == NULL)
        return;
    if (local->has_waiting) {
        pthread_mutex_lock(&local->out_lock);
        flush(local);
        pthread_mutex_unlock(&local->out_lock);
    }
    local->may_copy = 0;
    epoll_ctl(conn->net->epoll_fd, EPOLL_CTL_DEL, local->fd, NULL);
    if (local->pid_fd >= 0)
        epoll_ctl(conn->net->epoll_fd, EPOLL_CTL_DEL, local->pid_fd, NULL);
    shutdown(local->fd, SHUT_RDWR); /* closed with the last reference: others may be ringing it */
}

void themis_net_local_free(themis_net_local_t *local)
{
    if (local == NULL)
        return;
    if (local->fd >= 0)
        close(local->fd);
    if (local->pid_fd >= 0)
        close(local->pid_fd);
    if (local->memory != NULL)
        munmap(local->memory, sizeof *local->memory);
    pthread_mutex_destroy(&local->out_lock);
    free(local->waiting);
    free(local->message);
    free(local);
}
