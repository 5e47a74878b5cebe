/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys: 'A' path -> attributes and what a name has beside them (name_record.h); 'E' directory NUL name -> type of the
 * entry, and when it was put (8 bytes, ns since 1970; those of older versions do not say); "N" -> the highest object id
 * that may be in use; other letters are those of name_db.h.
 */
#define _GNU_SOURCE
#include "server/name_db.h"
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <rocksdb/c.h>
#include "server/name_directory.h"
#include "server/name_record.h"
#include "util/clock.h"
#include "util/log.h"

enum {
    KEY_BYTES = 2 * (THEMIS_PROTO_MAX_PATH + 2),
    ENTRY_BYTES = 9,
    ID_BATCH = 1 << 20, /* as many as there are in a second if they follow the clock */
    INDEX_SHIFT = THEMIS_SERVER_NAME_DB_INDEX_SHIFT,
    WRITE_BUFFER = 8 << 20,
    BLOOM_BITS = 10, /* for each key */
    PROBE_BYTES = 1 << 20
};
#define ID_EPOCH_S UINT64_C(1577836800) /* 2020 */

/* Free bytes of the file system that adding needs, and that removing needs: the log and the tables that RocksDB writes
 * meanwhile have room then, and names can be removed where no more can be added. */
#define FREE_TO_ADD (UINT64_C(32) << 20)
#define FREE_TO_REMOVE (UINT64_C(24) << 20)
#define SPACE_CHECK_INTERVAL (10 * THEMIS_NS_PER_MS)
#define REOPEN_INTERVAL THEMIS_NS_PER_S

struct themis_server_name_db {
    pthread_rwlock_t handle; /* of `db`: shared by all that use it */
    rocksdb_t *db;           /* NULL: it could not be opened again */
    char *directory;
    pthread_mutex_t writing;        /* one write at a time, with the check of `failed` before it */
    _Atomic int failed;             /* status of a write that failed; nothing is written until it was opened again */
    _Atomic uint64_t opened;        /* ns; when that was last tried */
    _Atomic uint64_t space_checked; /* ns */
    _Atomic uint64_t space;         /* bytes that were free then */
    _Atomic int full;               /* 1: the log has told that */
    rocksdb_env_t *memory;          /* NULL with a directory */
    rocksdb_options_t *options;
    rocksdb_readoptions_t *read;
    rocksdb_writeoptions_t *write, *write_synced;
    int lock_fd;              /* of the directory; -1: in memory */
    pthread_mutex_t ids_lock; /* of the next two */
    uint64_t next_id, reserved_id;
    uint32_t index;    /* of the server */
    uint64_t first_id; /* of this database; 0: not known */
};

typedef struct name_key {
    size_t length;
    char bytes[KEY_BYTES];
} name_key_t;

/* --- keys -------------------------------------------------------------------------------------------------------- */

static void attr_key(const themis_proto_text_t *path, name_key_t *key)
{
    key->bytes[0] = THEMIS_SERVER_NAME_DB_NAME;
    memcpy(key->bytes + 1, path->bytes, path->length);
    key->length = path->length + 1;
}

static void entry_key(const themis_proto_text_t *directory, const themis_proto_text_t *name, name_key_t *key)
{
    key->bytes[0] = THEMIS_SERVER_NAME_DB_ENTRY;
    memcpy(key->bytes + 1, directory->bytes, directory->length);
    key->bytes[1 + directory->length] = 0;
    if (name->length)
        memcpy(key->bytes + 2 + directory->length, name->bytes, name->length);
    key->length = 2 + directory->length + name->length;
}

/* --- the database ------------------------------------------------------------------------------------------------ */

