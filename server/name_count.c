/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/name_count.h"
#include "server/name_record.h"

themis_server_name_change_t themis_server_name_count_change(const void *key, size_t key_length, const void *record,
                                                            size_t length)
{
    if (key_length == 0 || *(const char *)key != THEMIS_SERVER_NAME_DB_NAME)
        return (themis_server_name_change_t){.key = NULL};
    return (themis_server_name_change_t){key, key_length, record, length};
}

themis_server_name_change_t themis_server_name_count_find(const themis_server_name_db_record_t *records)
{
    themis_server_name_change_t change = {.key = NULL};

    for (; records && !change.key; records = records->next)
        change =
            themis_server_name_count_change(records->key, records->key_length, records->value, records->value_length);
    return change;
}

themis_store_account_t *themis_server_name_count_account(themis_store_accounts_t *accounts, const void *record,
                                                         size_t length)
{
    themis_proto_attr_t attr;

    return accounts && record && themis_server_name_record_attr(record, length, &attr) == THEMIS_OK
               ? themis_store_accounts_get(accounts, attr.uid)
               : NULL;
}

void themis_server_name_count_done(themis_store_accounts_t *accounts, const themis_server_name_change_t *change,
                                   themis_store_account_t *old)
{
    themis_store_account_t *fresh =
        change->key ? themis_server_name_count_account(accounts, change->record, change->length) : NULL;

    if (fresh == old)
        return;
    if (old)
        atomic_fetch_sub(&old->names, 1);
    if (fresh)
        atomic_fetch_add(&fresh->names, 1);
}
