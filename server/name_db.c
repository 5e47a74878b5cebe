/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys: 'A' path -> attributes; 'E' directory NUL name -> type of the entry; "N" -> the highest object id that may be
 * in use.
 */
#include "server/name_db.h"
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <rocksdb/c.h>
#include "store/exclusive_use.h"
#include "util/clock.h"
#include "util/log.h"

enum {
    KEY_BYTES = 2 * (THEMIS_PROTO_MAX_PATH + 2),
    RECORD_WORDS = 8,
    RECORD_VERSION = 1,
    ID_BATCH = 4096,
    INDEX_SHIFT = 51,
    WRITE_BUFFER = 8 << 20
};
#define ID_EPOCH_S UINT64_C(1577836800) /* 2020 */

struct themis_server_name_db {
    rocksdb_t *db;
    rocksdb_env_t *memory; /* NULL with a directory */
    rocksdb_options_t *options;
    rocksdb_readoptions_t *read;
    rocksdb_writeoptions_t *write;
    int lock_fd;              /* of the directory; -1: in memory */
    pthread_mutex_t ids_lock; /* of the next two */
    uint64_t next_id, reserved_id;
};

typedef struct name_key {
    size_t length;
    char bytes[KEY_BYTES];
} name_key_t;

/* --- keys and records -------------------------------------------------------------------------------------------- */

static void attr_key(const themis_proto_text_t *path, name_key_t *key)
{
    key->bytes[0] = 'A';
    memcpy(key->bytes + 1, path->bytes, path->length);
    key->length = path->length + 1;
}

static void entry_key(const themis_proto_text_t *directory, const themis_proto_text_t *name, name_key_t *key)
{
    key->bytes[0] = 'E';
    memcpy(key->bytes + 1, directory->bytes, directory->length);
    key->bytes[1 + directory->length] = 0;
    if (name->length)
        memcpy(key->bytes + 2 + directory->length, name->bytes, name->length);
    key->length = 2 + directory->length + name->length;
}

static void record_pack(const themis_proto_attr_t *attr, uint64_t words[RECORD_WORDS])
{
    const uint64_t plain[RECORD_WORDS] = {(uint64_t)RECORD_VERSION << 32 | attr->type,
                                          attr->id,
                                          (uint64_t)attr->mode << 32 | attr->uid,
                                          attr->gid,
                                          attr->created,
                                          attr->modified,
                                          attr->layout.stripe_size,
                                          (uint64_t)attr->layout.count << 32 | attr->layout.first};

    for (int i = 0; i < RECORD_WORDS; i++)
        words[i] = htole64(plain[i]);
}

static themis_status_t record_unpack(const void *bytes, size_t length, themis_proto_attr_t *attr)
{
    uint64_t words[RECORD_WORDS];

    if (length != sizeof words)
        return THEMIS_CORRUPT;
    memcpy(words, bytes, sizeof words);
    for (int i = 0; i < RECORD_WORDS; i++)
        words[i] = le64toh(words[i]);
    if (words[0] >> 32 != RECORD_VERSION)
        return THEMIS_CORRUPT;
    *attr = (themis_proto_attr_t){
        .type = (themis_proto_type_t)(words[0] & 0xff),
        .id = words[1],
        .mode = (uint32_t)(words[2] >> 32),
        .uid = (uint32_t)words[2],
        .gid = (uint32_t)words[3],
        .created = words[4],
        .modified = words[5],
        .layout = {.stripe_size = words[6], .count = (uint32_t)(words[7] >> 32), .first = (uint32_t)words[7]}};
    return THEMIS_OK;
}

/* --- the database ------------------------------------------------------------------------------------------------ */

/* Takes the message over. */
static themis_status_t db_failed(char *message)
{
    themis_error("namespace database: %s", message);
    rocksdb_free(message);
    return THEMIS_IO;
}

static themis_status_t db_put(themis_server_name_db_t *db, const name_key_t *key, const void *value, size_t length)
{
    char *error = NULL;

    rocksdb_put(db->db, db->write, key->bytes, key->length, value, length, &error);
    return error ? db_failed(error) : THEMIS_OK;
}

static themis_status_t db_delete(themis_server_name_db_t *db, const name_key_t *key)
{
    char *error = NULL;

    rocksdb_delete(db->db, db->write, key->bytes, key->length, &error);
    return error ? db_failed(error) : THEMIS_OK;
}

/* --- attributes -------------------------------------------------------------------------------------------------- */