/* Takes the message over, all that RocksDB's interface for C says of an error. */
static themis_status_t db_failed(char *message)
{
    themis_status_t status = THEMIS_IO;

    if (strncmp(message, "Corruption", strlen("Corruption")) == 0)
        status = THEMIS_CORRUPT;
    else if (strstr(message, "No space left on device"))
        status = THEMIS_NO_SPACE;
    else if (strstr(message, "Disk quota exceeded"))
        status = THEMIS_QUOTA;
    themis_error("namespace database: %s", message);
    rocksdb_free(message);
    return status;
}

static themis_status_t handle_open(themis_server_name_db_t *db)
{
    char *error = NULL;

    db->opened = themis_util_clock_now();
    db->db = rocksdb_open(db->options, db->directory, &error);
    return error ? db_failed(error) : THEMIS_OK;
}

/* Can the directory's disk be written? If not, the handle is kept, so that reads go on. */
static int is_writable(const themis_server_name_db_t *db)
{
    static const char zeros[PROBE_BYTES];
    char path[PATH_MAX];

    if (db->memory)
        return 1;
    snprintf(path, sizeof path, "%s/PROBE", db->directory);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return 0;
    int written = write(fd, zeros, sizeof zeros) == sizeof zeros && fsync(fd) == 0;
    close(fd);
    unlink(path);
    return written;
}

/* After a write has failed. Returns 1 if the database can be written again. */
static int handle_reopen(themis_server_name_db_t *db)
{
    if (themis_util_clock_now() - db->opened < REOPEN_INTERVAL)
        return !db->failed;
    pthread_rwlock_wrlock(&db->handle);
    if (db->failed && !is_writable(db))
        db->opened = themis_util_clock_now();
    if (db->failed && themis_util_clock_now() - db->opened >= REOPEN_INTERVAL) {
        if (db->db)
            rocksdb_close(db->db);
        db->db = NULL;
        db->failed = handle_open(db);
        if (!db->failed)
            themis_info("state = %s: the database was opened again and can be written", db->directory);
    }
    pthread_rwlock_unlock(&db->handle);
    return !db->failed;
}

/* Begins to use the handle, if there is one. */
static themis_status_t handle_begin(themis_server_name_db_t *db)
{
    pthread_rwlock_rdlock(&db->handle);
    if (db->db)
        return THEMIS_OK;
    pthread_rwlock_unlock(&db->handle);
    return handle_reopen(db) ? handle_begin(db) : THEMIS_IO;
}

static void handle_end(themis_server_name_db_t *db)
{
    pthread_rwlock_unlock(&db->handle);
}

/* Is so much free? RocksDB does not survive a full file system, so that it must not notice. */
static int has_space(themis_server_name_db_t *db, uint64_t wanted)
{
    uint64_t now = themis_util_clock_now();
    struct statvfs fs;

    if (db->memory)
        return 1;
    if (now - db->space_checked >= SPACE_CHECK_INTERVAL) {
        /* some file systems do not say how large they are */
        int known = statvfs(db->directory, &fs) == 0 && fs.f_blocks > 0;
        db->space = known ? (uint64_t)fs.f_bavail * fs.f_frsize : UINT64_MAX;
        db->space_checked = now;
    }
    int full = db->space < wanted;
    if (full && !atomic_exchange(&db->full, 1))
        themis_error("state = %s: less than %" PRIu64 " MiB are free: names cannot be changed", db->directory,
                     wanted >> 20);
    if (db->space >= FREE_TO_ADD && atomic_exchange(&db->full, 0))
        themis_info("state = %s: names can be changed again", db->directory);
    return !full;
}

/* Begins a change that needs `wanted` free bytes, one at a time: after an error RocksDB's handle must not be used to
 * write again, which would end the process. change_end ends it, also if there was no error. */
static themis_status_t change_begin(themis_server_name_db_t *db, uint64_t wanted)
{
    if (!has_space(db, wanted))
        return THEMIS_NO_SPACE;
    pthread_mutex_lock(&db->writing);
    themis_status_t status = db->failed;
    if (status == THEMIS_OK || handle_reopen(db))
        status = handle_begin(db);
    if (status != THEMIS_OK)
        pthread_mutex_unlock(&db->writing);
    return status;
}

