/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The database below the namespace: attributes by path, entries by directory, and the ids of objects, in RocksDB.
 *
 * Nothing is checked here, neither paths nor rights; each function is one atomic step, and what takes several is locked
 * by the namespace. Texts are borrowed for the call. Errors of the database are logged here and become THEMIS_IO,
 * THEMIS_NO_SPACE or THEMIS_QUOTA, what cannot be read THEMIS_CORRUPT.
 *
 * Where less than 32 MiB are free in the directory's file system, changes are THEMIS_NO_SPACE before RocksDB notices;
 * names can still be removed while 24 MiB are. After a write that failed nothing is written until the database was
 * opened again, which changes try once a second; reads go on meanwhile.
 *
 * Threads: all functions but open and close may be called from any thread; they may wait for the disk.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "proto/proto.h"
#include "store/identity.h"
#include "themis/status.h"

typedef struct themis_server_name_db themis_server_name_db_t;

/*
 * What else the server keeps in this database. The first byte of a key tells records apart: THEMIS_SERVER_NAME_DB_*.
 * Functions that change a name write the list `with` (NULL: nothing) in the same atomic step.
 */
enum {
    THEMIS_SERVER_NAME_DB_NAME = 'A', /* and the path: what it has (name_record.h), for who restores it */
    THEMIS_SERVER_NAME_DB_COUNTER = 'C',
    THEMIS_SERVER_NAME_DB_ENTRY = 'E',      /* directory, NUL and name, for who lists all of them */
    THEMIS_SERVER_NAME_DB_ALLOCATION = 'G', /* in a database of its own (allocation.h) */
    THEMIS_SERVER_NAME_DB_INTENT = 'I',
    THEMIS_SERVER_NAME_DB_LOCKING = 'L',
    THEMIS_SERVER_NAME_DB_OBJECT_LIST = 'O',
    THEMIS_SERVER_NAME_DB_POLICY = 'P',
    THEMIS_SERVER_NAME_DB_REPLY = 'R'
};
typedef struct themis_server_name_db_record {
    const void *key, *value; /* value NULL: the record is removed */
    size_t key_length, value_length;
    const struct themis_server_name_db_record *next;
} themis_server_name_db_record_t;

/*
 * `directory` is created if it does not exist; "": in memory. `fresh`: the names are those of an
 * arena, and what an earlier arena left is removed. `index` of this server: part of the ids of objects. `identity` of
 * the store that has the objects; NULL: any. THEMIS_CONFIG:
 * the directory cannot be opened, or holds something else or another server's names, and is left as it is.
 * THEMIS_BUSY: a server uses it.
 */
themis_status_t themis_server_name_db_open(const char *directory, int fresh, uint32_t index,
                                           const themis_store_identity_t *identity, themis_server_name_db_t **db);
void themis_server_name_db_close(themis_server_name_db_t *db); /* NULL is allowed */

/* THEMIS_NO_ENTRY: no attributes of that path, as of "/" until they are put. */
themis_status_t themis_server_name_db_get(themis_server_name_db_t *db, const themis_proto_text_t *path,
                                          themis_proto_attr_t *attr);
/* `extra` is stored with the attributes and is gone with them; NULL: nothing. */
themis_status_t themis_server_name_db_put(themis_server_name_db_t *db, const themis_proto_text_t *path,
                                          const themis_proto_attr_t *attr, const themis_proto_extra_t *extra,
                                          const themis_server_name_db_record_t *with);
/* What was stored with the attributes, in *memory, which is to be freed with free(). A path without attributes has
 * nothing. */
themis_status_t themis_server_name_db_get_extra(themis_server_name_db_t *db, const themis_proto_text_t *path,
                                                themis_proto_extra_t *extra, void **memory);
/* The whole record of a path, in *record, which is to be freed with free(); NULL and 0: there is none. */
themis_status_t themis_server_name_db_get_record(themis_server_name_db_t *db, const themis_proto_text_t *path,
                                                 void **record, size_t *length);
