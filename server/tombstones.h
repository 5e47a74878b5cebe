/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ids of objects that were destroyed at this server. An object comes to be with the first write to it, at any server of
 * its layout, so a write that comes late would make it again, and nobody could ever remove it. Ids are never used
 * twice, so it is enough to remember them: some 65,000, in groups of eight that forget their oldest.
 *
 * Threads: all functions may be called from any thread. Add goes before the removal and has after the opening, so
 * that one of the two sees the other.
 */
#ifndef THEMIS_SERVER_TOMBSTONES_H
#define THEMIS_SERVER_TOMBSTONES_H
#include <stdint.h>
#include "themis/status.h"

typedef struct themis_server_tombstones themis_server_tombstones_t;

themis_status_t themis_server_tombstones_create(themis_server_tombstones_t **tombstones);
void themis_server_tombstones_destroy(themis_server_tombstones_t *tombstones); /* NULL is allowed */

void themis_server_tombstones_add(themis_server_tombstones_t *tombstones, uint64_t id);
int themis_server_tombstones_has(const themis_server_tombstones_t *tombstones, uint64_t id);
#endif
