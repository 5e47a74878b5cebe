/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The records of several servers, or of several runs of one server, made one for each job. Each server writes a record
 * of what the job did there, and writes it again and again while the job runs.
 */
#pragma once
#include "history/record.h"

/* Records of one user, job and application belong together if no more than this is between them. */
#define THEMIS_HISTORY_MERGE_SECONDS 300.0

typedef struct themis_history_entry {
    themis_history_record_t record;
    themis_history_series_t series; /* owned; empty where it is unknown */
    uint32_t source;                /* number of the server that wrote it */
    uint64_t place;                 /* the caller's: where its series can be found */
} themis_history_entry_t;

/* For a caller that has more records than series fit into memory. */
typedef struct themis_history_loader {
    /* Puts the series of an entry that has none into it, if it is known. */
    void (*load)(void *arg, themis_history_entry_t *entry);
    void *arg;
} themis_history_loader_t;

/*
 * Of records with the same server, user, job, application and start, which is one record written several times, the
 * last is kept: one that is not interim before others, then that with the later end. The records of a job are then
 * added up: bytes, requests and samples; of nodes, clients, files, waiting operations and queue lengths the largest of
 * any server counts, and sharing is N-M where servers differ. Phases and peak are found anew, in the sum of the series,
 * where all are known: with a loader (NULL: none) series are loaded for that, and dropped afterwards. What is left is
 * at the front, in order of user, job, application and start; *count is lowered. NO_MEMORY: all entries are there
 * still, in whatever order.
 */
themis_status_t themis_history_merge(themis_history_entry_t *entry, size_t *count,
                                     const themis_history_loader_t *loader);
