/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters of objects (the shared file pointer). A counter is 0 until it is changed, and one that is 0 takes no memory.
 * It ends when its object is removed. Where names outlive the process, counters do, too: each change is in the log of
 * the database of names before it is answered.
 *
 * Threads: all functions may be called from any thread; they may wait for the disk.
 */
#pragma once
#include <stdint.h>
#include "proto/proto.h"
#include "server/name_db.h"
#include "themis/status.h"

/* Counters other than 0 that one user, and that all users, may have at a server. */
enum { THEMIS_SERVER_COUNTERS_PER_USER = 1 << 16, THEMIS_SERVER_COUNTERS_MAX = 1 << 20 };

typedef struct themis_server_counters themis_server_counters_t;

/* Reads the counters that `db` keeps (borrowed; NULL: none are kept). */
themis_status_t themis_server_counters_create(themis_server_name_db_t *db, themis_server_counters_t **counters);
void themis_server_counters_destroy(themis_server_counters_t *counters); /* NULL is allowed */

/* What is written together with a change; `make` is called before it, with the value that was. */
typedef struct themis_server_counters_with {
    const themis_server_name_db_record_t *(*make)(void *arg, int64_t before);
    void *arg;
} themis_server_counters_with_t;

/* Does what the request says (THEMIS_PROTO_COUNTER_*) for user `uid`; *before is the value before. `with`: NULL if
 * there is nothing. THEMIS_RANGE: the sum is none of 64 bits. THEMIS_QUOTA: it would be one counter too many. Nothing
 * is changed by an error, which may also be one of the database. */
themis_status_t themis_server_counters_access(themis_server_counters_t *counters, const themis_proto_counter_t *request,
                                              uint32_t uid, const themis_server_counters_with_t *with, int64_t *before);

/* The object was removed. */
void themis_server_counters_forget(themis_server_counters_t *counters, uint64_t object);

/* Counters that are kept. */
uint32_t themis_server_counters_count(themis_server_counters_t *counters);
