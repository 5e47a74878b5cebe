/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls: one request to one server and its reply. A call is kept, encoded, until its reply has come; when the
 * connection is lost it is sent again on the next one with the same id, so that the server recognises it. It fails when
 * its server was not reachable for the session's timeout. Calls come from a list of the session and keep their buffers.
 * Only a bounded number is under way to a server at a time (client/session.h); the others are sent as answers come.
 *
 *     get -> (fill runs and memory) -> start -> ... *remaining reaches 0 ... -> result -> put
 *
 * Threads: all functions take the session's lock themselves.
 */
#ifndef THEMIS_CLIENT_CALL_H
#define THEMIS_CLIENT_CALL_H
#include <stdint.h>
#include <sys/uio.h>
#include "util/runs.h"
#include "client/session.h"
#include "net/net.h"
#include "proto/proto.h"

typedef struct themis_client_bytes {
    unsigned char *bytes; /* owned */
    size_t length, capacity;
} themis_client_bytes_t;

typedef struct themis_client_call {
    themis_client_peer_t *peer;
    struct themis_client_call *previous, *next; /* of the peer's calls, or of the free ones */
    struct themis_client_call *chain;           /* of its bucket */
    uint64_t id;
    uint16_t opcode;
    int sent;            /* 1: on the current connection */
    int once;            /* 1: fails instead of being sent again */
    uint32_t *remaining; /* counted down when the call ends; NULL: nobody waits, and the end puts the call */
    themis_status_t status;
    uint64_t incarnation; /* of the session at the server that answered */
    themis_client_bytes_t message, reply;

    /* of a READ or WRITE */
    uint64_t object;
    uint32_t slot;
    themis_util_runs_t runs;
    struct iovec *memory; /* owned array; the pieces are the caller's */
    size_t memory_count, memory_capacity;
    themis_net_exposed_t *exposed;
} themis_client_call_t;

themis_status_t themis_client_call_get(themis_t *session, uint32_t server, themis_client_call_t **call);
void themis_client_call_put(themis_client_call_t *call);
void themis_client_call_destroy(themis_client_call_t *call); /* instead of put, at the end of the session */

/*
 * Encodes and sends, or queues while there is no connection. *remaining is counted down under the session's lock once
 * the call has ended; it must live until then, or be NULL for a call whose outcome does not matter. `body` is borrowed
 * for the call. On failure the call has not begun.
 */
themis_status_t themis_client_call_start(themis_client_call_t *call, themis_proto_opcode_t opcode, const void *body,
                                         uint32_t *remaining);

/* The same for a READ or WRITE of call->object, call->runs (finished) and call->memory. */
themis_status_t themis_client_call_start_io(themis_client_call_t *call, themis_proto_opcode_t opcode,
                                            uint32_t *remaining);

/*
 * The outcome of a call that has ended: what the server said, or why there is no answer. The text of an error names
 * `subject` (a path; may be NULL) and the server. `body` is borrowed from the call.
 */
themis_status_t themis_client_call_result(themis_client_call_t *call, const char *subject, themis_proto_body_t *body);

/* Start, wait and result in one; the caller puts *call after use of *body, only on success. */
themis_status_t themis_client_call_do(themis_t *session, uint32_t server, themis_proto_opcode_t opcode,
                                      const void *request, const char *subject, themis_client_call_t **call,
                                      themis_proto_body_t *body);

/* Waits until *remaining is 0. */
void themis_client_wait(themis_t *session, const uint32_t *remaining);
/* One look at the network, without waiting; returns 1 if *remaining is 0. */
int themis_client_poll(themis_t *session, const uint32_t *remaining);
/* Connects servers that are to get their first call, so that a call that nobody waits for yet proceeds. */
void themis_client_nudge(themis_t *session);

/* For the peers' part of the library, with the lock held: sends what was not sent; ends all calls with `status`;
 * forgets that calls were sent, since their connection is gone (those that go `once` end). */
void themis_client_call_flush(themis_client_peer_t *peer);
void themis_client_call_fail_all(themis_client_peer_t *peer, themis_status_t status);
void themis_client_call_unsend(themis_client_peer_t *peer, themis_status_t why);

/* A reply has come; with the lock held. Returns 0 if nobody waits for it. */
int themis_client_call_answer(themis_client_peer_t *peer, const themis_proto_header_t *header, const void *bytes,
                              size_t length);
#endif
