/* SPDX-License-Identifier: BSD-3-Clause */
/* Records: 'C' object (8 bytes, big-endian) -> value, uid of who made it (little-endian). */
#include "server/counters.h"
#include <endian.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include "util/log.h"

enum { KEY_BYTES = 9, VALUE_BYTES = 12 };

/* Who has counters, and how many. */
typedef struct user {
    uint32_t uid, count;
    UT_hash_handle hh;
} user_t;

typedef struct counter {
    uint64_t object;
    int64_t value; /* other than 0 */
    user_t *user;  /* who made it */
    UT_hash_handle hh;
} counter_t;

struct themis_server_counters {
    themis_server_name_db_t *db; /* NULL: they end with the process */
    pthread_mutex_t lock;        /* of the others; held while a change is written, so that changes keep their order */
    counter_t *counters;
    user_t *users;
};

static void user_drop_if_empty(themis_server_counters_t *counters, user_t *user)
{
    if (user->count)
        return;
    HASH_DELETE(hh, counters->users, user);
    free(user);
}

static void counter_remove(themis_server_counters_t *counters, counter_t *counter)
{
    HASH_DELETE(hh, counters->counters, counter);
    counter->user->count--;
    user_drop_if_empty(counters, counter->user);
    free(counter);
}

void themis_server_counters_destroy(themis_server_counters_t *counters)
{
    if (!counters)
        return;
    while (counters->counters)
        counter_remove(counters, counters->counters);
    pthread_mutex_destroy(&counters->lock);
    free(counters);
}

/* Finds the user or makes it; NULL when memory is short. */
static user_t *user_get(themis_server_counters_t *counters, uint32_t uid)
{
    user_t *user;

    HASH_FIND(hh, counters->users, &uid, sizeof uid, user);
    if (user)
        return user;
    user = calloc(1, sizeof *user);
    if (!user)
        return NULL;
    user->uid = uid;
    HASH_ADD(hh, counters->users, uid, sizeof user->uid, user);
    if (user->hh.tbl)
        return user;
    free(user);
    return NULL;
}

static themis_status_t counter_insert(themis_server_counters_t *counters, user_t *user, uint64_t object, int64_t value)
{
    counter_t *counter = calloc(1, sizeof *counter);
    if (!counter)
        return THEMIS_NO_MEMORY;
    *counter = (counter_t){.object = object, .value = value, .user = user};
    HASH_ADD(hh, counters->counters, object, sizeof counter->object, counter);
    if (!counter->hh.tbl) {
        free(counter);
        return THEMIS_NO_MEMORY;
    }
    user->count++;
    return THEMIS_OK;
}

static themis_status_t counter_create(themis_server_counters_t *counters, uint32_t uid, uint64_t object, int64_t value)
{
    user_t *user = user_get(counters, uid);

    if (!user)
        return THEMIS_NO_MEMORY;
    themis_status_t status = counter_insert(counters, user, object, value);
    user_drop_if_empty(counters, user);
    return status;
}

static counter_t *counter_find(const themis_server_counters_t *counters, uint64_t object)
{
    counter_t *counter;

    HASH_FIND(hh, counters->counters, &object, sizeof object, counter);
    return counter;
}

/* --- the database ------------------------------------------------------------------------------------------------- */

typedef struct counter_record {
    uint8_t key[KEY_BYTES], value[VALUE_BYTES];
    themis_server_name_db_record_t record;
} counter_record_t;

/* Of a counter that is 0 there is no record. */
static void record_make(uint64_t object, int64_t value, uint32_t uid, counter_record_t *made)
{
    uint64_t id = htobe64(object), word = htole64((uint64_t)value);

    made->key[0] = THEMIS_SERVER_NAME_DB_COUNTER;
    memcpy(made->key + 1, &id, sizeof id);
    uid = htole32(uid);
    memcpy(made->value, &word, sizeof word);
    memcpy(made->value + sizeof word, &uid, sizeof uid);
    made->record = (themis_server_name_db_record_t){
        .key = made->key, .key_length = KEY_BYTES, .value = value ? made->value : NULL, .value_length = VALUE_BYTES};
}

static themis_status_t record_load(void *arg, const themis_server_name_db_record_t *record)
{
    themis_server_counters_t *counters = arg;
    uint64_t id, word;
    uint32_t uid;

    if (record->key_length != KEY_BYTES || record->value_length != VALUE_BYTES)
        return THEMIS_CORRUPT;
    memcpy(&id, (const uint8_t *)record->key + 1, sizeof id);
    memcpy(&word, record->value, sizeof word);
    memcpy(&uid, (const uint8_t *)record->value + sizeof word, sizeof uid);
    return counter_create(counters, le32toh(uid), be64toh(id), (int64_t)le64toh(word));
}