/* Ends the use of the handle. Takes the error of a write over, NULL if there was none. */
static themis_status_t handle_end_write(themis_server_name_db_t *db, char *error)
{
    themis_status_t status = error ? db_failed(error) : THEMIS_OK;

    if (error)
        db->failed = status;
    handle_end(db);
    return status;
}

static themis_status_t change_end(themis_server_name_db_t *db, char *error)
{
    themis_status_t status = handle_end_write(db, error);

    pthread_mutex_unlock(&db->writing);
    return status;
}

/* Begins a batch with the records of a list, to be destroyed. */
static rocksdb_writebatch_t *batch_create(const themis_server_name_db_record_t *records)
{
    rocksdb_writebatch_t *batch = rocksdb_writebatch_create();

    for (; records; records = records->next) {
        if (records->value)
            rocksdb_writebatch_put(batch, records->key, records->key_length, records->value, records->value_length);
        else
            rocksdb_writebatch_delete(batch, records->key, records->key_length);
    }
    return batch;
}

/* Writes a batch, which is destroyed, in one of the two ways. */
static themis_status_t batch_write_as(themis_server_name_db_t *db, rocksdb_writebatch_t *batch, uint64_t wanted,
                                      rocksdb_writeoptions_t *way)
{
    char *error = NULL;
    themis_status_t status = change_begin(db, wanted);

    if (status == THEMIS_OK) {
        rocksdb_write(db->db, way, batch, &error);
        status = change_end(db, error);
    }
    rocksdb_writebatch_destroy(batch);
    return status;
}

static themis_status_t batch_write(themis_server_name_db_t *db, rocksdb_writebatch_t *batch, uint64_t wanted)
{
    return batch_write_as(db, batch, wanted, db->write);
}

static themis_status_t db_put(themis_server_name_db_t *db, const name_key_t *key, const void *value, size_t length,
                              const themis_server_name_db_record_t *with)
{
    rocksdb_writebatch_t *batch = batch_create(with);

    rocksdb_writebatch_put(batch, key->bytes, key->length, value, length);
    return batch_write(db, batch, FREE_TO_ADD);
}

static themis_status_t db_delete(themis_server_name_db_t *db, const name_key_t *key,
                                 const themis_server_name_db_record_t *with)
{
    rocksdb_writebatch_t *batch = batch_create(with);

    rocksdb_writebatch_delete(batch, key->bytes, key->length);
    return batch_write(db, batch, FREE_TO_REMOVE);
}

/* *value is NULL if there is none, else to be freed with rocksdb_free. */
static themis_status_t db_get(themis_server_name_db_t *db, const name_key_t *key, char **value, size_t *length)
{
    char *error = NULL;
    themis_status_t status = handle_begin(db);

    if (status != THEMIS_OK)
        return status;
    *value = rocksdb_get(db->db, db->read, key->bytes, key->length, length, &error);
    handle_end(db);
    return error ? db_failed(error) : THEMIS_OK;
}

/* --- attributes -------------------------------------------------------------------------------------------------- */

themis_status_t themis_server_name_db_get(themis_server_name_db_t *db, const themis_proto_text_t *path,
                                          themis_proto_attr_t *attr)
{
    name_key_t key;
    size_t length;
    char *value;

    attr_key(path, &key);
    themis_status_t status = db_get(db, &key, &value, &length);
    if (status != THEMIS_OK || !value)
        return status == THEMIS_OK ? THEMIS_NO_ENTRY : status;
    status = themis_server_name_record_attr(value, length, attr);
    if (status != THEMIS_OK)
        themis_error("namespace database: the attributes of %.*s are corrupt", (int)path->length, path->bytes);
    rocksdb_free(value);
    return status;
}

