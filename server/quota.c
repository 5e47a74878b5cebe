/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The record: 'Q' -> format u32, number of rows u32, version (time u64, setter u32), and of each row user id u32, bytes
 * u64, names u64; little-endian.
 */
#include "server/quota.h"
#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "server/quota_state.h"
#include "util/clock.h"
#include "util/log.h"

enum { FORMAT = 1, HEAD_BYTES = 20, ROW_BYTES = 20, NEAR_PARTS = 10 };

/* --- the table ---------------------------------------------------------------------------------------------------- */

/* The place of the first row that is not below `uid`. */
static uint32_t row_place(const themis_proto_limit_t *table, uint32_t count, uint32_t uid)
{
    uint32_t low = 0, high = count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (table[middle].uid < uid)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* With the table's lock. NULL: the user has no limits of his own. */
static const themis_proto_limit_t *row_find(const themis_server_quota_t *quota, uint32_t uid)
{
    uint32_t place = row_place(quota->table, quota->count, uid);

    return place < quota->count && quota->table[place].uid == uid ? &quota->table[place] : NULL;
}

static int is_exempt(const themis_server_quota_t *quota, uint32_t uid)
{
    return uid == 0 || uid == quota->options.exempt || uid == THEMIS_STORE_NOBODY;
}

/* 1: the default; 2: limits of his own; 0: none. */
static int limits_find(themis_server_quota_t *quota, uint32_t uid, themis_server_quota_limits_t *limits)
{
    int found = 0;

    *limits = (themis_server_quota_limits_t){UINT64_MAX, UINT64_MAX};
    pthread_mutex_lock(&quota->table_lock);
    const themis_proto_limit_t *row = is_exempt(quota, uid) ? NULL : row_find(quota, uid);
    found = row ? 2 : 0;
    if (!row && !is_exempt(quota, uid))
        row = row_find(quota, THEMIS_PROTO_USAGE_DEFAULT);
    if (row)
        *limits = (themis_server_quota_limits_t){row->bytes, row->names};
    pthread_mutex_unlock(&quota->table_lock);
    return row && !found ? 1 : found;
}

int themis_server_quota_find(themis_server_quota_t *quota, uint32_t uid, themis_server_quota_limits_t *limits)
{
    return limits_find(quota, uid, limits) && (limits->bytes != UINT64_MAX || limits->names != UINT64_MAX);
}

int themis_server_quota_default(themis_server_quota_t *quota, themis_server_quota_limits_t *limits)
{
    pthread_mutex_lock(&quota->table_lock);
    const themis_proto_limit_t *row = row_find(quota, THEMIS_PROTO_USAGE_DEFAULT);
    if (row)
        *limits = (themis_server_quota_limits_t){row->bytes, row->names};
    pthread_mutex_unlock(&quota->table_lock);
    return row != NULL;
}

themis_server_quota_version_t themis_server_quota_version(themis_server_quota_t *quota)
{
    pthread_mutex_lock(&quota->table_lock);
    themis_server_quota_version_t version = quota->version;
    pthread_mutex_unlock(&quota->table_lock);
    return version;
}

int themis_server_quota_is_active(themis_server_quota_t *quota)
{
    return themis_server_quota_version(quota).time != 0;
}

int themis_server_quota_compare(themis_server_quota_version_t a, themis_server_quota_version_t b)
{
    if (a.time != b.time)
        return a.time > b.time ? 1 : -1;
    return (a.setter > b.setter) - (a.setter < b.setter);
}

/* --- the record --------------------------------------------------------------------------------------------------- */

static uint8_t *put_u32(uint8_t *at, uint32_t value)
{
    value = htole32(value);
    memcpy(at, &value, sizeof value);
    return at + sizeof value;
}

static uint8_t *put_u64(uint8_t *at, uint64_t value)
{
    value = htole64(value);
    memcpy(at, &value, sizeof value);
    return at + sizeof value;
}

static const uint8_t *get_u32(const uint8_t *at, uint32_t *value)
{
    memcpy(value, at, sizeof *value);
    *value = le32toh(*value);
    return at + sizeof *value;
}

static const uint8_t *get_u64(const uint8_t *at, uint64_t *value)
{
    memcpy(value, at, sizeof *value);
    *value = le64toh(*value);
    return at + sizeof *value;
}

static const char record_key[] = {THEMIS_SERVER_NAME_DB_QUOTA};

static themis_status_t record_write(themis_server_name_db_t *db, const themis_proto_limit_t *table, uint32_t count,
                                    themis_server_quota_version_t version)
{
    size_t length = HEAD_BYTES + (size_t)count * ROW_BYTES;
    uint8_t *bytes = malloc(length), *at = bytes;
    const themis_server_name_db_record_t record = {
        .key = record_key, .key_length = sizeof record_key, .value = bytes, .value_length = length};

    if (!bytes)
        return THEMIS_NO_MEMORY;
    at = put_u64(put_u32(put_u32(at, FORMAT), count), version.time);
    at = put_u32(at, version.setter);
    for (uint32_t i = 0; i < count; i++)
        at = put_u64(put_u64(put_u32(at, table[i].uid), table[i].bytes), table[i].names);
    themis_status_t status = themis_server_name_db_write(db, &record);
    free(bytes);
    return status;
}

static themis_status_t record_decode(themis_server_quota_t *quota, const uint8_t *at, size_t length)
{
    uint32_t format, count;

    if (length < HEAD_BYTES)
        return THEMIS_CORRUPT;
    at = get_u32(get_u32(at, &format), &count);
    if (format != FORMAT || count > THEMIS_PROTO_MAX_LIMITS || length != HEAD_BYTES + (size_t)count * ROW_BYTES)
        return THEMIS_CORRUPT;
    at = get_u32(get_u64(at, &quota->version.time), &quota->version.setter);
    for (uint32_t i = 0; i < count; i++) {
        themis_proto_limit_t *row = &quota->table[i];
        at = get_u64(get_u64(get_u32(at, &row->uid), &row->bytes), &row->names);
        if (i && row->uid <= row[-1].uid)
            return THEMIS_CORRUPT;
    }
    quota->count = count;
    return THEMIS_OK;
}

static themis_status_t record_load(themis_server_quota_t *quota)
{
    void *bytes = NULL;
    size_t length;
    themis_status_t status =
        themis_server_name_db_read(quota->options.db, record_key, sizeof record_key, &bytes, &length);

    if (status == THEMIS_OK && bytes)
        status = record_decode(quota, bytes, length);
    if (status == THEMIS_CORRUPT)
        themis_error("the limits of users in the database of names cannot be read");
    free(bytes);
    return status;
}

/* --- limits of accounts ------------------------------------------------------------------------------------------- */

/* What an account may have here of a limit for all servers. */
static int64_t part_of(const themis_server_quota_t *quota, uint64_t limit, int64_t own, int64_t other, int64_t before,
                       int refill)
{
    if (limit >= INT64_MAX)
        return THEMIS_STORE_NO_LIMIT;
    int64_t whole = (int64_t)limit, total = own + other;
    if (quota->options.servers == 1 || total < whole - whole / NEAR_PARTS)
        return whole > other ? whole - other : 0;
    int64_t part = own + (total < whole ? (whole - total) / (int64_t)quota->options.servers : 0);
    return refill || part < before ? part : before;
}

static int64_t at_least_none(int64_t value)
{
    return value > 0 ? value : 0;
}

void themis_server_quota_apply(themis_server_quota_t *quota, themis_store_account_t *account, int refill)
{
    themis_server_quota_limits_t limits;

    limits_find(quota, account->uid, &limits);
    account->byte_limit =
        part_of(quota, limits.bytes, at_least_none(account->bytes), account->other_bytes, account->byte_limit, refill);
    account->name_limit =
        part_of(quota, limits.names, at_least_none(account->names), account->other_names, account->name_limit, refill);
}

static void account_begin(void *arg, themis_store_account_t *account)
{
    themis_server_quota_apply(arg, account, 1);
}

/* With the lock. */
static size_t accounts_list(themis_server_quota_t *quota)
{
    return themis_store_accounts_list(quota->options.accounts, 0, quota->listed, THEMIS_STORE_ACCOUNTS_MAX + 1);
}

static void accounts_apply(themis_server_quota_t *quota)
{
    size_t count = accounts_list(quota);

    for (size_t i = 0; i < count; i++)
        themis_server_quota_apply(quota, quota->listed[i], 1);
}

void themis_server_quota_begin_round(themis_server_quota_t *quota)
{
    pthread_mutex_lock(&quota->lock);
    quota->round++;
    accounts_apply(quota);
    pthread_mutex_unlock(&quota->lock);
}

themis_status_t themis_server_quota_replace(themis_server_quota_t *quota, const themis_proto_limit_t *table,
                                            uint32_t count, themis_server_quota_version_t version)
{
    themis_status_t status = record_write(quota->options.db, table, count, version);

    if (status != THEMIS_OK)
        return status;
    pthread_mutex_lock(&quota->table_lock);
    memcpy(quota->table, table, count * sizeof *table);
    quota->count = count;
    quota->version = version;
    pthread_mutex_unlock(&quota->table_lock);
    accounts_apply(quota);
    return THEMIS_OK;
}

/* --- changes ------------------------------------------------------------------------------------------------------ */

static uint64_t limit_change(uint64_t old, uint64_t wanted)
{
    return wanted == THEMIS_SERVER_QUOTA_KEEP ? old : wanted;
}

/* Changes a copy of the table; it has room for one more row. */
static themis_status_t table_change(themis_proto_limit_t *table, uint32_t *count, uint32_t uid,
                                    const themis_server_quota_limits_t *limits)
{
    uint32_t place = row_place(table, *count, uid);
    themis_proto_limit_t *row = &table[place];
    int is_there = place < *count && row->uid == uid;

    if (!limits) {
        memmove(row, row + is_there, (*count - place - (uint32_t)is_there) * sizeof *row);
        *count -= (uint32_t)is_there;
        return THEMIS_OK;
    }
    if (!is_there && *count == THEMIS_PROTO_MAX_LIMITS)
        return THEMIS_QUOTA;
    if (!is_there) {
        memmove(row + 1, row, (*count - place) * sizeof *row);
        *row = (themis_proto_limit_t){uid, UINT64_MAX, UINT64_MAX};
        ++*count;
    }
    row->bytes = limit_change(row->bytes, limits->bytes);
    row->names = limit_change(row->names, limits->names);
    return THEMIS_OK;
}

themis_status_t themis_server_quota_set(themis_server_quota_t *quota, uint32_t uid,
                                        const themis_server_quota_limits_t *limits)
{
    themis_proto_limit_t *table = malloc((THEMIS_PROTO_MAX_LIMITS + 1) * sizeof *table);

    if (!table)
        return THEMIS_NO_MEMORY;
    pthread_mutex_lock(&quota->lock);
    uint64_t now = themis_util_clock_wall(), last = quota->version.time;
    const themis_server_quota_version_t version = {now > last ? now : last + 1, quota->options.index};
    uint32_t count = quota->count;
    memcpy(table, quota->table, count * sizeof *table);
    themis_status_t status = table_change(table, &count, uid, limits);
    if (status == THEMIS_OK)
        status = themis_server_quota_replace(quota, table, count, version);
    pthread_mutex_unlock(&quota->lock);
    free(table);
    return status;
}

/* --- what is known of users --------------------------------------------------------------------------------------- */

/* Returns 0 if there is nothing to tell of. */
static int state_fill(themis_server_quota_t *quota, const themis_store_account_t *account,
                      themis_server_quota_state_t *state)
{
    uint64_t bytes = (uint64_t)at_least_none(account->bytes), names = (uint64_t)at_least_none(account->names);
    int found = limits_find(quota, account->uid, &state->limits);

    state->uid = account->uid;
    state->bytes = bytes;
    state->names = names;
    state->total_bytes = bytes + (uint64_t)account->other_bytes;
    state->total_names = names + (uint64_t)account->other_names;
    state->has_limits = found > 0;
    state->is_own = found == 2;
    return state->is_own || state->total_bytes || state->total_names;
}

size_t themis_server_quota_list(themis_server_quota_t *quota, uint32_t uid, themis_server_quota_state_t *states,
                                size_t capacity)
{
    size_t found = 0;

    pthread_mutex_lock(&quota->lock);
    for (uint32_t i = row_place(quota->table, quota->count, uid); i < quota->count; i++)
        if (quota->table[i].uid != THEMIS_PROTO_USAGE_DEFAULT) /* who has a limit has an account */
            themis_store_accounts_get(quota->options.accounts, quota->table[i].uid);
    size_t count =
        themis_store_accounts_list(quota->options.accounts, uid, quota->listed, THEMIS_STORE_ACCOUNTS_MAX + 1);
    for (size_t i = 0; i < count && found < capacity; i++)
        found += (size_t)state_fill(quota, quota->listed[i], &states[found]);
    pthread_mutex_unlock(&quota->lock);
    return found;
}

/* "1.5 GiB" */
static void bytes_text(uint64_t bytes, char text[32])
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    int unit = 0;

    for (; value >= 1024 && unit < 6; unit++)
        value /= 1024;
    snprintf(text, 32, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
}

static void limit_text(uint64_t total, uint64_t limit, int is_bytes, char text[96])
{
    char has[32], may[32];

    if (is_bytes) {
        bytes_text(total, has);
        bytes_text(limit, may);
    } else {
        snprintf(has, sizeof has, "%" PRIu64, total);
        snprintf(may, sizeof may, "%" PRIu64 " files", limit);
    }
    *text = '\0';
    if (limit != UINT64_MAX)
        snprintf(text, 96, "%s of at most %s", has, may);
}

void themis_server_quota_explain(themis_server_quota_t *quota, uint32_t uid, char *text, size_t size)
{
    const themis_store_account_t *account = themis_store_accounts_find(quota->options.accounts, uid);
    themis_server_quota_state_t state;
    char bytes[96], names[96];

    *text = '\0';
    if (!account || is_exempt(quota, uid))
        return;
    pthread_mutex_lock(&quota->lock);
    state_fill(quota, account, &state);
    pthread_mutex_unlock(&quota->lock);
    limit_text(state.total_bytes, state.limits.bytes, 1, bytes);
    limit_text(state.total_names, state.limits.names, 0, names);
    if (*bytes || *names)
        snprintf(text, size, "quota exceeded: user %" PRIu32 " has %s%s%s", uid, bytes, *bytes && *names ? ", " : "",
                 names);
}

/* --- creation ----------------------------------------------------------------------------------------------------- */

themis_status_t themis_server_quota_create(const themis_server_quota_options_t *options, themis_server_quota_t **quota)
{
    themis_server_quota_t *made = calloc(1, sizeof *made + options->servers * sizeof *made->peers);

    if (!made)
        return THEMIS_NO_MEMORY;
    pthread_mutex_init(&made->lock, NULL);
    pthread_mutex_init(&made->table_lock, NULL);
    made->options = *options;
    made->listed = malloc((THEMIS_STORE_ACCOUNTS_MAX + 1) * sizeof *made->listed);
    made->rows = malloc(THEMIS_PROTO_MAX_USAGE * sizeof *made->rows);
    themis_status_t status = made->listed && made->rows ? record_load(made) : THEMIS_NO_MEMORY;
    if (status != THEMIS_OK) {
        themis_server_quota_destroy(made);
        return status;
    }
    themis_store_accounts_on_new(options->accounts, account_begin, made);
    accounts_apply(made);
    *quota = made;
    return THEMIS_OK;
}

void themis_server_quota_destroy(themis_server_quota_t *quota)
{
    if (!quota)
        return;
    themis_store_accounts_on_new(quota->options.accounts, NULL, NULL);
    for (uint32_t i = 0; i < quota->options.servers; i++)
        free(quota->peers[i].rows);
    free(quota->listed);
    free(quota->rows);
    pthread_mutex_destroy(&quota->table_lock);
    pthread_mutex_destroy(&quota->lock);
    free(quota);
}
