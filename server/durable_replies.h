/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Saved replies that outlive the server. A reply is written to the database of names in one step with the change that
 * it tells of, at its place in the session's ring, so there are no more of them than in memory. A server that is
 * started again reads them, and gives them to the sessions that come back within a lease. They are removed when their
 * session ends.
 *
 * Threads: the caller serialises (the server's mutex), but for what is noted.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "server/name_db.h"
#include "server/saved_replies.h"
#include "themis/status.h"

struct themis_server_request;

enum { THEMIS_SERVER_DURABLE_REPLY_BYTES = 512 }; /* of a message; longer ones are not kept */

typedef struct themis_server_durable_replies themis_server_durable_replies_t;

/* A reply as a record, which points into itself. */
typedef struct themis_server_durable_reply {
    uint8_t key[10], value[12 + THEMIS_SERVER_DURABLE_REPLY_BYTES];
    themis_server_name_db_record_t record;
} themis_server_durable_reply_t;

/* Reads what `db` (borrowed) has; NULL: nothing is kept. */
themis_status_t themis_server_durable_replies_create(themis_server_name_db_t *db,
                                                     themis_server_durable_replies_t **replies);
void themis_server_durable_replies_destroy(themis_server_durable_replies_t *replies); /* NULL is allowed */

/* The record of the reply to a request, a success with `body`, or NULL: it is not to be kept. Without the lock. */
const themis_server_name_db_record_t *themis_server_durable_replies_record(const struct themis_server_request *request,
                                                                           const void *body,
                                                                           themis_server_durable_reply_t *made);

/* Moves what an earlier process has kept for the session into `to`, if it is the same user's. */
void themis_server_durable_replies_take(themis_server_durable_replies_t *replies, uint64_t session, uint32_t uid,
                                        themis_server_saved_replies_t *to);
/* The session has ended: what is kept for it is removed soon. */
void themis_server_durable_replies_forget(themis_server_durable_replies_t *replies, uint64_t session);
/* So are the replies of sessions that did not come back. */
void themis_server_durable_replies_expire(themis_server_durable_replies_t *replies);
/* The next session whose replies are to be removed, 0: none, which erase does. */
uint64_t themis_server_durable_replies_next_ended(themis_server_durable_replies_t *replies);
/* Without the lock. */
void themis_server_durable_replies_erase(themis_server_durable_replies_t *replies, uint64_t session);
