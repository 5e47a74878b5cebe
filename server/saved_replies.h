/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The last replies of a session to requests that must not be done twice: a client that reconnects sends such a request
 * again (a replay) and gets the saved reply. A set of zeros is empty.
 *
 * Threads: the caller serialises (the server's mutex).
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

enum { THEMIS_SERVER_SAVED_REPLIES = 64 };

typedef struct themis_server_saved_reply {
    uint64_t id;    /* of the request */
    int used, done; /* not done: the request is under way */
    void *bytes;    /* of the reply, owned */
    size_t length;
} themis_server_saved_reply_t;

typedef struct themis_server_saved_replies {
    themis_server_saved_reply_t list[THEMIS_SERVER_SAVED_REPLIES];
    uint32_t next; /* to be used */
} themis_server_saved_replies_t;

/* The reply to request `id`, or NULL if it is not known. */
themis_server_saved_reply_t *themis_server_saved_replies_find(themis_server_saved_replies_t *replies, uint64_t id);
/* Makes room for the reply to a request; the oldest one that is done is forgotten for it. Returns its place, 1 to
 * THEMIS_SERVER_SAVED_REPLIES, or 0 if all requests are under way. */
int themis_server_saved_replies_begin(themis_server_saved_replies_t *replies, uint64_t id);
/* Keeps a copy of the reply; without memory for it, or with bytes NULL, forgets the request. */
void themis_server_saved_replies_end(themis_server_saved_replies_t *replies, uint64_t id, const void *bytes,
                                     size_t length);
/* Keeps a copy of a reply that an earlier process has saved at `place`. */
void themis_server_saved_replies_restore(themis_server_saved_replies_t *replies, int place, uint64_t id,
                                         const void *bytes, size_t length);
/* Forgets all. */
void themis_server_saved_replies_clear(themis_server_saved_replies_t *replies);
