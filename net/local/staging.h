/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small bulk data of a local connection goes through memory that both processes map: the side that exposes a few KiB
 * puts them into a staging buffer, and the peer copies from there, or to there, without a system call. Neither trusts
 * the other: a buffer's content is data and nothing else, and where it lies is checked by the peer.
 */
#pragma once
#include "net/transport.h"

/* A staging buffer costs two copies, process_vm_readv one and a system call: they meet at about 16 KiB. */
enum { THEMIS_NET_STAGING_SLOTS = 32, THEMIS_NET_STAGING_BYTES = 8 << 10 };

typedef struct themis_net_staging_shared {
    _Alignas(64) unsigned char slots[THEMIS_NET_STAGING_SLOTS][THEMIS_NET_STAGING_BYTES];
} themis_net_staging_shared_t;

/* A free buffer of ours if `bytes` fit into it, or -1; and back. Lock held. */
int themis_net_staging_take(themis_net_conn_t *conn, uint64_t bytes, unsigned char **buffer);
void themis_net_staging_put(themis_net_conn_t *conn, int slot);

/* Copies between local memory and the peer's buffer that the descriptor names; THEMIS_PROTOCOL if there is no such
 * buffer. */
themis_status_t themis_net_staging_copy(themis_net_conn_t *conn, const themis_net_copy_t *copy);
