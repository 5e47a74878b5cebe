/* SPDX-License-Identifier: BSD-3-Clause */
/* Records: 'G' id (8 bytes, big-endian) -> the allocation as JSON. */
#define _GNU_SOURCE
#include "server/allocation.h"
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>
#include <xxhash.h>
#include "util/clock.h"
#include "util/log.h"

typedef themis_server_allocation_t allocation_t;
typedef themis_server_allocations_t allocations_t;

enum { KEY_BYTES = 9, RECORD_MOST = 1 << 20, BUCKETS = THEMIS_SERVER_ALLOCATIONS_MOST, BATCH = 256 };

struct themis_server_allocations {
    const themis_dfra_named_site_t *site; /* borrowed */
    themis_server_name_db_t *db;
    allocation_t *list; /* by id */
    allocation_t *expired;
    allocation_t *bucket[BUCKETS]; /* by the hash of user and job */
    uint32_t count;
    uint64_t last; /* id */
};

/* --- JSON --------------------------------------------------------------------------------------------------------- */

json_t *themis_server_allocation_json(const allocation_t *a, const themis_dfra_named_site_t *site)
{
    json_t *servers = json_array();

    for (uint32_t i = 0; i < a->servers; i++)
        json_array_append_new(servers, json_string(site->name[a->server[i]]));
    return json_pack("{s:I, s:s, s:o, s:s, s:s, s:I, s:I, s:I, s:I, s:s}", "id", (json_int_t)a->id, "decision",
                     themis_dfra_kind_name(a->kind), "servers", servers, "application", a->application, "job", a->job,
                     "user", (json_int_t)a->user, "nodes", (json_int_t)a->nodes, "made", (json_int_t)a->made, "expires",
                     (json_int_t)a->expires, "reason", a->reason);
}

static int number_get(const json_t *json, const char *name, uint64_t most, uint64_t *number)
{
    const json_t *value = json_object_get(json, name);

    *number = (uint64_t)json_integer_value(value);
    return json_is_integer(value) && json_integer_value(value) >= 0 && *number <= most;
}

static int text_get(const json_t *json, const char *name, char *text, size_t size)
{
    const char *value = json_string_value(json_object_get(json, name));

    return value && (size_t)snprintf(text, size, "%s", value) < size;
}

static int kind_get(const json_t *json, themis_dfra_kind_t *kind)
{
    const char *name = json_string_value(json_object_get(json, "decision"));

    for (*kind = THEMIS_DFRA_DEFAULT; name && *kind <= THEMIS_DFRA_DEDICATED; (*kind)++)
        if (strcmp(name, themis_dfra_kind_name(*kind)) == 0)
            return 1;
    return 0;
}

static void servers_get(const json_t *list, const themis_dfra_named_site_t *site, allocation_t *a)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = json_string_value(json_array_get(list, i));
        uint32_t server = name ? themis_dfra_site_find(site, name) : UINT32_MAX;

        if (server != UINT32_MAX)
            a->server[a->servers++] = server;
        else
            themis_warn("allocation %llu: %s is not a server of the site any more", (unsigned long long)a->id,
                        name ? name : "what has no name");
    }
}

/* NULL: no memory, or no allocation. */
static allocation_t *allocation_from_json(const json_t *json, const themis_dfra_named_site_t *site)
{
    const json_t *list = json_object_get(json, "servers");
    uint64_t user, nodes;
    size_t count = json_array_size(list);

    if (count == 0 || count > THEMIS_DFRA_MOST_SERVERS)
        return NULL;
    allocation_t *a = themis_server_allocation_make((uint32_t)count);
    if (!a)
        return NULL;
    if (!number_get(json, "id", INT64_MAX, &a->id) || !number_get(json, "user", UINT32_MAX, &user) ||
        !number_get(json, "nodes", UINT32_MAX, &nodes) || !number_get(json, "made", INT64_MAX, &a->made) ||
        !number_get(json, "expires", INT64_MAX, &a->expires) || !kind_get(json, &a->kind) ||
        !text_get(json, "application", a->application, sizeof a->application) ||
        !text_get(json, "job", a->job, sizeof a->job) || !text_get(json, "reason", a->reason, sizeof a->reason)) {
        free(a);
        return NULL;
    }
    number_get(json, "token", INT64_MAX, &a->token);
    a->user = (uint32_t)user;
    a->nodes = (uint32_t)nodes;
    a->servers = 0;
    servers_get(list, site, a);
    return a;
}

