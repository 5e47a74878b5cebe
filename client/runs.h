/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A growing list of runs that compresses what is put into it: adjacent extents become one, and extents of one length at
 * equal distances become one run, so that a vector costs a few bytes on the wire. Greedy; the order of bytes is kept.
 *
 * Pure computation. Threads: none shared.
 */
#ifndef THEMIS_CLIENT_RUNS_H
#define THEMIS_CLIENT_RUNS_H
#include <stddef.h>
#include <stdint.h>
#include "themis/themis.h"

/* All zero is an empty list. The array keeps its capacity over clear. */
typedef struct themis_client_runs {
    themis_run_t *array; /* owned; complete after themis_client_runs_finish */
    size_t count, capacity;
    themis_run_t pending; /* the last extent, which may still grow; count 0: none */
    uint64_t bytes;       /* sum of all lengths, pending included */
} themis_client_runs_t;

void themis_client_runs_clear(themis_client_runs_t *runs);
void themis_client_runs_free(themis_client_runs_t *runs);

/* Appends; a length or count of 0 adds nothing. After THEMIS_NO_MEMORY the list is good for clear and free only. */
themis_status_t themis_client_runs_add(themis_client_runs_t *runs, uint64_t offset, uint64_t length);
themis_status_t themis_client_runs_add_run(themis_client_runs_t *runs, const themis_run_t *run);

/* Puts the pending extent into the array; adding more afterwards is allowed. */
themis_status_t themis_client_runs_finish(themis_client_runs_t *runs);
#endif
