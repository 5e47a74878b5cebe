/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The servers to which new files of a session are confined. The objects of a file are on neighbours in the list of
 * servers (striping.h), so the servers of a placement are kept as runs of neighbours, modulo the length of the list.
 *
 * Pure computation.
 */
#pragma once
#include "proto/proto.h"

typedef struct themis_client_placement_run {
    uint32_t first, length; /* servers first to first + length - 1, modulo the length of the list */
} themis_client_placement_run_t;

typedef struct themis_client_placement {
    themis_client_placement_run_t *run; /* [runs], owned; no two of them meet */
    uint32_t runs;                      /* 0: files may be on all servers */
    uint32_t servers;                   /* of the list */
    uint32_t longest;                   /* servers of the longest run */
} themis_client_placement_t;

/*
 * Reads servers separated by commas or blanks, in any order and as `list` ("host:port,host:port") names them.
 * THEMIS_NO_ENTRY: one is not in the list; `unknown` (`size` bytes) gets the first such, and *known how many are in it.
 * THEMIS_CONFIG: no server is named. Unless it is THEMIS_OK, *placement is empty. Release with
 * themis_client_placement_free.
 */
themis_status_t themis_client_placement_read(const char *text, const char *list, themis_client_placement_t *placement,
                                             uint32_t *known, char *unknown, size_t size);
void themis_client_placement_free(themis_client_placement_t *placement);

/*
 * Completes the layout of a new file, whose first server is open: its count becomes at most that of the longest run,
 * and all its servers are in one run. `usual` is the count of a file that does not say one, 0 for all. Runs of less
 * than half of the count are left out; among the others, and among the places in a run, the hash of the path chooses,
 * so that servers get about equally many bytes.
 */
void themis_client_placement_choose(const themis_client_placement_t *placement, uint64_t hash, uint32_t usual,
                                    themis_proto_layout_t *layout);
