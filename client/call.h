/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls: one message to one server and its reply. A call is kept, encoded, until its reply has come; when the
 * connection is lost it is sent again on the next one with the same id, so that the server recognises the replay. It
 * fails when its server was not reachable for the session's timeout. Calls come from a list of the session and keep
 * their buffers. Only a bounded number is under way to a server at a time; the others are sent as replies come.
 *
 *     get -> (fill runs and memory) -> start -> ... *remaining reaches 0 ... -> result -> put
 *
 * Threads: all functions take the session's lock themselves.
 */
#pragma once
#include <stdint.h>
#include <sys/uio.h>
#include "client/binding.h"
#include "client/peers.h"
#include "util/runs.h"
#include "net/net.h"
#include "proto/proto.h"

/* At most so many calls, and messages of so many bytes (and one more call), are under way to a server. A server refuses
 * what comes beyond a few times that. */
enum { THEMIS_CLIENT_BUCKETS = 256, THEMIS_CLIENT_MAX_CALLS = 1024, THEMIS_CLIENT_MAX_BYTES = 4 << 20 };
/* Under way to a server of those that it must not do twice: it keeps its last 64 replies to them, of locks, too. */
enum { THEMIS_CLIENT_MAX_KEPT = 48 };

typedef struct themis_client_bytes {
    unsigned char *bytes; /* owned */
    size_t length, capacity;
} themis_client_bytes_t;

typedef struct themis_client_call {
    themis_client_peer_t *peer;
    struct themis_client_call *previous, *next; /* of the peer's calls, or of the free ones */
    struct themis_client_call *chain;           /* of its bucket */
    uint64_t id;
    themis_proto_opcode_t opcode;
    int sent;            /* 1: on the current connection */
    uint32_t *remaining; /* calls that have not ended; NULL: no thread waits, and the end puts the call */
    themis_status_t status;
    const char *cause;                /* of the status, instead of its text; NULL: none */
    uint64_t incarnation;             /* of the session at the server that replied */
    uint64_t connection;              /* by which it did */
    uint64_t store;                   /* hash of the identity of its store */
    int exists;                       /* 1: it has said that the object of the call does */
    themis_client_binding_t *binding; /* of the file's handle to the server, borrowed; NULL: none */
    int descriptor;                   /* that came with the reply to a SEGMENT, owned; -1: none */
    themis_client_bytes_t message, reply;

    /* of a READ or WRITE */
    uint64_t object, epoch;
    const themis_proto_capability_t *capability; /* of the file's handle, borrowed; read with the session's lock */
    uint32_t index;                              /* of the object */
    themis_util_runs_t runs;
    struct iovec *memory; /* owned array; the pieces are the caller's */
    size_t memory_count, memory_capacity;
    themis_net_exposed_t *exposed;
} themis_client_call_t;

/* The calls of a session. */
typedef struct themis_client_calls {
    themis_client_peers_t *peers;
    themis_client_call_t *buckets[THEMIS_CLIENT_BUCKETS]; /* those that wait for a reply, by id */
    themis_client_call_t *free;
} themis_client_calls_t;

/* What the peers are to do with calls; the argument of their events is the themis_client_calls_t. */
extern const themis_client_peer_events_t themis_client_call_events;

/* At the end of the session: ends all calls with THEMIS_CANCELED; frees them. */
void themis_client_calls_cancel(themis_client_calls_t *calls);
void themis_client_calls_free(themis_client_calls_t *calls);

/* Without a binding. A call with one fails with THEMIS_LOST, and is not sent, if the server has another store; a SYNC
 * also if its machine was restarted. */
themis_status_t themis_client_call_get(themis_client_calls_t *calls, uint32_t server, themis_client_call_t **call);
void themis_client_call_put(themis_client_call_t *call);

/*
 * Encodes and sends, or queues while there is no connection. *remaining counts calls that have not ended: it is
 * incremented here and decremented under the session's lock. It must live until then, or be NULL for a call whose
 * outcome does not matter. `body` is borrowed for the call; NULL: a READ or WRITE of call->object, call->runs
 * and call->memory, which cannot fail here. On failure the call has not begun.
 */
themis_status_t themis_client_call_start(themis_client_call_t *call, themis_proto_opcode_t opcode, const void *body,
                                         uint32_t *remaining);

/*
 * The outcome of a call that has ended: the reply, or why there is none. The text of an error names
 * `subject` (a path; may be NULL) and the server. Texts in *reply are borrowed from the call.
 */
themis_status_t themis_client_call_result(themis_client_call_t *call, const char *subject, themis_proto_body_t *reply);

/* Start, wait and result in one. */
themis_status_t themis_client_call_do(themis_client_call_t *call, themis_proto_opcode_t opcode, const void *body,
                                      const char *subject, themis_proto_body_t *reply);

/* All of it, from get to put; so texts in *reply are not valid. */
themis_status_t themis_client_call_ask(themis_client_calls_t *calls, uint32_t server, themis_proto_opcode_t opcode,
                                       const void *body, const char *subject, themis_proto_body_t *reply);