/* --- records ------------------------------------------------------------------------------------------------------ */

static void key_make(uint64_t id, uint8_t key[KEY_BYTES])
{
    uint64_t big = htobe64(id);

    key[0] = THEMIS_SERVER_NAME_DB_ALLOCATION;
    memcpy(key + 1, &big, sizeof big);
}

/* NULL `text`: the record is removed. */
static themis_status_t record_write(allocations_t *allocations, uint64_t id, const char *text)
{
    uint8_t key[KEY_BYTES];
    const themis_server_name_db_record_t record = {
        .key = key, .key_length = KEY_BYTES, .value = text, .value_length = text ? strlen(text) : 0};

    key_make(id, key);
    themis_status_t status = text ? themis_server_name_db_write(allocations->db, &record)
                                  : themis_server_name_db_write_end(allocations->db, &record);
    return status == THEMIS_OK ? themis_server_name_db_sync(allocations->db) : status;
}

static themis_status_t allocation_write(allocations_t *allocations, const allocation_t *a)
{
    json_t *json = themis_server_allocation_json(a, allocations->site);

    if (json)
        json_object_set_new(json, "token", json_integer((json_int_t)a->token));
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    themis_status_t status = text ? record_write(allocations, a->id, text) : THEMIS_NO_MEMORY;
    json_decref(json);
    free(text);
    return status;
}

static uint32_t bucket_of(uint32_t user, const char *job)
{
    return (uint32_t)(XXH3_64bits_withSeed(job, strlen(job), user) % BUCKETS);
}

static void allocation_append(allocations_t *allocations, allocation_t *a)
{
    allocation_t **bucket = &allocations->bucket[bucket_of(a->user, a->job)];

    DL_APPEND(allocations->list, a);
    LL_PREPEND2(*bucket, a, of_bucket);
    allocations->last = a->id;
    allocations->count++;
}

