/* SPDX-License-Identifier: BSD-3-Clause */
/* What names exposed memory on the wire. */
#pragma once
#include <stdint.h>
#include "net/net.h"

enum { THEMIS_NET_WRITABLE = 1, THEMIS_NET_PLAIN = 2, THEMIS_NET_STAGED = 4, THEMIS_NET_MAX_SEGMENTS = 1 << 22 };

/* As it travels it has the same shape, THEMIS_NET_DESCRIPTOR_BYTES in little-endian order. */
typedef struct themis_net_descriptor {
    uint64_t token;
    uint64_t total;   /* bytes */
    uint64_t address; /* in the client: of the table of segments; PLAIN: of the one segment itself; STAGED: the number
                         of the staging buffer */
    uint32_t count;   /* of segments */
    uint32_t flags;
    uint64_t check; /* a hash of the rest: finds mistakes, not malice */
} themis_net_descriptor_t;

/* `check` is set here. */
void themis_net_descriptor_write(const themis_net_descriptor_t *descriptor,
                                 unsigned char bytes[THEMIS_NET_DESCRIPTOR_BYTES]);
/* THEMIS_PROTOCOL: not a descriptor. */
themis_status_t themis_net_descriptor_read(const unsigned char bytes[THEMIS_NET_DESCRIPTOR_BYTES],
                                           themis_net_descriptor_t *descriptor);
