/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a connection by TCP consists of: the socket, both directions' keys, what waits to be written, and the frame that
 * is being read. Frames and their payloads follow each other in the records without gaps.
 *
 * Bytes are sealed, and checked, in buffers of the stream's own: memory of files may be written to by others at any
 * time, and a tag is to fit what travels.
 *
 * All of it with net->lock.
 */
#pragma once
#include "net/conn.h"
#include "net/handshake.h"
#include "net/tcp/record.h"

typedef struct themis_net_stream {
    int fd;          /* -1: none */
    uint32_t events; /* that the socket is watched for */
    int connecting;
    int open;                          /* both sides have keys */
    themis_net_handshake_t *handshake; /* of a client, until it is complete */

    themis_net_record_key_t out_key;
    struct themis_net_stream_post *posts; /* the oldest first */
    uint8_t *out;                         /* one sealed record, of which [out_start, out_end) is to be written */
    size_t out_start, out_end;
    int writing; /* a post may end with another one: it is written by whoever writes already */

    themis_net_record_key_t in_key;
    uint8_t *in; /* what is there of a record; NULL: nothing */
    size_t in_have;
    uint8_t head[sizeof(themis_net_frame_t)]; /* of a frame */
    size_t head_have;
    size_t payload, left; /* bytes of the frame's payload, and of those what is to come */
    unsigned char *into;  /* NULL: nobody wants it */
    themis_net_done_fn done;
    void *arg;

    uint64_t until; /* lingering: ns */
    struct themis_net_stream *next;
} themis_net_stream_t;

/* A stream of a socket, which is taken over and does not block. NULL without memory; then `fd` is closed. */
themis_net_stream_t *themis_net_stream_new(int fd);
/* Both directions have keys from now on. */
void themis_net_stream_set_keys(themis_net_stream_t *stream, const themis_net_handshake_keys_t *keys, int server);
/* Closes the socket; posts and fetches end with THEMIS_DISCONNECTED. NULL is allowed. */
void themis_net_stream_free(themis_net_conn_t *conn, themis_net_stream_t *stream);

/* Halves of it: ends what has not ended. */
void themis_net_stream_drop_posts(themis_net_conn_t *conn, themis_net_stream_t *stream);
void themis_net_stream_drop_fetch(themis_net_conn_t *conn, themis_net_stream_t *stream);

/* What waits in the stream is no longer the connection's; none of it may have a `done`. */
void themis_net_stream_detach(themis_net_conn_t *conn, themis_net_stream_t *stream);

/* Posts and fetches: net/transport.h. */
themis_status_t themis_net_stream_post(themis_net_conn_t *conn, const themis_net_frame_t *frame, const void *payload,
                                       size_t length, themis_net_done_fn done, void *arg);
void themis_net_stream_fetch(themis_net_conn_t *conn, const themis_net_payload_t *payload, void *buffer,
                             themis_net_done_fn done, void *arg);

/* Writes what the socket takes; 0: the socket is broken. `conn` NULL: of a stream that lingers. */
int themis_net_stream_write(themis_net_conn_t *conn, themis_net_stream_t *stream);
/* Is there anything left to write? */
int themis_net_stream_is_waiting(const themis_net_stream_t *stream);
/* Reads what is there, and hands frames to net->on_frame. `scratch`: THEMIS_NET_STREAM_SCRATCH bytes. Returns 0 if the
 * peer has to wait until handlers have taken what is there. */
int themis_net_stream_read(themis_net_conn_t *conn, uint8_t *scratch);
enum { THEMIS_NET_STREAM_SCRATCH = 4 * THEMIS_NET_RECORD_MAX };
