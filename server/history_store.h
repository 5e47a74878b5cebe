/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a server keeps the records of jobs: DIRECTORY/UID/, a directory for each user, with one record a line in
 *
 *   NAME-SECONDS.jsonl     jobs that have ended; begun at SECONDS since 1970. The last one is appended to until it is
 *                          large or old, and whole files are removed when they are too old or there is too much.
 *   NAME.NUMBER.running    one running job: its record so far, replaced as a whole
 *
 * NAME is the server's, so several servers may use one directory. What an earlier run of this server left of running
 * jobs is appended to the others when the store is made.
 *
 * Who may read is for the kernel to decide, by the user's directory: for others it is closed, and the user gets in by
 * an access control list (POSIX.1e draft 17) where the server's user is another one. A file system without these leaves
 * it to the server's user and root, with a warning.
 *
 * Nothing that goes wrong here is more than a record that is lost: it is counted, and logged now and then.
 *
 * Threads: the caller serialises, but for the counters.
 */
#pragma once
#include <stdint.h>
#include "themis/status.h"

/* Texts are borrowed for the call. */
typedef struct themis_server_history_store_options {
    const char *directory; /* made if it is missing, but not what is above it */
    const char *name;      /* of the server; odd characters are replaced */
    uint64_t keep;         /* s; older files are removed */
    uint64_t size; /* bytes of this server's files, beyond which the oldest are removed, of the user with most */
    int is_public; /* 1: everybody may read all */
} themis_server_history_store_options_t;

typedef struct themis_server_history_counts {
    uint64_t records, dropped, bytes; /* of jobs that have ended: written, and lost; bytes written, of all */
} themis_server_history_counts_t;

typedef struct themis_server_history_store themis_server_history_store_t;

themis_status_t themis_server_history_store_create(const themis_server_history_store_options_t *options,
                                                   themis_server_history_store_t **store);
void themis_server_history_store_destroy(themis_server_history_store_t *store); /* NULL is allowed */

/* Appends the record of a job of this user that has ended: one line without a newline. `now`: s since 1970. The errors
 * of this and the next function have been logged and counted. */
themis_status_t themis_server_history_store_append(themis_server_history_store_t *store, uint32_t user,
                                                   const char *line, uint64_t now);
/* Replaces the record of a running job. */
themis_status_t themis_server_history_store_put_running(themis_server_history_store_t *store, uint32_t user,
                                                        uint64_t number, const char *line);
/* The job has ended, and its last record was appended. */
void themis_server_history_store_drop_running(themis_server_history_store_t *store, uint32_t user, uint64_t number);

/* A record was lost before it came here. Any thread. */
void themis_server_history_store_count_dropped(themis_server_history_store_t *store);
/* Any thread. */
void themis_server_history_store_counts(const themis_server_history_store_t *store,
                                        themis_server_history_counts_t *counts);
