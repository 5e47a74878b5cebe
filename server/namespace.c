/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys: 'A' path -> attributes; 'E' directory NUL name -> type of the entry; "N" -> the highest object id that may be
 * in use. A lock out of a table, chosen by the path's hash, is held over each change: that of the directory for its
 * entries, so that removing it and adding to it exclude each other.
 */
#include "server/namespace.h"
#include <endian.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <rocksdb/c.h>
#include "server/access.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/ring.h"

enum {
    LOCKS = 64,
    KEY_BYTES = 2 * (THEMIS_PROTO_MAX_PATH + 2),
    RECORD_WORDS = 8,
    RECORD_VERSION = 1,
    ID_BATCH = 4096,
    INDEX_SHIFT = 51,
    WRITE_BUFFER = 8 << 20
};
#define ID_EPOCH_S UINT64_C(1577836800) /* 2020 */

struct themis_namespace {
    rocksdb_t *db;
    rocksdb_env_t *memory; /* NULL with a directory */
    rocksdb_options_t *options;
    rocksdb_readoptions_t *read;
    rocksdb_writeoptions_t *write;
    pthread_mutex_t locks[LOCKS];
    uint32_t index, servers;
    pthread_mutex_t ids_lock; /* of the next three */
    uint64_t next_id, reserved_id;
    themis_proto_layout_t layout;
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

static int is_root(const themis_proto_text_t *path)
{
    return path->length == 1 && path->bytes[0] == '/';
}

static themis_status_t check_name(const char *bytes, size_t length)
{
    if (length > THEMIS_PROTO_MAX_NAME)
        return THEMIS_NAME_TOO_LONG;
    if (length == 0 || memchr(bytes, 0, length) || memchr(bytes, '/', length) || (length == 1 && bytes[0] == '.') ||
        (length == 2 && memcmp(bytes, "..", 2) == 0))
        return THEMIS_BAD_NAME;
    return THEMIS_OK;
}

static themis_status_t check_path(const themis_proto_text_t *path)
{
    themis_status_t status = THEMIS_OK;
    size_t at = 1;

    if (path->length > THEMIS_PROTO_MAX_PATH)
        return THEMIS_NAME_TOO_LONG;
    if (path->length == 0 || path->bytes[0] != '/')
        return THEMIS_BAD_NAME;
    while (!is_root(path) && status == THEMIS_OK && at <= path->length) {
        const char *slash = memchr(path->bytes + at, '/', path->length - at);
        size_t length = slash ? (size_t)(slash - path->bytes) - at : path->length - at;
        status = check_name(path->bytes + at, length);
        at += length + 1;
    }
    return status;
}

/* --- the database ------------------------------------------------------------------------------------------------ */

static themis_status_t failed(char *message)
{
    themis_error("namespace: %s", message);
    rocksdb_free(message);
    return THEMIS_IO;
}

static themis_status_t db_put(themis_namespace_t *names, const name_key_t *key, const void *value, size_t length)
{
    char *error = NULL;

    rocksdb_put(names->db, names->write, key->bytes, key->length, value, length, &error);
    return error ? failed(error) : THEMIS_OK;
}

static themis_status_t db_delete(themis_namespace_t *names, const name_key_t *key)
{
    char *error = NULL;

    rocksdb_delete(names->db, names->write, key->bytes, key->length, &error);
    return error ? failed(error) : THEMIS_OK;
}

static void root_attr(themis_proto_attr_t *attr)
{
    *attr = (themis_proto_attr_t){.type = THEMIS_PROTO_DIRECTORY, .mode = 0777};
}

static themis_status_t get_attr(themis_namespace_t *names, const themis_proto_text_t *path, themis_proto_attr_t *attr)
{
    name_key_t key;
    char *error = NULL;
    size_t length;

    attr_key(path, &key);
    char *value = rocksdb_get(names->db, names->read, key.bytes, key.length, &length, &error);
    if (error)
        return failed(error);
    if (!value && is_root(path)) {
        root_attr(attr);
        return THEMIS_OK;
    }
    if (!value)
        return THEMIS_NO_ENTRY;
    themis_status_t status = record_unpack(value, length, attr);
    if (status != THEMIS_OK)
        themis_error("namespace: the attributes of %.*s are corrupt", (int)path->length, path->bytes);
    rocksdb_free(value);
    return status;
}

static themis_status_t put_attr(themis_namespace_t *names, const themis_proto_text_t *path,
                                const themis_proto_attr_t *attr)
{
    uint64_t words[RECORD_WORDS];
    name_key_t key;

    attr_key(path, &key);
    record_pack(attr, words);
    return db_put(names, &key, words, sizeof words);
}

static pthread_mutex_t *lock_of(themis_namespace_t *names, const themis_proto_text_t *path)
{
    pthread_mutex_t *lock = &names->locks[themis_ring_hash(path->bytes, path->length) % LOCKS];

    pthread_mutex_lock(lock);
    return lock;
}

/* --- object ids -------------------------------------------------------------------------------------------------- */

/*
 * Ids are never used twice, even by a server that lost its state while others kept objects: they count on from the
 * microseconds since 2020, with the server's index above.
 */
static uint64_t first_id(uint32_t index)
{
    uint64_t us = (themis_clock_wall() - ID_EPOCH_S * THEMIS_NS_PER_S) / THEMIS_NS_PER_US;

    return (uint64_t)(index + 1) << INDEX_SHIFT | (us & ((UINT64_C(1) << INDEX_SHIFT) - 1));
}

static themis_status_t reserve_ids(themis_namespace_t *names)
{
    static const name_key_t key = {.length = 1, .bytes = "N"};
    uint64_t word = htole64(names->next_id + ID_BATCH);
    themis_status_t status = db_put(names, &key, &word, sizeof word);

    if (status == THEMIS_OK)
        names->reserved_id = names->next_id + ID_BATCH;
    return status;
}

static themis_status_t new_id(themis_namespace_t *names, uint64_t *id)
{
    themis_status_t status = THEMIS_OK;

    pthread_mutex_lock(&names->ids_lock);
    if (names->next_id == names->reserved_id)
        status = reserve_ids(names);
    if (status == THEMIS_OK)
        *id = names->next_id++;
    pthread_mutex_unlock(&names->ids_lock);
    return status;
}

static void load_ids(themis_namespace_t *names)
{
    char *error = NULL;
    size_t length = 0;
    uint64_t word = 0;

    names->next_id = first_id(names->index);
    char *value = rocksdb_get(names->db, names->read, "N", 1, &length, &error);
    if (error)
        failed(error);
    if (value && length == sizeof word) {
        memcpy(&word, value, sizeof word);
        word = le64toh(word);
    }
    if (value)
        rocksdb_free(value);
    if (word > names->next_id && word >> INDEX_SHIFT == names->next_id >> INDEX_SHIFT)
        names->next_id = word;
    names->reserved_id = names->next_id;
}

/* --- opening and closing ----------------------------------------------------------------------------------------- */

static themis_status_t open_db(themis_namespace_t *names, const char *directory, int fresh)
{
    char *error = NULL;

    names->options = rocksdb_options_create();
    names->read = rocksdb_readoptions_create();
    names->write = rocksdb_writeoptions_create();
    rocksdb_options_set_create_if_missing(names->options, 1);
    rocksdb_options_set_write_buffer_size(names->options, WRITE_BUFFER);
    rocksdb_options_set_max_background_jobs(names->options, 1);
    rocksdb_options_set_keep_log_file_num(names->options, 2);
    rocksdb_options_set_info_log_level(names->options, 3);
    if (!*directory) {
        names->memory = rocksdb_create_mem_env();
        rocksdb_options_set_env(names->options, names->memory);
        directory = "/names";
    } else if (mkdir(directory, 0700) < 0) {
        /* rocksdb_open tells what is wrong with it */
    }
    if (fresh && !names->memory)
        rocksdb_destroy_db(names->options, directory, &error);
    if (error)
        return failed(error);
    names->db = rocksdb_open(names->options, directory, &error);
    if (!error)
        return THEMIS_OK;
    failed(error);
    return THEMIS_CONFIG;
}

themis_status_t themis_namespace_create(const themis_namespace_options_t *options, themis_namespace_t **names)
{
    themis_namespace_t *made = calloc(1, sizeof *made);

    if (!made)
        return THEMIS_NO_MEMORY;
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_init(&made->locks[i], NULL);
    pthread_mutex_init(&made->ids_lock, NULL);
    made->index = options->index;
    made->servers = options->servers;
    made->layout = options->layout;
    themis_status_t status = open_db(made, options->directory ? options->directory : "", options->fresh);
    if (status != THEMIS_OK) {
        themis_namespace_destroy(made);
        return status;
    }
    load_ids(made);
    *names = made;
    return THEMIS_OK;
}

void themis_namespace_destroy(themis_namespace_t *names)
{
    if (!names)
        return;
    if (names->db)
        rocksdb_close(names->db);
    rocksdb_readoptions_destroy(names->read);
    rocksdb_writeoptions_destroy(names->write);
    rocksdb_options_destroy(names->options);
    if (names->memory)
        rocksdb_env_destroy(names->memory);
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_destroy(&names->locks[i]);
    pthread_mutex_destroy(&names->ids_lock);
    free(names);
}

void themis_namespace_set_layout(themis_namespace_t *names, const themis_proto_layout_t *layout)
{
    pthread_mutex_lock(&names->ids_lock);
    names->layout = *layout;
    pthread_mutex_unlock(&names->ids_lock);
}

themis_status_t themis_namespace_sync(themis_namespace_t *names)
{
    char *error = NULL;

    /* RocksDB's environment in memory has nothing to sync to, and says so with an error. */
    if (names->memory)
        return THEMIS_OK;
    rocksdb_flush_wal(names->db, 1, &error);
    return error ? failed(error) : THEMIS_OK;
}

/* --- operations -------------------------------------------------------------------------------------------------- */

themis_status_t themis_namespace_lookup(themis_namespace_t *names, const themis_proto_text_t *path,
                                        themis_proto_attr_t *attr)
{
    themis_status_t status = check_path(path);

    return status == THEMIS_OK ? get_attr(names, path, attr) : status;
}

/* Fills in what the wish leaves open, and bounds it by the servers there are. */
static themis_status_t choose_layout(themis_namespace_t *names, const themis_proto_text_t *path,
                                     const themis_proto_layout_t *wish, themis_proto_layout_t *layout)
{
    pthread_mutex_lock(&names->ids_lock);
    themis_proto_layout_t standard = names->layout;
    pthread_mutex_unlock(&names->ids_lock);
    *layout = *wish;
    if (layout->stripe_size == 0)
        layout->stripe_size = standard.stripe_size;
    if (layout->count == 0)
        layout->count = standard.count;
    if (layout->count == 0 || layout->count > names->servers)
        layout->count = names->servers;
    if (layout->first == UINT32_MAX)
        layout->first = (uint32_t)(themis_ring_hash(path->bytes, path->length) % names->servers);
    layout->first %= names->servers;
    return layout->stripe_size % 4096 || layout->stripe_size > UINT64_C(1) << 32 ? THEMIS_INVALID : THEMIS_OK;
}

static themis_status_t fresh_attr(themis_namespace_t *names, const themis_job_identity_t *who,
                                  const themis_proto_create_t *create, themis_proto_attr_t *attr)
{
    uint64_t now = themis_clock_wall();
    themis_proto_attr_t made = {.type = create->attr.type,
                                .mode = create->attr.mode & 07777,
                                .uid = who->uid,
                                .gid = who->gid,
                                .created = now,
                                .modified = now};
    themis_status_t status = THEMIS_OK;

    if (made.type == THEMIS_PROTO_FILE) {
        status = choose_layout(names, &create->path, &create->attr.layout, &made.layout);
        if (status == THEMIS_OK)
            status = new_id(names, &made.id);
    }
    *attr = made;
    return status;
}

/* A name that moved here from elsewhere, with everything it had. */
static themis_status_t adopted_attr(const themis_job_identity_t *who, const themis_proto_create_t *create,
                                    themis_proto_attr_t *attr)
{
    *attr = create->attr;
    return themis_access_owner(who, attr);
}

/* What CREATE does with a name that is there. */
static themis_status_t meet_existing(const themis_proto_create_t *create, const themis_proto_attr_t *old, int *keep)
{
    if (create->flags & THEMIS_PROTO_CREATE_REPLACE && create->flags & THEMIS_PROTO_CREATE_ADOPT) {
        *keep = 0;
        return old->type == THEMIS_PROTO_DIRECTORY ? THEMIS_IS_DIRECTORY : THEMIS_OK;
    }
    *keep = 1;
    if (create->flags & (THEMIS_PROTO_CREATE_EXCLUSIVE | THEMIS_PROTO_CREATE_ADOPT))
        return THEMIS_EXISTS;
    if (old->type == create->attr.type)
        return THEMIS_OK;
    return old->type == THEMIS_PROTO_DIRECTORY ? THEMIS_IS_DIRECTORY : THEMIS_EXISTS;
}

static themis_status_t make_locked(themis_namespace_t *names, const themis_job_identity_t *who,
                                   const themis_proto_create_t *create, themis_proto_attr_t *attr)
{
    themis_proto_attr_t old, made;
    int keep = 0;

    themis_status_t there = get_attr(names, &create->path, &old);
    if (there != THEMIS_OK && there != THEMIS_NO_ENTRY)
        return there;
    themis_status_t status = there == THEMIS_OK ? meet_existing(create, &old, &keep) : THEMIS_OK;
    old.fresh = 0;
    if (status == THEMIS_OK && !keep) {
        status = create->flags & THEMIS_PROTO_CREATE_ADOPT ? adopted_attr(who, create, &made)
                                                           : fresh_attr(names, who, create, &made);
        if (status == THEMIS_OK)
            status = put_attr(names, &create->path, &made);
        made.fresh = 1;
    }
    if (status == THEMIS_OK)
        *attr = there == THEMIS_OK ? old : made;
    return status;
}

themis_status_t themis_namespace_make(themis_namespace_t *names, const themis_job_identity_t *who,
                                      const themis_proto_create_t *create, themis_proto_attr_t *attr)
{
    themis_status_t status = check_path(&create->path);

    if (status != THEMIS_OK)
        return status;
    pthread_mutex_t *lock = lock_of(names, &create->path);
    status = make_locked(names, who, create, attr);
    pthread_mutex_unlock(lock);
    return status;
}

static int has_entries(themis_namespace_t *names, const themis_proto_text_t *directory)
{
    static const themis_proto_text_t none;
    name_key_t key;
    size_t length;

    entry_key(directory, &none, &key);
    rocksdb_iterator_t *at = rocksdb_create_iterator(names->db, names->read);
    rocksdb_iter_seek(at, key.bytes, key.length);
    const char *found = rocksdb_iter_valid(at) ? rocksdb_iter_key(at, &length) : NULL;
    int any = found && length >= key.length && memcmp(found, key.bytes, key.length) == 0;
    rocksdb_iter_destroy(at);
    return any;
}

static themis_status_t remove_locked(themis_namespace_t *names, const themis_job_identity_t *who,
                                     const themis_proto_remove_t *remove, themis_proto_attr_t *attr)
{
    themis_proto_attr_t old;
    name_key_t key;

    themis_status_t status = get_attr(names, &remove->path, &old);
    if (status != THEMIS_OK)
        return status;
    if (old.type != remove->type)
        return old.type == THEMIS_PROTO_DIRECTORY ? THEMIS_IS_DIRECTORY : THEMIS_NOT_DIRECTORY;
    /* who may write a file may empty it; leave to take the name away comes with the directory's entry */
    if (themis_access_owner(who, &old) != THEMIS_OK && themis_access_attr(who, &old, THEMIS_ACCESS_WRITE) != THEMIS_OK)
        return THEMIS_ACCESS;
    if (old.type == THEMIS_PROTO_DIRECTORY && has_entries(names, &remove->path))
        return THEMIS_NOT_EMPTY;
    attr_key(&remove->path, &key);
    status = db_delete(names, &key);
    if (status == THEMIS_OK)
        *attr = old;
    return status;
}

themis_status_t themis_namespace_remove(themis_namespace_t *names, const themis_job_identity_t *who,
                                        const themis_proto_remove_t *remove, themis_proto_attr_t *attr)
{
    themis_status_t status = check_path(&remove->path);

    if (status != THEMIS_OK)
        return status;
    if (is_root(&remove->path))
        return THEMIS_BUSY;
    pthread_mutex_t *lock = lock_of(names, &remove->path);
    status = remove_locked(names, who, remove, attr);
    pthread_mutex_unlock(lock);
    return status;
}

static themis_status_t setattr_locked(themis_namespace_t *names, const themis_job_identity_t *who,
                                      const themis_proto_setattr_t *set, themis_proto_attr_t *attr)
{
    themis_proto_attr_t now;

    themis_status_t status = get_attr(names, &set->path, &now);
    if (status == THEMIS_OK && set->mask)
        status = themis_access_owner(who, &now);
    /* files are not given away */
    if (status == THEMIS_OK && set->mask & THEMIS_PROTO_SET_OWNER && who->uid != 0 && set->uid != now.uid)
        status = THEMIS_ACCESS;
    if (status != THEMIS_OK)
        return status;
    if (set->mask & THEMIS_PROTO_SET_MODE)
        now.mode = set->mode & 07777;
    if (set->mask & THEMIS_PROTO_SET_OWNER) {
        now.uid = set->uid;
        now.gid = set->gid;
    }
    if (set->mask & THEMIS_PROTO_SET_MODIFIED)
        now.modified = set->modified;
    status = put_attr(names, &set->path, &now);
    if (status == THEMIS_OK)
        *attr = now;
    return status;
}

themis_status_t themis_namespace_setattr(themis_namespace_t *names, const themis_job_identity_t *who,
                                         const themis_proto_setattr_t *setattr, themis_proto_attr_t *attr)
{
    themis_status_t status = check_path(&setattr->path);

    if (status != THEMIS_OK)
        return status;
    pthread_mutex_t *lock = lock_of(names, &setattr->path);
    status = setattr_locked(names, who, setattr, attr);
    pthread_mutex_unlock(lock);
    return status;
}

/* The directory is there, is one, and allows `want`. */
static themis_status_t check_directory(themis_namespace_t *names, const themis_job_identity_t *who,
                                       const themis_proto_text_t *directory, int want)
{
    themis_proto_attr_t attr;
    themis_status_t status = get_attr(names, directory, &attr);

    if (status != THEMIS_OK)
        return status;
    return attr.type == THEMIS_PROTO_DIRECTORY ? themis_access_attr(who, &attr, want) : THEMIS_NOT_DIRECTORY;
}

static themis_status_t check_entry(const themis_proto_entry_t *entry)
{
    themis_status_t status = check_path(&entry->directory);

    if (status == THEMIS_OK)
        status = check_name(entry->name.bytes, entry->name.length);
    if (status == THEMIS_OK && entry->directory.length + entry->name.length + 1 > THEMIS_PROTO_MAX_PATH)
        status = THEMIS_NAME_TOO_LONG;
    return status;
}

themis_status_t themis_namespace_entry_add(themis_namespace_t *names, const themis_job_identity_t *who,
                                           const themis_proto_entry_t *entry)
{
    themis_status_t status = check_entry(entry);
    char type = (char)entry->type;
    name_key_t key;

    if (status != THEMIS_OK)
        return status;
    entry_key(&entry->directory, &entry->name, &key);
    pthread_mutex_t *lock = lock_of(names, &entry->directory);
    status = check_directory(names, who, &entry->directory, THEMIS_ACCESS_WRITE | THEMIS_ACCESS_EXECUTE);
    if (status == THEMIS_OK)
        status = db_put(names, &key, &type, 1);
    pthread_mutex_unlock(lock);
    return status;
}

themis_status_t themis_namespace_entry_remove(themis_namespace_t *names, const themis_job_identity_t *who,
                                              const themis_proto_entry_t *entry)
{
    themis_status_t status = check_entry(entry);
    name_key_t key;

    if (status != THEMIS_OK)
        return status;
    entry_key(&entry->directory, &entry->name, &key);
    pthread_mutex_t *lock = lock_of(names, &entry->directory);
    status = check_directory(names, who, &entry->directory, THEMIS_ACCESS_WRITE | THEMIS_ACCESS_EXECUTE);
    if (status == THEMIS_OK)
        status = db_delete(names, &key);
    pthread_mutex_unlock(lock);
    return status;
}

/* Copies entries from the iterator, which stands at the first one, until limit, buffer or directory ends. */
static void collect(rocksdb_iterator_t *at, const name_key_t *prefix, uint32_t limit, void *buffer, size_t capacity,
                    themis_proto_entries_t *entries)
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

themis_status_t themis_namespace_readdir(themis_namespace_t *names, const themis_job_identity_t *who,
                                         const themis_proto_readdir_t *readdir, void *buffer, size_t capacity,
                                         themis_proto_entries_t *entries)
{
    static const themis_proto_text_t none;
    themis_status_t status = check_path(&readdir->path);
    name_key_t prefix, start;

    if (status == THEMIS_OK && readdir->after.length > THEMIS_PROTO_MAX_NAME)
        status = THEMIS_NAME_TOO_LONG;
    if (status == THEMIS_OK)
        status = check_directory(names, who, &readdir->path, THEMIS_ACCESS_READ);
    if (status != THEMIS_OK)
        return status;
    entry_key(&readdir->path, &none, &prefix);
    entry_key(&readdir->path, &readdir->after, &start);
    if (readdir->after.length)
        start.bytes[start.length++] = 0; /* the first key behind `after` */
    *entries = (themis_proto_entries_t){0};
    rocksdb_iterator_t *at = rocksdb_create_iterator(names->db, names->read);
    rocksdb_iter_seek(at, start.bytes, start.length);
    collect(at, &prefix, readdir->limit, buffer, capacity, entries);
    rocksdb_iter_destroy(at);
    return THEMIS_OK;
}
