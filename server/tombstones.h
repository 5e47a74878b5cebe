/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ids of objects that were removed at this server. The first write to an object creates it, at any server of its
 * layout, so a late write would create it again, and nobody could ever remove it. Ids are never used twice, so it is
 * enough to keep them: some 65,000, in groups of eight that forget their oldest.
 *
 * Threads: all functions may be called from any thread. Call add before an object is removed, and has after it was
 * opened, so that one of the two sees the other.
 */
#pragma once
#include <stdint.h>
#include "themis/status.h"

typedef struct themis_server_tombstones themis_server_tombstones_t;

themis_status_t themis_server_tombstones_create(themis_server_tombstones_t **tombstones);
void themis_server_tombstones_destroy(themis_server_tombstones_t *tombstones); /* NULL is allowed */

void themis_server_tombstones_add(themis_server_tombstones_t *tombstones, uint64_t id);
int themis_server_tombstones_has(const themis_server_tombstones_t *tombstones, uint64_t id);
