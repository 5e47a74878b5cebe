/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/name_ids.h"
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include "util/clock.h"

enum {
    ID_BATCH = 1 << 20, /* as many as there are in a second if they follow the clock */
    INDEX_SHIFT = THEMIS_SERVER_NAME_DB_INDEX_SHIFT
};
#define ID_EPOCH_S UINT64_C(1577836800) /* 2020 */
static const char key[] = {'N'};

static uint64_t id_of_now(uint32_t index)
{
    uint64_t us = (themis_util_clock_wall() - ID_EPOCH_S * THEMIS_NS_PER_S) / THEMIS_NS_PER_US;

    return (uint64_t)(index + 1) << INDEX_SHIFT | (us & ((UINT64_C(1) << INDEX_SHIFT) - 1));
}

static themis_status_t ids_reserve(themis_server_name_ids_t *ids, themis_server_name_db_t *db)
{
    const uint64_t words[] = {htole64(ids->next + ID_BATCH), htole64(ids->first)};
    const themis_server_name_db_record_t record = {
        .key = key, .key_length = sizeof key, .value = words, .value_length = sizeof words};

    /* synced: after a loss of power, with a clock that is behind, ids must not come again */
    themis_status_t status = themis_server_name_db_write_synced(db, &record);
    if (status == THEMIS_OK)
        ids->reserved = ids->next + ID_BATCH;
    return status;
}

themis_status_t themis_server_name_ids_next(themis_server_name_ids_t *ids, themis_server_name_db_t *db, uint64_t *id)
{
    themis_status_t status = THEMIS_OK;

    pthread_mutex_lock(&ids->lock);
    uint64_t now = id_of_now(ids->index);
    if (now > ids->next)
        ids->next = now;
    if (ids->next >= ids->reserved)
        status = ids_reserve(ids, db);
    if (status == THEMIS_OK)
        *id = ids->next++;
    pthread_mutex_unlock(&ids->lock);
    return status;
}

themis_status_t themis_server_name_ids_load(themis_server_name_ids_t *ids, themis_server_name_db_t *db, uint32_t index)
{
    uint64_t words[2] = {0}; /* the second one is missing in old databases */
    void *value = NULL;
    size_t length = 0;
    themis_status_t status = themis_server_name_db_read(db, key, sizeof key, &value, &length);

    if (status != THEMIS_OK)
        return status;
    ids->index = index;
    ids->next = id_of_now(index);
    ids->first = value ? 0 : ids->next;
    if (value && (length == sizeof words || length == sizeof *words)) {
        memcpy(words, value, length);
        ids->first = le64toh(words[1]);
    }
    uint64_t word = le64toh(words[0]);
    if (word > ids->next && word >> INDEX_SHIFT == ids->next >> INDEX_SHIFT)
        ids->next = word;
    ids->reserved = ids->next;
    if (!value) /* where it fails, the database is taken for a newer one at the next start */
        ids_reserve(ids, db);
    free(value);
    return THEMIS_OK;
}
