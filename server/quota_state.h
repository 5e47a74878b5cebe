/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of quotas share. */
#pragma once
#include <pthread.h>
#include "server/quota.h"

/* What a user has at a peer. */
typedef struct themis_server_quota_row {
    themis_store_account_t *account;
    int64_t bytes, names;
} themis_server_quota_row_t;

typedef struct themis_server_quota_peer {
    uint64_t incarnation, round;           /* of its last message */
    themis_server_quota_version_t version; /* that it has told of */
    uint32_t count;
    themis_server_quota_row_t *rows; /* [count], by user id; owned */
} themis_server_quota_peer_t;

/* Locks are taken in this order: `lock`, that of the accounts, `table_lock`. */
struct themis_server_quota {
    themis_server_quota_options_t options;
    pthread_mutex_t lock; /* of changes of the table, the peers, and what accounts have of other servers */
    uint64_t round;
    int warned;                      /* 1: limits of others cannot be kept */
    themis_store_account_t **listed; /* [THEMIS_STORE_ACCOUNTS_MAX + 1], for the holder of the lock */
    themis_proto_usage_row_t *rows;  /* [THEMIS_PROTO_MAX_USAGE], likewise */
    pthread_mutex_t table_lock;      /* of the next ones, which are changed with `lock` only */
    themis_server_quota_version_t version;
    uint32_t count;
    themis_proto_limit_t table[THEMIS_PROTO_MAX_LIMITS]; /* [count], by user id; the default is the last one */
    themis_server_quota_peer_t peers[];                  /* [options.servers] */
};

/* -1, 0 or 1: `a` is earlier, the same, or later. */
int themis_server_quota_compare(themis_server_quota_version_t a, themis_server_quota_version_t b);
/* With the lock: puts a table in force, and keeps it. On failure nothing has changed. */
themis_status_t themis_server_quota_replace(themis_server_quota_t *quota, const themis_proto_limit_t *table,
                                            uint32_t count, themis_server_quota_version_t version);
/* With the lock. `refill`: a round has begun, and what is left is shared out anew; else limits near the whole are only
 * lowered. */
void themis_server_quota_apply(themis_server_quota_t *quota, themis_store_account_t *account, int refill);
