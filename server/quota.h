/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Quotas: how many bytes and names each user may have on all servers together (doc/quota.md).
 *
 * What users have here is in their accounts (store/accounts.h). The table of limits is the same on all servers: it has
 * a version, each change makes a later one, and the latest one wins; a server keeps it in its database of names.
 * Servers tell each other in USAGE what users with limits have at them, and the version of their table, and whoever has
 * a later one sends it along. So each knows what a user has elsewhere, and sets the limits of its accounts to what is
 * left of the whole: all of it as long as the user has less than nine tenths, then an equal share.
 *
 * The servers' own user, root and what belongs to nobody that is known have no limits.
 *
 * Threads: all functions may be called from any thread; `set` and `take` may wait for the disk.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "proto/proto.h"
#include "server/name_db.h"
#include "store/accounts.h"
#include "themis/status.h"

typedef struct themis_server_quota themis_server_quota_t;

typedef struct themis_server_quota_options {
    themis_store_accounts_t *accounts; /* borrowed */
    themis_server_name_db_t *db;       /* borrowed */
    uint32_t index, servers;           /* of this server, and how many there are */
    uint64_t incarnation;              /* of its process */
    uint32_t exempt;                   /* user id of the servers */
} themis_server_quota_options_t;

/* Reads the table that an earlier process has kept. */
themis_status_t themis_server_quota_create(const themis_server_quota_options_t *options, themis_server_quota_t **quota);
void themis_server_quota_destroy(themis_server_quota_t *quota); /* NULL is allowed */

/* UINT64_MAX: no limit. */
typedef struct themis_server_quota_limits {
    uint64_t bytes, names;
} themis_server_quota_limits_t;

/* A member that a change leaves as it is. */
#define THEMIS_SERVER_QUOTA_KEEP (UINT64_MAX - 1)

/* Sets the limits of a user, or (THEMIS_PROTO_USAGE_DEFAULT) of all that have none of their own; `limits` NULL: they
 * have none of their own any more. THEMIS_QUOTA: there are too many. On failure nothing has changed. */
themis_status_t themis_server_quota_set(themis_server_quota_t *quota, uint32_t uid,
                                        const themis_server_quota_limits_t *limits);

/* The limits of a user. Returns 0 if there are none. */
int themis_server_quota_find(themis_server_quota_t *quota, uint32_t uid, themis_server_quota_limits_t *limits);

/* What is known of a user, bytes and names of this server and of all that have told of theirs. */
typedef struct themis_server_quota_state {
    uint32_t uid;
    uint64_t bytes, names, total_bytes, total_names;
    themis_server_quota_limits_t limits;
    int has_limits, is_own; /* 1: there are any; they are the user's own, not the default */
} themis_server_quota_state_t;
/* Of users from `uid` on that have something, or limits of their own, by user id; returns how many, at most `capacity`.
 */
size_t themis_server_quota_list(themis_server_quota_t *quota, uint32_t uid, themis_server_quota_state_t *states,
                                size_t capacity);

typedef struct themis_server_quota_version {
    uint64_t time; /* ns since 1970, or one more than of the version before; 0: no limits were ever set */
    uint32_t setter;
} themis_server_quota_version_t;
themis_server_quota_version_t themis_server_quota_version(themis_server_quota_t *quota);
int themis_server_quota_default(themis_server_quota_t *quota, themis_server_quota_limits_t *limits);

enum { THEMIS_SERVER_QUOTA_TEXT = 256 };

/* Why a request of this user was refused: "user 1000 has 1.2 GiB of at most 1.2 GiB, ..."; "" if he has no limits. */
void themis_server_quota_explain(themis_server_quota_t *quota, uint32_t uid, char *text, size_t size);

/* --- the exchange ------------------------------------------------------------------------------------------------- */

/* 1: there is something to tell other servers of. */
int themis_server_quota_is_active(themis_server_quota_t *quota);
/* Begins a round: sets the limits of all accounts anew. */
void themis_server_quota_begin_round(themis_server_quota_t *quota);
/* The message of this round with users from *from on, for server `peer`, in THEMIS_PROTO_MAX_MESSAGE bytes; *from
 * becomes the first user of the next one, or 0: it was the last. */
themis_status_t themis_server_quota_encode(themis_server_quota_t *quota, uint32_t peer, uint32_t *from, void *message,
                                           size_t *length);
/* A decoded USAGE of another server. THEMIS_INVALID: from no other server of the list. */
themis_status_t themis_server_quota_take(themis_server_quota_t *quota, const themis_proto_usage_t *usage);
