/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small bulk data of a local connection goes through memory that both processes map: whoever exposes a few KiB puts
 * them into a slot of his stage, and the peer copies from there, or to there, without a system call. Neither trusts the
 * other: a slot's content is data and nothing else, and where it lies is checked by the peer.
 */
#ifndef THEMIS_NET_LOCAL_STAGING_H
#define THEMIS_NET_LOCAL_STAGING_H
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include "themis/status.h"

/* A slot costs two copies, process_vm_readv one and a system call: they meet at about 16 KiB. */
enum { THEMIS_NET_STAGE_SLOTS = 32, THEMIS_NET_STAGE_BYTES = 8 << 10 };

typedef struct themis_net_stage_shared {
    _Alignas(64) unsigned char slots[THEMIS_NET_STAGE_SLOTS][THEMIS_NET_STAGE_BYTES];
} themis_net_stage_shared_t;

struct themis_net_local;
struct themis_net_descriptor;

/* A free slot of our stage, or -1; and back. Lock held. */
int themis_net_stage_take(struct themis_net_local *local);
void themis_net_stage_put(struct themis_net_local *local, int slot);

/* Copies between local memory and bytes [offset, offset + their sum) of the peer's slot that the descriptor names,
 * which are in its range; THEMIS_PROTOCOL if there is no such slot. */
themis_status_t themis_net_stage_copy(const struct themis_net_local *local, const struct themis_net_descriptor *said,
                                      uint64_t offset, const struct iovec *pieces, size_t count, int push);
#endif