themis_status_t themis_server_name_db_put(themis_server_name_db_t *db, const themis_proto_text_t *path,
                                          const themis_proto_attr_t *attr, const themis_proto_extra_t *extra,
                                          const themis_server_name_db_record_t *with)
{
    name_key_t key;
    size_t length;
    void *record;
    themis_status_t status = themis_server_name_record_make(attr, extra, &record, &length);

    if (status != THEMIS_OK)
        return status;
    attr_key(path, &key);
    status = db_put(db, &key, record, length, with);
    free(record);
    return status;
}

/* A copy of a value, which is freed; NULL stays NULL. */
static themis_status_t value_copy(char *value, size_t length, void **copy, size_t *copied)
{
    *copied = value ? length : 0;
    *copy = NULL;
    if (!value)
        return THEMIS_OK;
    *copy = malloc(length + 1);
    if (*copy)
        memcpy(*copy, value, length);
    rocksdb_free(value);
    return *copy ? THEMIS_OK : THEMIS_NO_MEMORY;
}

themis_status_t themis_server_name_db_get_record(themis_server_name_db_t *db, const themis_proto_text_t *path,
                                                 void **record, size_t *length)
{
    name_key_t key;

    attr_key(path, &key);
    return themis_server_name_db_read(db, key.bytes, key.length, record, length);
}

themis_status_t themis_server_name_db_get_extra(themis_server_name_db_t *db, const themis_proto_text_t *path,
                                                themis_proto_extra_t *extra, void **memory)
{
    size_t length = 0;
    void *record = NULL;
    themis_status_t status = themis_server_name_db_get_record(db, path, &record, &length);

    if (status == THEMIS_OK)
        status = themis_server_name_record_extra(record, length, extra);
    if (status == THEMIS_OK)
        *memory = record;
    else
        free(record);
    return status;
}

themis_status_t themis_server_name_db_remove(themis_server_name_db_t *db, const themis_proto_text_t *path,
                                             const themis_server_name_db_record_t *with)
{
    name_key_t key;

    attr_key(path, &key);
    return db_delete(db, &key, with);
}

/* --- entries ----------------------------------------------------------------------------------------------------- */

/* Is there this entry, of this type? */
static int entry_is(themis_server_name_db_t *db, const name_key_t *key, char type)
{
    char *value = NULL;
    size_t length;

    if (db_get(db, key, &value, &length) != THEMIS_OK || !value)
        return 0;
    int same = length >= 1 && *value == type;
    rocksdb_free(value);
    return same;
}

themis_status_t themis_server_name_db_entry_put(themis_server_name_db_t *db, const themis_proto_entry_t *entry,
                                                const themis_server_name_db_record_t *with)
{
    char type = (char)entry->type, value[ENTRY_BYTES];
    uint64_t now = htole64(themis_util_clock_wall());
    name_key_t key;

    value[0] = type;
    memcpy(value + 1, &now, sizeof now);
    entry_key(&entry->directory, &entry->name, &key);
    themis_status_t status = db_put(db, &key, value, sizeof value, with);
    if (status == THEMIS_NO_SPACE && entry_is(db, &key, type))
        return THEMIS_OK; /* who removes a name asks for its entry first */
    return status;
}

themis_status_t themis_server_name_db_entry_remove(themis_server_name_db_t *db, const themis_proto_entry_t *entry,
                                                   const themis_server_name_db_record_t *with)
{
    name_key_t key;

    entry_key(&entry->directory, &entry->name, &key);
    return db_delete(db, &key, with);
}

/* When an entry was put, ns since 1970; 0: long ago. */
static uint64_t entry_time(const char *value, size_t length)
{
    uint64_t time = 0;

    if (length == ENTRY_BYTES)
        memcpy(&time, value + 1, sizeof time);
    return le64toh(time);
}