themis_status_t themis_server_name_db_get(themis_server_name_db_t *db, const themis_proto_text_t *path,
                                          themis_proto_attr_t *attr)
{
    name_key_t key;
    char *error = NULL;
    size_t length;

    attr_key(path, &key);
    char *value = rocksdb_get(db->db, db->read, key.bytes, key.length, &length, &error);
    if (error)
        return db_failed(error);
    if (!value)
        return THEMIS_NO_ENTRY;
    themis_status_t status = record_unpack(value, length, attr);
    if (status != THEMIS_OK)
        themis_error("namespace database: the attributes of %.*s are corrupt", (int)path->length, path->bytes);
    rocksdb_free(value);
    return status;
}

themis_status_t themis_server_name_db_put(themis_server_name_db_t *db, const themis_proto_text_t *path,
                                          const themis_proto_attr_t *attr)
{
    uint64_t words[RECORD_WORDS];
    name_key_t key;

    attr_key(path, &key);
    record_pack(attr, words);
    return db_put(db, &key, words, sizeof words);
}

themis_status_t themis_server_name_db_remove(themis_server_name_db_t *db, const themis_proto_text_t *path)
{
    name_key_t key;

    attr_key(path, &key);
    return db_delete(db, &key);
}

/* --- entries ----------------------------------------------------------------------------------------------------- */

themis_status_t themis_server_name_db_entry_put(themis_server_name_db_t *db, const themis_proto_entry_t *entry)
{
    char type = (char)entry->type;
    name_key_t key;

    entry_key(&entry->directory, &entry->name, &key);
    return db_put(db, &key, &type, 1);
}

themis_status_t themis_server_name_db_entry_remove(themis_server_name_db_t *db, const themis_proto_entry_t *entry)
{
    name_key_t key;

    entry_key(&entry->directory, &entry->name, &key);
    return db_delete(db, &key);
}

int themis_server_name_db_has_entries(themis_server_name_db_t *db, const themis_proto_text_t *directory)
{
    static const themis_proto_text_t none;
    name_key_t key;
    size_t length;

    entry_key(directory, &none, &key);
    rocksdb_iterator_t *at = rocksdb_create_iterator(db->db, db->read);
    rocksdb_iter_seek(at, key.bytes, key.length);
    const char *found = rocksdb_iter_valid(at) ? rocksdb_iter_key(at, &length) : NULL;
    int any = found && length >= key.length && memcmp(found, key.bytes, key.length) == 0;
    rocksdb_iter_destroy(at);
    return any;
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
            value_length == 1 && *value == THEMIS_PROTO_DIRECTORY ? THEMIS_PROTO_DIRECTORY : THEMIS_PROTO_FILE;
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

void themis_server_name_db_list(themis_server_name_db_t *db, const themis_proto_readdir_t *readdir, void *buffer,
                                size_t capacity, themis_proto_entries_t *entries)
{
    static const themis_proto_text_t none;
    name_key_t prefix, start;

    entry_key(&readdir->path, &none, &prefix);
    entry_key(&readdir->path, &readdir->after, &start);
    if (readdir->after.length)
        start.bytes[start.length++] = 0; /* the first key past `after` */
    *entries = (themis_proto_entries_t){0};
    rocksdb_iterator_t *at = rocksdb_create_iterator(db->db, db->read);
    rocksdb_iter_seek(at, start.bytes, start.length);
    entries_collect(at, &prefix, readdir->limit, buffer, capacity, entries);
    rocksdb_iter_destroy(at);
}

/* --- object ids -------------------------------------------------------------------------------------------------- */

/*
 * Ids are never used twice, even by a server that lost its state while others kept objects: they start at the
 * microseconds since 2020 and count up, with the server's index in the highest bits.
 */
static uint64_t first_id(uint32_t index)
{
    uint64_t us = (themis_util_clock_wall() - ID_EPOCH_S * THEMIS_NS_PER_S) / THEMIS_NS_PER_US;

    return (uint64_t)(index + 1) << INDEX_SHIFT | (us & ((UINT64_C(1) << INDEX_SHIFT) - 1));
}

static themis_status_t ids_reserve(themis_server_name_db_t *db)
{
    static const name_key_t key = {.length = 1, .bytes = "N"};
    uint64_t word = htole64(db->next_id + ID_BATCH);
    themis_status_t status = db_put(db, &key, &word, sizeof word);

    if (status == THEMIS_OK)
        db->reserved_id = db->next_id + ID_BATCH;
    return status;
}

themis_status_t themis_server_name_db_new_id(themis_server_name_db_t *db, uint64_t *id)
{
    themis_status_t status = THEMIS_OK;

    pthread_mutex_lock(&db->ids_lock);
    if (db->next_id == db->reserved_id)
        status = ids_reserve(db);
    if (status == THEMIS_OK)
        *id = db->next_id++;
    pthread_mutex_unlock(&db->ids_lock);
    return status;
}

static void ids_load(themis_server_name_db_t *db, uint32_t index)
{
    char *error = NULL;
    size_t length = 0;
    uint64_t word = 0;

    db->next_id = first_id(index);
    char *value = rocksdb_get(db->db, db->read, "N", 1, &length, &error);
    if (error)
        db_failed(error);
    if (value && length == sizeof word) {
        memcpy(&word, value, sizeof word);
        word = le64toh(word);
    }
    if (value)
        rocksdb_free(value);
    if (word > db->next_id && word >> INDEX_SHIFT == db->next_id >> INDEX_SHIFT)
        db->next_id = word;
    db->reserved_id = db->next_id;
}

/* --- opening and closing ----------------------------------------------------------------------------------------- */

/* RocksDB removes files with such names, whoever made them. */
static int is_database_file(const char *name)
{
    static const char *const starts[] = {"CURRENT", "IDENTITY", "MANIFEST-", "OPTIONS-"};
    size_t digits = strspn(name, "0123456789");

    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncmp(name, starts[i], strlen(starts[i])) == 0)
            return 1;
    return digits > 0 && name[digits] == '.';
}

