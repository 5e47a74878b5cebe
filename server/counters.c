/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/counters.h"
#include <stdlib.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

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
    counter_t *counters;
    user_t *users;
};

themis_status_t themis_server_counters_create(themis_server_counters_t **counters)
{
    themis_server_counters_t *made = calloc(1, sizeof *made);

    if (!made)
        return THEMIS_NO_MEMORY;
    *counters = made;
    return THEMIS_OK;
}

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
    if (user->count >= THEMIS_SERVER_COUNTERS_PER_USER || HASH_COUNT(counters->counters) >= THEMIS_SERVER_COUNTERS_MAX)
        return THEMIS_QUOTA;
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

themis_status_t themis_server_counters_access(themis_server_counters_t *counters, const themis_proto_counter_t *request,
                                              uint32_t uid, int64_t *before)
{
    counter_t *counter = counter_find(counters, request->object);
    int64_t old = counter ? counter->value : 0, value = request->value;
    themis_status_t status = THEMIS_OK;

    if (request->action == THEMIS_PROTO_COUNTER_ADD && __builtin_add_overflow(old, request->value, &value))
        return THEMIS_RANGE;
    if (request->action == THEMIS_PROTO_COUNTER_GET)
        value = old;
    if (counter && value == 0)
        counter_remove(counters, counter);
    else if (counter)
        counter->value = value;
    else if (value)
        status = counter_create(counters, uid, request->object, value);
    if (status == THEMIS_OK)
        *before = old;
    return status;
}

void themis_server_counters_forget(themis_server_counters_t *counters, uint64_t object)
{
    counter_t *counter = counter_find(counters, object);

    if (counter)
        counter_remove(counters, counter);
}

uint32_t themis_server_counters_count(const themis_server_counters_t *counters)
{
    return HASH_COUNT(counters->counters);
}
