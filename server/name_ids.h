/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ids of objects that a server makes, part of the database of names (name_db.h).
 *
 * Ids are never used twice, even by a server that lost its state while others kept objects: they are the microseconds
 * since 2020, or count up where that is not above the last one, with the server's index in the highest bits. After a
 * start they may be ahead of the clock by as many as there are in a second.
 */
#pragma once
#include <pthread.h>
#include "server/name_db.h"

typedef struct themis_server_name_ids {
    pthread_mutex_t lock; /* of the next two */
    uint64_t next, reserved;
    uint32_t index; /* of the server */
    uint64_t first; /* of this database; 0: not known */
} themis_server_name_ids_t;

/* Reads what was reserved before. */
themis_status_t themis_server_name_ids_load(themis_server_name_ids_t *ids, themis_server_name_db_t *db, uint32_t index);
themis_status_t themis_server_name_ids_next(themis_server_name_ids_t *ids, themis_server_name_db_t *db, uint64_t *id);
