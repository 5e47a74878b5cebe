/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames, the units on the transport: every UCX active message carries one as its header, and a message or bulk data
 * as its payload; by TCP they travel in records (net/tcp/record.h); between processes of one host the frames of bulk
 * data go through the ring. Both sides speak the same THEMIS_NET_WIRE or refuse each other, but nothing in a frame is
 * believed before it is checked. Frames travel little-endian, in the ring in the host's order; doc/wire.md has the
 * table.
 */
#pragma once
#include <stdint.h>

enum {
    THEMIS_NET_WIRE = 4,
    THEMIS_NET_MAX_MESSAGE = 2 << 20,
    THEMIS_NET_CHUNK = 1 << 20 /* bytes of bulk data in one active message, at most */
};
#define THEMIS_NET_MAGIC UINT64_C(0x31656d6568546e6b) /* the key of a HELLO */

typedef enum themis_net_frame_type {
    THEMIS_NET_HELLO = 1, /* client: id = its key, token = THEMIS_NET_WIRE */
    THEMIS_NET_WELCOME,   /* server: id = its key, token = number of its local socket; status not 0: refused */
    THEMIS_NET_READY,     /* client: the connection is open; it does not use the local socket */
    THEMIS_NET_MESSAGE,   /* id = sequence number; payload */
    THEMIS_NET_PULL,      /* id = chunk, token, offset, length */
    THEMIS_NET_DATA,      /* answer: id = chunk, status; payload */
    THEMIS_NET_PUSH,      /* id = chunk, token, offset; payload */
    THEMIS_NET_ACK        /* answer: id = chunk, status */
} themis_net_frame_type_t;

/* 48 bytes without gaps; themis_net_frame_swap makes it little-endian and back. */
typedef struct themis_net_frame {
    uint64_t key; /* of the receiver's connection; only its peer knows it */
    uint32_t type;
    int32_t status;
    uint64_t id;
    uint64_t token;
    uint64_t offset;
    uint64_t length;
} themis_net_frame_t;

static inline void themis_net_frame_swap(themis_net_frame_t *frame)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    frame->key = __builtin_bswap64(frame->key);
    frame->type = __builtin_bswap32(frame->type);
    frame->status = (int32_t)__builtin_bswap32((uint32_t)frame->status);
    frame->id = __builtin_bswap64(frame->id);
    frame->token = __builtin_bswap64(frame->token);
    frame->offset = __builtin_bswap64(frame->offset);
    frame->length = __builtin_bswap64(frame->length);
#else
    (void)frame;
#endif
}