themis_status_t themis_server_name_db_entry_remove_old(themis_server_name_db_t *db, const themis_proto_entry_t *entry,
                                                       uint64_t seen, uint64_t age)
{
    name_key_t key;
    size_t length = 0;
    char *value = NULL;

    entry_key(&entry->directory, &entry->name, &key);
    themis_status_t status = db_get(db, &key, &value, &length);
    if (status != THEMIS_OK || !value)
        return status;
    uint64_t time = entry_time(value, length);
    rocksdb_free(value);
    return (time <= seen ? seen - time : time - seen) < age ? THEMIS_BUSY : db_delete(db, &key, NULL);
}

/* An iterator at the first key from `key` on; iterator_end ends it. */
static themis_status_t iterator_begin(themis_server_name_db_t *db, const name_key_t *key, rocksdb_iterator_t **at)
{
    themis_status_t status = handle_begin(db);

    if (status != THEMIS_OK)
        return status;
    *at = rocksdb_create_iterator(db->db, db->read);
    rocksdb_iter_seek(*at, key->bytes, key->length);
    return THEMIS_OK;
}

/* An iterator that meets an error is no longer valid, as at the end: what it has found may be too little. */
static themis_status_t iterator_end(themis_server_name_db_t *db, rocksdb_iterator_t *at)
{
    char *error = NULL;

    rocksdb_iter_get_error(at, &error);
    rocksdb_iter_destroy(at);
    handle_end(db);
    return error ? db_failed(error) : THEMIS_OK;
}

themis_status_t themis_server_name_db_has_entries(themis_server_name_db_t *db, const themis_proto_text_t *directory,
                                                  int *any)
{
    static const themis_proto_text_t none;
    rocksdb_iterator_t *at;
    name_key_t key;
    size_t length;

    entry_key(directory, &none, &key);
    themis_status_t status = iterator_begin(db, &key, &at);
    if (status != THEMIS_OK)
        return status;
    const char *found = rocksdb_iter_valid(at) ? rocksdb_iter_key(at, &length) : NULL;
    *any = found && length >= key.length && memcmp(found, key.bytes, key.length) == 0;
    return iterator_end(db, at);
}

/* Copies entries from the iterator, which is at the first one, until limit, buffer or directory ends. */
static void entries_collect(rocksdb_iterator_t *at, const name_key_t *prefix, uint32_t limit, void *buffer,
                            size_t capacity, themis_proto_entries_t *entries)
{
    size_t used = 0, length, value_length;

    for (; rocksdb_iter_valid(at); rocksdb_iter_next(at)) {
        const char *key = rocksdb_iter_key(at, &length);
        if (length <= prefix->length || memcmp(key, prefix->bytes, prefix->length) != 0)
            break;
        const char *value = rocksdb_iter_value(at, &value_length);
        themis_proto_type_t type =
            value_length >= 1 && (*value == THEMIS_PROTO_DIRECTORY || *value == THEMIS_PROTO_SYMLINK)
                ? (themis_proto_type_t)*value
                : THEMIS_PROTO_FILE;
        if (entries->count == limit || themis_proto_entries_add(buffer, capacity, &used, key + prefix->length,
                                                                length - prefix->length, type) != THEMIS_OK) {
            entries->more = 1;
            break;
        }
        entries->count++;
    }
    entries->bytes = buffer;
    entries->length = (uint32_t)used;
}

themis_status_t themis_server_name_db_list(themis_server_name_db_t *db, const themis_proto_readdir_t *readdir,
                                           void *buffer, size_t capacity, themis_proto_entries_t *entries)
{
    static const themis_proto_text_t none;
    name_key_t prefix, start;
    rocksdb_iterator_t *at;

    entry_key(&readdir->path, &none, &prefix);
    entry_key(&readdir->path, &readdir->after, &start);
    if (readdir->after.length)
        start.bytes[start.length++] = 0; /* the first key past `after` */
    *entries = (themis_proto_entries_t){0};
    themis_status_t status = iterator_begin(db, &start, &at);
    if (status != THEMIS_OK)
        return status;
    entries_collect(at, &prefix, readdir->limit, buffer, capacity, entries);
    return iterator_end(db, at);
}