static themis_status_t record_load(void *arg, const themis_server_name_db_record_t *record)
{
    allocations_t *allocations = arg;
    json_t *json =
        record->value_length <= RECORD_MOST ? json_loadb(record->value, record->value_length, 0, NULL) : NULL;
    allocation_t *a = json ? allocation_from_json(json, allocations->site) : NULL;

    json_decref(json);
    if (!a || a->servers == 0 || a->id <= allocations->last) {
        themis_warn("an allocation in the database cannot be used, and is left out");
        free(a);
        return THEMIS_OK;
    }
    allocation_append(allocations, a);
    return THEMIS_OK;
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

themis_status_t themis_server_allocations_create(const char *state, uint32_t index,
                                                 const themis_dfra_named_site_t *site, allocations_t **allocations)
{
    static const char prefix = THEMIS_SERVER_NAME_DB_ALLOCATION;
    allocations_t *made = calloc(1, sizeof *made);
    char *directory = NULL;

    if (!made || asprintf(&directory, "%s%s", state, *state ? "/allocations" : "") < 0) {
        free(made);
        return THEMIS_NO_MEMORY;
    }
    made->site = site;
    themis_status_t status = themis_server_name_db_open(directory, 0, index, NULL, &made->db);
    if (status == THEMIS_OK)
        status = themis_server_name_db_scan(made->db, &prefix, 1, record_load, made);
    free(directory);
    if (status != THEMIS_OK) {
        themis_error("the allocations of servers cannot be read: %s", themis_status_string(status));
        themis_server_allocations_destroy(made);
        return status;
    }
    *allocations = made;
    return THEMIS_OK;
}

static void allocation_unlist(allocations_t *allocations, allocation_t *a)
{
    allocation_t **bucket = &allocations->bucket[bucket_of(a->user, a->job)];

    DL_DELETE(allocations->list, a);
    LL_DELETE2(*bucket, a, of_bucket);
    allocations->count--;
}

static void allocation_drop(allocations_t *allocations, allocation_t *a)
{
    allocation_unlist(allocations, a);
    free(a);
}

static void expired_free(allocation_t *expired)
{
    allocation_t *a, *next;

    DL_FOREACH_SAFE(expired, a, next)
    free(a);
}

void themis_server_allocations_destroy(allocations_t *allocations)
{
    if (!allocations)
        return;
    while (allocations->list)
        allocation_drop(allocations, allocations->list);
    expired_free(allocations->expired);
    themis_server_name_db_close(allocations->db);
    free(allocations);
}

allocation_t *themis_server_allocation_make(uint32_t servers)
{
    allocation_t *made = calloc(1, sizeof *made + servers * sizeof made->server[0]);

    if (made)
        made->servers = servers;
    return made;
}

static int is_full(const allocations_t *allocations, const allocation_t *a, int is_limited)
{
    uint32_t own = 0;

    for (const allocation_t *other = allocations->list; other && is_limited; other = other->next)
        own += other->user == a->user;
    return own >= THEMIS_SERVER_ALLOCATIONS_OF_USER || allocations->count >= THEMIS_SERVER_ALLOCATIONS_MOST;
}

themis_status_t themis_server_allocations_add(allocations_t *allocations, allocation_t *a, int is_limited)
{
    uint64_t now = themis_util_clock_wall() / 1000; /* so that an id does not come again after a restart */

    if (is_full(allocations, a, is_limited))
        return THEMIS_QUOTA;
    a->id = now > allocations->last ? now : allocations->last + 1;
    themis_status_t status = allocation_write(allocations, a);
    if (status != THEMIS_OK) {
        record_write(allocations, a->id, NULL); /* it may have been written, and not synced */
        return status;
    }
    allocation_append(allocations, a);
    return THEMIS_OK;
}

themis_status_t themis_server_allocations_extend(allocations_t *allocations, allocation_t *a, uint64_t expires)
{
    uint64_t before = a->expires;

    a->expires = expires;
    themis_status_t status = allocation_write(allocations, a);
    if (status != THEMIS_OK)
        a->expires = before;
    return status;
}

themis_status_t themis_server_allocations_remove(allocations_t *allocations, allocation_t *a)
{
    themis_status_t status = record_write(allocations, a->id, NULL);

    if (status == THEMIS_OK)
        allocation_drop(allocations, a);
    return status;
}

void themis_server_allocations_expire(allocations_t *allocations, uint64_t now)
{
    allocation_t *a, *next;

    DL_FOREACH_SAFE(allocations->list, a, next)
    {
        if (a->expires > now)
            continue;
        themis_info("allocation %llu of %s ends: its lease has run out", (unsigned long long)a->id, a->application);
        allocation_unlist(allocations, a);
        DL_APPEND(allocations->expired, a);
    }
}

allocation_t *themis_server_allocations_take_expired(allocations_t *allocations)
{
    allocation_t *expired = allocations->expired;

    allocations->expired = NULL;
    return expired;
}

void themis_server_allocations_forget(allocations_t *allocations, allocation_t *expired)
{
    themis_server_name_db_record_t record[BATCH] = {0};
    uint8_t key[BATCH][KEY_BYTES];
    themis_status_t status = THEMIS_OK;

    for (const allocation_t *a = expired; a && status == THEMIS_OK;) {
        uint32_t count = 0;

        for (; a && count < BATCH; a = a->next, count++) {
            key_make(a->id, key[count]);
            record[count] = (themis_server_name_db_record_t){.key = key[count], .key_length = KEY_BYTES};
            if (count > 0)
                record[count - 1].next = &record[count];
        }
        status = themis_server_name_db_write_end(allocations->db, record);
    }
    if (expired && status == THEMIS_OK)
        status = themis_server_name_db_sync(allocations->db);
    if (status != THEMIS_OK)
        themis_warn("allocations whose lease has run out remain in the database: %s", themis_status_string(status));
    expired_free(expired);
}

allocation_t *themis_server_allocations_find(const allocations_t *allocations, uint64_t id)
{
    for (allocation_t *a = allocations->list; a; a = a->next)
        if (a->id == id)
            return a;
    return NULL;
}

allocation_t *themis_server_allocations_find_token(const allocations_t *allocations, uint32_t user, uint64_t token)
{
    for (allocation_t *a = allocations->list; a && token; a = a->next)
        if (a->token == token && a->user == user)
            return a;
    return NULL;
}

allocation_t *themis_server_allocations_find_job(const allocations_t *allocations, uint32_t user, const char *job)
{
    for (allocation_t *a = allocations->bucket[bucket_of(user, job)]; a && *job; a = a->of_bucket)
        if (a->user == user && strcmp(a->job, job) == 0)
            return a;
    return NULL;
}

allocation_t *themis_server_allocations_next(const allocations_t *allocations, uint64_t after)
{
    for (allocation_t *a = allocations->list; a; a = a->next)
        if (a->id > after)
            return a;
    return NULL;
}

uint32_t themis_server_allocations_count(const allocations_t *allocations)
{
    return allocations->count;
}
