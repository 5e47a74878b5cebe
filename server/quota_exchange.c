/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include "server/quota_state.h"
#include "util/log.h"

#define LAST_USER (THEMIS_PROTO_USAGE_DEFAULT - 1)
#define MAX_USE (INT64_MAX / THEMIS_PROTO_MAX_SERVERS) /* so that no sum is too large */

/* --- what is told ------------------------------------------------------------------------------------------------- */

static uint64_t use_of(int64_t count)
{
    return count > 0 ? (uint64_t)(count < MAX_USE ? count : MAX_USE) : 0;
}

/* Fills in the rows of users from `from` on; returns the last user that they tell of. With the lock. */
static uint32_t rows_fill(themis_server_quota_t *quota, uint32_t from, uint32_t *rows)
{
    size_t count = themis_store_accounts_list(quota->options.accounts, from, quota->listed, THEMIS_PROTO_MAX_USAGE);
    themis_server_quota_limits_t limits;

    *rows = 0;
    for (size_t i = 0; i < count; i++) {
        const themis_store_account_t *account = quota->listed[i];
        uint64_t bytes = use_of(account->bytes), names = use_of(account->names);
        if ((bytes || names) && themis_server_quota_find(quota, account->uid, &limits))
            quota->rows[(*rows)++] = (themis_proto_usage_row_t){account->uid, bytes, names};
    }
    return count < THEMIS_PROTO_MAX_USAGE ? LAST_USER : quota->listed[count - 1]->uid;
}

themis_status_t themis_server_quota_encode(themis_server_quota_t *quota, uint32_t peer, uint32_t *from, void *message,
                                           size_t *length)
{
    themis_proto_header_t header = {
        .version = THEMIS_PROTO_VERSION, .kind = THEMIS_PROTO_REQUEST, .opcode = THEMIS_OP_USAGE};
    themis_proto_usage_t usage = {
        .index = quota->options.index, .incarnation = quota->options.incarnation, .first = *from};

    pthread_mutex_lock(&quota->lock);
    header.id = usage.round = quota->round;
    usage.version = quota->version.time;
    usage.setter = quota->version.setter;
    usage.last = rows_fill(quota, *from, &usage.rows);
    usage.row_bytes = (const uint8_t *)quota->rows;
    usage.has_limits = themis_server_quota_compare(quota->version, quota->peers[peer].version) > 0;
    if (usage.has_limits)
        usage.limits = quota->count;
    usage.limit_bytes = (const uint8_t *)quota->table;
    themis_status_t status = themis_proto_encode(&header, &usage, message, THEMIS_PROTO_MAX_MESSAGE, length);
    pthread_mutex_unlock(&quota->lock);
    *from = usage.last == LAST_USER ? 0 : usage.last + 1;
    return status;
}

/* --- what is heard ------------------------------------------------------------------------------------------------ */

static uint32_t row_place(const themis_server_quota_peer_t *peer, uint32_t uid)
{
    uint32_t low = 0, high = peer->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (peer->rows[middle].account->uid < uid)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Adds what a row tells of to its account, or (-1) takes it away. */
static void row_count(themis_server_quota_t *quota, const themis_server_quota_row_t *row, int sign)
{
    row->account->other_bytes += sign * row->bytes;
    row->account->other_names += sign * row->names;
    themis_server_quota_apply(quota, row->account, 0);
}

/* Decodes the rows for accounts; those of users for whom there is no more room are left out. */
static uint32_t rows_decode(themis_server_quota_t *quota, const themis_proto_usage_t *usage,
                            themis_server_quota_row_t *rows)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < usage->rows; i++) {
        const themis_proto_usage_row_t row = themis_proto_usage_row_get(usage, i);
        themis_store_account_t *account = themis_store_accounts_get(quota->options.accounts, row.uid);
        if (account->uid == row.uid)
            rows[count++] = (themis_server_quota_row_t){account, (int64_t)(row.bytes < MAX_USE ? row.bytes : MAX_USE),
                                                        (int64_t)(row.names < MAX_USE ? row.names : MAX_USE)};
    }
    return count;
}

/* Replaces what is known of the users that the message is about. With the lock. */
static themis_status_t rows_take(themis_server_quota_t *quota, themis_server_quota_peer_t *peer,
                                 const themis_proto_usage_t *usage)
{
    uint32_t first = row_place(peer, usage->first), end = row_place(peer, usage->last + 1);
    themis_server_quota_row_t *rows = malloc((peer->count - (end - first) + usage->rows + 1) * sizeof *rows);

    if (!rows)
        return THEMIS_NO_MEMORY;
    uint32_t fresh = rows_decode(quota, usage, rows + first);
    for (uint32_t i = first; i < end; i++)
        row_count(quota, &peer->rows[i], -1);
    for (uint32_t i = first; i < first + fresh; i++)
        row_count(quota, &rows[i], 1);
    if (peer->count) {
        memcpy(rows, peer->rows, first * sizeof *rows);
        memcpy(rows + first + fresh, peer->rows + end, (peer->count - end) * sizeof *rows);
    }
    peer->count = first + fresh + (peer->count - end);
    free(peer->rows);
    peer->rows = rows;
    return THEMIS_OK;
}

/* With the lock. */
static void limits_take(themis_server_quota_t *quota, const themis_proto_usage_t *usage,
                        themis_server_quota_version_t version)
{
    themis_proto_limit_t *table = malloc((usage->limits + 1) * sizeof *table);
    themis_status_t status = table ? THEMIS_OK : THEMIS_NO_MEMORY;

    for (uint32_t i = 0; table && i < usage->limits; i++)
        table[i] = themis_proto_usage_limit_get(usage, i);
    if (status == THEMIS_OK)
        status = themis_server_quota_replace(quota, table, usage->limits, version);
    free(table);
    if (status == THEMIS_OK)
        themis_info("limits of users are now those that were set at server %u", version.setter);
    else if (!quota->warned) /* each message of the others has them */
        themis_warn("limits of users that were set at server %u cannot be kept: %s", version.setter,
                    themis_status_string(status));
    quota->warned = status != THEMIS_OK;
}

themis_status_t themis_server_quota_take(themis_server_quota_t *quota, const themis_proto_usage_t *usage)
{
    const themis_server_quota_version_t version = {usage->version, usage->setter};
    themis_status_t status = THEMIS_OK;

    if (usage->index >= quota->options.servers || usage->index == quota->options.index)
        return THEMIS_INVALID;
    pthread_mutex_lock(&quota->lock);
    themis_server_quota_peer_t *peer = &quota->peers[usage->index];
    int is_late = usage->incarnation == peer->incarnation && usage->round < peer->round;
    if (!is_late) {
        peer->incarnation = usage->incarnation;
        peer->round = usage->round;
        peer->version = version;
        if (usage->has_limits && themis_server_quota_compare(version, quota->version) > 0)
            limits_take(quota, usage, version);
        status = rows_take(quota, peer, usage);
    }
    pthread_mutex_unlock(&quota->lock);
    return status;
}
