/* SPDX-License-Identifier: BSD-3-Clause */
/* Records: 'U' object (8 bytes) -> user id u32, stamp u64; little-endian. */
#include "server/owners.h"
#include <endian.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "util/log.h"

enum { KEY_BYTES = 9, VALUE_BYTES = 12, LOCKS = 64 };

struct themis_server_owners {
    themis_server_name_db_t *db;
    themis_store_t *store;
    pthread_mutex_t locks[LOCKS]; /* of the records, by object */
};

typedef struct owner {
    uint32_t uid;
    uint64_t stamp;
} owner_t;

themis_status_t themis_server_owners_create(themis_server_name_db_t *db, themis_store_t *store,
                                            themis_server_owners_t **owners)
{
    themis_server_owners_t *made = calloc(1, sizeof *made);

    if (!made)
        return THEMIS_NO_MEMORY;
    made->db = db;
    made->store = store;
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_init(&made->locks[i], NULL);
    *owners = made;
    return THEMIS_OK;
}

void themis_server_owners_destroy(themis_server_owners_t *owners)
{
    if (!owners)
        return;
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_destroy(&owners->locks[i]);
    free(owners);
}

static pthread_mutex_t *record_lock(themis_server_owners_t *owners, uint64_t object)
{
    pthread_mutex_t *lock = &owners->locks[(object * UINT64_C(0x9e3779b97f4a7c15)) >> 58];

    pthread_mutex_lock(lock);
    return lock;
}

static void key_make(uint64_t object, uint8_t key[KEY_BYTES])
{
    uint64_t word = htole64(object);

    key[0] = THEMIS_SERVER_NAME_DB_OWNER;
    memcpy(key + 1, &word, sizeof word);
}

/* 0: it is no record. */
static int owner_decode(const void *value, size_t length, owner_t *owner)
{
    if (length != VALUE_BYTES)
        return 0;
    memcpy(&owner->uid, value, sizeof owner->uid);
    memcpy(&owner->stamp, (const uint8_t *)value + sizeof owner->uid, sizeof owner->stamp);
    owner->uid = le32toh(owner->uid);
    owner->stamp = le64toh(owner->stamp);
    return 1;
}

/* THEMIS_NO_ENTRY: there is none. */
static themis_status_t record_read(themis_server_owners_t *owners, uint64_t object, owner_t *owner)
{
    uint8_t key[KEY_BYTES];
    size_t length;
    void *value = NULL;

    key_make(object, key);
    themis_status_t status = themis_server_name_db_read(owners->db, key, sizeof key, &value, &length);
    if (status == THEMIS_OK && !value)
        return THEMIS_NO_ENTRY;
    if (status == THEMIS_OK && !owner_decode(value, length, owner))
        status = THEMIS_CORRUPT;
    free(value);
    return status;
}

static themis_status_t record_write(themis_server_owners_t *owners, uint64_t object, uint32_t uid, uint64_t stamp)
{
    uint8_t key[KEY_BYTES], value[VALUE_BYTES];
    const themis_server_name_db_record_t record = {
        .key = key, .key_length = sizeof key, .value = value, .value_length = sizeof value};

    key_make(object, key);
    uid = htole32(uid);
    stamp = htole64(stamp);
    memcpy(value, &uid, sizeof uid);
    memcpy(value + sizeof uid, &stamp, sizeof stamp);
    return themis_server_name_db_write(owners->db, &record);
}

/* The object's bytes count as those of `uid` from now on, if there is such an object. */
static themis_status_t object_give(themis_server_owners_t *owners, uint64_t id, uint32_t uid)
{
    themis_store_object_t *object;
    themis_status_t status = themis_store_open(owners->store, id, 0, THEMIS_STORE_COMMON, &object);

    if (status != THEMIS_OK)
        return status == THEMIS_NO_ENTRY ? THEMIS_OK : status;
    themis_store_set_owner(owners->store, object, uid);
    themis_store_close(owners->store, object);
    return THEMIS_OK;
}

static themis_status_t record_apply(void *arg, const themis_server_name_db_record_t *record)
{
    uint64_t word;
    owner_t owner;

    if (record->key_length != KEY_BYTES || !owner_decode(record->value, record->value_length, &owner))
        return THEMIS_CORRUPT;
    memcpy(&word, (const uint8_t *)record->key + 1, sizeof word);
    return object_give(arg, le64toh(word), owner.uid);
}

themis_status_t themis_server_owners_load(themis_server_owners_t *owners)
{
    static const char prefix = THEMIS_SERVER_NAME_DB_OWNER;

    return themis_store_blocking(owners->store)
               ? THEMIS_OK
               : themis_server_name_db_scan(owners->db, &prefix, 1, record_apply, owners);
}

uint32_t themis_server_owners_find(themis_server_owners_t *owners, uint64_t object)
{
    owner_t owner;

    return record_read(owners, object, &owner) == THEMIS_OK ? owner.uid : THEMIS_STORE_NOBODY;
}

void themis_server_owners_claim(themis_server_owners_t *owners, uint64_t id, themis_store_object_t *object,
                                uint32_t uid)
{
    owner_t owner;

    if (themis_store_owner(owners->store, object) != THEMIS_STORE_NOBODY)
        return;
    pthread_mutex_t *lock = record_lock(owners, id);
    int is_known = record_read(owners, id, &owner) == THEMIS_OK;
    if (is_known)
        uid = owner.uid;
    /* where it cannot be written, the count is right until the next start */
    if (themis_store_owner(owners->store, object) == THEMIS_STORE_NOBODY &&
        !themis_store_set_owner(owners->store, object, uid) && !is_known && uid != THEMIS_STORE_NOBODY)
        (void)record_write(owners, id, uid, 0);
    pthread_mutex_unlock(lock);
}

themis_status_t themis_server_owners_set(themis_server_owners_t *owners, uint64_t id, uint32_t uid, uint64_t stamp)
{
    owner_t owner;
    pthread_mutex_t *lock = record_lock(owners, id);
    themis_status_t status = record_read(owners, id, &owner);
    int is_late = status == THEMIS_OK && owner.stamp >= stamp;

    if ((status == THEMIS_OK || status == THEMIS_NO_ENTRY) && !is_late)
        status = record_write(owners, id, uid, stamp);
    if (status == THEMIS_OK && !is_late)
        status = object_give(owners, id, uid);
    pthread_mutex_unlock(lock);
    return status;
}

themis_status_t themis_server_owners_forget(themis_server_owners_t *owners, uint64_t id)
{
    uint8_t key[KEY_BYTES];
    const themis_server_name_db_record_t gone = {.key = key, .key_length = sizeof key};
    owner_t owner;

    key_make(id, key);
    pthread_mutex_t *lock = record_lock(owners, id);
    themis_status_t status = record_read(owners, id, &owner);
    if (status == THEMIS_OK || status == THEMIS_CORRUPT)
        status = themis_server_name_db_write_end(owners->db, &gone);
    pthread_mutex_unlock(lock);
    return status == THEMIS_NO_ENTRY ? THEMIS_OK : status;
}