/* A database without a STORE file is that of a posix store, made by an older version. */
static int has_old_database(const char *directory)
{
    char path[PATH_MAX];

    return snprintf(path, sizeof path, "%s/CURRENT", directory) < PATH_MAX && access(path, F_OK) == 0;
}

static themis_status_t directory_take(themis_server_name_db_t *db, const char *directory, int fresh, uint32_t index)
{
    int old = !fresh && has_old_database(directory);
    char content[64];

    if (mkdir(directory, 0700) < 0 && errno != EEXIST) {
        themis_error("state = %s: cannot create the directory: %s", directory, strerror(errno));
        return THEMIS_CONFIG;
    }
    snprintf(content, sizeof content, "names of %sserver %" PRIu32, fresh ? "an arena on " : "", index);
    return themis_store_exclusive_use_directory("state", directory, content, old ? NULL : is_database_file,
                                                &db->lock_fd);
}

static themis_status_t db_open(themis_server_name_db_t *db, const char *directory, int fresh)
{
    char *error = NULL;

    db->options = rocksdb_options_create();
    db->read = rocksdb_readoptions_create();
    db->write = rocksdb_writeoptions_create();
    rocksdb_options_set_create_if_missing(db->options, 1);
    rocksdb_options_set_write_buffer_size(db->options, WRITE_BUFFER);
    rocksdb_options_set_max_background_jobs(db->options, 1);
    rocksdb_options_set_keep_log_file_num(db->options, 2);
    rocksdb_options_set_info_log_level(db->options, 3);
    if (!*directory) {
        db->memory = rocksdb_create_mem_env();
        rocksdb_options_set_env(db->options, db->memory);
        directory = "/names";
    }
    if (fresh && !db->memory)
        rocksdb_destroy_db(db->options, directory, &error);
    if (error)
        return db_failed(error);
    db->db = rocksdb_open(db->options, directory, &error);
    if (!error)
        return THEMIS_OK;
    db_failed(error);
    return THEMIS_CONFIG;
}

themis_status_t themis_server_name_db_open(const char *directory, int fresh, uint32_t index,
                                           themis_server_name_db_t **db)
{
    themis_server_name_db_t *made = calloc(1, sizeof *made);

    if (!made)
        return THEMIS_NO_MEMORY;
    made->lock_fd = -1;
    pthread_mutex_init(&made->ids_lock, NULL);
    themis_status_t status = *directory ? directory_take(made, directory, fresh, index) : THEMIS_OK;
    if (status == THEMIS_OK)
        status = db_open(made, directory, fresh);
    if (status != THEMIS_OK) {
        themis_server_name_db_close(made);
        return status;
    }
    ids_load(made, index);
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
        rocksdb_options_destroy(db->options);
    }
    if (db->lock_fd >= 0)
        close(db->lock_fd);
    if (db->memory)
        rocksdb_env_destroy(db->memory);
    pthread_mutex_destroy(&db->ids_lock);
    free(db);
}

themis_status_t themis_server_name_db_sync(themis_server_name_db_t *db)
{
    char *error = NULL;

    /* RocksDB's environment in memory has nothing to sync to, and says so with an error. */
    if (db->memory)
        return THEMIS_OK;
    rocksdb_flush_wal(db->db, 1, &error);
    return error ? db_failed(error) : THEMIS_OK;
}
