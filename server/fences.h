/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fences: accesses under locks that were lost are refused.
 *
 * Each object has an epoch, which its lock server raises when a session that holds a lock of the object is lost. A LOCK
 * is granted with the present epoch, and reads and writes under the lock carry it, to whichever server they go. A
 * server knows the highest epoch that an access carried, and refuses those that carry a lower one. So once the next
 * holder has accessed the object at a server, none of the one before begins there, and no message between servers is
 * needed. What another server is moving at that very moment is not recalled; with a stopped client it ends by
 * `stall_limit`. Those that still hold their locks are refused, too; they ask the lock server for the present epoch and
 * go on.
 *
 * Epochs are times, so that they grow over restarts: that of an object that lost no lock is the floor, the time of the
 * start, since other servers may know epochs of an earlier process. Only objects that are above are remembered, and of
 * many the oldest is forgotten; the floor then rises to its epoch, but never beyond the present. Clocks of servers may
 * differ by up to 5 minutes; beyond, accesses are not fenced.
 *
 * Threads: the caller serialises (the server's mutex).
 */
#pragma once
#include <stdint.h>
#include "themis/status.h"

enum { THEMIS_SERVER_FENCES_MAX = 65536 };

typedef struct themis_server_fences themis_server_fences_t;

themis_status_t themis_server_fences_create(uint64_t floor, themis_server_fences_t **fences);
void themis_server_fences_destroy(themis_server_fences_t *fences); /* NULL is allowed */

/* Of a lock that is granted now; at least 1. */
uint64_t themis_server_fences_epoch(const themis_server_fences_t *fences, uint64_t object);
/* A lock of the object was lost at `now` (ns since 1970). */
void themis_server_fences_raise(themis_server_fences_t *fences, uint64_t object, uint64_t now);

/*
 * An access that carries `epoch` (0: under no lock) comes at `now`. THEMIS_LOCKED: a later one is known, so the lock
 * may be lost. One that is more than 5 minutes ahead passes, and is not remembered.
 */
themis_status_t themis_server_fences_pass(themis_server_fences_t *fences, uint64_t object, uint64_t epoch,
                                          uint64_t now);

/* The object was removed. */
void themis_server_fences_forget(themis_server_fences_t *fences, uint64_t object);
/* Objects that are remembered. */
uint32_t themis_server_fences_count(const themis_server_fences_t *fences);