/* --- other records ------------------------------------------------------------------------------------------------ */

themis_status_t themis_server_name_db_write(themis_server_name_db_t *db, const themis_server_name_db_record_t *records)
{
    int adds = 0;

    for (const themis_server_name_db_record_t *at = records; at; at = at->next)
        adds |= at->value != NULL;
    return batch_write(db, batch_create(records), adds ? FREE_TO_ADD : FREE_TO_REMOVE);
}

themis_status_t themis_server_name_db_write_end(themis_server_name_db_t *db,
                                                const themis_server_name_db_record_t *records)
{
    return batch_write(db, batch_create(records), FREE_TO_REMOVE);
}

themis_status_t themis_server_name_db_read(themis_server_name_db_t *db, const void *key, size_t key_length,
                                           void **value, size_t *length)
{
    name_key_t found = {.length = key_length};
    size_t bytes = 0;
    char *read;

    memcpy(found.bytes, key, key_length);
    themis_status_t status = db_get(db, &found, &read, &bytes);
    return status == THEMIS_OK ? value_copy(read, bytes, value, length) : status;
}

themis_status_t themis_server_name_db_find(themis_server_name_db_t *db, const void *key, size_t length)
{
    size_t value_length;
    char *error = NULL, *value = NULL;
    themis_status_t status = change_begin(db, 0);

    if (status != THEMIS_OK)
        return status;
    value = rocksdb_get(db->db, db->read, key, length, &value_length, &error);
    status = error ? db_failed(error) : value ? THEMIS_OK : THEMIS_NO_ENTRY;
    rocksdb_free(value);
    handle_end(db);
    pthread_mutex_unlock(&db->writing);
    return status;
}

static themis_status_t record_erase(void *arg, const themis_server_name_db_record_t *record)
{
    rocksdb_writebatch_delete(arg, record->key, record->key_length);
    return THEMIS_OK;
}

/* One by one, as there are few: a range that is deleted slows down iterators that pass it. */
themis_status_t themis_server_name_db_erase(themis_server_name_db_t *db, const void *prefix, size_t length)
{
    rocksdb_writebatch_t *batch = batch_create(NULL);
    themis_status_t status = themis_server_name_db_scan(db, prefix, length, record_erase, batch);

    if (status == THEMIS_OK && rocksdb_writebatch_count(batch))
        return batch_write(db, batch, FREE_TO_REMOVE);
    rocksdb_writebatch_destroy(batch);
    return status;
}

static themis_status_t records_scan(themis_server_name_db_t *db, const name_key_t *start, size_t prefix,
                                    themis_server_name_db_each_fn each, void *arg)
{
    themis_server_name_db_record_t record = {0};
    rocksdb_iterator_t *at;
    themis_status_t status = iterator_begin(db, start, &at);

    if (status != THEMIS_OK)
        return status;
    for (; status == THEMIS_OK && rocksdb_iter_valid(at); rocksdb_iter_next(at)) {
        record.key = rocksdb_iter_key(at, &record.key_length);
        if (record.key_length < prefix || memcmp(record.key, start->bytes, prefix) != 0)
            break;
        record.value = rocksdb_iter_value(at, &record.value_length);
        status = each(arg, &record);
    }
    themis_status_t read = iterator_end(db, at);
    return status == THEMIS_OK ? read : status;
}

themis_status_t themis_server_name_db_scan(themis_server_name_db_t *db, const void *prefix, size_t length,
                                           themis_server_name_db_each_fn each, void *arg)
{
    name_key_t start = {.length = length};

    memcpy(start.bytes, prefix, length);
    return records_scan(db, &start, length, each, arg);
}

