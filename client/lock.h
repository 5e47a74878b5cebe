/* SPDX-License-Identifier: BSD-3-Clause */
/* Byte-range locks and the counter of a file, both kept by the file's first server. */
#pragma once
#include "themis/themis.h"

/* If the file's first server was started again, its locks are reclaimed there. THEMIS_STALE, with a text: they were
 * lost, since that server did not know them any more, or the lease had expired. As far as is known: a server that has
 * not replied since is not asked. */
themis_status_t themis_client_lock_check(themis_file_t *file);

/* The epoch that accesses by the handle carry; 0: it holds no lock. Servers that have seen a later one refuse an access
 * with THEMIS_LOCKED. */
uint64_t themis_client_lock_epoch(themis_file_t *file);
/* Asks the lock server for the present epoch; THEMIS_STALE if the locks were lost. */
themis_status_t themis_client_lock_renew(themis_file_t *file, uint64_t *epoch);
