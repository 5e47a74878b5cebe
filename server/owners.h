/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Owners of objects: as whose use the bytes of an object count. The home server of a name says in each capability who
 * owns the file, and a server believes it when it makes an object, or first writes to one of which it does not know.
 * When a file gets another owner, its home has all servers of the file told (a step of SETTLE), also those without an
 * object yet.
 *
 * What the store itself does not know after a restart is a record of the database of names: each object of a posix
 * store, and of an arena those that are not in the memory of their owner, or were given away.
 *
 * Threads: all functions may be called from any thread; they may wait for the disk.
 */
#pragma once
#include <stdint.h>
#include "server/name_db.h"
#include "store/store.h"
#include "themis/status.h"

typedef struct themis_server_owners themis_server_owners_t;

/* Both are borrowed. */
themis_status_t themis_server_owners_create(themis_server_name_db_t *db, themis_store_t *store,
                                            themis_server_owners_t **owners);
void themis_server_owners_destroy(themis_server_owners_t *owners); /* NULL is allowed */

/* Tells the store what the records say of its objects; those of a posix store it asks for itself. */
themis_status_t themis_server_owners_load(themis_server_owners_t *owners);

/* What the record of an object says; THEMIS_STORE_NOBODY: there is none. */
uint32_t themis_server_owners_find(themis_server_owners_t *owners, uint64_t object);

/* An open object of which the store knows no owner becomes that of `uid`, unless there is a record that says another.
 */
void themis_server_owners_claim(themis_server_owners_t *owners, uint64_t id, themis_store_object_t *object,
                                uint32_t uid);

/* The file has been given to `uid`. `stamp`: of later changes it is larger; of those that come late nothing happens. */
themis_status_t themis_server_owners_set(themis_server_owners_t *owners, uint64_t id, uint32_t uid, uint64_t stamp);

/* The object is removed. */
themis_status_t themis_server_owners_forget(themis_server_owners_t *owners, uint64_t id);