themis_status_t themis_server_name_db_scan_from(themis_server_name_db_t *db, char prefix, const void *start,
                                                size_t length, themis_server_name_db_each_fn each, void *arg)
{
    name_key_t key = {.length = length};

    if (length == 0 || length > KEY_BYTES || *(const char *)start != prefix)
        return THEMIS_INVALID;
    memcpy(key.bytes, start, length);
    return records_scan(db, &key, 1, each, arg);
}

/* --- object ids -------------------------------------------------------------------------------------------------- */

/*
 * Ids are never used twice, even by a server that lost its state while others kept objects: they are the microseconds
 * since 2020, or count up where that is not above the last one, with the server's index in the highest bits. After a
 * start they may be ahead of the clock by ID_BATCH.
 */
static uint64_t id_of_now(uint32_t index)
{
    uint64_t us = (themis_util_clock_wall() - ID_EPOCH_S * THEMIS_NS_PER_S) / THEMIS_NS_PER_US;

    return (uint64_t)(index + 1) << INDEX_SHIFT | (us & ((UINT64_C(1) << INDEX_SHIFT) - 1));
}

static themis_status_t ids_reserve(themis_server_name_db_t *db)
{
    static const name_key_t key = {.length = 1, .bytes = "N"};
    const uint64_t words[] = {htole64(db->next_id + ID_BATCH), htole64(db->first_id)};
    rocksdb_writebatch_t *batch = batch_create(NULL);

    /* synced: after a loss of power, with a clock that is behind, ids must not come again */
    rocksdb_writebatch_put(batch, key.bytes, key.length, (const char *)words, sizeof words);
    themis_status_t status = batch_write_as(db, batch, FREE_TO_REMOVE, db->write_synced);
    if (status == THEMIS_OK)
        db->reserved_id = db->next_id + ID_BATCH;
    return status;
}

themis_status_t themis_server_name_db_new_id(themis_server_name_db_t *db, uint64_t *id)
{
    themis_status_t status = THEMIS_OK;

    pthread_mutex_lock(&db->ids_lock);
    uint64_t now = id_of_now(db->index);
    if (now > db->next_id)
        db->next_id = now;
    if (db->next_id >= db->reserved_id)
        status = ids_reserve(db);
    if (status == THEMIS_OK)
        *id = db->next_id++;
    pthread_mutex_unlock(&db->ids_lock);
    return status;
}

uint64_t themis_server_name_db_first_id(const themis_server_name_db_t *db)
{
    return db->first_id;
}

int themis_server_name_db_id_is_lost(const themis_server_name_db_t *db, uint64_t id)
{
    return id < db->first_id && id >> INDEX_SHIFT == db->first_id >> INDEX_SHIFT;
}

static themis_status_t ids_load(themis_server_name_db_t *db, uint32_t index)
{
    static const name_key_t key = {.length = 1, .bytes = "N"};
    size_t length = 0;
    uint64_t words[2] = {0}; /* the second one is missing in old databases */
    char *value;
    themis_status_t status = db_get(db, &key, &value, &length);

    if (status != THEMIS_OK)
        return status;
    db->index = index;
    db->next_id = id_of_now(index);
    db->first_id = value ? 0 : db->next_id;
    if (value && (length == sizeof words || length == sizeof *words)) {
        memcpy(words, value, length);
        db->first_id = le64toh(words[1]);
    }
    if (value)
        rocksdb_free(value);
    uint64_t word = le64toh(words[0]);
    if (word > db->next_id && word >> INDEX_SHIFT == db->next_id >> INDEX_SHIFT)
        db->next_id = word;
    db->reserved_id = db->next_id;
    if (!value) /* where it fails, the database is taken for a newer one at the next start */
        ids_reserve(db);
    return THEMIS_OK;
}

/* --- opening and closing ----------------------------------------------------------------------------------------- */

