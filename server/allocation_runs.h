/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the history knows of applications, ready for decisions: the last run of each application, user and number of
 * nodes. Directories of records (doc/history.md) are read once, and then what is appended to their files. What
 * retention removes is known still until the server ends.
 *
 * Threads: refresh is called by one; the others may be called by any.
 */
#pragma once
#include "dfra/dfra.h"

/* Applications, users and numbers of nodes that are told apart; others count as new. */
enum { THEMIS_SERVER_ALLOCATION_RUNS_MOST = 1 << 18 };

typedef struct themis_server_allocation_runs themis_server_allocation_runs_t;

/* `directories`: separated by commas, may be "". */
themis_status_t themis_server_allocation_runs_create(const char *directories, themis_server_allocation_runs_t **runs);
void themis_server_allocation_runs_destroy(themis_server_allocation_runs_t *runs); /* NULL is allowed */

/* Reads what is new; seconds of work where there is much. Ends early once *stop is not 0. */
void themis_server_allocation_runs_refresh(themis_server_allocation_runs_t *runs, const _Atomic int *stop);
/* 1: it has been read once. */
int themis_server_allocation_runs_are_read(themis_server_allocation_runs_t *runs);

/* A directory that could not be read as a whole when it was tried last, borrowed; NULL: there is none. */
const char *themis_server_allocation_runs_unreadable(themis_server_allocation_runs_t *runs);

/* The last run of the application with so many nodes, of this user, or of any if `uid` is -1; `records` is how many
 * there were, 0 for none. */
void themis_server_allocation_runs_find(themis_server_allocation_runs_t *runs, const char *application, int64_t uid,
                                        uint32_t nodes, themis_dfra_application_t *known);
