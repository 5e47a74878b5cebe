/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Is there memory at an address? In two phases the bytes are copied by this process itself, and a wrong address would
 * end it, where the servers' copy says what is wrong.
 */
#ifndef THEMIS_COLL_PROBE_H
#define THEMIS_COLL_PROBE_H
#include "adio/ad_themis/coll/runs.h"

/* THEMIS_BAD_ADDRESS if the first or the last byte of the list is not to be read; costs one call of the kernel. */
themis_status_t themis_coll_probe(const char *base, const themis_coll_runs_t *memory);
#endif