themis_status_t themis_server_counters_create(themis_server_name_db_t *db, themis_server_counters_t **counters)
{
    static const char prefix = THEMIS_SERVER_NAME_DB_COUNTER;
    themis_server_counters_t *made = calloc(1, sizeof *made);

    if (!made)
        return THEMIS_NO_MEMORY;
    made->db = db;
    pthread_mutex_init(&made->lock, NULL);
    themis_status_t status = db ? themis_server_name_db_scan(db, &prefix, 1, record_load, made) : THEMIS_OK;
    if (status != THEMIS_OK) {
        themis_error("the shared file pointers cannot be read: %s", themis_status_string(status));
        themis_server_counters_destroy(made);
        return status;
    }
    *counters = made;
    return THEMIS_OK;
}

/* --- access ------------------------------------------------------------------------------------------------------- */

/* What a request makes of `old`. */
static themis_status_t value_compute(const themis_proto_counter_t *request, int64_t old, int64_t *value)
{
    *value = request->value;
    if (request->action == THEMIS_PROTO_COUNTER_ADD && __builtin_add_overflow(old, request->value, value))
        return THEMIS_RANGE;
    if (request->action == THEMIS_PROTO_COUNTER_GET)
        *value = old;
    return THEMIS_OK;
}

/* Writes the value of a counter, which is `old` still, and what belongs to it. */
static themis_status_t counter_write(themis_server_counters_t *counters, const counter_t *counter, int64_t value,
                                     const themis_server_counters_with_t *with, int64_t old)
{
    counter_record_t made;

    if (!counters->db)
        return THEMIS_OK;
    record_make(counter->object, value, counter->user->uid, &made);
    made.record.next = with ? with->make(with->arg, old) : NULL;
    return themis_server_name_db_write(counters->db, &made.record);
}

/* 1: the user may have one more. Counters that the database has are all loaded, even if the limits were higher once. */
static int may_create(const themis_server_counters_t *counters, uint32_t uid)
{
    const user_t *user;

    HASH_FIND(hh, counters->users, &uid, sizeof uid, user);
    return HASH_COUNT(counters->counters) < THEMIS_SERVER_COUNTERS_MAX &&
           (!user || user->count < THEMIS_SERVER_COUNTERS_PER_USER);
}

/* Changes a counter to another value; NULL: it is 0 so far, and is made. */
static themis_status_t counter_change(themis_server_counters_t *counters, counter_t *counter,
                                      const themis_proto_counter_t *request, uint32_t uid, int64_t value,
                                      const themis_server_counters_with_t *with)
{
    int64_t old = counter ? counter->value : 0;
    themis_status_t status = THEMIS_OK;

    if (!counter) {
        status = may_create(counters, uid) ? counter_create(counters, uid, request->object, value) : THEMIS_QUOTA;
        if (status != THEMIS_OK)
            return status;
        counter = counter_find(counters, request->object);
    }
    status = counter_write(counters, counter, value, with, old);
    counter->value = status == THEMIS_OK ? value : old;
    if (counter->value == 0)
        counter_remove(counters, counter);
    return status;
}

themis_status_t themis_server_counters_access(themis_server_counters_t *counters, const themis_proto_counter_t *request,
                                              uint32_t uid, const themis_server_counters_with_t *with, int64_t *before)
{
    int64_t value;

    pthread_mutex_lock(&counters->lock);
    counter_t *counter = counter_find(counters, request->object);
    int64_t old = counter ? counter->value : 0;
    themis_status_t status = value_compute(request, old, &value);
    if (status == THEMIS_OK && value != old)
        status = counter_change(counters, counter, request, uid, value, with);
    pthread_mutex_unlock(&counters->lock);
    if (status == THEMIS_OK)
        *before = old;
    return status;
}

void themis_server_counters_forget(themis_server_counters_t *counters, uint64_t object)
{
    pthread_mutex_lock(&counters->lock);
    counter_t *counter = counter_find(counters, object);
    if (counter) {
        /* if that fails, the counter of an object that is gone is kept, and nobody uses it */
        counter_write(counters, counter, 0, NULL, counter->value);
        counter_remove(counters, counter);
    }
    pthread_mutex_unlock(&counters->lock);
}

uint32_t themis_server_counters_count(themis_server_counters_t *counters)
{
    pthread_mutex_lock(&counters->lock);
    uint32_t count = HASH_COUNT(counters->counters);
    pthread_mutex_unlock(&counters->lock);
    return count;
}
