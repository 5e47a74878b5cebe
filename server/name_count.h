/* SPDX-License-Identifier: BSD-3-Clause */
/* How many names each user owns, kept with each change of the database of names (name_db.c). */
#pragma once
#include <stddef.h>
#include "server/name_db.h"
#include "store/accounts.h"

/* What becomes of a name. */
typedef struct themis_server_name_change {
    const void *key; /* of its record; NULL: no name changes */
    size_t key_length;
    const void *record; /* NULL: it is removed */
    size_t length;
} themis_server_name_change_t;

/* That of a record that is written, if it is one of a name, or removed. */
themis_server_name_change_t themis_server_name_count_change(const void *key, size_t key_length, const void *record,
                                                            size_t length);
/* That of a list, in which at most one is of a name. */
themis_server_name_change_t themis_server_name_count_find(const themis_server_name_db_record_t *records);

/* The account of who owns the name of a record; NULL: there is none, or nothing is counted (`accounts` NULL). */
themis_store_account_t *themis_server_name_count_account(themis_store_accounts_t *accounts, const void *record,
                                                         size_t length);
/* The change was made; before it the name was of `old`, NULL: of nobody. */
void themis_server_name_count_done(themis_store_accounts_t *accounts, const themis_server_name_change_t *change,
                                   themis_store_account_t *old);