static themis_status_t db_open(themis_server_name_db_t *db, const char *directory, int fresh)
{
    char *error = NULL;

    db->options = rocksdb_options_create();
    db->directory = strdup(*directory ? directory : "/names");
    db->read = rocksdb_readoptions_create();
    db->write = rocksdb_writeoptions_create();
    db->write_synced = rocksdb_writeoptions_create();
    rocksdb_writeoptions_set_sync(db->write_synced, 1);
    rocksdb_options_set_create_if_missing(db->options, 1);
    rocksdb_options_set_write_buffer_size(db->options, WRITE_BUFFER);
    rocksdb_options_set_max_background_jobs(db->options, 1);
    rocksdb_options_set_keep_log_file_num(db->options, 2);
    rocksdb_options_set_info_log_level(db->options, 3);
    /* most objects have no list: their keys are looked for in vain */
    rocksdb_block_based_table_options_t *tables = rocksdb_block_based_options_create();
    rocksdb_block_based_options_set_filter_policy(tables, rocksdb_filterpolicy_create_bloom_full(BLOOM_BITS));
    rocksdb_options_set_block_based_table_factory(db->options, tables);
    rocksdb_block_based_options_destroy(tables);
    if (!*directory) {
        db->memory = rocksdb_create_mem_env();
        rocksdb_options_set_env(db->options, db->memory);
    }
    if (!db->directory)
        return THEMIS_NO_MEMORY;
    if (fresh && !db->memory)
        rocksdb_destroy_db(db->options, directory, &error);
    if (error)
        return db_failed(error);
    return handle_open(db) == THEMIS_OK ? THEMIS_OK : THEMIS_CONFIG;
}

/* Opening the handle again waits for all that use it, however many follow. */
static void handle_lock_init(pthread_rwlock_t *lock)
{
    pthread_rwlockattr_t attributes;

    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(lock, &attributes);
    pthread_rwlockattr_destroy(&attributes);
}

themis_status_t themis_server_name_db_open(const char *directory, int fresh, uint32_t index,
                                           const themis_store_identity_t *identity, themis_server_name_db_t **db)
{
    themis_server_name_db_t *made = calloc(1, sizeof *made);

    if (!made)
        return THEMIS_NO_MEMORY;
    made->lock_fd = -1;
    pthread_mutex_init(&made->ids_lock, NULL);
    pthread_mutex_init(&made->writing, NULL);
    handle_lock_init(&made->handle);
    themis_status_t status =
        *directory ? themis_server_name_directory_take(directory, fresh, index, identity, &made->lock_fd) : THEMIS_OK;
    if (status == THEMIS_OK)
        status = db_open(made, directory, fresh);
    if (status == THEMIS_OK)
        status = ids_load(made, index);
    if (status != THEMIS_OK) {
        themis_server_name_db_close(made);
        return status;
    }
    *db = made;
    return THEMIS_OK;
}

void themis_server_name_db_close(themis_server_name_db_t *db)
{
    if (!db)
        return;
    if (db->db)
        rocksdb_close(db->db);
    if (db->options) {
        rocksdb_readoptions_destroy(db->read);
        rocksdb_writeoptions_destroy(db->write);
        rocksdb_writeoptions_destroy(db->write_synced);
        rocksdb_options_destroy(db->options);
    }
    if (db->lock_fd >= 0)
        close(db->lock_fd);
    if (db->memory)
        rocksdb_env_destroy(db->memory);
    pthread_rwlock_destroy(&db->handle);
    pthread_mutex_destroy(&db->ids_lock);
    pthread_mutex_destroy(&db->writing);
    free(db->directory);
    free(db);
}

themis_status_t themis_server_name_db_sync(themis_server_name_db_t *db)
{
    char *error = NULL;

    /* RocksDB's environment in memory has nothing to sync to, and says so with an error. */
    if (db->memory)
        return THEMIS_OK;
    themis_status_t status = change_begin(db, 0);
    if (status != THEMIS_OK)
        return status;
    pthread_mutex_unlock(&db->writing); /* all is written to the log's file: changes need not wait for the disk */
    rocksdb_flush_wal(db->db, 1, &error);
    return handle_end_write(db, error);
}
