/* SPDX-License-Identifier: BSD-3-Clause */
/* Records: 'O' object (8 bytes) -> index u32 and store u64 of each entry; little-endian. */
#include "server/object_lists.h"
#include <endian.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_BYTES = 9, ENTRY_BYTES = 12, LOCKS = 64 };

struct themis_server_object_lists {
    themis_server_name_db_t *db;
    uint32_t servers;
    pthread_mutex_t locks[LOCKS]; /* of the lists, by object */
};

/* A list that is read. */
typedef struct list {
    themis_proto_listed_t *entries; /* owned */
    uint32_t count;
} list_t;

themis_status_t themis_server_object_lists_create(themis_server_name_db_t *db, uint32_t servers,
                                                  themis_server_object_lists_t **lists)
{
    themis_server_object_lists_t *made = calloc(1, sizeof *made);

    if (!made)
        return THEMIS_NO_MEMORY;
    made->db = db;
    made->servers = servers;
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_init(&made->locks[i], NULL);
    *lists = made;
    return THEMIS_OK;
}

void themis_server_object_lists_destroy(themis_server_object_lists_t *lists)
{
    if (!lists)
        return;
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_destroy(&lists->locks[i]);
    free(lists);
}

static void key_make(uint64_t object, uint8_t key[KEY_BYTES])
{
    uint64_t word = htole64(object);

    key[0] = THEMIS_SERVER_NAME_DB_OBJECT_LIST;
    memcpy(key + 1, &word, sizeof word);
}

static pthread_mutex_t *list_lock(themis_server_object_lists_t *lists, uint64_t object)
{
    pthread_mutex_t *lock = &lists->locks[(object * UINT64_C(0x9e3779b97f4a7c15)) >> 58];

    pthread_mutex_lock(lock);
    return lock;
}

/* Reads a list, with room for `more` entries. */
static themis_status_t list_read(themis_server_object_lists_t *lists, uint64_t object, uint32_t more, list_t *list)
{
    uint8_t key[KEY_BYTES];
    uint8_t *bytes;
    size_t length;

    *list = (list_t){NULL, 0};
    key_make(object, key);
    themis_status_t status = themis_server_name_db_read(lists->db, key, sizeof key, (void **)&bytes, &length);
    if (status != THEMIS_OK || (length == 0 && more == 0))
        return status;
    size_t count = length / ENTRY_BYTES;
    if (length % ENTRY_BYTES || count > THEMIS_PROTO_MAX_SERVERS)
        status = THEMIS_CORRUPT;
    else if (!(list->entries = malloc((count + more) * sizeof *list->entries)))
        status = THEMIS_NO_MEMORY;
    for (; status == THEMIS_OK && list->count < count; list->count++) {
        const uint8_t *at = bytes + (size_t)list->count * ENTRY_BYTES;
        uint32_t index;
        uint64_t store;
        memcpy(&index, at, sizeof index);
        memcpy(&store, at + sizeof index, sizeof store);
        list->entries[list->count] = (themis_proto_listed_t){le32toh(index), le64toh(store)};
    }
    free(bytes);
    return status;
}

static themis_status_t list_write(themis_server_object_lists_t *lists, uint64_t object, const list_t *list)
{
    uint8_t key[KEY_BYTES];
    uint8_t *bytes = malloc((size_t)list->count * ENTRY_BYTES);
    const themis_server_name_db_record_t record = {
        .key = key, .key_length = sizeof key, .value = bytes, .value_length = (size_t)list->count * ENTRY_BYTES};

    if (!bytes)
        return THEMIS_NO_MEMORY;
    key_make(object, key);
    for (uint32_t i = 0; i < list->count; i++) {
        uint32_t index = htole32(list->entries[i].index);
        uint64_t store = htole64(list->entries[i].store);
        memcpy(bytes + (size_t)i * ENTRY_BYTES, &index, sizeof index);
        memcpy(bytes + (size_t)i * ENTRY_BYTES + sizeof index, &store, sizeof store);
    }
    themis_status_t status = themis_server_name_db_write(lists->db, &record);
    free(bytes);
    return status;
}

/* Returns 1 if the list has changed. There is room for the entry. */
static int entry_change(list_t *list, const themis_proto_listed_t *entry, int drop, uint32_t *lost)
{
    uint32_t i = 0;

    while (i < list->count && list->entries[i].index != entry->index)
        i++;
    int is_there = i < list->count, is_same = is_there && list->entries[i].store == entry->store;
    if (drop && is_same)
        list->entries[i] = list->entries[--list->count];
    else if (!drop && !is_there)
        list->entries[list->count++] = *entry;
    else if (!drop && !is_same)
        *lost = *lost == UINT32_MAX ? entry->index : *lost;
    return drop ? is_same : !is_there;
}

static int is_sound(const themis_server_object_lists_t *lists, const themis_proto_enlist_t *request)
{
    for (uint32_t i = 0; i < request->count; i++) {
        uint32_t index = themis_proto_listed_get(request->list, i).index;
        if (index == 0 || index >= lists->servers)
            return 0;
    }
    return request->count < lists->servers;
}

themis_status_t themis_server_object_lists_add(themis_server_object_lists_t *lists,
                                               const themis_proto_enlist_t *request, uint32_t *lost)
{
    list_t list;
    int changed = 0;

    if (!is_sound(lists, request))
        return THEMIS_INVALID;
    pthread_mutex_t *lock = list_lock(lists, request->object);
    themis_status_t status = list_read(lists, request->object, request->count, &list);

    *lost = UINT32_MAX;
    for (uint32_t i = 0; status == THEMIS_OK && i < request->count; i++) {
        themis_proto_listed_t entry = themis_proto_listed_get(request->list, i);
        changed |= entry_change(&list, &entry, request->drop, lost);
    }
    if (status == THEMIS_OK && changed)
        status = list_write(lists, request->object, &list);
    pthread_mutex_unlock(lock);
    free(list.entries);
    return status;
}

themis_status_t themis_server_object_lists_get(themis_server_object_lists_t *lists, uint64_t object,
                                               themis_proto_listed_t **entries, uint32_t *count)
{
    list_t list;
    themis_status_t status = list_read(lists, object, 0, &list);

    if (status != THEMIS_OK) {
        free(list.entries);
        return status;
    }
    *entries = list.entries;
    *count = list.count;
    return THEMIS_OK;
}

themis_status_t themis_server_object_lists_forget(themis_server_object_lists_t *lists, uint64_t object)
{
    uint8_t key[KEY_BYTES];
    const themis_server_name_db_record_t gone = {.key = key, .key_length = sizeof key};
    size_t length;
    void *value = NULL;

    key_make(object, key);
    pthread_mutex_t *lock = list_lock(lists, object);
    themis_status_t status = themis_server_name_db_read(lists->db, key, sizeof key, &value, &length);
    if (status == THEMIS_OK && value)
        status = themis_server_name_db_write_end(lists->db, &gone);
    pthread_mutex_unlock(lock);
    free(value);
    return status;
}