themis_status_t themis_server_name_db_remove(themis_server_name_db_t *db, const themis_proto_text_t *path,
                                             const themis_server_name_db_record_t *with);

/* An entry that is there already, with that type, needs no space, but remains as old as it was where there is none. */
themis_status_t themis_server_name_db_entry_put(themis_server_name_db_t *db, const themis_proto_entry_t *entry,
                                                const themis_server_name_db_record_t *with);
themis_status_t themis_server_name_db_entry_remove(themis_server_name_db_t *db, const themis_proto_entry_t *entry,
                                                   const themis_server_name_db_record_t *with);
/* Removes an entry unless it was put within `age` ns before or after the time `seen`, ns since 1970: THEMIS_BUSY. One
 * of a later time is from a clock that was set back. Success also if there is none. */
themis_status_t themis_server_name_db_entry_remove_old(themis_server_name_db_t *db, const themis_proto_entry_t *entry,
                                                       uint64_t seen, uint64_t age);
themis_status_t themis_server_name_db_has_entries(themis_server_name_db_t *db, const themis_proto_text_t *directory,
                                                  int *any);
/* Entries into `buffer`, which *entries borrows. */
themis_status_t themis_server_name_db_list(themis_server_name_db_t *db, const themis_proto_readdir_t *readdir,
                                           void *buffer, size_t capacity, themis_proto_entries_t *entries);

/* Writes the list in one step. */
themis_status_t themis_server_name_db_write(themis_server_name_db_t *db, const themis_server_name_db_record_t *records);
/* The same for what ends a change that was begun: also where there is no space for more names. */
themis_status_t themis_server_name_db_write_end(themis_server_name_db_t *db,
                                                const themis_server_name_db_record_t *records);
/* The value of a record, to be freed with free; NULL and 0 if there is none, or it is empty. */
themis_status_t themis_server_name_db_read(themis_server_name_db_t *db, const void *key, size_t key_length,
                                           void **value, size_t *length);
/* THEMIS_NO_ENTRY: there is no record of that key. After a write that has failed this says what has become of it: the
 * database is opened again first, or the error remains. */
themis_status_t themis_server_name_db_find(themis_server_name_db_t *db, const void *key, size_t length);
/* Removes all records whose keys begin with these bytes. */
themis_status_t themis_server_name_db_erase(themis_server_name_db_t *db, const void *prefix, size_t length);
/* Calls `each` with all such records, in order, until it fails. */
typedef themis_status_t (*themis_server_name_db_each_fn)(void *arg, const themis_server_name_db_record_t *record);
themis_status_t themis_server_name_db_scan(themis_server_name_db_t *db, const void *prefix, size_t length,
                                           themis_server_name_db_each_fn each, void *arg);

/* The same for those that begin with one byte, from a key on, of at most 2 * (THEMIS_PROTO_MAX_PATH + 2) bytes. */
themis_status_t themis_server_name_db_scan_from(themis_server_name_db_t *db, char prefix, const void *start,
                                                size_t length, themis_server_name_db_each_fn each, void *arg);

enum { THEMIS_SERVER_NAME_DB_INDEX_SHIFT = 51 };
/* An id that no object has ever had. */
themis_status_t themis_server_name_db_new_id(themis_server_name_db_t *db, uint64_t *id);
/* The id that was the next one when the database was made, from which on it has names: its low
 * THEMIS_SERVER_NAME_DB_INDEX_SHIFT bits are microseconds since 2020. 0: an older version has made it, and it is not
 * known. */
uint64_t themis_server_name_db_first_id(const themis_server_name_db_t *db);
/* Is the id one that this server has made for an earlier database, of which nothing is known? */
int themis_server_name_db_id_is_lost(const themis_server_name_db_t *db, uint64_t id);

/* Changes so far survive a power failure when this returns. */
themis_status_t themis_server_name_db_sync(themis_server_name_db_t *db);
